"""Certified answers are the true nearest graphs, and unfinished ones say what they know."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import StoredBounds
from graphmetric.edit_distance.collection_bounds import count_graphs, digest_branches, number_labels
from graphmetric.edit_distance.encoding import encode
from graphmetric.index.building import SegmentBuilder
from tests.clocks import interrupt
from tests.edit_distance.hard_graphs import sparse
from tests.strategies import graph_lists

VIEWS = ("raw", "paper", "steinhaus")


def in_view(distances: Any, view: str, queries: gm.GraphCollection, graphs: gm.GraphCollection) -> Any:
    if view == "paper":
        return gm.normalized_distance(distances, queries, graphs)
    return gm.steinhaus_distance(distances, queries, graphs) if view == "steinhaus" else distances


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_top_ten_of_molecules_is_the_true_one(index: gm.GraphIndex, molecules: gm.GraphCollection, view: Any) -> None:
    graphs, queries = molecules[:100], molecules[95:110]
    exact = gm.pairwise_edit_distances(queries, graphs).distances
    shown = in_view(exact, view, queries, graphs)
    position = {graph.id: k for k, graph in enumerate(graphs)}
    for row, result in enumerate(index.search(queries, 10, certified=True, view=view)):
        assert np.allclose([hit.exact for hit in result], np.sort(shown[row])[:10], atol=1e-9)
        assert all(hit.proven for hit in result)
        assert result.report.complete
        for hit in result:
            assert hit.exact == pytest.approx(shown[row, position[hit.id]])
            assert hit.edit_path is not None
            assert len(hit.edit_path) == exact[row, position[hit.id]]
            assert hit.edit_path.apply(result.query).is_isomorphic(hit.graph)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("several", [True, False])
def test_isomorphic_graphs_are_hits_of_their_own(
    model: gm.GraphDistance, molecules: gm.GraphCollection, view: Any, several: bool
) -> None:
    """Searched once, ranked each, edited each by its own numbering; whether or not the index is coded at once."""
    rng = np.random.default_rng(0)
    originals = [molecules[int(k)] for k in rng.integers(12, size=60)]
    graphs = gm.GraphCollection([g.relabeled(rng.permutation(g.num_nodes)) for g in originals])
    index = gm.GraphIndex.build(
        model, [graph.replace(metadata={"odd": k % 2}) for k, graph in enumerate(graphs)], ids=range(60)
    )
    queries = molecules[100:102]
    exact = gm.pairwise_edit_distances(queries, graphs).distances
    shown = in_view(exact, view, queries, graphs)
    options: Any = {"certified": True, "view": view, "where": {"odd": 1}}
    results = index.search(queries, 10, **options) if several else [index.search(q, 10, **options) for q in queries]
    for row, result in enumerate(results):
        assert np.allclose([hit.exact for hit in result], np.sort(shown[row, 1::2])[:10], atol=1e-9)
        assert len({hit.id for hit in result}) == 10
        assert result.report.graphs == 30
        assert all(hit.proven for hit in result)
        for hit in result:
            assert isinstance(hit.id, int)
            assert hit.edit_path is not None
            assert len(hit.edit_path) == exact[row, hit.id]
            assert hit.edit_path.apply(result.query).is_isomorphic(hit.graph)


def test_the_model_is_not_asked(
    index: gm.GraphIndex, molecules: gm.GraphCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = gm.GraphIndex.build(index.graphs, costs=index.costs)
    monkeypatch.delattr("graphmetric.search.learned_search.Query.encode")
    for query in molecules[:3]:
        found, wanted = index.search(query, 5, certified=True), bare.search(query, 5)
        assert [(hit.id, hit.exact, hit.proven) for hit in found] == [(hit.id, hit.exact, hit.proven) for hit in wanted]
        assert len(index.range_search(query, 3, certified=True)) == len(bare.range_search(query, 3))


def test_single_queries_and_odd_labels(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    """A query coded on its own, one with labels that the index has never seen, and one without labels."""
    graphs = molecules[:100]
    strange = molecules[3].replace(node_labels=["Xx"] * molecules[3].num_nodes)
    for query in (molecules[107], strange, molecules[3].replace(node_labels=None), gm.Graph(0), gm.Graph(1)):
        (exact,) = gm.pairwise_edit_distances([query], graphs).distances
        result = index.search(query, 10, certified=True)
        assert [hit.exact for hit in result] == np.sort(exact)[:10].tolist()


def test_programs_are_directed() -> None:
    graphs = gm.load_dataset("programs").graphs[:90]
    model = gm.GraphDistance("small", max_steps=5, label_budget=100, n_jobs=1).fit(graphs[:40])
    index = gm.GraphIndex.build(model, graphs[:80])
    exact = gm.pairwise_edit_distances(graphs[80:], graphs[:80]).distances
    for row, result in zip(exact, index.search(graphs[80:], 10, certified=True), strict=True):
        assert [hit.exact for hit in result] == np.sort(row)[:10].tolist()
        assert all(hit.proven for hit in result)


def test_other_costs(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    graphs, query = molecules[:100], molecules[104]
    for costs in (
        gm.EditCosts(ignore={"node_labels"}),  # type: ignore[arg-type]
        gm.EditCosts(node_substitute=0.5, edge_delete=2, edge_insert=2.5, node_insert=1.25),
    ):
        (exact,) = gm.pairwise_edit_distances([query], graphs, costs=costs).distances
        result = index.search(query, 10, certified=True, costs=costs)
        assert np.allclose([hit.exact for hit in result], np.sort(exact)[:10])


def test_more_than_there_are(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    index = gm.GraphIndex.build(model, molecules[:6])
    result = index.search(molecules[100], 10, certified=True)
    (exact,) = gm.pairwise_edit_distances([molecules[100]], molecules[:6]).distances
    assert [hit.exact for hit in result] == np.sort(exact).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("time_limit", [0.0, 0.02])
def test_a_time_limit_leaves_valid_bounds(model: gm.GraphDistance, time_limit: float) -> None:
    """Trees of 24 nodes, whose distances take long; checked against the bounds of a longer search."""
    rng = np.random.default_rng(0)
    trees = [gm.Graph(24, [(int(rng.integers(v)), v) for v in range(1, 24)], id=k) for k in range(10)]
    index = gm.GraphIndex.build(model, trees[:9])
    result = index.search(trees[9], 4, certified=True, time_limit=time_limit)
    longer = gm.pairwise_edit_distances(trees[9:], trees[:9], method=gm.ExactSearch(node_limit=3_000))
    assert len(result) == 4
    for hit in result:
        assert hit.lower is not None
        assert hit.upper is not None
        assert hit.edit_path is not None
        assert hit.lower <= longer.upper[0, hit.id]  # type: ignore[call-overload]
        assert hit.upper >= longer.lower[0, hit.id]  # type: ignore[call-overload]
        assert len(hit.edit_path) == hit.upper == hit.distance
        assert hit.proven is False or hit.exact == hit.distance
    if not all(hit.proven for hit in result):
        assert not result.report.complete


@pytest.mark.slow
@pytest.mark.parametrize("cost", [1e-270, 1e-100, 1e-10, 1e-3, 1e12, 1e100, 1e270])
def test_costs_of_any_unit_have_the_same_answers(molecules: gm.GraphCollection, cost: float) -> None:
    index, query = gm.GraphIndex.build(molecules[:100]), molecules[104]
    names = ("node_substitute", "node_delete", "node_insert", "edge_substitute", "edge_delete", "edge_insert")
    costs = gm.EditCosts(**dict.fromkeys(names, cost))
    for found, expected in (
        (index.search(query, 7, costs=costs), index.search(query, 7)),
        (index.range_search(query, 4.5 * cost, costs=costs), index.range_search(query, 4.5)),
    ):
        assert found.report.complete
        assert all(hit.proven for hit in found)
        assert [hit.id for hit in found] == [hit.id for hit in expected]
        assert [hit.distance / cost for hit in found] == pytest.approx([hit.distance for hit in expected])


def test_zero_has_no_sign(molecules: gm.GraphCollection) -> None:
    hit = gm.GraphIndex.build(molecules[:20]).search(molecules[3], 1, certified=True, time_limit=0)[0]
    assert not np.signbit([hit.lower, hit.upper, hit.distance]).any()
    found = gm.graph_edit_distance(molecules[3], molecules[3], costs=gm.EditCosts(node_delete=-0.0))
    assert not np.signbit([found.lower, found.upper, found.value]).any()


def test_a_proven_rank_is_right_whatever_is_open(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    graphs, query = molecules[:100], molecules[108]
    (exact,) = gm.pairwise_edit_distances([query], graphs).distances
    for time_limit in (0.0, 0.001, 0.01):
        result = index.search(query, 10, certified=True, time_limit=time_limit)
        proven = [hit.exact for hit in result if hit.proven]
        assert proven == np.sort(exact)[: len(proven)].tolist()
        assert [hit.proven for hit in result] == [True] * len(proven) + [False] * (10 - len(proven))


def of_one_direction(graphs: list[gm.Graph]) -> list[gm.Graph]:
    """Those that are directed as the first one is: edit distances need both graphs of one sort."""
    return [graph for graph in graphs if graph.directed == graphs[0].directed]


@settings(max_examples=60)
@given(
    graph_lists(
        min_size=2,
        max_size=5,
        max_nodes=5,
        node_labels=st.sampled_from(["a", "b", 1, 1.0, None]),
        edge_labels=st.sampled_from(["x", "y"]),
        edge_weights=False,
        node_features=False,
        node_texts=None,
        node_images=False,
        ids=None,
        metadata=None,
    )
    .map(of_one_direction)
    .filter(lambda graphs: len(graphs) > 1),
    st.sampled_from(
        [
            gm.EditCosts(),
            gm.EditCosts(ignore={"edge_labels"}),
            gm.EditCosts(ignore={"node_labels"}),
            gm.EditCosts(node_substitute=0.25, edge_delete=3, edge_insert=2),
            gm.EditCosts(node_delete=0.5, node_insert=4, edge_substitute=0.1),
        ]
    ),
)
def test_stored_bounds_are_below_edit_distances(graphs: list[gm.Graph], costs: gm.EditCosts) -> None:
    """The law that pruning rests on, for labels that the collection knows and those it does not."""
    first, others = gm.GraphCollection(graphs[:1]), gm.GraphCollection(graphs[1:])
    builder = SegmentBuilder()
    builder.append(others.columns, list(range(len(others))), {})
    segment = builder.finish()
    (query,) = count_graphs(first.columns, *segment.label_numbers)
    bounds = StoredBounds(segment.histograms, segment.branches, others.columns.node_ptr, costs)
    exact = gm.pairwise_edit_distances(first, others, costs=costs).distances[0]
    assert (bounds.by_counts(query) <= exact + 1e-9).all()
    if bounds.knows_branches:
        chosen = np.arange(len(others))[::-1]
        found = bounds.by_branches(digest_branches(first.columns), chosen)
        assert (found <= exact[chosen] + 1e-9).all()


def test_stored_bounds_are_those_of_their_definition() -> None:
    builder, rng = SegmentBuilder(), np.random.default_rng(0)
    molecules = gm.GraphCollection(
        graph.replace(edge_labels=rng.choice(["-", "="], graph.num_edges).tolist())
        for graph in gm.load_dataset("molecules").graphs[:700]
    )
    for start in (0, 700, 1400):  # a tile is filled by two of them
        builder.append(molecules.columns, list(range(start, start + 700)), {})
    segment, query, graphs = builder.finish(), molecules[5], molecules + molecules + molecules
    bounds = StoredBounds(segment.histograms, segment.branches, segment.arrays["node_ptr"], gm.EditCosts())
    (counts,) = count_graphs(molecules[5:6].columns, *segment.label_numbers)
    by_counts = bounds.by_counts(counts)
    by_branches = bounds.by_branches(digest_branches(molecules[5:6].columns), np.arange(len(graphs)))
    for k in range(0, len(graphs), 7):
        assert by_counts[k] == histogram_bound(query, graphs[k])
        assert by_branches[k] == branch_count_bound(query, graphs[k])


def degrees_of(graph: gm.Graph) -> list[int]:
    ends = Counter(node for edge in graph.edges.tolist() for node in edge)
    return sorted((ends[v] for v in range(graph.num_nodes)), reverse=True)


def replaced(first: Counter[Any], second: Counter[Any]) -> int:
    """Deletions, insertions and substitutions of codes from one multiset to another."""
    return max(first.total(), second.total()) - (first & second).total()


def histogram_bound(first: gm.Graph, second: gm.Graph) -> int:
    nodes = replaced(Counter(first.node_labels), Counter(second.node_labels))
    edges = replaced(Counter(first.edge_labels), Counter(second.edge_labels))
    pairs = zip_longest(degrees_of(first), degrees_of(second), fillvalue=0)
    return nodes + max(edges, sum(abs(a - b) for a, b in pairs) // 2)


def branch_count_bound(first: gm.Graph, second: gm.Graph) -> int:
    branches = []
    for graph in (first, second):
        around: list[list[Any]] = [[] for _ in range(graph.num_nodes)]
        for (u, v), label in zip(graph.edges.tolist(), graph.edge_labels or (), strict=True):
            around[u].append(label)
            around[v].append(label)
        labels = graph.node_labels or ()
        branches.append(Counter((label, *sorted(edges)) for label, edges in zip(labels, around, strict=True)))
    kept = (Counter(first.node_labels) & Counter(second.node_labels)).total()
    same = (branches[0] & branches[1]).total()
    doubled = 2 * replaced(Counter(first.node_labels), Counter(second.node_labels)) + kept - same
    return -(-doubled // 2)


def test_ctrl_c_ends_a_search_without_a_time_limit(model: gm.GraphDistance) -> None:
    trees = gm.GraphCollection(sparse(60, seed) for seed in range(6))
    index = gm.GraphIndex.build(model, trees[:5])
    index.search(trees[5], 1, certified=True, time_limit=0)  # compiles
    with pytest.raises(KeyboardInterrupt):
        interrupt(lambda: index.search(trees[5], 3, certified=True, time_limit=None))


def test_equal_labels_have_one_place() -> None:
    assert number_labels(["a", 1, 1.0, True, None]) == {b"n": 0, b"sa": 1, b"i1": 2}


def test_limits_of_single_pairs(molecules: gm.GraphCollection) -> None:
    """A search told a limit proves that the distance is above it, or finds it."""
    problem = encode(molecules[:1], molecules[1:40], gm.EditCosts())
    pairs = np.column_stack([np.zeros(39, dtype=np.int64), np.arange(39)])
    exact = gm.ExactSearch().solve(problem, pairs).lower
    assert exact is not None
    limits = np.random.default_rng(0).integers(0, 14, size=39)
    near = exact <= limits
    assert near.any()
    assert not near.all()
    for pair, limit, true in zip(pairs, limits.tolist(), exact.tolist(), strict=True):
        found = gm.ExactSearch(upper_bound=limit).bounds(problem, pair[None, :])
        if true <= limit:
            assert found.lower[0] == found.upper[0] == true
        else:
            assert limit < found.lower[0] <= true
