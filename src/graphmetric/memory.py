"""How much memory there is, so that work that cannot fit is refused before it starts."""

from __future__ import annotations

import os
from pathlib import Path

from graphmetric.atomic import in_bytes
from graphmetric.errors import NotEnoughMemory

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
