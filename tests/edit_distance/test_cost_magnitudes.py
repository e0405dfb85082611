"""Costs of any magnitude, forbidden edits included, against an enumeration of all maps in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import EditCosts, Graph, graph_edit_distance
from graphmetric.edit_distance._kernels.packing import LARGEST_TOTAL, tabulate_costs
from graphmetric.edit_distance.method import find_method, method_names
from graphmetric.edit_distance.scaling import TOLERANCE, EncodedProblem
from graphmetric.errors import InvalidArgument
from tests.edit_distance.plain_problems import PAIR, Problem
from tests.edit_distance.plain_problems import problems as plain_problems
from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph, cost_of_map, edit_distance

LETTERS = "abc"
magnitudes = st.one_of(
    st.sampled_from([0, 1, 2, 0.5, 0.1, 1 / 3, 1e-9, 1e-12, 1e7, 1e12, 1e15, math.pi, math.inf]),
    st.floats(1e-9, 1e15),
    st.integers(0, 10**15),
)
numbers = st.one_of(
    st.sampled_from([0.0, 1.0, 1e7, 1e7 + 1, -1e-9, 1e38, math.e]),
    st.floats(-1e15, 1e15).map(lambda x: x if abs(x) > 1e-100 else 0.0),  # squares of smaller ones vanish
)


def prices(draw: Callable[..., Any], pairs: bool) -> Any:
    """One cost, or a table by label."""
    if draw(st.booleans()):
        return draw(magnitudes)
    labels = [(a, b) for a in LETTERS for b in LETTERS if a != b] if pairs else LETTERS
    return {label: draw(magnitudes) for label in labels}


@st.composite
def any_costs(draw: Callable[..., Any]) -> EditCosts:
    names = ("node_delete", "node_insert", "edge_delete", "edge_insert")
    return EditCosts(
        node_substitute=prices(draw, True),
        edge_substitute=prices(draw, True),
        **{name: prices(draw, False) for name in names},
        feature_distance=draw(st.sampled_from(["euclidean", "manhattan"])),
        feature_scale=draw(st.sampled_from([0, 1, 1e-9, 0.3, 1e6])),
        weight_scale=draw(st.sampled_from([0, 1, 1e-9, 0.3, 1e6])),
    )


@st.composite
def any_graphs(draw: Callable[..., Any], directed: bool, features: bool) -> Graph:
    n = draw(st.integers(0, 3))
    slots = [(u, v) for u in range(n) for v in range(n) if directed or u <= v]
    edges = draw(st.lists(st.sampled_from(slots), unique=True, max_size=6)) if slots else []

    def per(count: int, values: Any) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    return Graph(
        n,
        edges,
        directed=directed,
        node_labels=per(n, st.sampled_from(LETTERS)),
        edge_labels=per(len(edges), st.sampled_from(LETTERS)),
        edge_weights=per(len(edges), numbers.filter(lambda weight: weight != 0)) if features else None,
        node_features=np.array(per(2 * n, numbers)).reshape(n, 2) if features else np.zeros((n, 2)),
    )


@st.composite
def cases(draw: Callable[..., Any]) -> tuple[Graph, Graph, EditCosts]:
    kind = any_graphs(draw(st.booleans()), draw(st.booleans()))
    return draw(kind), draw(kind), draw(any_costs())


def price(given: Any, *label: Any) -> Fraction | float:
    if isinstance(given, dict):
        given = given[label if len(label) == 2 else label[0]]
    return math.inf if math.isinf(given) else Fraction(given)


def plain_problem(first: Graph, second: Graph, costs: EditCosts) -> tuple[PlainGraph, PlainGraph, PlainCosts]:
    """The same for the naive twin; every node and every edge is a label of its own."""
    nodes = [
        (label, feature)
        for g in (first, second)
        for label, feature in zip(g.node_labels or (), np.asarray(g.node_features), strict=True)
    ]
    edges = [
        (label, float(weight))
        for g in (first, second)
        for label, weight in zip(g.edge_labels or (), weights(g), strict=True)
    ]

    def substitute(a: Any, b: Any, given: Any, extra: float) -> Fraction | float:
        return (0 if a[0] == b[0] else price(given, a[0], b[0])) + Fraction(extra)

    def between(a: Any, b: Any) -> float:
        gaps = [abs(x - y) for x, y in zip(a[1], b[1], strict=True)]
        return costs.feature_scale * (sum(gaps) if costs.feature_distance == "manhattan" else math.hypot(*gaps))

    def apart(a: Any, b: Any) -> float:
        return (costs.weight_scale or 0.0) * abs(a[1] - b[1])

    table = PlainCosts(
        [[substitute(a, b, costs.node_substitute, between(a, b)) for b in nodes] for a in nodes],
        [price(costs.node_delete, a[0]) for a in nodes],
        [price(costs.node_insert, a[0]) for a in nodes],
        [[substitute(a, b, costs.edge_substitute, apart(a, b)) for b in edges] for a in edges],
        [price(costs.edge_delete, a[0]) for a in edges],
        [price(costs.edge_insert, a[0]) for a in edges],
    )
    plain, node, edge = [], 0, 0
    for g in (first, second):
        numbered = {(u, v): edge + k for k, (u, v) in enumerate(g.edges.tolist())}
        plain.append(PlainGraph(list(range(node, node + g.num_nodes)), numbered, g.directed))
        node, edge = node + g.num_nodes, edge + g.num_edges
    return plain[0], plain[1], table


def weights(graph: Graph) -> Any:
    return [1.0] * graph.num_edges if graph.edge_weights is None else graph.edge_weights


def true_distance(first: Graph, second: Graph, costs: EditCosts) -> Fraction | float:
    return edit_distance(*plain_problem(first, second, costs))


def cost_of(result: gm.EditDistance) -> Fraction | float:
    assert result.node_map is not None
    return cost_of_map(*plain_problem(result.first, result.second, result.costs), list(result.node_map))


def at_most(a: Fraction | float, b: Fraction | float) -> bool:
    """Within the tolerance that bounds are promised to."""
    return a <= b or (not math.isinf(a) and a - b <= 1.001 * TOLERANCE * a)


@pytest.mark.slow
@settings(max_examples=150)
@given(cases())
def test_the_exact_search_is_exact(case: tuple[Graph, Graph, EditCosts]) -> None:
    first, second, costs = case
    true = true_distance(first, second, costs)
    result = graph_edit_distance(first, second, costs=costs)
    assert result.exact
    assert at_most(result.lower, true)
    assert at_most(true, result.upper)
    assert (result.node_map is None) == math.isinf(true)
    if result.node_map is not None:
        assert at_most(cost_of(result), true)
        assert at_most(true, cost_of(result))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in method_names() if name not in ("exact", "published-hed")])
@settings(max_examples=50)
@given(cases())
def test_bounds_hold(name: str, case: tuple[Graph, Graph, EditCosts]) -> None:
    first, second, costs = case
    true = true_distance(first, second, costs)
    result = graph_edit_distance(first, second, method=name, costs=costs)
    assert at_most(result.lower, true)
    assert at_most(true, result.upper)
    if find_method(name).guarantee == "lower bound":
        assert at_most(result.value, true)
    else:
        assert result.value == result.upper
        assert (result.node_map is None) == math.isinf(result.upper)
    if result.node_map is not None:
        assert float(cost_of(result)) == pytest.approx(result.upper, rel=1e-12)


@given(plain_problems())
def test_searches_count_up_to_the_largest_total(problem: Problem) -> None:
    """Costs that are as large as the tables may hold, multiplied by one number: so is every answer."""
    tables = problem.tables
    small = (tables.node_substitute, tables.node_delete, tables.node_insert, tables.edge_cost[0])
    edits = sum(len(graph.labels) + len(graph.edges) for graph in (problem.first, problem.second))
    factor = LARGEST_TOTAL // max(1, edits * max(int(table.max()) for table in small))
    large = tabulate_costs(*(factor * table for table in small), tables.edge_reverse)
    graphs = problem.graphs
    true = edit_distance(problem.first, problem.second, problem.costs)
    for name in method_names():
        found, unscaled = (
            find_method(name)().solve(EncodedProblem(graphs, graphs, costs, 1.0), PAIR) for costs in (large, tables)
        )
        if name == "exact":
            assert found.lower == found.upper == factor * true
        elif name == "published-hed":
            assert found.value == factor * unscaled.value
        assert found.lower is None or found.lower <= factor * true
        assert found.upper is None or found.upper >= factor * true


def test_a_dear_substitution_does_not_make_the_others_free() -> None:
    first, second = gm.load_dataset("molecules").graphs[:2]
    by_cost = [
        graph_edit_distance(first, second, costs=EditCosts(node_substitute=cost))
        for cost in (1e3, 1e9, 1e12, 1e40, math.inf)
    ]
    assert [(result.upper, result.exact) for result in by_cost] == [(24.0, True)] * 5
    assert len({result.node_map for result in by_cost}) == 1


@pytest.mark.parametrize("cost", [1e9, 1e12, 1e15, 1e20, math.inf])
def test_a_dear_deletion_is_avoided_where_that_is_possible(cost: float) -> None:
    molecules = gm.load_dataset("molecules").graphs[:40]
    small = molecules[0]
    large = next(molecule for molecule in molecules if molecule.num_nodes > small.num_nodes)
    there = graph_edit_distance(small, large, costs=EditCosts(node_delete=cost))
    assert there.exact
    assert there.upper < 100
    back = graph_edit_distance(large, small, costs=EditCosts(node_delete=cost))
    assert back.exact
    assert back.upper >= cost


def test_one_outlier_does_not_spoil_a_collection() -> None:
    graphs = [Graph(2, [(0, 1)], node_labels=["a", "b"]), Graph(1, node_labels=["b"]), Graph(1, node_labels=["rare"])]
    prices = {"a": 0.1, "b": 1 / 3, "rare": 1e14}
    costs = EditCosts(
        node_substitute=math.pi, node_delete=prices, node_insert=prices, edge_delete=1e-6, edge_insert=1e-6
    )
    found = gm.pairwise_edit_distances(graphs, costs=costs)
    assert found.exact.all()
    assert found.upper[0, 1] == pytest.approx(0.1 + 1e-6, rel=1e-9)
    assert found.upper[0, 2] == pytest.approx(0.1 + 1e-6 + math.pi, rel=1e-9)


def test_ordinary_features_of_some_millions() -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph(4, [(0, 1), (1, 2)], node_features=1e7 + rng.random((4, 2))) for _ in range(4)]
    costs = EditCosts(feature_distance="euclidean")
    found = gm.pairwise_edit_distances(graphs, costs=costs)
    assert found.exact.all()
    for i, j in ((0, 1), (1, 3)):
        true = min(
            sum(math.dist(graphs[i].node_features[u], graphs[j].node_features[v]) for u, v in enumerate(order))
            for order in ([0, 1, 2, 3], [2, 1, 0, 3])
        )
        assert found.upper[i, j] <= true * (1 + 1e-9)
        assert found.upper[i, j] > 0


def test_no_allowed_edits_is_an_infinite_distance() -> None:
    path, point = Graph(2, [(0, 1)]), Graph(1)
    costs = EditCosts(node_delete=math.inf)
    result = graph_edit_distance(path, point, costs=costs)
    assert (result.lower, result.upper, result.exact) == (math.inf, math.inf, True)
    assert result.node_map is None
    assert result.edit_path is None
    assert "no allowed edits" in repr(result)
    matrix = gm.pairwise_edit_distances([path, point], costs=costs)
    assert matrix.distances.tolist() == [[0, math.inf], [2, 0]]


@pytest.mark.parametrize("numbers", [[1e38, -1e38], [1e300, 1.0]])
def test_huge_weights_are_answered_or_refused(numbers: list[float]) -> None:
    first = Graph(3, [(0, 1), (1, 2)], edge_weights=numbers)
    second = Graph(3, [(0, 1), (1, 2)], edge_weights=[1.0, 1.0])
    assert graph_edit_distance(first, second).upper == (2 if 1.0 not in numbers else 1)
    dear = EditCosts(weight_scale=1.0, edge_delete=math.inf)
    if max(numbers) < 1e100:
        assert graph_edit_distance(first, second, costs=dear).upper == pytest.approx(2e38)
    else:
        with pytest.raises(InvalidArgument, match="rescale"):
            graph_edit_distance(first, second, costs=dear)


def test_a_bound_to_decide_by_is_not_rounded_away() -> None:
    costs = EditCosts(node_insert=0.29)
    search = gm.ExactSearch(upper_bound=0.29, decide=True)
    assert graph_edit_distance(Graph(0), Graph(1), method=search, costs=costs).upper == 0.29
    assert graph_edit_distance(Graph(0), Graph(1), method=gm.ExactSearch(upper_bound=0.28), costs=costs).lower > 0.28
