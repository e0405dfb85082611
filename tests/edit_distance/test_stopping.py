"""Searches that are stopped: by the clock, by Ctrl-C, by a failure elsewhere; bounds hold whenever it happens."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import EditCosts, ExactSearch, Graph, RelaxedDistance, graph_edit_distance
from graphmetric._foundation.limits import working_clock
from graphmetric.edit_distance import methods
from graphmetric.edit_distance._kernels.workspace import STOP
from graphmetric.edit_distance.edit_path import edit_path_of
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.methods import BeamSearch, BranchBound, LocalSearch
from graphmetric.edit_distance.stopping import Watch, work_in_threads
from graphmetric.errors import InvalidArgument, SearchInterrupted
from graphmetric.graphs.collection import GraphCollection
from tests.clocks import NOT_FOR_EVER, interrupt
from tests.edit_distance.hard_graphs import sparse

PAIR = np.zeros((1, 2), dtype=np.int64)


HARD = sparse(50, 1), sparse(52, 2)


def check_bounds(result: gm.EditDistance) -> None:
    """The map is one that turns the first graph into the second, and costs what the result says."""
    assert result.lower <= result.upper
    assert result.edit_path is not None
    assert len(result.edit_path) == result.upper
    assert result.edit_path.apply(result.first).is_isomorphic(result.second)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "costs"), [
    (50, EditCosts()), (299, EditCosts()), (500, EditCosts()), (500, EditCosts(edge_delete=2)),
])  # fmt: skip
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
def test_time_limits_are_kept_at_every_size(nodes: int, costs: EditCosts, seconds: float) -> None:
    pair = sparse(nodes, 1), sparse(nodes + nodes // 10, 2)
    graph_edit_distance(*pair, costs=costs, time_limit=0)  # compiles
    result = graph_edit_distance(*pair, costs=costs, time_limit=seconds)
    assert result.seconds < NOT_FOR_EVER  # seconds + 0.05 on a machine that does nothing else
    assert not result.exact
    assert result.lower <= result.upper
    if costs.is_unit:
        check_bounds(result)


@pytest.mark.slow
@pytest.mark.parametrize("method", [ExactSearch(), BeamSearch(3), LocalSearch(2), BranchBound()])
@given(sizes=st.tuples(st.integers(0, 12), st.integers(0, 12)), seed=st.integers(0, 50), when=st.integers(0, 300))
@settings(max_examples=25)
def test_bounds_hold_whenever_a_search_is_stopped(
    method: EditDistanceMethod, sizes: tuple[int, int], seed: int, when: int
) -> None:
    """Stopped before it starts, or at some moment that the machine chooses."""
    first, second = (sparse(nodes, seed + side) for side, nodes in enumerate(sizes))
    true = graph_edit_distance(first, second).upper
    problem = encode(GraphCollection([first]), GraphCollection([second]), EditCosts())
    watch = Watch()
    timer = threading.Timer(when * 1e-6, lambda: watch.signals.__setitem__(STOP, 1))
    if when == 0:
        watch.stop()
    else:
        timer.start()
    found = method.solve_watched(problem, PAIR, watch)
    timer.cancel()
    assert found.lower is not None
    assert found.upper is not None
    assert found.node_map is not None
    assert found.lower[0] <= true <= found.upper[0]
    node_map = tuple(None if v < 0 else v for v in found.node_map[0, : first.num_nodes].tolist())
    path = edit_path_of(first, second, node_map, EditCosts())
    assert len(path) == found.upper[0]
    assert path.apply(first).is_isomorphic(second)


@pytest.mark.parametrize("time_limit", [None, 1e6])
@pytest.mark.parametrize(
    ("method", "most"),
    [("exact", None), (RelaxedDistance(1e-9, 10**9), None), ("exact", {"element": 3, "edges_deleted": 12})],
)
def test_the_caller_may_end_a_search_and_keeps_its_bounds(
    method: str | EditDistanceMethod, most: dict[str, int] | None, time_limit: float | None
) -> None:
    calls = iter([False, True])
    result = graph_edit_distance(
        *HARD, method=method, limits=most, time_limit=time_limit, should_end=lambda: next(calls, True)
    )
    assert result.note is not None
    assert result.note.startswith("canceled")
    assert "time limit" not in result.note
    assert not result.exact
    assert 0 <= result.lower <= result.upper


def test_a_limited_block_ends_with_the_one_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(working_clock, "source", lambda: now[0])
    watch = Watch()
    with watch.limited(10.0):
        with watch.limited(2.0):
            now[0] = 3.0
            watch.look_at_clock()
            assert watch.is_over
        assert watch.expired
        assert not watch.is_over
        with watch.limited(None):
            assert not watch.expired
            assert watch.until_deadline() == 7.0
        with watch.limited(100.0):
            now[0] = 11.0
            watch.look_at_clock()
            assert watch.is_over
        assert watch.is_over
    assert not watch.is_over


@pytest.mark.slow
def test_a_large_pair_uses_its_time() -> None:
    """However long that is: a slow machine takes longer to get as far."""
    pair = sparse(310, 1), sparse(330, 2)
    quick = graph_edit_distance(*pair, time_limit=0)
    longer = improved(pair, quick)
    assert longer.upper < 0.9 * quick.upper
    assert longer.lower > quick.lower
    for result in (quick, longer):
        check_bounds(result)


@pytest.mark.slow
def test_a_pair_too_large_for_any_tree_says_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "dual_memory", lambda problem, pairs: np.full(len(pairs), 1e15))
    pair = sparse(310, 1), sparse(330, 2)
    quick = graph_edit_distance(*pair, method=ExactSearch(node_limit=10))
    longer = improved(pair, quick)
    assert longer.upper < 0.9 * quick.upper
    assert longer.lower == quick.lower
    for result in (quick, longer):
        check_bounds(result)
        assert "310 nodes are too many for the exact search" in repr(result)
    assert "beam search" in (longer.note or "")
    assert "beam search" not in (quick.note or "")


def test_the_branch_bound_does_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = sparse(15, 1), sparse(16, 2)
    expected = graph_edit_distance(*pair)
    monkeypatch.setattr(methods, "dual_memory", lambda problem, pairs: np.full(len(pairs), 1e15))
    found = graph_edit_distance(*pair)
    assert found.exact
    assert found.upper == expected.upper


def improved(pair: tuple[Graph, Graph], quick: gm.EditDistance) -> gm.EditDistance:
    """Bounds of a longer search, with more and more time until the upper one is a tenth lower."""
    for seconds in (1.5, 6, 24, 96, NOT_FOR_EVER):
        longer = graph_edit_distance(*pair, time_limit=seconds)
        if longer.upper < 0.9 * quick.upper:
            break
    return longer


def test_large_graphs_that_are_the_same_are_proven_so() -> None:
    graph = sparse(320, 1)
    moved = graph.relabeled(np.random.default_rng(0).permutation(320))
    result = graph_edit_distance(graph, moved, time_limit=None)
    assert result.lower == 0
    check_bounds(result)


def test_results_say_why_they_are_not_proven() -> None:
    assert graph_edit_distance(*HARD, time_limit=0.05).note == "stopped by the time limit of 0.05 s"
    assert graph_edit_distance(*HARD, method=ExactSearch(node_limit=7)).note == "stopped after 7 search-tree nodes"
    assert graph_edit_distance(*HARD, method=ExactSearch(upper_bound=3)).note == "more than 3"
    assert graph_edit_distance(*HARD, method=ExactSearch(upper_bound=500, decide=True)).note == "decided"
    assert graph_edit_distance(*HARD, method="beam:3").note is None
    assert graph_edit_distance(HARD[0], HARD[0]).note is None


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [50, 290, 600])
def test_ctrl_c_ends_a_search_at_once_with_what_is_known(nodes: int) -> None:
    pair = sparse(nodes, 1), sparse(nodes + 5, 2)
    looks = iter(range(15))

    def press() -> bool:
        """At the fifteenth look of the thread that waits, a third of a second after the search began."""
        if next(looks, None) == 14:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    with pytest.raises(SearchInterrupted, match="known by then: EditDistance") as stopped:
        graph_edit_distance(*pair, time_limit=None, should_end=press)
    check_bounds(stopped.value.known)
    assert isinstance(stopped.value, KeyboardInterrupt)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["beam:1000", "local:100000", "hungarian"])
def test_ctrl_c_ends_other_methods_too(method: str) -> None:
    pair = sparse(900, 1), sparse(1000, 2)
    graph_edit_distance(Graph(2), Graph(2), method=method)  # compiles
    with pytest.raises(KeyboardInterrupt):
        interrupt(lambda: graph_edit_distance(*pair, method=method))


def test_ctrl_c_ends_the_search_for_a_common_subgraph() -> None:
    pair = sparse(70, 1, labels=1), sparse(70, 2, labels=1)
    gm.maximum_common_subgraph(Graph(1), Graph(1))  # compiles
    with pytest.raises(KeyboardInterrupt):
        interrupt(lambda: gm.maximum_common_subgraph(*pair))


def test_a_default_limit_is_for_names_and_not_for_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmetric.edit_distance.single.SECONDS", 0.01)
    assert graph_edit_distance(*HARD).note == "stopped by the time limit of 0.01 s"
    assert graph_edit_distance(*HARD, method="exact:0.02").note == "stopped by the time limit of 0.02 s"
    assert graph_edit_distance(*HARD, method=ExactSearch(node_limit=3)).nodes_expanded == 3
    easy = sparse(13, 1, labels=9), sparse(13, 2, labels=9)
    assert graph_edit_distance(*easy, time_limit=None).exact
    assert graph_edit_distance(*HARD, method="beam:3").method == "beam"


def test_nothing_is_told_before_the_first_bounds_are_known() -> None:
    """While loops are compiled, for instance, no bounds are shown."""
    watch = Watch()
    assert watch.bounds() is None
    with watch.limited(1.0):
        assert watch.bounds() is None


@pytest.mark.parametrize("limit", [-1, "soon", True, float("nan")])
def test_wrong_limits_are_explained(limit: object) -> None:
    with pytest.raises(InvalidArgument, match=r"time_limit is .* None for no limit"):
        graph_edit_distance(*HARD, time_limit=limit)  # type: ignore[arg-type]


def test_a_failure_of_one_thread_stops_the_others_and_is_raised() -> None:
    seen: list[Watch] = []

    def work(watch: Watch) -> None:
        seen.append(watch)
        if len(seen) == 2:
            raise ZeroDivisionError("here")
        while not watch.stopped:
            time.sleep(0.01)

    with pytest.raises(ZeroDivisionError, match="here"):
        work_in_threads(work, [Watch(), Watch()])
    assert all(watch.stopped for watch in seen)


@pytest.mark.slow
def test_the_command_shows_the_gap_and_prints_what_is_known_when_it_is_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "pair.jsonl"
    gm.write_graphs(HARD, file)
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "graphmetric", "ged", f"{file}:0", f"{file}:1", "--time-limit", "none"]
    environment = os.environ | {"COLUMNS": "120", "TERM": "xterm"}
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True, env=environment)
    os.close(end)
    shown = b""
    while b"between" not in shown:
        shown += os.read(terminal, 1000)
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=NOT_FOR_EVER)
    os.close(terminal)
    assert job.returncode == 130
    assert "distance  between" in out
    assert "note      interrupted" in out
