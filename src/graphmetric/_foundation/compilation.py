"""How kernels are compiled, where the compiled code is kept, and what a time limit makes of it.

An *entry* is what Python calls; it alone is cached on disk, with everything it calls in it. A *part* is called by
kernels only and gets no wrapper, which halves its compilation. A *hot part* is moreover inlined by LLVM, which saves a
call with dozens of array fields. A *fragment* is copied into its one or two callers before compilation.

These never allocate, and Python holds their arrays during a call, so reference counting is switched off: with it,
atomic counters took more than half of the time of an edit-distance search. Never let such a kernel create or return an
array; a *counted* entry or part may.

Numba looks only at the file of an entry when it decides whether the cache is stale, not at the parts in other files.
So the cache lies in a folder named after a digest of all kernels: after a change, or an upgrade of the package, they
are compiled anew. Where that folder cannot be written to, kernels are compiled in every process, and all works as well.

The first call of an entry after an installation compiles it, which for the searches takes most of a minute. That is
announced once, and :func:`clock` stands still meanwhile: time limits are on this clock, so they cover the work and not
the compilation. ``graphmetric doctor --warm`` compiles everything ahead.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

from numba import config, njit
from numba.core import event

_SETTINGS: Any = config  # the stubs do not know its settings

_BARE: dict[str, Any] = {"nogil": True, "_nrt": False}
_WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

logger = logging.getLogger(__name__)


def _cache_folder() -> Path:
    package = Path(__file__).parents[1]
    sources = sorted(package.rglob("_kernels/*.py"))
    digest = blake2b(b"".join(path.read_bytes() for path in sources), digest_size=8).hexdigest()
    chosen = _SETTINGS.CACHE_DIR
    if not chosen:
        chosen = package / "__pycache__" if os.access(package, os.W_OK) else Path.home() / ".cache" / "graphmetric"
    return Path(chosen) / f"kernels-{digest}"


def _why_not_writable(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return None


CACHE_FOLDER = _cache_folder()
"""Where compiled code is kept."""
_problems: list[str] = list(filter(None, [_why_not_writable(CACHE_FOLDER)]))


def cache_problem() -> str | None:
    """Why compiled code is not kept, so that every process compiles again; None if it is kept."""
    return _problems[0] if _problems else None


class _Clock:
    """``time.monotonic`` without what is spent within :meth:`stopped`, by any thread."""

    def __init__(self) -> None:
        self._lock, self._depth, self._began, self._spent = Lock(), 0, 0.0, 0.0

    def stop(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._began = time.monotonic()

    def go_on(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._spent += time.monotonic() - self._began

    def read(self) -> float:
        with self._lock:
            return (self._began if self._depth else time.monotonic()) - self._spent

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.go_on()


_clock = _Clock()


def clock() -> float:
    """Seconds, as ``time.monotonic``, but standing still while loops are compiled or loaded: for time limits."""
    return _clock.read()


class _ToleratedCache:
    """numba's cache of one entry. What it cannot write or read is compiled again, instead of ending the call."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, signature: Any, context: Any) -> Any:
        with _clock.stopped():
            try:
                return self._cache.load_overload(signature, context)
            except Exception as error:  # noqa: BLE001 (damaged pickles raise anything)
                logger.debug("compiled code cannot be read and is made again: %r", error)
                with suppress(OSError):
                    self._cache.flush()  # or the index that cannot be read would be in the way of a new one
                return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with _clock.stopped():
            try:
                self._cache.save_overload(signature, data)
            except OSError as error:
                _problems.append(f"{CACHE_FOLDER}: {error.strerror or error}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


def _cached(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        if _problems:
            return njit(**options)(function)
        before = _SETTINGS.CACHE_DIR
        _SETTINGS.CACHE_DIR = str(CACHE_FOLDER)  # read when the decorator runs, and ours alone
        try:
            compiled = njit(cache=True, **options)(function)
        finally:
            _SETTINGS.CACHE_DIR = before
        compiled._cache = _ToleratedCache(compiled._cache)
        return compiled

    return decorate


entry = _cached(**_BARE)
part = njit(**_BARE, **_WITHOUT_WRAPPERS)
hot_part = njit(forceinline=True, **_BARE, **_WITHOUT_WRAPPERS)
fragment = njit(inline="always", **_BARE)
counted_entry = _cached(nogil=True)
counted_part = njit(nogil=True, **_WITHOUT_WRAPPERS)


class _Compilations(event.Listener):
    """Announces the first compilation of this process, and stops the clock during all of them."""

    announced = False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        _clock.stop()
        if not self.announced:
            self.announced = True
            _announce(cache_problem())

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            _clock.go_on()


def _announce(problem: str | None) -> None:
    kept = "once; it is kept for later" if problem is None else f"in every process, as it cannot be kept: {problem}"
    message = f"compiling graphmetric's loops, which takes up to a minute and happens {kept}"
    logger.info(message)
    if not logging.getLogger().handlers and sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"{message}\n")  # nobody listens to the log


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("graphmetric.")


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]
