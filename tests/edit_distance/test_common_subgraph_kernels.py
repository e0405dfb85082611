"""Maximum common subgraphs against enumeration and against public sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.edit_distance._kernels.common_subgraph import (
    CommonLimits,
    CommonResults,
    allocate_common,
    find_common_subgraphs,
)
from tests.edit_distance.plain_problems import LARGEST, PAIR, Problem, adjacency, integers, problems
from tests.naive.edit_distance_approximations import is_connected, largest_common_subgraph, same_induced

NO_LIMIT = 1 << 40


def find(problem: Problem, connected: bool, max_expanded: int) -> CommonResults:
    results = CommonResults(integers(1), integers(1), integers(1, LARGEST))
    limits, work = CommonLimits(int(connected), max_expanded), allocate_common(LARGEST)
    find_common_subgraphs(problem.graphs, problem.graphs, problem.tables.edge_reverse, PAIR, limits, work, results)
    return results


@pytest.mark.parametrize("connected", [False, True])
@given(problem=problems())
def test_size_equals_enumeration(problem: Problem, connected: bool) -> None:
    results = find(problem, connected, NO_LIMIT)
    first, second = ((graph.labels, adjacency(graph)) for graph in (problem.first, problem.second))
    assert results.finished[0] == 1
    assert results.size[0] == largest_common_subgraph(first, second, connected)


@pytest.mark.parametrize("connected", [False, True])
@given(problem=problems(), max_expanded=st.integers(0, 6) | st.just(NO_LIMIT))
def test_map_is_a_common_subgraph_of_that_size(problem: Problem, connected: bool, max_expanded: int) -> None:
    results = find(problem, connected, max_expanded)
    mapped = [(u, int(v)) for u, v in enumerate(results.node_map[0]) if v >= 0]
    first, second = ((graph.labels, adjacency(graph)) for graph in (problem.first, problem.second))
    assert len(mapped) == results.size[0]
    if mapped:
        nodes, images = zip(*mapped, strict=True)
        assert same_induced(first, second, nodes, images)
        assert not connected or is_connected(first[1], nodes)
