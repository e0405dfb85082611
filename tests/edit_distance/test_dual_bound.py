"""The dual bound against its linear programme and against enumeration, and the exact search that rests on it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import ExactSearch
from graphmetric.edit_distance._kernels.dual_search import search_dual
from graphmetric.edit_distance._kernels.exact_search import SearchLimits
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results
from graphmetric.edit_distance.dual import DualBound, dual_work, search_with_dual_bound
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import Pairs, Solutions, room_for
from graphmetric.edit_distance.methods import BranchBound
from graphmetric.edit_distance.stopping import Watch
from graphmetric.errors import InvalidArgument
from tests.edit_distance.plain_problems import PAIR, Problem, decode_map, problems
from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph, cost_of_map, edit_distance
from tests.naive.relaxed_edit_distance_by_linear_programme import relaxed_edit_distance

MANY_STEPS = 2000


def encoded(problem: Problem) -> EncodedProblem:
    return EncodedProblem(problem.graphs, problem.graphs, problem.tables, 1.0, False)


def cost_of(problem: Problem, node_map: np.ndarray) -> int:
    return cost_of_map(problem.first, problem.second, problem.costs, decode_map(node_map, len(problem.first.labels)))


def search(problem: EncodedProblem, pairs: Pairs) -> Solutions:
    """Search with the dual bound, however small the graphs are."""
    return search_with_dual_bound(problem, pairs, SearchLimits(np.full(len(pairs), NO_LIMIT), 0, NO_LIMIT, 0), Watch())


def search_within(problem: EncodedProblem, limit: int, decide: bool, slices: list[int]) -> Results:
    """Search the one pair in slices of so many expansions, the last without a limit."""
    results, work = room_for(problem, PAIR), dual_work(problem, PAIR)
    for resume, allowed in enumerate([*np.cumsum(slices), NO_LIMIT]):
        limits = SearchLimits(np.array([limit]), int(decide), int(allowed), min(resume, 1))
        search_dual(problem.packed, PAIR, limits, 0, work, results, np.zeros(1))
        assert results.lower[0] <= results.upper[0] or results.lower[0] > limit
    return results


@pytest.mark.slow
@given(problems(), st.integers(0, 80))
@settings(deadline=None)
def test_bounds_hold_after_any_number_of_steps(problem: Problem, steps: int) -> None:
    found, relaxed = DualBound(steps).bound(encoded(problem), PAIR)
    branch = BranchBound().solve(encoded(problem), PAIR)
    distance = edit_distance(problem.first, problem.second, problem.costs)
    assert branch.lower[0] <= found.lower[0] <= distance <= found.upper[0]
    assert relaxed[0] <= relaxed_edit_distance(problem.first, problem.second, problem.costs) + 1e-6
    assert cost_of(problem, found.node_map) == found.upper[0]


@given(problems())
@settings(deadline=None)
def test_many_steps_reach_the_linear_programme(problem: Problem) -> None:
    found, relaxed = DualBound(MANY_STEPS).bound(encoded(problem), PAIR)
    limit = relaxed_edit_distance(problem.first, problem.second, problem.costs)
    met = found.lower[0] == found.upper[0]  # then nothing is left to gain
    assert met or relaxed[0] == pytest.approx(limit, rel=0.02, abs=0.02)


@given(problems())
@settings(deadline=None)
def test_the_search_finds_the_distance_and_a_map_of_that_cost(problem: Problem) -> None:
    found = search(encoded(problem), PAIR)
    assert found.lower is not None
    assert found.upper is not None
    assert found.node_map is not None
    assert found.lower[0] == found.upper[0] == edit_distance(problem.first, problem.second, problem.costs)
    assert cost_of(problem, found.node_map) == found.upper[0]


@given(problems(), st.integers(-1, 12), st.booleans(), st.lists(st.integers(1, 3), max_size=4))
@settings(deadline=None)
def test_a_limit_is_decided_and_slices_change_nothing(
    problem: Problem, limit: int, decide: bool, slices: list[int]
) -> None:
    distance = edit_distance(problem.first, problem.second, problem.costs)
    found = search_within(encoded(problem), limit, decide, slices)
    assert found.finished[0] == 1
    assert found.lower[0] <= distance <= found.upper[0]
    if distance > limit:
        assert found.lower[0] > limit
    elif decide:
        assert found.upper[0] <= limit
    else:
        assert found.lower[0] == found.upper[0] == distance


def random_graph(rng: np.random.Generator, directed: bool, largest: int) -> gm.Graph:
    n = int(rng.integers(3, largest + 1))
    slots = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    edges = [slot for slot in slots if rng.random() < (0.25 if directed else 0.4)]
    return gm.Graph(
        n,
        edges,
        node_labels=rng.integers(0, 3, n).tolist(),
        edge_labels=rng.integers(0, 2, len(edges)).tolist(),
        directed=directed,
    )


COSTS = [
    gm.EditCosts(),
    gm.EditCosts(node_substitute=3, node_delete=0.5, node_insert=1, edge_delete=2, edge_insert=0.25, edge_substitute=1),
    gm.EditCosts(ignore={"edge_labels"}, node_substitute=0.3),
]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("costs", COSTS, ids=["unit", "asymmetric", "cheap relabelling"])
def test_the_search_agrees_with_the_other_search_on_graphs_that_need_a_tree(
    costs: gm.EditCosts, directed: bool
) -> None:
    rng = np.random.default_rng(5)
    graphs = gm.GraphCollection([random_graph(rng, directed, 8) for _ in range(24)])
    problem = encode(graphs, graphs, costs)
    pairs = rng.integers(0, len(graphs), (60, 2))
    found, expected = search(problem, pairs), ExactSearch().solve(problem, pairs)
    assert found.upper is not None
    assert expected.upper is not None
    assert found.lower is not None
    np.testing.assert_array_equal(found.upper, expected.upper)
    np.testing.assert_array_equal(found.lower, expected.upper)
    assert found.expanded.max() > 3


def test_bounds_hardly_depend_on_the_order_of_nodes() -> None:
    rng = np.random.default_rng(2)
    first, second = random_graph(rng, False, 9), random_graph(rng, False, 9)
    shuffled = first.relabeled(rng.permutation(first.num_nodes))
    graphs = gm.GraphCollection([first, second, shuffled])
    problem = encode(graphs, graphs, gm.EditCosts())
    _, relaxed = DualBound(500).bound(problem, np.array([[0, 1], [2, 1], [1, 0]]))
    np.testing.assert_allclose(relaxed, relaxed[0], atol=0.05)


def test_high_degrees_and_empty_graphs() -> None:
    star = gm.Graph(9, [(0, v) for v in range(1, 9)])
    complete = gm.Graph(7, [(u, v) for u in range(7) for v in range(u)])
    graphs = gm.GraphCollection([star, complete, gm.Graph(0, []), gm.Graph(3, [])])
    problem = encode(graphs, graphs, gm.EditCosts())
    pairs = np.array([(i, j) for i in range(4) for j in range(4)])
    found, expected = search(problem, pairs), ExactSearch().solve(problem, pairs)
    assert expected.upper is not None
    np.testing.assert_array_equal(found.upper, expected.upper)
    np.testing.assert_array_equal(found.lower, expected.upper)


def star(leaves: int, chords: int, labels: int) -> gm.Graph:
    """A centre with some leaves, the first of which are joined in a row."""
    edges = [(0, v) for v in range(1, leaves + 1)] + [(v, v + 1) for v in range(1, chords + 1)]
    return gm.Graph(leaves + 1, edges, node_labels=[v % labels for v in range(leaves + 1)])


@pytest.mark.parametrize("pair", [(star(20, 3, 2), star(17, 5, 3)), (star(30, 0, 3), star(14, 13, 1))])
def test_blocks_of_more_than_a_dozen_edges_are_bounded(pair: tuple[gm.Graph, gm.Graph]) -> None:
    graphs = gm.GraphCollection(pair)
    problem, both = encode(graphs, graphs, gm.EditCosts()), np.array([(0, 1), (1, 0)])
    bound, branch = DualBound(400).solve(problem, both), BranchBound().solve(problem, both)
    found = search(problem, both)
    np.testing.assert_array_equal(found.lower, found.upper)
    assert (branch.lower <= bound.lower).all()
    assert (bound.lower <= found.upper).all()
    assert found.upper[0] == found.upper[1]


def test_large_blocks_are_bounded_from_above() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        first, second = star(int(rng.integers(13, 16)), 2, 2), star(int(rng.integers(13, 16)), 4, 3)
        graphs = gm.GraphCollection([first, second])
        problem = encode(graphs, graphs, gm.EditCosts())
        _, relaxed = DualBound(int(rng.integers(0, 200))).bound(problem, np.array([[0, 1]]))
        assert relaxed[0] <= relaxed_edit_distance(*plain_pair(first, second)) + 1e-6


def plain_pair(first: gm.Graph, second: gm.Graph) -> tuple[PlainGraph, PlainGraph, PlainCosts]:
    """Two graphs with numbers as labels and plain edges, at unit costs."""

    def plain(graph: gm.Graph) -> PlainGraph:
        assert graph.node_labels is not None
        return PlainGraph(
            [int(x) for x in graph.node_labels], dict.fromkeys(map(tuple, graph.edges.tolist()), 0), False
        )

    return (
        plain(first),
        plain(second),
        PlainCosts((1 - np.eye(3, dtype=int)).tolist(), [1] * 3, [1] * 3, [[0]], [1], [1]),
    )


def test_a_negative_number_of_steps_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="steps must be a whole number, 0 or more; got -1"):
        DualBound(-1)
