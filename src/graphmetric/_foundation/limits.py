"""How much memory there is, so that work that cannot fit is refused before it starts.

A time limit that work in slices keeps to.

Kernels run for a fraction of a second at a time and the clock is read in between: that keeps a limit to a tenth of a
second, and lets Ctrl-C through.

How many threads ``n_jobs`` stands for, as joblib counts them: -1 is one per core.
"""

from __future__ import annotations

import math
import operator
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from graphmetric._foundation.atomic_files import in_bytes
from graphmetric.errors import InvalidArgument, NotEnoughMemory


class OutOfTime(Exception):
    """The deadline has passed; whoever set it turns this into an answer or an error."""


@dataclass(slots=True)
class Deadline:
    """A moment on the clock of ``time.perf_counter``; never, by default."""

    moment: float = math.inf
    stopped: bool = field(default=False, init=False)
    """Set when other threads are to end their work as soon as they can."""

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None: never."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def exists(self) -> bool:
        return self.moment < math.inf

    @property
    def left(self) -> float:
        """Seconds until then."""
        return self.moment - time.perf_counter()

    def check(self, ahead: float = 0.0) -> None:
        """Raise unless there is time for work that takes ``ahead`` seconds."""
        if self.stopped or (self.exists and self.left <= ahead):
            raise OutOfTime

    def sooner(self, seconds: float) -> Deadline:
        """A deadline that leaves so many seconds for what comes after it."""
        return Deadline(self.moment - seconds)


def checked_jobs(n_jobs: int | None) -> int | None:
    """``n_jobs`` as it is; raises InvalidArgument if it is no number of threads."""
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
    """The number of threads; None is one, unless ``joblib.parallel_config`` says otherwise."""
    number = checked_jobs(n_jobs)
    if number == 1:
        return 1
    import joblib  # a fifth of a second, which a command that answers at once can do without

    return int(joblib.effective_n_jobs(number))


try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

_CGROUP = Path("/sys/fs/cgroup")
_CONTAINER_FILES = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def available_memory() -> int | None:
    """Bytes that this process can still get: the least of what the machine, its container and its limits leave.

    None where the system does not tell.
    """
    found = [left for left in (_of_machine(), _of_container(), _of_process()) if left is not None]
    return min(found) if found else None


def check_memory(size: float, purpose: str, advice: str = "") -> None:
    """Raise :class:`~graphmetric.errors.NotEnoughMemory` if ``size`` bytes are more than there are.

    Args:
        size: An estimate from below of what the work will take.
        purpose: What takes it, such as ``"a matrix of 100,000 graphs"``.
        advice: What the user can do instead.
    """
    left = available_memory()
    if left is not None and size > left:
        problem = f"{purpose} needs about {in_bytes(size)} of memory; {in_bytes(left)} are available"
        raise NotEnoughMemory(f"{problem}: {advice}" if advice else problem)


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        table = {name: int(value.split()[0]) * 1024 for name, _, value in (line.partition(":") for line in lines)}
        return table["MemAvailable"] + table.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:  # all of it: what is in use is not known here
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_container() -> int | None:
    for most, used in _CONTAINER_FILES:
        try:
            return int((_CGROUP / most).read_text()) - int((_CGROUP / used).read_text())
        except (OSError, ValueError):  # not there, or "max": no limit
            continue
    return None


def _of_process() -> int | None:
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
