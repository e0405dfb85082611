"""Every score of one table row: how well distances rank, and how far off they are."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.accuracy import exact_hits, mean_absolute_error, mean_squared_error
from graphmetric.evaluation.ranking import RankingScores, score_rankings


class Raw(NamedTuple):
    """Predicted and true distances in edits, of the same pairs."""

    predicted: ArrayLike
    true: ArrayLike


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the distances between queries and a database."""

    ranking: RankingScores
    mse: float
    """Mean squared error on the scale that was ranked, in tables the paper's 1 - exp(-GED / mean size)."""
    mae: float | None
    """Mean absolute error in edits; None without raw distances."""
    exact_hits: float | None
    """Share of pairs whose prediction rounds to the true edit distance; None without raw distances."""

    def to_dict(self) -> dict[str, float]:
        """By the names that records and reports use; scores that are not defined are left out."""
        found = {"rho": self.ranking.rho, "tau": self.ranking.tau}
        found |= {f"p@{k}": value for k, value in self.ranking.precision.items()}
        found |= {f"p@{k} strict": value for k, value in self.ranking.strict_precision.items()}
        found |= {f"p@{k} generous": value for k, value in self.ranking.generous_precision.items()}
        found["mse"] = self.mse
        if self.mae is not None and self.exact_hits is not None:
            found |= {"mae": self.mae, "exact hits": self.exact_hits}
        return {name: value for name, value in found.items() if not math.isnan(value)}

    def __str__(self) -> str:
        found = self.to_dict()
        strict = {name: f" (strict {found[key]:.3f})" for name in found if (key := f"{name} strict") in found}
        shown = [
            f"{title_of(name)} {format_score(name, value)}{strict.get(name, '')}"
            for name, value in found.items()
            if not name.endswith((" strict", " generous"))
        ]
        return "  ".join([*shown, f"({self.ranking.queries} queries)"])


def score_distances(
    predicted: ArrayLike, true: ArrayLike, *, raw: Raw | None = None, ks: Sequence[int] = (10, 20)
) -> Scores:
    """Compare two matrices (queries, database) on the paper's scale, and on the raw one where given.

    NaN in a true matrix leaves the pair out.

    Args:
        predicted: Distances in [0, 1], 1 - exp(-GED / mean size) of the predicted edit distance.
        true: The same of the true one.
        raw: The same pairs in edits, for the mean absolute error and the exact hits.
        ks: Numbers of nearest graphs whose precision is asked for.
    """
    ranking = score_rankings(predicted, true, ks=ks)
    return Scores(
        ranking=ranking,
        mse=mean_squared_error(predicted, true),
        mae=None if raw is None else mean_absolute_error(*raw),
        exact_hits=None if raw is None else exact_hits(*raw),
    )


def title_of(name: str) -> str:
    """What a table calls a score, its unit included."""
    _check_name(name)
    return {"mse": "MSE e-3", "mae": "MAE"}.get(name, name)


def format_score(name: str, value: float, *, digits: int = 3) -> str:
    """A score in the unit of :func:`title_of`: the squared error in thousandths, all others as they are."""
    _check_name(name)
    return f"{1e3 * value if name == 'mse' else value:.{digits}f}"


def _check_name(name: str) -> None:
    if not re.fullmatch(r"rho|tau|mse|mae|exact hits|p@[1-9][0-9]*( strict| generous)?", name):
        raise InvalidArgument(
            f"unknown score {name!r}; there are rho, tau, mse, mae, exact hits and, for any k, p@k, p@k strict and "
            "p@k generous"
        )
