"""The two ways a kernel is compiled.

Only what Python calls is an ``entry`` and is cached on disk, with all it calls in it. Everything else is ``inner``:
without wrappers for Python it compiles in half the time. Numba looks at the file of an entry alone when it
decides whether the cache is stale: after a change to an inner function, touch the entry's file.
"""

from __future__ import annotations

from numba import njit

entry = njit(cache=True, nogil=True)
inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]
