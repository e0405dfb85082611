"""How kernels are compiled and where the compiled code is kept.

An *entry* is what Python calls; it alone is cached on disk, with everything it calls in it. A *part* is called by
kernels only and gets no wrapper, which halves its compilation. A *hot part* is moreover inlined by LLVM, which saves a
call with dozens of array fields. A *fragment* is copied into its one or two callers before compilation.

These never allocate, and Python holds their arrays during a call, so reference counting is switched off: with it,
atomic counters took more than half of the time of an edit-distance search. Never let such a kernel create or return an
array; a *counted* entry or part may.

Numba looks only at the file of an entry when it decides whether the cache is stale, not at the parts in other files.
So the cache lies in a folder named after a digest of all kernels: after a change, or an upgrade of the package, they
are compiled anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import config, njit

_SETTINGS: Any = config  # the stubs do not know its settings

_BARE: dict[str, Any] = {"nogil": True, "_nrt": False}
_WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _cache_folder() -> str:
    package = Path(__file__).parent
    sources = sorted(package.rglob("_kernels/*.py"))
    digest = blake2b(b"".join(path.read_bytes() for path in sources), digest_size=8).hexdigest()
    chosen = _SETTINGS.CACHE_DIR
    if not chosen:
        chosen = package / "__pycache__" if os.access(package, os.W_OK) else Path.home() / ".cache" / "graphmetric"
    return str(Path(chosen) / f"kernels-{digest}")


_CACHE_FOLDER = _cache_folder()


def _cached(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        before = _SETTINGS.CACHE_DIR
        _SETTINGS.CACHE_DIR = _CACHE_FOLDER  # read when the decorator runs, and ours alone
        try:
            return njit(cache=True, **options)(function)
        finally:
            _SETTINGS.CACHE_DIR = before

    return decorate


entry = _cached(**_BARE)
part = njit(**_BARE, **_WITHOUT_WRAPPERS)
hot_part = njit(forceinline=True, **_BARE, **_WITHOUT_WRAPPERS)
fragment = njit(inline="always", **_BARE)
counted_entry = _cached(nogil=True)
counted_part = njit(nogil=True, **_WITHOUT_WRAPPERS)
