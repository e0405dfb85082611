"""Every approximation bounds the distance on the side it claims, and its map costs what it says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from graphmetric.baselines._kernels.published import match_bipartite
from graphmetric.baselines.published import Hungarian, PublishedBeam, PublishedHausdorff, VolgenantJonker
from graphmetric.edit_distance._kernels.beam import allocate_beam, search_beam
from graphmetric.edit_distance._kernels.lower_bounds import (
    count_codes,
    find_cheapest,
    lay_out_histograms,
    match_hausdorff,
    scan_tiles,
    sum_hausdorff,
)
from graphmetric.edit_distance._kernels.node_maps import allocate_random, bound_branches, refine_maps
from graphmetric.edit_distance._kernels.workspace import Results
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.methods import Hausdorff
from tests.edit_distance.plain_problems import (
    LARGEST,
    N_NODE_LABELS,
    PAIR,
    Problem,
    adjacency,
    bound_results,
    decode_map,
    encoded,
    integers,
    make_workspace,
    problems,
)
from tests.naive.edit_distance_approximations import hausdorff, open_list_beam
from tests.naive.edit_distance_by_enumeration import PlainGraph, cost_of_map, edit_distance

MATCHERS = pytest.mark.parametrize("matcher", [Hungarian(), VolgenantJonker()], ids=["hungarian", "vj"])


def check_bounds(problem: Problem, results: Results) -> None:
    exact = edit_distance(problem.first, problem.second, problem.costs)
    node_map = decode_map(results.node_map, len(problem.first.labels))
    assert results.lower[0] <= exact <= results.upper[0]
    assert cost_of_map(problem.first, problem.second, problem.costs, node_map) == results.upper[0]


@pytest.mark.slow
@given(problems())
def test_branch_bounds_hold(problem: Problem) -> None:
    results = bound_results()
    bound_branches(encoded(problem).packed, PAIR, make_workspace(problem.tables), results)
    check_bounds(problem, results)


@pytest.mark.slow
@given(problems(), st.integers(1, 5))
def test_beam_bounds_hold(problem: Problem, width: int) -> None:
    results, beam = bound_results(), allocate_beam(5, LARGEST, 2 * LARGEST)
    work = make_workspace(problem.tables)
    search_beam(encoded(problem).packed, PAIR, width, work, beam, results)
    check_bounds(problem, results)


@given(problems())
def test_a_wide_beam_is_exact_with_one_cost_for_all_edges(problem: Problem) -> None:
    results, beam = bound_results(), allocate_beam(1000, LARGEST, 2 * LARGEST)
    work = make_workspace(problem.tables)
    search_beam(encoded(problem).packed, PAIR, 1000, work, beam, results)
    if problem.tables.uniform_edge > 0:
        assert results.upper[0] == edit_distance(problem.first, problem.second, problem.costs)


@pytest.mark.slow
@given(problems(), st.integers(0, 9), st.integers(0, 3))
def test_refined_bounds_hold(problem: Problem, effort: int, seed: int) -> None:
    results, work = bound_results(), make_workspace(problem.tables)
    random = allocate_random(seed)
    refine_maps(encoded(problem).packed, PAIR, effort, random, work, results)
    check_bounds(problem, results)


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


@given(problems())
def test_hausdorff_is_below_the_distance(problem: Problem) -> None:
    quadrupled = sum_hausdorff(encoded(problem).packed, PAIR)
    assert quadrupled[0] <= 4 * edit_distance(problem.first, problem.second, problem.costs)


@pytest.mark.parametrize("admissible", [True, False])
@given(problem=problems().filter(lambda problem: problem.tables.uniform_edge > 0))
def test_hausdorff_equals_its_definition(problem: Problem, admissible: bool) -> None:
    found = (Hausdorff() if admissible else PublishedHausdorff()).solve(encoded(problem), PAIR).value
    assert found is not None
    first, second = ((graph.labels, adjacency(graph)) for graph in (problem.first, problem.second))
    expected = hausdorff(first, second, Fraction(1, 2) if admissible else Fraction(1))
    if not admissible:
        expected = max(expected, abs(len(problem.first.labels) - len(problem.second.labels)))
    assert Fraction(found[0]) == expected


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


@given(problems(), st.integers(1, 3), st.integers(1, LARGEST))
def test_histogram_bounds_are_below_the_distance(problem: Problem, buckets: int, degrees: int) -> None:
    layout = lay_out_histograms(N_NODE_LABELS, len(problem.tables.edge_reverse), degrees, buckets)
    tiles = count_codes(problem.graphs, problem.tables.edge_reverse, layout)
    vectors, doubled = np.ascontiguousarray(tiles[0].T), integers(2)
    scan_tiles(vectors[0], tiles, layout, find_cheapest(problem.tables), integers(3, 2), doubled)
    assert doubled[0] == 0
    assert doubled[1] <= 2 * edit_distance(problem.first, problem.second, problem.costs)


@given(problems().filter(lambda problem: problem.tables.uniform_edge > 0))
def test_histogram_bounds_of_unit_costs_are_half_an_l1_distance(problem: Problem) -> None:
    layout = lay_out_histograms(N_NODE_LABELS, 2, LARGEST)
    tiles = count_codes(problem.graphs, problem.tables.edge_reverse, layout)
    vectors, doubled = np.ascontiguousarray(tiles[0].T), integers(2)
    scan_tiles(vectors[0], tiles, layout, find_cheapest(problem.tables), integers(3, 2), doubled)
    difference = np.abs(vectors[0] - vectors[1])
    nodes = difference[0] + difference[layout.node_start : layout.edge_start].sum()
    assert doubled[1] == nodes + max(2 * difference[1], difference[layout.degree_start :].sum())


ENTRIES = [bound_branches, match_hausdorff, match_bipartite, refine_maps, search_beam]


@pytest.mark.slow
@given(problems())
def test_kernels_are_compiled_once(problem: Problem) -> None:
    """A second signature would double the time a user waits for the first result."""
    test_beam_bounds_hold.hypothesis.inner_test(problem, 2)
    test_refined_bounds_hold.hypothesis.inner_test(problem, 2, 0)
    assert all(len(kernel.signatures) <= 1 for kernel in ENTRIES)
