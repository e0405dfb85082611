"""Limits on what work may use: time, threads and memory.

Time is measured by :func:`clock`, which stands still while kernels are compiled, so that a time limit covers the work
alone. Kernels run for a fraction of a second at a time and the clock is read in between: that keeps a limit to a tenth
of a second and lets Ctrl-C through.
"""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TypeVar

from graphmetric._foundation.atomic_files import in_bytes
from graphmetric.errors import InvalidArgument, NotEnoughMemory

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

Item = TypeVar("Item")

_CGROUP = Path("/sys/fs/cgroup")
_CORE_FILES = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))
_CONTAINER_FILES = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


class _Clock:
    """``time.monotonic`` without the time between :meth:`stop` and :meth:`resume`, in whatever thread."""

    def __init__(self) -> None:
        self.source: Callable[[], float] = time.monotonic
        """The seconds that are counted; tests put a counter in its place."""
        self._lock, self._stops, self._stopped_at, self._excluded = Lock(), 0, 0.0, 0.0

    def read(self) -> float:
        with self._lock:
            return (self._stopped_at if self._stops else self.source()) - self._excluded

    def stop(self) -> None:
        with self._lock:
            self._stops += 1
            if self._stops == 1:
                self._stopped_at = self.source()

    def resume(self) -> None:
        with self._lock:
            self._stops -= 1
            if self._stops == 0:
                self._excluded += self.source() - self._stopped_at

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.resume()


working_clock = _Clock()
"""The one clock of time limits; the compiler stops it."""
clock = working_clock.read
"""Seconds, as ``time.monotonic`` counts them, but without the time in which kernels are compiled or loaded."""


class DeadlineExceeded(Exception):
    """The deadline has passed; the code that set it turns this into an answer or an error."""


@dataclass(slots=True)
class Deadline:
    """A moment on :func:`clock`; by default it never comes."""

    moment: float = math.inf
    stopped: bool = field(default=False, init=False)
    """Set to make other threads end their work as soon as they can."""

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """The moment ``seconds`` from now; None means never."""
        return cls() if seconds is None else cls(clock() + seconds)

    @property
    def exists(self) -> bool:
        return self.moment < math.inf

    @property
    def remaining(self) -> float:
        """Remaining seconds."""
        return self.moment - clock()

    def check(self, ahead: float = 0.0) -> None:
        """Raise DeadlineExceeded unless there is time for work that takes ``ahead`` seconds."""
        if self.stopped or (self.exists and self.remaining <= ahead):
            raise DeadlineExceeded

    def sooner(self, seconds: float) -> Deadline:
        """A deadline that is earlier by ``seconds``, which are left for the work that follows."""
        return Deadline(self.moment - seconds)


def paced(items: Iterable[Item], seconds: float, *, first: int = 1, most: int) -> Iterator[list[Item]]:
    """Lists of items, each of about as many as the caller works on for ``seconds``.

    If the source of the items fails, those before the failure are given first.
    """
    source, size, failure = iter(items), first, None
    while failure is None:
        some: list[Item] = []
        try:
            some.extend(islice(source, size))  # which keeps those before a failure
        except Exception as error:  # noqa: BLE001 - raised below
            failure = error
        if not some:
            break
        started = clock()
        yield some
        size = max(1, int(min(size * min(seconds / max(clock() - started, 1e-6), 4.0), most)))
    if failure is not None:
        raise failure


def checked_jobs(n_jobs: int | None) -> int | None:
    """``n_jobs`` as an int or None; raises InvalidArgument if it is not a number of threads."""
    if n_jobs is None:
        return None
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if number == 0 or isinstance(n_jobs, bool):
        raise InvalidArgument(
            f"n_jobs is {n_jobs!r}; it must be a number of threads, 1 or more, -1 for one per core, or None for one"
        )
    return number


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: -1 is one per core, -2 one less, and so on; None is one thread."""
    number = checked_jobs(n_jobs)
    if number is None or number > 0:
        return number or 1
    return max(1, available_cores() + 1 + number)


def available_cores() -> int:
    """Return the number of cores that the machine, its container and the affinity of this process leave."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)))
    for names in _CORE_FILES:
        with suppress(OSError, ValueError):  # a file is missing, or says "max": no limit
            quota, period = map(int, " ".join((_CGROUP / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                cores = min(cores, math.ceil(quota / period))
    return max(1, cores)


def check_memory(size: float, purpose: str, advice: str = "") -> None:
    """Raise :class:`~graphmetric.errors.NotEnoughMemory` if ``size`` bytes are more than are available.

    Args:
        size: The least that the work will take.
        purpose: What takes it, such as ``"a matrix of 100,000 graphs"``.
        advice: What the user can do instead.
    """
    left = available_memory()
    if left is not None and size > left:
        problem = f"{purpose} needs about {in_bytes(size)} of memory; {in_bytes(left)} are available"
        raise NotEnoughMemory(f"{problem}: {advice}" if advice else problem)


def available_memory() -> int | None:
    """Bytes that this process can still get: the least that the machine, its container and its own limit leave.

    None where the system does not say.
    """
    found = [left for left in (_left_on_machine(), _left_in_container(), _left_to_process()) if left is not None]
    return min(found) if found else None


def _left_on_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        table = {name: int(value.split()[0]) * 1024 for name, _, value in (line.partition(":") for line in lines)}
        return table["MemAvailable"] + table.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:  # the total: how much is in use is not known here
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_in_container() -> int | None:
    for most, used in _CONTAINER_FILES:
        try:
            return int((_CGROUP / most).read_text()) - int((_CGROUP / used).read_text())
        except (OSError, ValueError):  # the file is missing, or says "max": no limit
            continue
    return None


def _left_to_process() -> int | None:
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return int(limit)
