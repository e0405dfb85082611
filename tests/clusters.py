"""A dask cluster of two worker processes on this machine, for tests and drills that kill its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PATIENCE = {"distributed.deploy.lost-worker-timeout": "1 day"}
"""The cluster looks this long after each kill whether the worker is back, and otherwise gives up its place. On a busy
machine a worker takes longer than the usual 15 seconds, and a later look may fall on a later kill of the same worker;
once both places are gone, a job waits for workers without end. So it never looks."""


@contextmanager
def two_workers() -> Iterator[tuple[Any, Any]]:
    """The cluster, reached over TCP, and a client of it."""
    import dask
    from distributed import Client, LocalCluster

    options = {"protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        dask.config.set(_PATIENCE),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client
