"""How kernels are compiled.

An entry is what Python calls. A part is called by kernels only: it gets no Python wrapper and no cache file of its
own, since the cached entry contains it. A hot part is moreover inlined by LLVM, which saves a call with dozens of array
fields. A fragment is copied into its one or two callers before compilation, which also saves LLVM a module.

No kernel allocates, and Python holds the arrays during a call, so reference counting is switched off: with it, atomic
counters took more than half of the time of a search. Never let a kernel create or return an array.
"""

from typing import Any

from numba import njit

_BARE: dict[str, Any] = {"nogil": True, "_nrt": False}
_WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

entry = njit(cache=True, **_BARE)
part = njit(**_BARE, **_WITHOUT_WRAPPERS)
hot_part = njit(forceinline=True, **_BARE, **_WITHOUT_WRAPPERS)
fragment = njit(inline="always", **_BARE)
