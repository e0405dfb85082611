"""The published numbers of public matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.evaluation import Raw, score_distances
from graphmetric_research.protocols import make_protocol
from graphmetric_research.run_record import find_published


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "method"),
    [("beam2", "Beam 2"), ("beam80", "Beam 80"), ("hungarian", "Hungarian"), ("vj", "VJ"), ("hed", "HED")],
)
def test_public_matrices_score_as_published(shared_data: Path, matrix: str, method: str) -> None:
    """To the last digit, on AIDS700nef under protocol A: the definitions are those of the published tables."""
    data = gm.load_dataset("AIDS700nef", root=shared_data)
    protocol = make_protocol("A", *data.split)
    queries, database = data.graphs[protocol.queries], data.graphs[protocol.database]
    with np.load(shared_data / "AIDS700nef.baselines.npz") as stored:
        raw = np.asarray(stored[matrix], dtype=float)
    true = protocol.test_distances(data.distances)
    scores = score_distances(
        gm.normalized_distance(raw, queries, database),
        gm.normalized_distance(true, queries, database),
        raw=Raw(raw, true),
    ).to_dict()
    published = next(row for row in find_published("A", ["AIDS700nef"]) if row.method == method)
    found = scores | {"p@10": scores["p@10 generous"]}
    assert {name: round(found[name], 3) for name in published.scores} == published.scores
