"""Work in other processes or on other machines: tasks for any executor, and their results as they come.

An executor is a :class:`concurrent.futures.Executor`, such as a pool of processes, loky's or MPI's, or a dask
``Client``, which can give one. A task carries all that it needs, so that any worker can do it at any time. Only some
tasks are handed out at once, which keeps the caller's memory the same however many there are. A task whose worker died
is handed out again. What all tasks need, such as a model, is sent with the first ones and kept by the workers.
"""

from __future__ import annotations

import copy
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED as FIRST
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Generic, TypeVar

from graphmetric.errors import GraphMetricError, InvalidArgument, WorkerLost, needs_extra

ATTEMPTS = 4
"""Attempts per task before the job fails because its worker was lost each time."""
_AT_ONCE = {False: (16, 3), True: (4, 2)}
"""The least number of tasks that are handed out at once, and how many for each worker: enough that none waits for the
caller. True: where results are taken in order; those that come too early, and may be large, count among them."""
_COUNT_WORKERS_EVERY = 10.0
"""Seconds after which workers are counted again: a cluster may grow."""
_SILENCE = 60.0
"""Seconds without a result after which a warning says so."""
_CONNECT_SECONDS = 30

logger = logging.getLogger(__name__)

Key = TypeVar("Key")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Task(Generic[Key]):
    number: int
    key: Key
    arguments: tuple[Any, ...]
    has_shared: bool
    """Whether it contains the data shared by all tasks."""
    attempts: int = 0


def as_executor(executor: Any) -> Executor:
    """An executor as it is, or the one of a dask ``Client``; raises InvalidArgument for anything else."""
    if isinstance(executor, Executor):
        return executor
    if callable(give := getattr(executor, "get_executor", None)):
        found = give(pure=False, retries=ATTEMPTS)
        if isinstance(found, Executor):
            return found
    raise InvalidArgument(
        f"executor is {executor!r}; it must be a concurrent.futures.Executor, such as a ProcessPoolExecutor, or a dask "
        "Client"
    )


def count_workers(executor: Executor) -> int:
    """Return the number of tasks that the executor runs at a time, if it is known."""
    client = getattr(executor, "_client", None)
    if client is not None and callable(getattr(client, "nthreads", None)):
        return sum(client.nthreads().values())
    known = getattr(executor, "_max_workers", None)
    return known if isinstance(known, int) else os.cpu_count() or 1


def run_tasks(
    executor: Any,
    work: Callable[..., Result],
    tasks: Iterable[tuple[Key, tuple[Any, ...]]],
    *,
    shared: Any = None,
    in_order: bool = False,
) -> Iterator[tuple[Key, Result]]:
    """Do ``work(*arguments)`` for every task, a key and its arguments; yields keys and results as they come.

    What the work raises is raised here. When the caller ends early, as after Ctrl-C, tasks that have not begun are
    canceled.

    Args:
        executor: What :func:`as_executor` takes.
        work: A function that can be sent to workers.
        tasks: Are taken when there is room for more.
        shared: Data of all tasks, kept by the workers. The work is then ``work(shared, *arguments)``, where
            ``shared`` is None for all but the first tasks; a worker that does not have it returns None, and the task
            is handed out again with it.
        in_order: Yield results in the order of the tasks. One that is late holds up later tasks, so that the results
            that wait for it stay few.

    Raises:
        WorkerLost: The workers that did a task died again and again, or the executor takes no more work.
    """
    pool = as_executor(executor)
    waiting: dict[Future[tuple[bool, Any]], _Task[Key]] = {}
    early: dict[int, tuple[Key, Result]] = {}
    with_shared = 2 * count_workers(pool) if shared is not None else 0
    source = (_Task(number, *task, number < with_shared) for number, task in enumerate(tasks))
    most, counted, due = _most_at_once(pool, in_order), time.monotonic(), 0
    try:
        while True:
            if time.monotonic() - counted > _COUNT_WORKERS_EVERY:
                most, counted = _most_at_once(pool, in_order), time.monotonic()
            while len(waiting) + len(early) < most and (task := next(source, None)) is not None:
                given = () if shared is None else (shared if task.has_shared else None,)
                waiting[_submit(pool, task, partial(work, *given, *task.arguments))] = task
            if not waiting:
                return
            for future in _finished(pool, waiting):
                task = waiting.pop(future)
                lost = future.cancelled() or future.exception() is not None
                if lost:
                    _check_again(task, future)
                    source = chain([task], source)  # type: ignore[assignment]
                    continue
                worked, result = future.result()
                if not worked:
                    raise result
                if result is None and shared is not None and not task.has_shared:
                    task.has_shared, task.attempts = True, task.attempts - 1
                    source = chain([task], source)  # type: ignore[assignment]
                elif in_order:
                    early[task.number] = task.key, result
                else:
                    yield task.key, result
            while due in early:
                yield early.pop(due)
                due += 1
    finally:
        for future in waiting:
            future.cancel()


