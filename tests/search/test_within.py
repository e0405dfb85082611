"""All graphs within a radius, with proof: none is missing, none too many, and unfinished answers say what is open."""

from __future__ import annotations

import gc
import os
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.errors import InvalidArgument, SearchInterrupted
from graphmetric.search.certified import CertifiedSearch
from graphmetric.search.hits import SearchProgress
from tests.edit_distance.hard_graphs import sparse
from tests.search.test_certified import VIEWS, in_view
from tests.strategies import graph_lists

CUSTOM = gm.EditCosts(node_substitute=0.5, edge_delete=2, edge_insert=2, edge_substitute=0.75)


@pytest.fixture(scope="module")
def bare(molecules: gm.GraphCollection, kept_in: str) -> gm.GraphIndex:
    return gm.GraphIndex.build(molecules[:100])


def expected(shown: np.ndarray, radius: float, graphs: gm.GraphCollection) -> list[tuple[float, Any]]:
    chosen = np.flatnonzero(shown <= radius + 1e-9)
    return [(pytest.approx(shown[k]), graphs[int(k)].id) for k in chosen[np.argsort(shown[chosen], kind="stable")]]


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_all_within_a_radius(
    index: gm.GraphIndex, bare: gm.GraphIndex, molecules: gm.GraphCollection, view: Any, learned: bool, several: bool
) -> None:
    """With a model and without, many queries for which the index is coded once and a single one."""
    graphs, queries = molecules[:100], molecules[95:110] if several else molecules[104:105]
    exact = gm.pairwise_edit_distances(queries, graphs).distances
    shown = in_view(exact, view, queries, graphs)
    for radius in {"raw": (0, 3, 6.5), "paper": (0.2, 0.5, 1.0), "steinhaus": (0.1, 0.3, 1.0)}[view]:
        results = (index if learned else bare).range_search(queries, radius, certified=True, view=view)
        for row, result in enumerate(results):
            assert [(hit.exact, hit.id) for hit in result] == expected(shown[row], radius, graphs)
            assert all(hit.proven for hit in result)
            assert result.report.complete
            assert result.report.undecided == 0
            for hit in result:
                assert hit.edit_path is not None
                assert hit.edit_path.apply(result.query).is_isomorphic(hit.graph)


@pytest.mark.parametrize("costs", [CUSTOM, gm.EditCosts(ignore={"edge_labels"}), gm.EditCosts(ignore={"node_labels"})])
def test_other_costs_and_conditions(molecules: gm.GraphCollection, bare: gm.GraphIndex, costs: gm.EditCosts) -> None:
    graphs, query = molecules[:100], molecules[103]
    (exact,) = gm.pairwise_edit_distances([query], graphs, costs=costs).distances
    result = bare.range_search(query, 5.25, costs=costs, where={"class": 1})
    exact[np.arange(100) % 3 != 1] = np.inf
    assert [(hit.exact, hit.id) for hit in result] == expected(exact, 5.25, graphs)
    assert result.report.graphs == 33


@settings(max_examples=30)
@given(graph_lists(min_size=2, max_size=8, max_nodes=5, direction=False, ids=None, metadata=None), st.integers(0, 6))
def test_any_graphs(graphs: list[gm.Graph], radius: int) -> None:
    index = gm.GraphIndex.build(graphs[1:], ids=range(len(graphs) - 1))
    (exact,) = gm.pairwise_edit_distances(graphs[:1], graphs[1:]).distances
    result = index.range_search(graphs[0], radius)
    wanted = sorted((distance, k) for k, distance in enumerate(exact.tolist()) if distance <= radius)
    assert [(hit.exact, hit.id) for hit in result] == wanted


def test_larger_graphs_and_copies() -> None:
    """Above a dozen nodes every stage takes part; copies are found each with edits of its own."""
    rng = np.random.default_rng(0)
    trees = [sparse(20, seed) for seed in range(12)]
    near = [without_edges(tree, count) for tree in trees[:4] for count in (1, 2, 3)]
    copies = [graph.relabeled(rng.permutation(graph.num_nodes)) for graph in near[:3]]
    graphs = gm.GraphCollection([*trees, *near, *copies])
    index = gm.GraphIndex.build(graphs, ids=range(len(graphs)))
    (exact,) = gm.pairwise_edit_distances([trees[0]], graphs).distances
    result = index.range_search(trees[0], 3)
    wanted = sorted((distance, k) for k, distance in enumerate(exact.tolist()) if distance <= 3)
    assert len(wanted) >= 7
    assert [(hit.exact, hit.id) for hit in result] == wanted
    assert all(hit.edit_path.apply(trees[0]).is_isomorphic(hit.graph) for hit in result if hit.edit_path)
    assert sum(result.report.stages.values()) + len(result) == len(graphs)


