"""What every data set promises."""

from __future__ import annotations

import numpy as np

from graphmetric.datasets import Dataset


def assert_well_formed(data: Dataset) -> None:
    assert np.array_equal(np.sort(np.concatenate(data.split)), np.arange(len(data.graphs)))
    assert all(np.array_equal(part, np.sort(part)) and part.dtype == np.int64 for part in data.split)
    assert data.description
    assert data.licence
    assert data.distance_kind


def assert_disjoint_up_to_isomorphism(data: Dataset) -> None:
    parts = [{graph.certificate() for graph in data.graphs[part]} for part in data.split]
    assert len(set.union(*parts)) == sum(map(len, parts)) == len(data.graphs)
