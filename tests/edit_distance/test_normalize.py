"""The scales of [0, 1]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric import Graph, GraphCollection, normalized_distance, raw_distance, steinhaus_distance
from graphmetric.errors import InvalidArgument

sizes = st.integers(1, 50)
distances = st.floats(0, 100)


@given(distances, sizes, sizes)
def test_is_the_formula_of_the_paper(distance: float, n1: int, n2: int) -> None:
    assert normalized_distance(distance, n1, n2) == pytest.approx(1 - math.exp(-distance / ((n1 + n2) / 2)))


@given(st.floats(0, 60), sizes, sizes)
def test_raw_distance_is_the_inverse(distance: float, n1: int, n2: int) -> None:
    scaled = normalized_distance(distance, n1, n2)
    if scaled < 1 - 1e-9:  # beyond, a float no longer tells large distances apart
        assert raw_distance(scaled, n1, n2) == pytest.approx(distance, rel=1e-5, abs=1e-9)


@given(st.lists(st.tuples(distances, sizes, sizes), min_size=1, max_size=5))
def test_matrices_are_their_entries(rows: list) -> None:
    values, left, right = (np.array(column) for column in zip(*rows, strict=True))
    matrix = np.outer(values, np.ones(len(right)))
    together = normalized_distance(matrix, left, right)
    steinhaus = steinhaus_distance(matrix, left, right)
    for i in range(len(left)):
        for j in range(len(right)):
            assert together[i, j] == normalized_distance(matrix[i, j], left[i], right[j])
            assert steinhaus[i, j] == steinhaus_distance(matrix[i, j], left[i], right[j])


@given(st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=2), min_size=3, max_size=6))
def test_the_steinhaus_form_of_a_metric_is_a_metric(points: list) -> None:
    places = np.array([[0.0, 0.0], *points])  # the first stands for the empty graph
    metric = np.abs(places[:, None] - places[None, :]).sum(axis=-1)
    scaled = steinhaus_distance(metric[1:, 1:], metric[0, 1:])
    assert (scaled >= 0).all()
    assert (scaled <= 1 + 1e-12).all()
    assert (scaled[:, :, None] <= scaled[:, None, :] + scaled.T[None, :, :] + 1e-9).all()


def test_graphs_know_their_sizes() -> None:
    g, h = Graph(3, [(0, 1)]), Graph(5)
    both = GraphCollection([g, h])
    assert normalized_distance(2, g, h) == normalized_distance(2, 3, 5)
    assert steinhaus_distance(2, g, h) == steinhaus_distance(2, 4, 5)
    matrix = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert normalized_distance(matrix, both)[0, 1] == normalized_distance(2, g, h)
    assert steinhaus_distance(matrix, both)[0, 1] == steinhaus_distance(2, g, h)


def test_the_empty_graph_is_at_distance_zero_from_itself() -> None:
    assert normalized_distance(0, 0, 0) == 0
    assert steinhaus_distance(0, Graph(0), Graph(0)) == 0
    assert steinhaus_distance(4, Graph(0), Graph(3, [(0, 1)])) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: normalized_distance(-1, 2, 3), "not negative"),
        (lambda: normalized_distance(1, 2), "sizes of both"),
        (lambda: normalized_distance([[0.0, 1.0]], [1], [1]), "as many sizes"),
        (lambda: raw_distance(1.0, 2, 3), r"lie in \[0, 1\)"),
    ],
)
def test_wrong_use_is_explained(call, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_an_infinite_distance_has_a_paper_form_only() -> None:
    assert normalized_distance(np.inf, 3, 4) == 1
    with pytest.raises(InvalidArgument, match="infinite"):
        steinhaus_distance(np.inf, 3, 4)


def test_graphs_in_any_form_know_their_sizes() -> None:
    g, h = Graph(3, [(0, 1)]), Graph(5)
    first, second = g.to_networkx(), h.to_networkx()
    assert normalized_distance(2, first, second) == normalized_distance(2, g, h)
    assert steinhaus_distance(2, first, h) == steinhaus_distance(2, g, h)
    matrix = np.array([[0.0, 2.0], [2.0, 0.0]])
    for both in ([g, h], (g, h), [first, second], GraphCollection([g, h])):
        assert np.array_equal(normalized_distance(matrix, both), normalized_distance(matrix, [3, 5]))
        assert np.array_equal(raw_distance(normalized_distance(matrix, both), both).round(9), matrix)
        assert np.array_equal(steinhaus_distance(matrix, both), steinhaus_distance(matrix, [4, 5]))
    assert normalized_distance([2.0, 2.0], [g, h], [h, h])[0] == normalized_distance(2, g, h)
    assert str(normalized_distance(-0.0, 3, 5)) == str(steinhaus_distance(-0.0, 3, 5)) == "0.0"
    assert normalized_distance(2, Graph(0), Graph(0)) == 1


@pytest.mark.parametrize("scale", [normalized_distance, raw_distance, steinhaus_distance])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("far", 3, 5), "distances must be numbers; got str"),
        (([Graph(1)], 3, 5), "distances must be numbers; got list"),
        ((0.5, object(), 5), "neither a graph nor a list of graphs"),
        ((0.5, 3, [Graph(1), 7]), r"graphs\[1\]: int 7 is not a graph"),
        ((0.5, None, 5), "give these, or their sizes"),
        ((0.5, [3, 4], [5, 6]), "need as many sizes; got 2 and 2"),
        ((0.5, -3, 5), "not negative"),
        ((0.5, float("nan"), 5), "not negative"),
        (([[0.5]], [[3.0]]), "one for each graph"),
    ],
)
def test_wrong_types_are_refused(scale: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        scale(*arguments)
