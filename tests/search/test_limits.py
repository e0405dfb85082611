"""Certified searches with limits on kinds of edits, against the limited distances to all graphs."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import nearest
from graphmetric.edit_distance.limited import COUNTED_KINDS
from graphmetric.errors import InvalidArgument
from graphmetric.search.hits import SearchProgress, SearchResult
from tests.edit_distance.hard_graphs import sparse
from tests.naive.limited_edit_distance_by_enumeration import keeps_limits
from tests.search.test_certified import VIEWS, in_view
from tests.search.test_within import CUSTOM
from tests.strategies import graph_lists

LIMITS: list[dict[str, int]] = [{"ring": 0}, {"element": 1, "terminal": 2}, {"bond": 0, "nodes_deleted": 1}]


@pytest.fixture(scope="module")
def bare(molecules: gm.GraphCollection, kept_in: str) -> gm.GraphIndex:
    return gm.GraphIndex.build(molecules[:40])


def limited_distances(query: gm.Graph, graphs: Any, limits: dict[str, int], costs: gm.EditCosts) -> np.ndarray:
    found = [gm.graph_edit_distance(query, graph, costs=costs, limits=limits, time_limit=None) for graph in graphs]
    assert all(each.exact for each in found)
    return np.array([each.upper for each in found])


def check_hits(
    result: SearchResult, shown: np.ndarray, ids: list[Any], limits: dict[str, int], leads_there: bool = True
) -> None:
    """Every hit has its distance and edits that keep the limits and lead to it; all is proven."""
    assert result.report.complete
    for hit in result:
        assert hit.proven
        assert hit.exact == pytest.approx(shown[ids.index(hit.id)])
        assert hit.edits is not None
        assert hit.edits.limits == limits
        assert hit.edit_path is not None
        assert keeps_limits(hit.edit_path.counts, limits)
        if leads_there:
            assert hit.edit_path.apply(result.query).is_isomorphic(hit.graph)


@pytest.mark.slow
@pytest.mark.parametrize("costs", [gm.EditCosts(), CUSTOM, gm.EditCosts(edge_delete=2, node_insert=math.inf)])
@pytest.mark.parametrize("limits", LIMITS)
def test_as_if_all_graphs_were_looked_at(
    bare: gm.GraphIndex, molecules: gm.GraphCollection, limits: dict[str, int], costs: gm.EditCosts
) -> None:
    graphs, query, ids = molecules[:40], molecules[104], bare.ids
    raw = limited_distances(query, graphs, limits, costs)
    views = VIEWS if costs.is_unit else ("raw",)
    for view in views:
        finite = np.where(np.isinf(raw), 0.0, raw)
        shown = np.array(in_view(finite[None], view, molecules[104:105], graphs)[0])
        shown[np.isinf(raw)] = np.inf
        result = bare.search(query, 8, limits=limits, costs=costs, view=view)
        check_hits(result, shown, ids, limits)
        assert [hit.exact for hit in result] == pytest.approx(sorted(shown[np.isfinite(shown)])[:8])
        radius = float(np.sort(shown)[min(6, np.isfinite(shown).sum() - 1)])
        within = bare.range_search(query, radius, limits=limits, costs=costs, view=view)
        check_hits(within, shown, ids, limits)
        assert {hit.id for hit in within} == {ids[k] for k in np.flatnonzero(shown <= radius + 1e-9)}


@pytest.mark.slow
@settings(max_examples=40)
@given(
    graph_lists(min_size=2, max_size=7, max_nodes=4, direction=False, ids=None, metadata=None),
    st.dictionaries(st.sampled_from(sorted(COUNTED_KINDS)), st.integers(0, 2), min_size=1, max_size=2),
    st.booleans(),
)
def test_any_graphs_and_limits(graphs: list[gm.Graph], limits: dict[str, int], is_hard: bool) -> None:
    index = gm.GraphIndex.build(graphs[1:], ids=range(len(graphs) - 1))
    exact = limited_distances(graphs[0], graphs[1:], limits, gm.EditCosts())
    with mock.patch.object(nearest, "LARGEST_EASY", 0 if is_hard else 12):
        found = [index.search(graphs[0], 3, limits=limits), index.range_search(graphs[0], 2, limits=limits)]
        everything = index.range_search(graphs[0], 1.0, limits=limits, view="steinhaus")
    for result in found:  # edits cannot take away features that only one of the graphs has
        check_hits(result, exact, index.ids, limits, leads_there=False)
    assert [hit.exact for hit in found[0]] == sorted(exact[np.isfinite(exact)])[:3]
    assert {hit.id for hit in found[1]} == set(np.flatnonzero(exact <= 2).tolist())
    assert {hit.id for hit in everything} == set(np.flatnonzero(np.isfinite(exact)).tolist())


def test_larger_graphs_copies_and_conditions() -> None:
    """Above a dozen nodes all stages take part; copies have edits of their own."""
    rng = np.random.default_rng(1)
    query = sparse(18, 3, labels=3)
    near = [gm.mutate(query, edits, random_state=seed).graph for seed in range(8) for edits in (2, 4)]
    copies = [graph.relabeled(rng.permutation(graph.num_nodes)) for graph in near[:4]]
    graphs = [graph.replace(metadata={"odd": k % 2}) for k, graph in enumerate([*near, *copies])]
    index, limits = gm.GraphIndex.build(graphs, ids=range(len(graphs))), {"element": 1, "ring": 1}
    exact = limited_distances(query, graphs, limits, gm.EditCosts())
    result = index.search([query, query], 5, limits=limits, where={"odd": 1})[1]
    check_hits(result, exact, index.ids, limits)
    odd = exact[1::2]
    assert [hit.exact for hit in result] == sorted(odd[np.isfinite(odd)])[:5]
    within = index.range_search(query, 5, limits=limits)
    check_hits(within, exact, index.ids, limits)
    assert {hit.id for hit in within} == set(np.flatnonzero(exact <= 5).tolist())
    assert {16, 17, 18, 19}.intersection(hit.id for hit in within)
    distinct = index.range_search(query, 5, limits=limits, distinct=True)
    assert len(distinct) < len(within)


def test_copies_of_the_empty_graph_are_explained() -> None:
    index = gm.GraphIndex.build([gm.Graph(0, []), gm.Graph(0, [])], ids=range(2))
    for options in ({}, {"limits": {"element": 0}}):
        hits = index.search(gm.Graph(1, []), 2, **options)
        assert [len(hit.edit_path) for hit in hits if hit.edit_path] == [1, 1]


def test_with_a_model(index: gm.GraphIndex, bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    query, limits = molecules[104], {"element": 1}
    learned = index.search(query, 5, certified=True, limits=limits, where=lambda facts: True)
    alone = gm.GraphIndex.build(molecules[:100]).search(query, 5, limits=limits)
    assert [hit.exact for hit in learned] == [hit.exact for hit in alone]
    for ask in (index.search, index.range_search):
        with pytest.raises(InvalidArgument, match=r"limits is for certified searches, .* say certified=True"):
            ask(query, 5, limits=limits)
    with pytest.raises(InvalidArgument, match="limits names 'rings'"):
        bare.search(query, 5, limits={"rings": 0})


def test_graphs_that_cannot_be_reached_are_not_listed(molecules: gm.GraphCollection) -> None:
    ring, chain = gm.Graph(3, [(0, 1), (1, 2), (0, 2)]), gm.Graph(3, [(0, 1), (1, 2)])
    index = gm.GraphIndex.build([ring, chain, gm.Graph(1, [])], ids=["ring", "chain", "node"])
    result = index.search(chain, 3, limits={"ring": 0})
    assert [(hit.id, hit.exact) for hit in result] == [("chain", 0), ("node", 4)]
    assert result.report.complete
    nothing = index.search(gm.Graph(3, [(0, 1), (1, 2)], node_labels="NNN"), 3, limits={"total": 0})
    assert len(nothing) == 0
    assert nothing.report.complete


def test_time_limits_and_watchers_end_a_limited_search() -> None:
    trees = [sparse(40, seed, labels=2) for seed in range(6)]
    index = gm.GraphIndex.build(trees[:5], ids=range(5))
    limits = {"element": 3, "edges_deleted": 12}
    late = index.range_search(trees[5], 60, limits=limits, time_limit=0.3)
    assert not late.report.complete
    assert late.report.undecided
    for hit in late:
        assert hit.lower <= hit.upper
        assert hit.edit_path is not None
        assert keeps_limits(hit.edit_path.counts, limits)
    seen = list[SearchProgress]()

    def stop(progress: SearchProgress) -> bool:
        seen.append(progress)
        return len(seen) > 1

    assert not index.search(trees[5], 3, limits=limits, time_limit=None, callback=stop).report.complete
    assert all(progress.found + progress.excluded + progress.undecided == 5 for progress in seen)
