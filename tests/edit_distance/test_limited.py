"""Limits on kinds of edits, against every map of small graphs."""

from __future__ import annotations

import json
import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import EditCosts, ExactSearch, Graph, graph_edit_distance
from graphmetric.edit_distance import EditCounts, limited
from graphmetric.edit_distance.edit_path import edit_path_of
from graphmetric.edit_distance.limited import COUNTED_KINDS, LimitedSearch, check_limits
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument
from tests.command_line import run
from tests.edit_distance.hard_graphs import sparse
from tests.edit_distance.plain_problems import any_costs, unit_costs
from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph, edit_distance
from tests.naive.limited_edit_distance_by_enumeration import keeps_limits, limited_edit_distance

LIMITS = st.dictionaries(st.sampled_from(sorted(COUNTED_KINDS)), st.integers(0, 3), min_size=1, max_size=3)
RING = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
CHAIN = Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCCN")
HARD = sparse(40, 1, labels=2), sparse(40, 2, labels=2)


@st.composite
def looped_graphs(draw: st.DrawFn, directed: bool) -> PlainGraph:
    n = draw(st.integers(0, 4))
    slots = [(u, v) for u in range(n) for v in range(n) if directed or u <= v]
    chosen = draw(st.lists(st.sampled_from(slots), unique=True, max_size=5)) if slots else []
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return PlainGraph(labels, {slot: draw(st.integers(0, 1)) for slot in chosen}, directed)


@st.composite
def plain_pairs(draw: st.DrawFn) -> tuple[PlainGraph, PlainGraph, PlainCosts]:
    directed = draw(st.booleans())
    costs = draw(st.one_of(st.just(unit_costs(3, 2)), any_costs()))
    return draw(looped_graphs(directed)), draw(looped_graphs(directed)), costs


def as_graph(plain: PlainGraph) -> Graph:
    edges = sorted(plain.edges)
    return Graph(
        len(plain.labels),
        edges,
        node_labels=plain.labels,
        edge_labels=[plain.edges[edge] for edge in edges],
        directed=plain.directed,
    )


def as_costs(plain: PlainCosts) -> EditCosts:
    def table(rows: list[list[int]]) -> dict[tuple[int, int], float]:
        return {(a, b): float(cost) for a, row in enumerate(rows) for b, cost in enumerate(row) if a != b}

    return EditCosts(
        node_substitute=table(plain.node_substitute),
        node_delete=dict(enumerate(plain.node_delete)),
        node_insert=dict(enumerate(plain.node_insert)),
        edge_substitute=table(plain.edge_substitute),
        edge_delete=dict(enumerate(plain.edge_delete)),
        edge_insert=dict(enumerate(plain.edge_insert)),
    )


@given(plain_pairs(), LIMITS)
def test_equals_the_best_of_all_maps(pair: tuple[PlainGraph, PlainGraph, PlainCosts], limits: dict[str, int]) -> None:
    wanted = limited_edit_distance(*pair, limits)
    first, second, costs = as_graph(pair[0]), as_graph(pair[1]), as_costs(pair[2])
    found = graph_edit_distance(first, second, costs=costs, limits=limits, time_limit=None)
    assert (found.lower, found.upper) == (wanted, wanted)
    assert found.impossible == math.isinf(wanted) == (found.node_map is None)
    if not found.impossible:
        assert keeps_limits(found.edit_path.counts, limits)
        assert found.edit_path.apply(first).is_isomorphic(second)


