"""Supervision is checked when it is built."""

from __future__ import annotations

import numpy as np
import pytest

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training.supervision import read_distances


def test_known_distances_have_equal_bounds() -> None:
    labels = PairBounds.from_distances([(0, 1), (1, 2)], [3, 4])
    assert len(labels) == 2
    assert labels.lower.tolist() == labels.upper.tolist() == [3, 4]
    assert labels.graphs.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("lower", "upper"), [(np.nan, 1), (0, np.nan), (np.nan, np.nan), (2, 1), (-1, 1)])
def test_impossible_bounds_are_refused_and_named(lower: float, upper: float) -> None:
    with pytest.raises(InvalidArgument, match=r"label 1, of graphs \(4, 5\)"):
        PairBounds(np.array([(0, 1), (4, 5)]), np.array([0, lower]), np.array([1, upper]))


def test_pairs_without_allowed_edits_are_refused_and_named() -> None:
    labels = PairBounds(np.array([(0, 1), (4, 5)]), np.array([0, np.inf]), np.array([1, np.inf]))
    with pytest.raises(InvalidArgument, match=r"label 1, of graphs \(4, 5\), says \[inf, inf\]"):
        read_distances(labels, 6)


def test_shapes_must_fit() -> None:
    with pytest.raises(InvalidArgument, match="2 pairs need as many bounds"):
        PairBounds.from_distances([(0, 1), (1, 2)], [1, 2, 3])
    with pytest.raises(InvalidArgument, match="integers of shape"):
        PairBounds.from_distances([(0, 1, 2)], [1])
    with pytest.raises(InvalidArgument, match="integers of shape"):
        PairBounds.from_distances([(0.5, 1)], [1])


def test_the_given_arrays_are_copied() -> None:
    distances = np.array([1.0])
    labels = PairBounds.from_distances([(0, 1)], distances)
    distances[0] = 5
    assert labels.upper.tolist() == [1]
    with pytest.raises(ValueError, match="read-only"):
        labels.lower[0] = 2


def test_a_matrix_gives_its_known_pairs() -> None:
    unknown = np.nan
    matrix = [[0, 2, unknown], [unknown, 0, unknown], [unknown, 3, unknown]]
    labels = PairBounds.from_matrix(matrix)
    assert labels.pairs.tolist() == [[0, 1], [1, 2]]
    assert labels.upper.tolist() == [2, 3]


@pytest.mark.parametrize(("value", "shown"), [(-1, "-1"), (np.inf, "inf")])
def test_a_matrix_must_hold_distances(value: float, shown: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"distances\[0, 1\] is {shown}; a distance is at least 0 and finite"):
        PairBounds.from_matrix([[0, value], [value, 0]])


def test_a_matrix_must_be_square_and_symmetric() -> None:
    with pytest.raises(InvalidArgument, match=r"distances\[0, 1\] is 2 but distances\[1, 0\] is 3"):
        PairBounds.from_matrix([[0, 2], [3, 0]])
    with pytest.raises(InvalidArgument, match="square"):
        PairBounds.from_matrix([[0, 2]])


def test_digests_tell_labels_apart() -> None:
    digests = {
        PairBounds.from_distances([(0, 1)], [2]).digest(),
        PairBounds.from_distances([(0, 2)], [2]).digest(),
        PairBounds.from_distances([(0, 1)], [3]).digest(),
        PairBounds(np.array([(0, 1)]), np.array([2.0]), np.array([3.0])).digest(),
    }
    assert len(digests) == 4
