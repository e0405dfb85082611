"""Refined maps: what they cost, what more effort does, and the table of savings that the descent reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import BranchBound, RefinedMap
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.stopping import Watch
from graphmetric.errors import InvalidArgument
from tests.edit_distance.plain_problems import PAIR, Problem, decode_map, encoded, problems
from tests.naive.edit_distance_by_enumeration import cost_of_map, edit_distance

EFFORTS = range(4)
COSTS = [
    gm.EditCosts(),
    gm.EditCosts(node_substitute=3, node_delete=0.5, node_insert=1, edge_delete=2, edge_insert=0.25, edge_substitute=1),
]


def random_graph(rng: np.random.Generator, directed: bool) -> gm.Graph:
    """A sparse graph of 12 to 20 nodes with labels, and some self-loops if it is directed."""
    n = int(rng.integers(12, 21))
    edges = [(u, v) for u in range(n) for v in range(n) if (u < v or directed) and rng.random() < 2 / n]
    nodes, bonds = rng.integers(0, 3, n).tolist(), rng.integers(0, 2, len(edges)).tolist()
    return gm.Graph(n, edges, node_labels=nodes, edge_labels=bonds, directed=directed)


def neighbours(node_map: list[int | None], n_second: int) -> list[list[int | None]]:
    """All maps in which one node has another image, or none; a node that has this image takes the old one."""
    found = []
    for u, old in enumerate(node_map):
        for new in [None, *range(n_second)]:
            changed = [old if image == new and image is not None else image for image in node_map]
            changed[u] = new
            found.append(changed)
    return found


@given(problems(), st.integers(0, 5))
@settings(deadline=None)
def test_maps_cost_what_is_said_and_bounds_hold(problem: Problem, effort: int) -> None:
    found = RefinedMap(effort).solve(encoded(problem), PAIR)
    node_map = decode_map(found.node_map, len(problem.first.labels))
    assert cost_of_map(problem.first, problem.second, problem.costs, node_map) == found.upper[0]
    distance = edit_distance(problem.first, problem.second, problem.costs)
    assert found.lower[0] <= distance <= found.upper[0]
    assert found.upper[0] <= BranchBound().solve(encoded(problem), PAIR).upper[0]


@given(problems())
@settings(deadline=None)
def test_no_exchange_improves_a_map(problem: Problem) -> None:
    found = RefinedMap(0).solve(encoded(problem), PAIR)
    node_map = decode_map(found.node_map, len(problem.first.labels))
    for changed in neighbours(node_map, len(problem.second.labels)):
        assert cost_of_map(problem.first, problem.second, problem.costs, changed) >= found.upper[0]


@given(problems())
@settings(deadline=None)
def test_small_graphs_get_a_best_map(problem: Problem) -> None:
    distance = edit_distance(problem.first, problem.second, problem.costs)
    assert RefinedMap(5).solve(encoded(problem), PAIR).upper[0] == distance


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("costs", COSTS, ids=["unit", "asymmetric"])
def test_more_effort_is_never_worse_and_a_seed_repeats_its_answer(costs: gm.EditCosts, directed: bool) -> None:
    rng = np.random.default_rng(8)
    graphs = gm.GraphCollection([random_graph(rng, directed) for _ in range(8)])
    problem, pairs = encode(graphs, graphs, costs), rng.integers(0, 8, (20, 2))
    upper = np.array([RefinedMap(effort).solve(problem, pairs).upper for effort in EFFORTS])
    assert (np.diff(upper, axis=0) <= 0).all()
    first, again = (
        RefinedMap(2, random_state=5).solve(problem, pairs),
        RefinedMap(2, random_state=5).solve(problem, pairs),
    )
    np.testing.assert_array_equal(first.upper, again.upper)
    np.testing.assert_array_equal(first.node_map, again.node_map)
    alone = RefinedMap(2, random_state=5).solve(problem, pairs[-1:])
    assert alone.upper[0] == first.upper[-1]
    others = [RefinedMap(0, random_state=seed).solve(problem, pairs).node_map for seed in range(4)]
    assert any((other != others[0]).any() for other in others)


@pytest.mark.parametrize("directed", [False, True])
def test_maps_of_larger_graphs_cost_what_is_said_and_beat_other_methods(directed: bool) -> None:
    rng = np.random.default_rng(3)
    graphs = [random_graph(rng, directed) for _ in range(6)]
    total = {"refine": 0.0, "beam:100": 0.0, "local:100": 0.0}
    for g, h in zip(graphs[::2], graphs[1::2], strict=True):
        for method in total:
            found = gm.graph_edit_distance(g, h, method=method)
            assert found.edit_path is not None
            assert len(found.edit_path.edits) == found.upper >= found.lower
            total[method] += found.upper
    assert total["refine"] == min(total.values())


def test_a_watch_that_says_stop_ends_it_with_valid_bounds() -> None:
    rng = np.random.default_rng(4)
    graphs = gm.GraphCollection([random_graph(rng, False), random_graph(rng, False)])
    problem, watch, pair = encode(graphs, graphs, gm.EditCosts()), Watch(), np.array([[0, 1]])
    watch.stop()
    stopped = RefinedMap(1_000_000).solve_watched(problem, pair, watch)
    assert stopped.lower[0] < stopped.upper[0]
    assert RefinedMap(10).solve(problem, pair).upper[0] <= stopped.upper[0]


def test_empty_graphs_and_graphs_without_edges() -> None:
    graphs = gm.GraphCollection([gm.Graph(0, []), gm.Graph(3, []), gm.Graph(2, [(0, 1)])])
    pairs = np.array([(i, j) for i in range(3) for j in range(3)])
    found = RefinedMap().solve(encode(graphs, graphs, gm.EditCosts()), pairs)
    assert found.upper.tolist() == [0, 3, 3, 3, 0, 2, 3, 2, 0]


def test_effort_must_be_a_whole_number() -> None:
    assert gm.graph_edit_distance(gm.Graph(1, []), gm.Graph(2, []), method="refine:3").upper == 1
    with pytest.raises(InvalidArgument, match="effort must be a whole number, 0 or more; got -1"):
        RefinedMap(-1)
    with pytest.raises(InvalidArgument, match="random_state must be a whole number, 0 or more; got True"):
        RefinedMap(random_state=True)