def without_edges(graph: gm.Graph, count: int) -> gm.Graph:
    return gm.Graph(graph.num_nodes, graph.edges[count:].tolist(), node_labels=graph.node_labels)


def test_out_of_time(molecules: gm.GraphCollection) -> None:
    """What is listed, excluded and open are all graphs, and the truth is in between."""
    trees = [sparse(40, seed) for seed in range(8)]
    index = gm.GraphIndex.build(trees[:7], ids=range(7))
    result = index.range_search(trees[7], 60, time_limit=0.05)
    report = result.report
    assert not report.complete
    assert report.undecided > 0
    assert report.undecided_lower is not None
    assert f"{report.undecided:,}, none of them nearer than" in str(report)
    for hit in result:
        assert hit.lower <= hit.upper <= 60
        assert hit.exact is None or hit.exact == hit.lower


def test_watching_a_search(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    seen = list[SearchProgress]()
    answers = []

    def watch(progress: SearchProgress) -> None:
        seen.append(progress)
        answers.append(len(progress.result()))

    bare.range_search(molecules[104], 6, callback=watch)
    bare.search([molecules[104], molecules[105]], 3, callback=watch)
    assert {progress.query for progress in seen} == {0, 1}
    assert all(progress.found + progress.excluded + progress.undecided == 100 for progress in seen)
    assert all(progress.found <= count for progress, count in zip(seen, answers, strict=True))


def test_a_watched_search_leaves_nothing_in_memory(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    """Without the collector of cycles, which may not run for long while searches hold much memory in few objects."""

    def count() -> int:
        return sum(type(one) is CertifiedSearch for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = count()
        bare.search(molecules[104], 3, callback=lambda progress: False)
        bare.range_search(molecules[104], 3, callback=lambda progress: False)
        assert count() == before
    finally:
        gc.enable()


def test_a_watcher_may_stop_a_search() -> None:
    trees = [sparse(40, seed) for seed in range(8)]
    index = gm.GraphIndex.build(trees[:7], ids=range(7))
    result = index.range_search(trees[7], 60, time_limit=None, callback=lambda progress: True)
    assert not result.report.complete
    nearest = index.search(trees[7], 3, time_limit=None, callback=lambda progress: progress.seconds > 0.2)
    assert not nearest.report.complete
    with pytest.raises(InvalidArgument, match="callback must be a function"):
        index.search(trees[7], 3, callback="loudly")  # type: ignore[arg-type]


def test_errors_of_watchers_are_raised(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    with pytest.raises(ZeroDivisionError):
        bare.range_search(molecules[104], 6, callback=lambda progress: 1 // 0)
    with pytest.raises(IndexError):
        bare.range_search(molecules[104], 6, callback=lambda progress: [][0])


@pytest.mark.parametrize("several", [True, False])
def test_ctrl_c_leaves_what_is_known(several: bool) -> None:
    trees = [sparse(40, seed) for seed in range(9)]
    index = gm.GraphIndex.build(trees[:7], ids=range(7))
    query: Any = trees[7:] if several else trees[7]

    pressed = list[float]()

    def press(progress: SearchProgress) -> None:
        if progress.seconds > 0.2 and not pressed:
            pressed.append(progress.seconds)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(SearchInterrupted) as stopped:
        index.range_search(query, 60, time_limit=None, callback=press)
    known = stopped.value.known[0] if several else stopped.value.known
    assert known.report.undecided > 0
    assert known.report.undecided_lower is not None
    assert all(hit.lower <= hit.upper for hit in known)


def test_threads_find_the_same(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    queries = molecules[95:110]
    for n_jobs in (2, 3):
        one, several = (bare.search(queries, 10, n_jobs=jobs) for jobs in (1, n_jobs))
        assert [[hit.id for hit in result] for result in one] == [[hit.id for hit in result] for result in several]


def test_warm(index: gm.GraphIndex, bare: gm.GraphIndex) -> None:
    index.warm_up()
    bare.warm_up()
    gm.GraphIndex().warm_up()