@given(plain_pairs(), LIMITS)
def test_limits_that_are_larger_never_cost_more(
    pair: tuple[PlainGraph, PlainGraph, PlainCosts], limits: dict[str, int]
) -> None:
    first, second, costs = as_graph(pair[0]), as_graph(pair[1]), as_costs(pair[2])
    larger = {kind: most + 1 for kind, most in limits.items()}
    distances = [
        graph_edit_distance(first, second, costs=costs, limits=some, time_limit=None).upper
        for some in (limits, larger, dict.fromkeys(COUNTED_KINDS, 99), {}, None)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[2] == distances[3] == distances[4] == edit_distance(*pair)


@given(plain_pairs(), LIMITS, st.integers(0, 8))
def test_an_upper_bound_ends_the_search(
    pair: tuple[PlainGraph, PlainGraph, PlainCosts], limits: dict[str, int], bound: int
) -> None:
    wanted = limited_edit_distance(*pair, limits)
    first, second, costs = as_graph(pair[0]), as_graph(pair[1]), as_costs(pair[2])
    search = LimitedSearch(limits, upper_bound=bound)
    found = in_thread(lambda watch: search.solve_watched(first, second, costs, watch))
    assert found.lower <= wanted <= found.upper
    assert found.lower == found.upper if wanted <= bound else found.lower > bound


@given(plain_pairs(), LIMITS)
def test_bounds_hold_where_searches_give_up(
    pair: tuple[PlainGraph, PlainGraph, PlainCosts], limits: dict[str, int]
) -> None:
    wanted = limited_edit_distance(*pair, limits)
    first, second, costs = as_graph(pair[0]), as_graph(pair[1]), as_costs(pair[2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limited, "ExactSearch", partial(ExactSearch, node_limit=1))
        found = graph_edit_distance(first, second, costs=costs, limits=limits)
    assert found.lower <= wanted <= found.upper
    assert found.note == (None if found.exact else "the graphs are too large for the exact search")


@given(st.lists(st.integers(0, 5), min_size=10, max_size=10))
def test_every_kind_is_a_sum_of_counts(numbers: list[int]) -> None:
    counts = EditCounts(*numbers)
    for kind, names in COUNTED_KINDS.items():
        assert getattr(counts, kind) == sum(getattr(counts, name) for name in names)


def test_edges_that_may_not_be_relabeled_are_replaced() -> None:
    single, double = (Graph(2, [(0, 1)], edge_labels=[label]) for label in "12")
    found = graph_edit_distance(single, double, limits={"bond": 0})
    assert found.upper == 2
    assert found.edit_path.counts == EditCounts(terminal_edges_deleted=1, terminal_edges_inserted=1)
    assert graph_edit_distance(single, double, limits={"bond": 0, "terminal": 1}).impossible


def test_dear_relabelings_are_replacements_without_limits_too() -> None:
    single, double = (Graph(2, [(0, 1)], edge_labels=[label]) for label in "12")
    dear = EditCosts(edge_substitute=5)
    assert [str(edit) for edit in graph_edit_distance(single, double, costs=dear).edit_path] == [
        "delete edge (0, 1) '1'",
        "insert edge (0, 1) '2'",
    ]
    weights = [Graph(2, [(0, 1)], edge_weights=[weight]) for weight in (1.0, 9.0)]
    path = edit_path_of(*weights, (0, 1), EditCosts(weight_scale=1.0))
    assert path.counts == EditCounts(terminal_edges_deleted=1, terminal_edges_inserted=1)
    assert len(edit_path_of(*weights, (0, 1), EditCosts(weight_scale=0.1))) == 1
    assert len(edit_path_of(*weights, (0, 1), EditCosts(edge_substitute=3))) == 2
    assert len(edit_path_of(*weights, (0, 1), EditCosts(node_delete=3))) == 1


def test_costs_without_a_common_unit() -> None:
    costs = EditCosts(node_substitute=math.pi, node_delete=math.sqrt(2), edge_delete=1 / 7, edge_insert=math.e)
    plain = graph_edit_distance(RING, CHAIN, costs=costs)
    assert graph_edit_distance(RING, CHAIN, costs=costs, limits={"total": 99}).upper == pytest.approx(plain.upper)
    found = graph_edit_distance(RING, CHAIN, costs=costs, limits={"element": 0, "ring": 2})
    assert found.exact
    assert found.upper == pytest.approx(math.sqrt(2) + 1 + 2 / 7 + math.e)


def test_ignored_attributes_are_not_edited() -> None:
    ignoring = EditCosts(ignore={"node_labels"})
    assert graph_edit_distance(RING, CHAIN, costs=ignoring, limits={"element": 0}).upper == 1


@pytest.mark.parametrize("limits", [{"ring": 0}, {"element": 1, "terminal": 2}])
def test_graphs_of_more_than_a_dozen_nodes(limits: dict[str, int]) -> None:
    for seed in range(4):
        first = sparse(14, seed, labels=3)
        second = gm.mutate(first, 4, random_state=seed).graph if seed % 2 else sparse(14, seed + 1, labels=3)
        plain = graph_edit_distance(first, second)
        found = graph_edit_distance(first, second, limits=limits)
        assert found.exact
        assert found.upper >= plain.upper
        assert (found.upper == plain.upper) or not keeps_limits(plain.edit_path.counts, limits)
        assert found.impossible or keeps_limits(found.edit_path.counts, limits)


def test_a_time_limit_leaves_bounds() -> None:
    graph_edit_distance(RING, CHAIN, limits={"element": 0})  # compiles
    found = graph_edit_distance(*HARD, limits={"element": 3, "edges_deleted": 12}, time_limit=0.05)
    assert 0 <= found.lower < found.upper
    assert found.note == "stopped by the time limit of 0.05 s"
    watch = Watch()
    watch.stop()
    stopped = LimitedSearch({"ring": 2}).solve_watched(*HARD, EditCosts(), watch)
    assert 0 <= stopped.lower < stopped.upper


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"rings": 0}, "limits names 'rings'; the kinds of edits are nodes_relabeled, "),
        ({"ring": -1}, r"limits\['ring'\] is -1; it must be a whole number"),
        ({"ring": True}, r"limits\['ring'\] is True"),
        ({"ring": 0.5}, r"limits\['ring'\] is 0.5"),
        (["ring"], "limits is of type list; give the most edits of each kind"),
    ],
)
def test_wrong_limits_are_explained(limits: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        check_limits(limits)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["beam:10", ExactSearch(node_limit=10), ExactSearch(upper_bound=3, decide=True)])
def test_only_the_exact_search_keeps_limits(method: object) -> None:
    with pytest.raises(InvalidArgument, match="limits go with method 'exact'"):
        graph_edit_distance(RING, CHAIN, method=method, limits={"ring": 0})  # type: ignore[arg-type]


def test_limits_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    pair = "ged", "C1CCCCC1O", "CCCCCCN", "--smiles"
    report = json.loads(run(capsys, *pair, "--limit", "element=0", "--limit", "ring=2", "--json")[1])
    assert report["exact"]
    assert report["upper"] == 5
    assert report["limits"] == {"element": 0, "ring": 2}
    assert report["edit_counts"]["nodes_relabeled"] == 0
    _, text, _ = run(capsys, *pair, "--limit", "ring=0")
    assert "distance  infinite (exact): no edits within the limits lead" in text
    for wrong in ("ring", "ring=x", "rings=0", "ring=-1"):
        code, _, error = run(capsys, *pair, "--limit", wrong)
        assert code == 2
        assert "ring" in error
    code, _, error = run(capsys, *pair, "--limit", "ring=0", "--distance", "mces")
    assert code == 2
