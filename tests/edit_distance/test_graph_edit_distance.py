"""The edit distance of two graphs, through the public door."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import Graph, graph_edit_distance
from graphmetric.edit_distance import EditCosts, ExactSearch
from graphmetric.edit_distance import methods as exact_module
from graphmetric.errors import InvalidArgument
from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph, edit_distance
from tests.strategies import graphs, without_empty_columns

LABELS = ("a", "b", "c")
small_labels = st.sampled_from(LABELS)
prices = st.integers(0, 8).map(lambda eighths: eighths / 8)


def small_graphs(max_nodes: int = 4, **options) -> st.SearchStrategy[Graph]:
    """Graphs with three labels and nothing that enumeration does not know."""
    off = {"edge_weights": False, "node_features": False, "node_texts": None, "node_images": False}
    choices = {"node_labels": small_labels, "edge_labels": small_labels, "ids": None, "metadata": None}
    return graphs(max_nodes=max_nodes, **(off | choices | options))


def plain(graph: Graph) -> PlainGraph:
    """Label 0 stands for none."""
    code = {None: 0, "a": 1, "b": 2, "c": 3}
    labels = [code[label] for label in graph.node_labels or [None] * graph.num_nodes]
    tags = [code[label] for label in graph.edge_labels or [None] * graph.num_edges]
    edges = {(u, v): tag for (u, v), tag in zip(graph.edges.tolist(), tags, strict=True)}
    return PlainGraph(labels, edges, graph.directed)


def plain_costs(costs: EditCosts) -> PlainCosts:
    """A price list of constants, as tables over the four labels."""
    kinds = range(len(LABELS) + 1)

    def table(price: float) -> list:
        return [[0 if a == b else price for b in kinds] for a in kinds]

    return PlainCosts(
        table(costs.node_substitute),
        [costs.node_delete] * len(kinds),
        [costs.node_insert] * len(kinds),
        table(costs.edge_substitute),
        [costs.edge_delete] * len(kinds),
        [costs.edge_insert] * len(kinds),
    )


@st.composite
def pairs(draw, **options) -> tuple[Graph, Graph]:
    """Two graphs, both directed or both not."""
    first = draw(small_graphs(**options))
    return first, draw(small_graphs(**options).filter(lambda second: second.directed == first.directed))


@st.composite
def constant_costs(draw) -> EditCosts:
    names = ("node_substitute", "node_delete", "node_insert", "edge_substitute", "edge_delete", "edge_insert")
    return EditCosts(**{name: draw(prices) for name in names})


@given(pairs())
def test_unit_costs_agree_with_enumeration(pair: tuple[Graph, Graph]) -> None:
    first, second = pair
    result = graph_edit_distance(first, second)
    assert result.exact
    assert result.upper == edit_distance(plain(first), plain(second), plain_costs(EditCosts()))
    assert len(result.edit_path) == result.upper
    assert graph_edit_distance(second, first).upper == result.upper
    assert (result.upper == 0) == without_empty_columns(first).is_isomorphic(without_empty_columns(second))


@given(pairs(), constant_costs())
def test_any_constant_costs_agree_with_enumeration(pair: tuple[Graph, Graph], costs: EditCosts) -> None:
    result = graph_edit_distance(*pair, costs=costs)
    assert result.exact
    assert result.upper == pytest.approx(edit_distance(*map(plain, pair), plain_costs(costs)), abs=1e-9)


@given(pairs(), st.lists(prices, min_size=3, max_size=3), st.lists(prices, min_size=3, max_size=3))
def test_tables_by_label_agree_with_enumeration(pair: tuple[Graph, Graph], between: list, ends: list) -> None:
    first, second = (g.replace(node_labels=g.node_labels or "a" * g.num_nodes, edge_labels=None) for g in pair)
    names = (("a", "b"), ("a", "c"), ("b", "c"))
    costs = EditCosts(
        node_substitute=dict(zip(names, between, strict=True)),
        node_delete=dict(zip(LABELS, ends, strict=True)),
        node_insert=dict(zip(LABELS, ends, strict=True)),
    )
    by_code = plain_costs(EditCosts())
    table = [[0.0] * 4 for _ in range(4)]
    for (a, b), price in zip(names, between, strict=True):
        i, j = 1 + LABELS.index(a), 1 + LABELS.index(b)
        table[i][j] = table[j][i] = price
    twin = PlainCosts(table, [0, *ends], [0, *ends], by_code.edge_substitute, by_code.edge_delete, by_code.edge_insert)
    expected = edit_distance(plain(first), plain(second), twin)
    assert graph_edit_distance(first, second, costs=costs).upper == pytest.approx(expected, abs=1e-9)


def as_written(graph: Graph) -> Graph:
    """No columns that say the same as none: labels all None, weights all 1."""
    plain_graph = without_empty_columns(graph)
    weights = plain_graph.edge_weights
    return plain_graph.replace(edge_weights=None) if weights is not None and (weights == 1).all() else plain_graph


@given(graphs(max_nodes=4, ids=None, metadata=None), graphs(max_nodes=4, ids=None, metadata=None))
def test_every_attribute_counts_and_the_path_leads_there(first: Graph, second: Graph) -> None:
    second = second.replace(directed=first.directed) if first.directed else second.replace(**undirected(second))
    columns = ("node_features", "node_texts", "node_images")
    absent = {name: None for name in columns if getattr(first, name) is None or getattr(second, name) is None}
    first, second = as_written(first.replace(**absent)), as_written(second.replace(**absent))
    result = graph_edit_distance(first, second)
    reached = as_written(result.edit_path.apply(first))
    assert reached.is_isomorphic(second)
    assert len(result.edit_path) == result.upper
    assert (result.upper == 0) == first.is_isomorphic(second)


def undirected(graph: Graph) -> dict:
    """Changes that make a directed graph undirected: opposite arcs become one edge without attributes."""
    if not graph.directed:
        return {}
    edges = sorted({(min(u, v), max(u, v)) for u, v in graph.edges.tolist()})
    return {"directed": False, "edges": edges, "edge_labels": None, "edge_weights": None}


@given(pairs(), st.integers(0, 12))
@settings(max_examples=60)
def test_thresholds_are_decided_rightly(pair: tuple[Graph, Graph], bound: int) -> None:
    true = graph_edit_distance(*pair).upper
    limited = graph_edit_distance(*pair, method=ExactSearch(upper_bound=bound))
    decided = graph_edit_distance(*pair, method=ExactSearch(upper_bound=bound, decide=True))
    assert limited.lower <= true <= limited.upper
    assert decided.lower <= true <= decided.upper
    if true <= bound:
        assert limited.exact
        assert decided.upper <= bound
    else:
        assert limited.lower > bound
        assert decided.lower > bound


@given(pairs(max_nodes=6), st.integers(1, 20))
@settings(max_examples=60)
def test_a_stopped_search_has_valid_bounds(pair: tuple[Graph, Graph], node_limit: int) -> None:
    true = graph_edit_distance(*pair).upper
    stopped = graph_edit_distance(*pair, method=ExactSearch(node_limit=node_limit))
    assert stopped.lower <= true <= stopped.upper
    assert len(stopped.edit_path) == stopped.upper


@pytest.fixture(params=["dual bound", "both bounds in turn", "little memory"])
def treated_as_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat small graphs, whose distances are easy to check, as large ones are treated."""
    monkeypatch.setattr(exact_module, "LARGEST_EASY", 0)
    monkeypatch.setattr(exact_module, "first_try", lambda problem, pair: 2)
    if request.param == "both bounds in turn":
        monkeypatch.setattr(exact_module, "_is_dense", lambda problem, pair: True)
        monkeypatch.setattr(exact_module, "_FIRST_CHUNKS", 1)
        monkeypatch.setattr(exact_module, "_LONGER", 2)
    if request.param == "little memory":
        monkeypatch.setattr(exact_module, "_BEAM_WIDTH", 1)
        monkeypatch.setattr(exact_module, "dual_memory", lambda problem, pairs: np.full(len(pairs), 1e15))


