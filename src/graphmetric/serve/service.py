"""The service: the edition of the index that is served now, the lanes that work on it, and how both end.

A new edition of an index is loaded and compiled beside the old one, then one reference is replaced. Requests keep the
edition they began with, so none fails and none sees two.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any

from graphmetric._foundation.limits import clock
from graphmetric.edit_distance import graph_edit_distance
from graphmetric.errors import GraphMetricError
from graphmetric.graphs.graph import Graph
from graphmetric.index import IndexStore, open_store
from graphmetric.search import GraphIndex
from graphmetric.serve.lanes import Lane, Stop
from graphmetric.serve.observing import Metrics
from graphmetric.serve.problems import busy
from graphmetric.serve.schema import SearchRequest
from graphmetric.serve.served_index import ServedIndex
from graphmetric.serve.settings import ServiceSettings

_HARD, _COMPILING_SECONDS, _MOST_ROUNDS = 40, 0.5, 5
"""Nodes of the graphs that are searched in order to compile, seconds of each search, compilation not counted, and how
often they are searched."""

logger = logging.getLogger("graphmetric.serve")


class Service:
    """An index that is served."""

    def __init__(
        self,
        index: GraphIndex,
        settings: ServiceSettings | None = None,
        *,
        name: str = "graphs",
        store: str | Path | IndexStore | None = None,
        when_ready: Callable[[], object] | None = None,
    ) -> None:
        """Serve an index that is loaded.

        Args:
            index: The index.
            settings: Limits and the like.
            name: What to call the collection on the page.
            store: The folder or database that the index was read from; new editions there are taken over.
            when_ready: Called once all is compiled and loaded.
        """
        self.settings = settings or ServiceSettings()
        self.current = ServedIndex(index, name, self.settings)
        self.metrics = Metrics()
        self.is_ready, self.cannot_start = False, False
        self.behind_since: float | None = None
        """Time at which the store first had a newer edition than the one served; None if the newest is served."""
        self.failed_polls = 0
        """Polls of the store that failed, in a row."""
        self.closing = threading.Event()
        """Set when the service is about to end: searches then answer with what they have."""
        self._when_ready = when_ready
        self._store = None if store is None else open_store(store)
        workers, waiting = self.settings.workers, self.settings.waiting
        self.certified = Lane("certified", workers, waiting)
        """Searches with proofs, which take as long as they may."""
        self.quick = Lane("quick", workers, waiting)
        """Everything else."""
        self.reading = Lane("reading", 1, waiting)
        """Large bodies, one at a time, since parsing takes many times their memory."""
        for lane in self._lanes:
            self.metrics.watch(f"{lane.name}_lane", "Requests at work or waiting", lambda lane=lane: lane.inside)  # type: ignore[misc]
        self.metrics.watch("graphs", "Graphs of the index", lambda: len(self.current.index))
        self.metrics.watch("ready", "Whether the index is compiled and warm", lambda: self.is_ready)
        self.metrics.watch("edition_behind_seconds", "Age of a newer edition that is not served", self.seconds_behind)
        self.metrics.watch("failed_polls", "Polls of the store that failed, in a row", lambda: self.failed_polls)

    @property
    def _lanes(self) -> tuple[Lane, ...]:
        return self.certified, self.quick, self.reading

    def lane_of(self, asked: SearchRequest) -> Lane:
        """Return the lane of a search: edits take as long as proofs."""
        return self.certified if asked.explain or self.current.is_certified(asked) else self.quick

    def stop(self, time_limit: float | None = None) -> Stop:
        """Create the cancellation and deadline of a new piece of work."""
        most = self.settings.time_limit
        return Stop(self.closing, most if time_limit is None else min(most, time_limit))

    def ready_index(self) -> ServedIndex:
        """The edition to answer from; a problem while it is being compiled, or when the service ends."""
        if self.closing.is_set():
            raise busy(5, "the service is about to end")
        if self.cannot_start:
            raise busy(30, "the index cannot be searched; the log of the service has the reason")
        if not self.is_ready:
            raise busy(5, "the index is being loaded and compiled")
        return self.current

    def seconds_behind(self) -> float:
        """Seconds since a newer edition was first seen that is not served yet; 0 if the newest is served."""
        since = self.behind_since
        return 0.0 if since is None else time.monotonic() - since

    def readiness(self) -> dict[str, Any]:
        """The answer of the readiness probe; raises a problem if the service is not ready.

        A service whose edition is old still answers, so it stays ready and reports that.
        """
        edition, behind, failed = self.ready_index().index.edition, self.seconds_behind(), self.failed_polls
        detail = None
        if failed:
            detail = f"the last {failed} polls of the index failed; the log of the service has the reason"
        elif behind:
            detail = "a newer edition is being loaded"
        return {
            "status": "ready",
            "edition": edition,
            "is_newest": not (behind or failed),
            "seconds_behind": round(behind, 3),
            "failed_polls": failed,
            "detail": detail,
        }

    def warm_up(self) -> None:
        """Compile and read what the first requests would wait for."""
        compile_searches()
        self._prepare(self.current)
        if self._when_ready is not None:
            self._when_ready()
        self.is_ready = True
        logger.info("ready", extra={"graphs": len(self.current.index), "edition": self.current.index.edition})

    def _prepare(self, served: ServedIndex) -> None:
        """Make once what all requests to an edition share."""
        served.index.warm_up()
        served.info()
        for id in served.index.ids[:1]:
            served.index.explain(served.index.graph(id), id)

    def take_new_edition(self) -> bool:
        """Load the index again if its store has another edition; returns whether it had one."""
        if self._store is None:
            return False
        old = self.current
        manifest = self._store.read()
        if manifest.edition == old.index.edition:
            return False
        if self.behind_since is None:
            self.behind_since = time.monotonic()
        same_model = old.index.model is not None and old.index.model.digest == manifest.model
        before = old.index.model
        device = "cpu" if before is None else str(before.network.device)
        index = GraphIndex.load(self._store, model=before if same_model else None, device=device)
        fresh = ServedIndex(index, old.name, self.settings)
        self._prepare(fresh)
        self.current = fresh
        self.metrics.swaps.labels("taken").inc()
        logger.info("new edition", extra={"graphs": len(index), "edition": index.edition})
        return True

    def poll(self) -> None:
        """Take over a new edition if there is one; a failure is logged and counted, and the next poll tries again.

        No error leaves this function: a future that held it would keep the edition alive in its traceback.
        """
        try:
            self.take_new_edition()
        except (GraphMetricError, OSError) as error:
            self._count_failed_poll()
            logger.warning("the new edition cannot be read: %s", error)
        except Exception:
            self._count_failed_poll()
            logger.exception("a bug in graphmetric: the new edition cannot be loaded")
        else:
            self.behind_since, self.failed_polls = None, 0

    def _count_failed_poll(self) -> None:
        self.failed_polls += 1
        self.metrics.swaps.labels("failed").inc()

    async def watch_editions(self) -> None:
        """Warm up, then poll the store for new editions until the service ends."""
        try:
            await _in_own_thread(self.warm_up)
        except Exception:
            self.cannot_start = True
            logger.exception("the index cannot be made ready")
            return
        while self._store is not None and not self.closing.is_set():
            await asyncio.sleep(self.settings.poll_seconds)
            await _in_own_thread(self.poll)

    def close(self) -> None:
        """Tell all work to end with what it has."""
        self.closing.set()

    def shut(self) -> None:
        """Release the threads; after :meth:`close`."""
        self.closing.set()
        for lane in self._lanes:
            lane.close()


@cache
def compile_searches() -> None:
    """Search once for distances that are hard to prove, so that all stages of a search are compiled.

    The queries of :meth:`GraphIndex.warm_up` are in the index and found by its first stage alone.
    """
    ring = [(u, (u + 1) % _HARD) for u in range(_HARD)]
    graphs = [Graph(_HARD, sorted({(min(e), max(e)) for e in [*ring, *_chords(step)]})) for step in (2, 3, 5, 7)]
    index = GraphIndex.build(graphs[1:])
    for _ in range(_MOST_ROUNDS):
        before = _compiled_seconds()
        _search_hard(graphs[0], index)
        if _compiled_seconds() - before < _COMPILING_SECONDS:  # on a slow machine, a stage may not have had its turn
            return


def _search_hard(query: Graph, index: GraphIndex) -> None:
    other = index.graph(index.ids[0])
    for limits in (None, {"total": 3}):
        index.search(query, 2, time_limit=_COMPILING_SECONDS, limits=limits)
        graph_edit_distance(query, other, limits=limits, time_limit=_COMPILING_SECONDS)
    index.range_search(query, 3.0, time_limit=_COMPILING_SECONDS)
    index.explain(Graph(2, [(0, 1)]), index.ids[0])


def _compiled_seconds() -> float:
    """Return the seconds spent on compiling or loading kernels so far, which time limits exclude."""
    return time.monotonic() - clock()


def _chords(step: int) -> list[tuple[int, int]]:
    return [(u, (u + step) % _HARD) for u in range(0, _HARD, 2)]


async def _in_own_thread(work: Callable[[], Any]) -> Any:
    """Do rare and long work beside the lanes."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            future.set_exception(error)

    threading.Thread(target=run, name="edition", daemon=True).start()
    return await asyncio.wrap_future(future)
