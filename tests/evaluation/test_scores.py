"""Errors, hits and the record of all scores; the published numbers of public matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import Raw, exact_match_rate, mean_absolute_error, mean_squared_error, score_distances
from graphmetric.evaluation.scores import format_score, title_of
from tests.naive import distance_scores as naive

edits = st.lists(st.tuples(st.floats(0, 9, width=16), st.integers(0, 9), st.booleans()), min_size=1, max_size=20)


@given(edits)
def test_errors_are_their_definitions(pairs: list[tuple[float, int, bool]]) -> None:
    predicted = np.array([p for p, _, _ in pairs])
    true = np.array([t if known else math.nan for _, t, known in pairs])
    kept = [p for p, _, known in pairs if known], [float(t) for _, t, known in pairs if known]
    for ours, literal in (
        (mean_squared_error, naive.squared_error),
        (mean_absolute_error, naive.absolute_error),
        (exact_match_rate, naive.hits),
    ):
        found = ours(predicted, true)
        assert found == pytest.approx(literal(*kept)) if kept[0] else math.isnan(found)


def test_all_scores_by_name() -> None:
    true = np.arange(40.0).reshape(2, 20)
    scores = score_distances(true / 40, true / 40, raw=Raw(true + 0.4, true), ks=[1, 5])
    assert scores.to_dict() == pytest.approx(
        {"rho": 1, "tau": 1, "mse": 0, "mae": 0.4, "exact hits": 1}
        | {f"p@{k}{ties}": 1 for k in (1, 5) for ties in ("", " strict", " generous")}
    )
    assert str(scores).startswith("rho 1.000  tau 1.000  p@1 1.000 (strict 1.000)  p@5")
    assert str(scores).endswith("MSE e-3 0.000  MAE 0.400  exact hits 1.000  (2 queries)")


def test_undefined_scores_are_left_out() -> None:
    scores = score_distances([[0.5, 0.25]], [[0.5, 0.5]], ks=[1])
    assert scores.to_dict() == {"p@1": 1.0, "p@1 strict": 0.0, "p@1 generous": 1.0, "mse": 0.03125}
    assert scores.mae is None


def test_distances_of_two_scales_are_not_compared() -> None:
    edits = np.arange(1.0, 13.0).reshape(3, 4)
    paper = edits / 20
    for pair, which in (((edits, paper), "predicted"), ((paper, edits), "true"), ((edits, edits), "predicted")):
        with pytest.raises(InvalidArgument, match=rf"{which} distances must lie in \[0, 1\].*scale='raw'"):
            score_distances(*pair)
    unknown = np.where(edits > 3, np.nan, paper)
    assert score_distances(np.where(edits > 3, edits, paper), unknown).mse == 0  # pairs without a truth do not count


def test_distances_in_edits_say_so() -> None:
    edits = np.arange(1.0, 13.0).reshape(3, 4)
    scores = score_distances(edits + 2, edits, scale="raw", ks=[1])
    assert (scores.mse, scores.mae, scores.exact_match_rate, scores.ranking.rho) == (4, 2, 0, 1)
    with pytest.raises(InvalidArgument, match="leave out raw"):
        score_distances(edits, edits, scale="raw", raw=Raw(edits, edits))
    with pytest.raises(InvalidArgument, match="scale must be 'paper' or 'raw'"):
        score_distances(edits, edits, scale="steinhaus")  # type: ignore[arg-type]


def test_units_of_tables() -> None:
    assert (title_of("mse"), format_score("mse", 0.001334)) == ("MSE e-3", "1.334")
    assert (title_of("p@20 strict"), format_score("p@20 strict", 0.5)) == ("p@20 strict", "0.500")
    for wrong in ("p@", "p@x", "MSE", "p@10 loose"):
        with pytest.raises(InvalidArgument, match="unknown score"):
            title_of(wrong)
