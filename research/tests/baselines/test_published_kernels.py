"""Every published approximation is what its definition says, and its map costs its upper bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric_research.baselines._kernels.published import match_bipartite
from graphmetric_research.baselines.published import Hungarian, PublishedBeam, PublishedHausdorff, VolgenantJonker
from tests.edit_distance.plain_problems import PAIR, Problem, adjacency, decode_map, encoded, problems
from tests.naive.edit_distance_approximations import hausdorff, open_list_beam
from tests.naive.edit_distance_by_enumeration import PlainGraph, cost_of_map

MATCHERS = pytest.mark.parametrize("matcher", [Hungarian(), VolgenantJonker()], ids=["hungarian", "vj"])


@MATCHERS
@given(problem=problems())
def test_bipartite_map_costs_its_upper_bound(problem: Problem, matcher: EditDistanceMethod) -> None:
    results = matcher.solve(encoded(problem), PAIR)
    assert results.node_map is not None
    images = decode_map(results.node_map, len(problem.first.labels))
    assert cost_of_map(problem.first, problem.second, problem.costs, images) == results.upper[0]


def local_cost(problem: Problem, u: int | None, v: int | None) -> int:
    """Unit costs: node and difference of degrees, or all of a node."""

    def degree(graph: PlainGraph, node: int) -> int:
        return sum(edge is not None for edge in adjacency(graph)[node])

    if u is None:
        return 0 if v is None else 1 + degree(problem.second, v)
    if v is None:
        return 1 + degree(problem.first, u)
    differs = problem.first.labels[u] != problem.second.labels[v]
    return int(differs) + abs(degree(problem.first, u) - degree(problem.second, v))


@MATCHERS
@given(problem=problems().filter(lambda problem: problem.tables.uniform_edge > 0))
def test_bipartite_map_is_an_optimal_assignment(problem: Problem, matcher: EditDistanceMethod) -> None:
    results = matcher.solve(encoded(problem), PAIR)
    assert results.node_map is not None
    rows, columns = range(len(problem.first.labels)), range(len(problem.second.labels))
    images = decode_map(results.node_map, len(rows))
    value = sum(local_cost(problem, u, images[u]) for u in rows)
    value += sum(local_cost(problem, None, v) for v in columns if v not in images)
    all_rows, all_columns = [*rows, *(None for _ in columns)], [*columns, *(None for _ in rows)]
    matrix = np.array([[local_cost(problem, u, v) for v in all_columns] for u in all_rows]).reshape(
        len(all_rows), len(all_rows)
    )
    assert value == matrix[linear_sum_assignment(matrix)].sum()


@given(problem=problems().filter(lambda problem: problem.tables.uniform_edge > 0))
def test_published_hausdorff_equals_its_definition(problem: Problem) -> None:
    found = PublishedHausdorff().solve(encoded(problem), PAIR).value
    assert found is not None
    first, second = ((graph.labels, adjacency(graph)) for graph in (problem.first, problem.second))
    sizes = len(problem.first.labels), len(problem.second.labels)
    assert Fraction(found[0]) == max(hausdorff(first, second, Fraction(1)), abs(sizes[0] - sizes[1]))


def price_partial(problem: Problem, images: list[int | None], complete: bool) -> int:
    """Cost of a partial map: both graphs cut down to the handled nodes."""
    if complete:
        return cost_of_map(problem.first, problem.second, problem.costs, images)
    kept = [v for v in images if v is not None]
    first = cut_down(problem.first, list(range(len(images))))
    second = cut_down(problem.second, kept)
    return cost_of_map(first, second, problem.costs, [None if v is None else kept.index(v) for v in images])


def cut_down(graph: PlainGraph, nodes: list[int]) -> PlainGraph:
    edges = {}
    for (u, v), label in graph.edges.items():
        if u in nodes and v in nodes:
            a, b = nodes.index(u), nodes.index(v)
            edges[(a, b) if graph.directed else (min(a, b), max(a, b))] = label
    return PlainGraph([graph.labels[u] for u in nodes], edges, graph.directed)


@given(problems(), st.integers(1, 6))
def test_published_beam_equals_its_definition(problem: Problem, width: int) -> None:
    results = PublishedBeam(width).solve(encoded(problem), PAIR)
    assert results.node_map is not None
    n_first, n_second = len(problem.first.labels), len(problem.second.labels)
    cost, images = open_list_beam(n_first, n_second, lambda m, complete: price_partial(problem, m, complete), width)
    assert results.upper[0] == cost
    assert decode_map(results.node_map, n_first) == images
    assert cost_of_map(problem.first, problem.second, problem.costs, images) == cost


@pytest.mark.slow
@given(problem=problems())
def test_the_kernel_is_compiled_once(problem: Problem) -> None:
    """A second signature would double the time a user waits for the first result."""
    Hungarian().solve(encoded(problem), PAIR)
    assert len(match_bipartite.signatures) <= 1
