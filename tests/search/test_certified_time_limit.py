"""Certified search with large queries ends in time: every stage takes slices and checks the clock between them.

The clock of these tests counts work instead of seconds, so that their verdict is the same on every machine. Its unit is
one entry of an assignment matrix; encoding a node counts as 200 of them, and comparing its branch as 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import graphmetric as gm
from graphmetric._foundation.limits import working_clock
from graphmetric.edit_distance import nearest
from graphmetric.edit_distance._kernels.nearest import start_within
from graphmetric.edit_distance._kernels.workspace import BOUND, DEPTH, STOP, load_pair
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.methods import DegreeMap, ExactSearch
from graphmetric.edit_distance.nearest import NearestSearch
from graphmetric.edit_distance.scaling import workspace_size
from graphmetric.edit_distance.stopping import Watch
from graphmetric.graphs.collection import GraphCollection
from graphmetric.search.certified import CertifiedSearch, ClassBounds
from graphmetric.search.hits import SearchReport

LARGEST = 1_000 * 1_000
"""Entries of the matrix of the largest pair."""
ENCODING, COMPARING = 200, 10
LIMIT = 40 * LARGEST


def control_flow(nodes: int, seed: int) -> gm.Graph:
    rng = np.random.default_rng(seed)
    edges = {(v - 1, v) for v in range(1, nodes)}
    edges |= {(v, int(min(nodes - 1, v + rng.integers(2, 12)))) for v in range(1, nodes - 2) if rng.random() < 0.35}
    return gm.Graph(nodes, sorted(edges), node_labels=rng.integers(4, size=nodes).tolist(), directed=True)


@pytest.fixture(scope="module")
def thousand() -> gm.GraphIndex:
    """1,000 graphs of 10 to 1,000 nodes, a quarter of them above 300."""
    sizes = np.exp(np.linspace(np.log(10), np.log(1_000), 1_000)).astype(int)
    return gm.GraphIndex.build([control_flow(int(nodes), 100 + k) for k, nodes in enumerate(sizes)], ids=range(1_000))


class WorkClock:
    """A clock that moves by the work that is begun. Work that can be interrupted ends when the limit has passed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.end = 0.0, 0.0
        self._patch = monkeypatch
        monkeypatch.setattr(working_clock, "source", lambda: self.now)
        self._count(CertifiedSearch, "encode", lambda search, row, classes, numbers: self._encoding(search, numbers))
        self._count(ClassBounds, "by_branches", lambda bounds, row, classes: COMPARING * 300 * len(classes))
        self._count(nearest, "search_queue", self._queue)
        self._count(NearestSearch, "_apply", self._applied)
        self._count(nearest, "search_with_dual_bound", self._dual)

    def start(self, limit: float) -> None:
        self.end = self.now + limit

    def _count(self, owner: Any, name: str, work: Any) -> None:
        function = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            self.now += work(*arguments)
            return function(*arguments)

        self._patch.setattr(owner, name, counted)

    def _until_end(self, work: float) -> float:
        return work if self.now + work <= self.end else max(0.0, self.end - self.now) + 1.0

    def _encoding(self, search: CertifiedSearch, numbers: np.ndarray) -> float:
        return ENCODING * float(search.nodes[numbers].sum())

    def _queue(self, problem: Any, queue: Any, limit: Any, bounds: Any, near: Any, work: Any) -> float:
        largest = int(np.diff(problem.second.node_start)[queue.graphs[1]].max())
        return float(limit.budget * np.diff(problem.first.node_start)[limit.row] * largest)

    def _applied(self, search: NearestSearch, encoded: Any, graphs: np.ndarray, method: Any, stage: int) -> float:
        if isinstance(method, DegreeMap):
            return ENCODING * float(search.sizes[graphs].sum())
        entries = float(search.query_nodes * search.sizes[graphs].sum())
        if not isinstance(method, ExactSearch):
            return entries
        assert method.node_limit is not None
        return self._until_end(entries * method.node_limit)

    def _dual(self, problem: Any, pairs: np.ndarray, limit: Any, watch: Watch) -> float:
        sizes = (
            np.diff(graphs.node_start)[side]
            for graphs, side in zip((problem.first, problem.second), pairs.T, strict=True)
        )
        work = self._until_end(10.0 * limit.max_expanded * float(np.multiply(*sizes).sum()))
        if self.now + work > self.end:
            watch.signals[STOP] = 1
        return work


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "radius"), [(300, None), (377, 400), (1_000, None)])
def test_time_limits_are_kept_by_large_queries(
    thousand: gm.GraphIndex, nodes: int, radius: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, query = WorkClock(monkeypatch), control_flow(nodes, 7)
    clock.start(LIMIT)
    if radius is None:
        found = thousand.search(query, 10, certified=True, time_limit=LIMIT)
        assert len(found) == 10
    else:
        found = thousand.range_search(query, radius, time_limit=LIMIT)
    assert clock.now <= 1.1 * LIMIT
    assert not found.report.complete
    assert found.report.undecided > 0
    for hit in found:
        assert 0 < hit.lower <= hit.upper
        assert not hit.proven


@pytest.mark.slow
def test_without_time_there_are_still_maps(thousand: gm.GraphIndex) -> None:
    found = thousand.search(control_flow(300, 7), 10, certified=True, time_limit=0)
    assert len(found) == 10
    for hit in found:
        assert hit.edit_path is not None
        assert len(hit.edit_path) == hit.upper
        assert hit.edit_path.apply(found.query).is_isomorphic(hit.graph)


@njit
def start_canceled(problem: Any, work: Any, limit: int) -> bool:
    """Start a pair with the signal set, as if it came after the loop over the pairs had checked it."""
    load_pair(problem, 0, 0, work.pair)
    work.progress.signals[STOP] = 1
    return start_within(work, limit, 0)


@pytest.mark.slow
def test_a_canceled_root_excludes_nothing() -> None:
    graphs = GraphCollection([control_flow(20, seed) for seed in range(2)])
    true = gm.graph_edit_distance(graphs[0], graphs[1]).upper
    problem = encode(graphs[:1], graphs[1:], gm.EditCosts())
    watch = Watch()
    work = watch.workspace(workspace_size(problem, np.zeros((1, 2), dtype=np.int64)))
    is_excluded = start_canceled(problem.packed, work, 2) and work.progress.status[DEPTH] < 0
    assert not is_excluded
    assert work.levels.state[0, BOUND] / (2 * problem.scale) <= true


def test_undecided_graphs_do_not_count_as_evaluated() -> None:
    report = SearchReport(100, True, {"labels": 40}, complete=False, undecided=60, undecided_lower=2.0)
    assert report.evaluated_fraction == 0
    assert str(report) == (
        "out of time among 100 graphs; 40 removed by labels; 0.0% evaluated exactly; "
        "60.0% undecided (60, none of them nearer than 2)"
    )


def test_one_hit_is_one_hit() -> None:
    index = gm.GraphIndex.build([gm.Graph(2, [(0, 1)])])
    assert repr(index.search(gm.Graph(1), 1)).startswith("SearchResult(1 hit, complete among 1 graph;")
