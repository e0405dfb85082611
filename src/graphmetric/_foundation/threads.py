"""Parallel work: our own threads over graphs or blocks of pairs, with one thread of torch in each, and devices.

By itself torch spreads every product of matrices over all cores. The matrices of graphs are so small that its threads
mostly wait for each other, and OpenMP's threads spin while they wait: on a busy machine that costs several times the
CPU time of one thread. So within :func:`thread_limit` torch computes only on the thread that calls it, and parallel
work goes through :func:`map_in_threads`, in pieces that do not depend on the number of threads. The results are
therefore the same, to the last bit, for any number of threads.

``torch.set_num_threads`` belongs to the user. It also changes threads that start later, so other threads would notice
if it were set and restored. OpenMP and MKL keep a number for each thread, and only that is changed here: the user's
setting is untouched in all other threads, and is restored in this one.

A GPU works through what it is given while the host goes on, unless the host asks it for something: the value of a
tensor, or how many rows a choice has. The host then waits until all that was given is done, and the GPU has nothing to
do until the host has come up with more. So encoding asks for nothing before a chunk of graphs is done, and features are
made by :func:`prefetch_in_threads`. On the device "meta", where tensors have no values, asking is an error, and a test
encodes there.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from graphmetric.errors import InvalidArgument, needs_extra

with needs_extra("learn", "computing with torch"):
    import torch
    from torch import Tensor

Item = TypeVar("Item")
Result = TypeVar("Result")

_allowed: ContextVar[int | None] = ContextVar("threads of graphmetric's own loops", default=None)


@contextmanager
def thread_limit(count: int | None) -> Iterator[None]:
    """Within the block, our loops use at most ``count`` threads, and torch computes on the thread that calls it.

    None means as many as torch is set to. Blocks may be nested and entered by several threads at a time.
    """
    if count is not None and count < 1:
        raise InvalidArgument(f"threads must be 1 or more; got {count}")
    before = _allowed.set(allowed_threads() if count is None else count)
    undo = _limit_torch_to_one_thread()
    try:
        yield
    finally:
        undo()
        _allowed.reset(before)


def allowed_threads() -> int:
    """Return the number of threads for our loops; outside of :func:`thread_limit`, that of torch."""
    return _allowed.get() or torch.get_num_threads()


def map_in_threads(
    work: Callable[[Item], Result], items: Iterable[Item], *, parts_are_parallel: bool = False
) -> list[Result]:
    """Apply ``work`` to every item on as many threads as are allowed, and return the results in order.

    With ``parts_are_parallel``, the work on one item is itself parallel: fewer items than threads are then taken one by
    one.
    """
    listed = list(items)
    threads = allowed_threads()
    if min(threads, len(listed)) <= 1 or (parts_are_parallel and len(listed) < threads):
        return [work(item) for item in listed]
    return list(prefetch_in_threads(work, listed, ahead=len(listed)))


def prefetch_in_threads(work: Callable[[Item], Result], items: Iterable[Item], ahead: int = 2) -> Iterator[Result]:
    """Apply ``work`` to every item in other threads, and yield the results in order.

    While one result is used, at most ``ahead`` others are prepared: a device computes meanwhile.
    """
    source, begun = iter(items), deque[Future[Result]]()
    pool = ThreadPoolExecutor(min(ahead, allowed_threads()), initializer=_become_worker)
    try:
        begun.extend(pool.submit(work, item) for item in islice(source, ahead))
        while begun:
            result = begun.popleft().result()
            begun.extend(pool.submit(work, item) for item in islice(source, 1))
            yield result
    finally:
        pool.shutdown(cancel_futures=True)  # after an interrupt, do not wait for work that has not begun


def as_device(name: str | torch.device) -> torch.device:
    """A device by name, such as "cuda:1"; raises if this machine has none."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise InvalidArgument(f"no device {name!r}: {error}") from None
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(device.type, False):
        usable = ", ".join(kind for kind, there in available.items() if there)
        raise InvalidArgument(f"device {name!r} cannot be used here; available: {usable}")
    return device


def send(tensor: Tensor, device: torch.device | str) -> Tensor:
    """A tensor of the host on a device; the host does not wait for a GPU to take it."""
    if torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)  # which memory that is not pinned would not be
    return tensor.to(device)


def _become_worker() -> None:
    """Make sure that neither our loops nor torch ever start more threads from this thread."""
    _allowed.set(1)
    _limit_torch_to_one_thread()


def _limit_torch_to_one_thread() -> Callable[[], None]:
    """Set this thread to one thread of torch, and return a function that undoes it."""
    before = torch.get_num_threads()  # ask first: torch sets the number of a new thread when it is first needed
    if before == 1:
        return lambda: None
    local = _thread_local_settings()
    if local is None:
        torch.set_num_threads(1)
        return lambda: torch.set_num_threads(before)
    local.set_openmp(1)
    of_mkl = local.set_mkl(1)

    def undo() -> None:
        local.set_openmp(before)
        local.set_mkl(of_mkl)

    return undo


class _ThreadLocalSettings(NamedTuple):
    """Functions that set the number of threads that OpenMP and MKL keep for each thread."""

    set_openmp: Callable[[int], object]
    set_mkl: Callable[[int], int]
    """Returns the previous number; 0 means that the thread had no number of its own."""


@cache
def _thread_local_settings() -> _ThreadLocalSettings | None:
    """The settings of the libraries that torch computes with; None if they cannot be reached."""
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib", "torch_cpu.dll"):
        path = Path(torch.__file__).parent / "lib" / name
        try:
            library = ctypes.PyDLL(str(path))  # already loaded; a PyDLL call keeps the GIL, as it is short
            found = _ThreadLocalSettings(library.omp_set_num_threads, _mkl_of(library))
        except (OSError, AttributeError):
            continue
        return found if _torch_obeys(found) else None
    return None


def _mkl_of(library: ctypes.PyDLL) -> Callable[[int], int]:
    try:
        return library.MKL_Set_Num_Threads_Local
    except AttributeError:  # torch was built with another BLAS, which follows OpenMP
        return lambda _: 0


def _torch_obeys(settings: _ThreadLocalSettings) -> bool:
    before = torch.get_num_threads()
    settings.set_openmp(before + 1)
    obeyed = torch.get_num_threads() == before + 1
    settings.set_openmp(before)
    return obeyed