def map_in_order(
    executor: Any,
    work: Callable[..., Result],
    items: Iterable[Item],
    arguments: Callable[[Item], tuple[Any, ...]],
    shared: Any = None,
) -> Iterator[tuple[Item, Result]]:
    """Every item with what workers make of its ``arguments``, in order, as :func:`run_tasks` does it.

    The items themselves stay here, those that workers are busy with in memory.
    """
    tasks = ((item, arguments(item)) for item in items)
    return run_tasks(executor, work, tasks, shared=shared, in_order=True)


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """A client of the dask scheduler at an address such as ``tcp://host:8786``."""
    with needs_extra("cluster", "work on a cluster"):
        from distributed import Client
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise InvalidArgument(
            f"no dask scheduler answers at {address!r} ({error}); start one with `dask scheduler`, and workers with "
            "`dask worker ADDRESS`"
        ) from None
    with client:
        yield client


def _most_at_once(pool: Executor, in_order: bool) -> int:
    least, per_worker = _AT_ONCE[in_order]
    return max(least, per_worker * count_workers(pool))


def _submit(pool: Executor, task: _Task[Any], work: Callable[[], Any]) -> Future[tuple[bool, Any]]:
    task.attempts += 1
    try:
        return pool.submit(_do, work, task.attempts)
    except Exception as error:
        raise WorkerLost(f"the executor takes no more work: {error!r}; run the job again with a new one") from error


def _do(work: Callable[[], Result], attempt: int) -> tuple[bool, Result | Exception]:
    """Runs in the worker. An error of the work itself is returned, so that it is not taken for a lost worker."""
    try:
        return True, work()
    except Exception as error:  # noqa: BLE001 - the caller raises it
        try:
            copy.copy(error)  # as unpickling would make it: an error that cannot be made anew would break a pool
        except Exception:  # noqa: BLE001
            error = RuntimeError(str(error))
        if not isinstance(error, GraphMetricError):
            error.add_note(f"in a worker:\n{traceback.format_exc()}")
        return False, error


def _finished(pool: Executor, waiting: Iterable[Future[Any]]) -> set[Future[Any]]:
    """The tasks that are done, at least one. Those of a dask client that was closed would be waited for without end."""
    started, told = time.monotonic(), _SILENCE
    futures = list(waiting)
    while True:
        done, _ = wait(futures, timeout=1.0, return_when=FIRST)
        if done:
            return done
        if getattr(getattr(pool, "_client", None), "status", "") in ("closed", "closing"):
            raise WorkerLost(f"the dask client was closed, and {len(futures)} tasks with it; use a new one")
        silent = time.monotonic() - started
        if silent > told:
            logger.warning("no result from %d tasks for %.0f seconds: are there workers?", len(futures), silent)
            told *= 2


def _check_again(task: _Task[Any], future: Future[Any]) -> None:
    """Raise unless the lost task may be tried once more."""
    error = None if future.cancelled() else future.exception()
    reason = "it was cancelled" if error is None else f"{type(error).__name__}: {error}"
    if isinstance(error, BrokenExecutor):
        raise WorkerLost(f"a worker of the executor died, which ends all of it ({reason}); use a new one") from error
    if task.attempts >= ATTEMPTS:
        raise WorkerLost(
            f"task {task.number} was lost {task.attempts} times, the last time because {reason}: its workers may run "
            "out of memory"
        ) from error
    logger.warning("task %s is done again, since its worker was lost (%s)", task.number, reason)