@given(pairs(max_nodes=5), constant_costs(), st.integers(0, 8), st.integers(1, 30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_known_map_changes_nothing_but_the_work(
    treated_as_large: None, pair: tuple[Graph, Graph], costs: EditCosts, bound: int, node_limit: int
) -> None:
    true = pytest.approx(edit_distance(*map(plain, pair), plain_costs(costs)), abs=1e-9)
    full = graph_edit_distance(*pair, costs=costs)
    assert full.exact
    assert full.upper == true
    assert full.edit_path.apply(pair[0]).num_nodes == pair[1].num_nodes
    limited = graph_edit_distance(*pair, costs=costs, method=ExactSearch(upper_bound=bound))
    decided = graph_edit_distance(*pair, costs=costs, method=ExactSearch(upper_bound=bound, decide=True))
    stopped = graph_edit_distance(*pair, costs=costs, method=ExactSearch(node_limit=node_limit))
    for result in (limited, decided, stopped):
        assert result.lower <= full.upper <= result.upper
    assert (decided.upper <= bound) == (full.upper <= bound)
    assert limited.exact if full.upper <= bound else limited.lower > bound


def test_a_time_limit_is_kept_with_valid_bounds() -> None:
    rng = np.random.default_rng(0)
    first, second = (Graph(40, np.argwhere(np.triu(rng.random((40, 40)) < 0.2, 1))) for _ in range(2))
    result = graph_edit_distance(first, second, time_limit=0.05)
    assert result.lower <= result.upper
    assert not result.exact
    assert result.edit_path.apply(first).is_isomorphic(second)


def test_graphs_too_large_to_search_get_bounds() -> None:
    ring = Graph(1200, [(i, (i + 1) % 1200) for i in range(1200)])
    chain = Graph(1000, [(i, i + 1) for i in range(999)])
    small = Graph(2, [(0, 1)])
    result = gm.pairwise_edit_distances([ring, chain, small], pairs=[[0, 1], [2, 1], [2, 2], [1, 0]])
    assert (result.lower <= [401, 1996, 0, 401]).all()  # 200 nodes and their edges, one more edge
    assert (result.upper >= [401, 1996, 0, 401]).all()
    assert result.exact[1:3].all()
    single = graph_edit_distance(ring, chain)
    assert single.edit_path.apply(ring).is_isomorphic(chain)


def test_agrees_with_networkx() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        pair = []
        for _ in range(2):
            n = int(rng.integers(1, 6))
            edges = np.argwhere(np.triu(rng.random((n, n)) < 0.5, 1))
            pair.append(
                Graph(n, edges, node_labels=rng.choice(list("CNO"), n), edge_labels=rng.choice([1, 2], len(edges)))
            )
        theirs = nx.graph_edit_distance(
            *(g.to_networkx() for g in pair),
            node_match=lambda a, b: a["label"] == b["label"],
            edge_match=lambda a, b: a["label"] == b["label"],
        )
        assert graph_edit_distance(*pair).upper == theirs


def test_numbers_can_be_priced_by_their_difference() -> None:
    first = Graph(2, [(0, 1)], node_features=[[0.0, 0.0], [1.0, 1.0]], edge_weights=[2.0])
    second = Graph(2, [(0, 1)], node_features=[[0.0, 0.25], [1.0, 1.0]], edge_weights=[2.5])
    assert graph_edit_distance(first, second).upper == 2
    by_difference = EditCosts(feature_distance="euclidean", weight_scale=0.5)
    assert graph_edit_distance(first, second, costs=by_difference).upper == pytest.approx(0.5)
    ignoring = EditCosts(ignore={"node_features", "edge_weights"})
    assert graph_edit_distance(first, second, costs=ignoring).upper == 0
    irrational = EditCosts(feature_distance="euclidean", feature_scale=2**0.5, ignore={"edge_weights"})
    assert graph_edit_distance(first, second, costs=irrational).upper == pytest.approx(0.25 * 2**0.5, abs=1e-5)


def test_a_dear_relabeling_is_a_deletion_and_an_insertion() -> None:
    costs = EditCosts(node_substitute=5)
    result = graph_edit_distance(Graph(1, node_labels="a"), Graph(1, node_labels="b"), costs=costs)
    assert result.upper == 2
    assert result.node_map == (None,)
    assert str(result.edit_path) == "delete node 0 'a'\ninsert node 1 'b'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"second": Graph(1, directed=True)}, "directed and graph"),
        ({"method": "magic"}, "unknown method 'magic'; choose from exact"),
        ({"method": "exact:x"}, "not a number"),
        ({"method": 3}, "give a name"),
        ({"costs": EditCosts(node_delete={"b": 1})}, "node_delete has no cost for label 'a'"),
        ({"costs": EditCosts(node_substitute={("a", "c"): 1})}, "node_substitute has no cost for 'a' to 'b'"),
        ({"costs": EditCosts(feature_distance="euclidean"), "second": Graph(1, node_features=[1.0])}, "have none"),
    ],
)
def test_wrong_use_is_explained(arguments: dict, message: str) -> None:
    given_arguments = {"first": Graph(1, node_labels="a"), "second": Graph(1, node_labels="b")} | arguments
    with pytest.raises(InvalidArgument, match=message):
        graph_edit_distance(**given_arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": -1}, "time_limit must be .* got -1"),
        ({"decide": True}, "give upper_bound"),
    ],
)
def test_exact_search_checks_its_limits(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ExactSearch(**arguments)
