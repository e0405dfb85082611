"""Every approximation bounds the distance on the side it claims, and its map costs what it says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from tests.naive.edit_distance_approximations import hausdorff
from tests.naive.edit_distance_by_enumeration import cost_of_map, edit_distance


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


@given(problems())
def test_hausdorff_is_below_the_distance(problem: Problem) -> None:
    quadrupled = sum_hausdorff(encoded(problem).packed, PAIR)
    assert quadrupled[0] <= 4 * edit_distance(problem.first, problem.second, problem.costs)


@given(problem=problems().filter(lambda problem: problem.tables.uniform_edge > 0))
def test_hausdorff_equals_its_definition(problem: Problem) -> None:
    found = Hausdorff().solve(encoded(problem), PAIR).value
    assert found is not None
    first, second = ((graph.labels, adjacency(graph)) for graph in (problem.first, problem.second))
    assert Fraction(found[0]) == hausdorff(first, second, Fraction(1, 2))


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


ENTRIES = [bound_branches, match_hausdorff, refine_maps, search_beam]


@pytest.mark.slow
@given(problems())
def test_kernels_are_compiled_once(problem: Problem) -> None:
    """A second signature would double the time a user waits for the first result."""
    test_beam_bounds_hold.hypothesis.inner_test(problem, 2)
    test_refined_bounds_hold.hypothesis.inner_test(problem, 2, 0)
    assert all(len(kernel.signatures) <= 1 for kernel in ENTRIES)
