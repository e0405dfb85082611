"""Compact distances expand, list and restrict to the same thing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.datasets.dataset import Dataset, listed_distances, tabled_distances
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.pair_bounds import PairBounds

Known = tuple[int, PairBounds]
"""A number of graphs, and what is known of them."""


@st.composite
def tables(draw: st.DrawFn) -> Known:
    rows = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lower = np.triu(rng.integers(0, 9, (rows, rows)), k=1)
    upper = lower + np.triu(rng.integers(0, 2, (rows, rows)), k=1)
    row = draw(st.lists(st.integers(0, rows - 1), max_size=8))
    return len(row), tabled_distances(lower + lower.T, upper + upper.T, row)


@st.composite
def lists(draw: st.DrawFn) -> Known:
    size = draw(st.integers(2, 8))
    pair = st.frozensets(st.integers(0, size - 1), min_size=2, max_size=2)
    pairs = draw(st.dictionaries(pair, st.integers(0, 9), max_size=12))
    ends = [draw(st.permutations(sorted(pair))) for pair in pairs]
    return size, listed_distances(size, [i for i, _ in ends], [j for _, j in ends], list(pairs.values()))


def known_pairs(known: Known) -> list[list[float]]:
    """The columns of ``Dataset.known_pairs`` where this is known."""
    size, bounds = known
    parts = np.split(np.arange(size), [size, size])
    data = Dataset("any", GraphCollection([Graph(1)] * size), *parts, bounds, "exact", "-", "-")
    return [column.tolist() for column in data.known_pairs]


@given(st.one_of(tables(), lists()))
def test_pairs_are_the_known_entries_above_the_diagonal(known: Known) -> None:
    size, bounds = known
    lower, upper = bounds.to_matrices(size)
    expected = [(i, j, lower[i, j]) for i in range(size) for j in range(i + 1, size) if lower[i, j] == upper[i, j]]
    assert sorted(zip(*known_pairs(known), strict=True)) == expected


@given(st.one_of(tables(), lists()))
def test_bounds_are_symmetric_with_zero_diagonal(known: Known) -> None:
    size, bounds = known
    for matrix in bounds.to_matrices(size):
        assert matrix.shape == (size, size)
        assert np.array_equal(matrix, matrix.T, equal_nan=True)
        assert not np.diagonal(matrix).any()


@given(st.one_of(tables(), lists()), st.data())
def test_restricting_commutes_with_expanding(known: Known, data: st.DataObject) -> None:
    size, bounds = known
    order = data.draw(st.permutations(range(size)))
    index = np.array(order[: data.draw(st.integers(0, len(order)))], dtype=np.int64)
    restricted = bounds.subset(index).to_matrices(len(index))
    for matrix, whole in zip(restricted, bounds.to_matrices(size), strict=True):
        assert np.array_equal(matrix, whole[np.ix_(index, index)], equal_nan=True)


def test_a_list_in_any_order_and_direction() -> None:
    known = listed_distances(4, [3, 0, 2, 1], [1, 2, 2, 3], [5, 1, 0, 5])
    assert known_pairs((4, known)) == [[0, 1], [2, 3], [1.0, 5.0]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [4], [1]), "names graph 4; there are 4 graphs"),
        (([0], [-1], [1]), "there are 4 graphs"),
        (([0, 1], [1, 0], [1, 2]), "twice with different distances"),
        (([0], [1], [-1]), "negative"),
        (([0], [1], [float("nan")]), "NaN"),
        (([0], [1, 2], [1]), "same length"),
    ],
)
def test_lists_that_contradict_themselves(columns: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        listed_distances(4, *columns)


@pytest.mark.parametrize(
    ("lower", "upper", "row", "message"),
    [
        ([[0, 1, 2], [1, 0, 3]], None, None, "square"),
        ([[0, 1], [2, 0]], None, None, "symmetric"),
        ([[1, 1], [1, 0]], None, None, "zeros on the diagonal"),
        ([[0, -1], [-1, 0]], None, None, "negative"),
        ([[0, 2], [2, 0]], [[0, 1], [1, 0]], None, "no lower bound above"),
        ([[0, 2], [2, 0]], None, [0, 2], "between 0 and 1"),
    ],
)
def test_tables_that_contradict_themselves(lower: object, upper: object, row: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        tabled_distances(lower, upper, row)  # type: ignore[arg-type]
