"""The service: the edition of the index that is served now, the lanes that work on it, and how both end.

A new edition of an index is loaded and compiled beside the old one, then one reference is replaced. Requests keep the
edition they began with, so none fails and none sees two.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from graphmetric.errors import GraphMetricError
from graphmetric.index.index_folder import IndexFolder
from graphmetric.search import GraphIndex
from graphmetric.serve.lanes import Lane, Stop
from graphmetric.serve.observing import Metrics
from graphmetric.serve.problems import busy
from graphmetric.serve.schema import SearchRequest
from graphmetric.serve.served_index import ServedIndex
from graphmetric.serve.settings import ServiceSettings

logger = logging.getLogger("graphmetric.serve")


class Service:
    """An index that is served."""

    def __init__(
        self,
        index: GraphIndex,
        settings: ServiceSettings | None = None,
        *,
        name: str = "graphs",
        folder: str | Path | None = None,
    ) -> None:
        """Serve an index that is loaded.

        Args:
            index: The index.
            settings: Limits and the like.
            name: What to call the collection on the page.
            folder: The folder the index was read from; new editions there are taken over.
        """
        self.settings = settings or ServiceSettings()
        self.current = ServedIndex(index, name, self.settings)
        self.metrics = Metrics()
        self.is_ready = False
        self.closing = threading.Event()
        """Set when the service is about to end: searches then answer with what they have."""
        self._folder = None if folder is None else IndexFolder(folder)
        workers, waiting = self.settings.workers, self.settings.waiting
        self.certified = Lane("certified", workers, waiting)
        """Searches with proofs, which take as long as they may."""
        self.quick = Lane("quick", workers, waiting)
        """Everything else."""
        for lane in (self.certified, self.quick):
            self.metrics.watch(f"{lane.name}_lane", "Requests at work or waiting", lambda lane=lane: lane.inside)  # type: ignore[misc]
        self.metrics.watch("graphs", "Graphs of the index", lambda: len(self.current.index))
        self.metrics.watch("ready", "Whether the index is compiled and warm", lambda: self.is_ready)

    def lane_of(self, asked: SearchRequest) -> Lane:
        """Where a search belongs."""
        return self.certified if self.current.is_certified(asked) else self.quick

    def stop(self, time_limit: float | None = None) -> Stop:
        """A new piece of work: how it is told to end, and how long it may take."""
        most = self.settings.time_limit
        return Stop(self.closing, most if time_limit is None else min(most, time_limit))

    def ready_index(self) -> ServedIndex:
        """The edition to answer from; a problem while it is being compiled, or when the service ends."""
        if self.closing.is_set():
            raise busy(5, "the service is about to end")
        if not self.is_ready:
            raise busy(5, "the index is being loaded and compiled")
        return self.current

    def warm(self) -> None:
        """Compile and read what the first requests would wait for."""
        self.current.index.warm()
        self.current.info()
        self.is_ready = True
        logger.info("ready", extra={"graphs": len(self.current.index), "edition": self.current.index.edition})

    def take_new_edition(self) -> bool:
        """Load the index again if its folder has another edition; returns whether it had one."""
        if self._folder is None:
            return False
        old = self.current
        manifest = self._folder.read()
        if manifest.edition == old.index.edition:
            return False
        same_model = old.index.model is not None and old.index.model.digest == manifest.model
        index = GraphIndex.load(self._folder.path, model=old.index.model if same_model else None)
        index.warm()
        fresh = ServedIndex(index, old.name, self.settings)
        fresh.info()
        self.current = fresh
        self.metrics.swaps.labels("taken").inc()
        logger.info("new edition", extra={"graphs": len(index), "edition": index.edition})
        return True

    async def watch_editions(self) -> None:
        """Warm up, then look for new editions until the service ends. What fails is logged and tried again."""
        await _in_own_thread(self.warm)
        while self._folder is not None and not self.closing.is_set():
            await asyncio.sleep(self.settings.poll_seconds)
            try:
                await _in_own_thread(self.take_new_edition)
            except (GraphMetricError, OSError) as error:
                self.metrics.swaps.labels("failed").inc()
                logger.warning("the new edition cannot be read: %s", error)

    def close(self) -> None:
        """Tell all work to end with what it has."""
        self.closing.set()

    def shut(self) -> None:
        """Release the threads; after :meth:`close`."""
        self.closing.set()
        for lane in (self.certified, self.quick):
            lane.close()


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
