"""How kernels are compiled, and where the compiled code is kept.

An *entry* is a kernel that Python calls; only entries are cached on disk, each with everything it calls. A *part* is
called by kernels only and gets no wrapper, which halves its compilation. A *hot part* is also inlined by LLVM, which
saves a call with dozens of array fields. A *fragment* is copied into its one or two callers before compilation.

None of these allocates memory, and Python holds their arrays during a call, so reference counting is switched off:
with it, atomic counters took more than half of the time of an edit-distance search. Such a kernel must never create or
return an array; a *counted* entry or part may.

To decide whether its cache is stale, numba looks only at the file of an entry, not at the files of its parts. So every
file's entries have a folder of their own, named after a digest of that file and of all files it imports, from this
package and, if it is of another one, from that: after a change or an upgrade, what depends on it is compiled again and
nothing else. Where the cache cannot be written, kernels are compiled in every process, and everything still works.

The first call of an entry after an installation compiles it, which takes most of a minute for the searches. This is
announced once, and :func:`~graphmetric._foundation.limits.clock` stands still meanwhile. ``graphmetric doctor --warm``
compiles everything ahead of time.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

from graphmetric._foundation.limits import working_clock
from graphmetric._foundation.progress import announce

_SETTINGS: Any = config  # numba's stubs do not know its settings
_BARE: dict[str, Any] = {"nogil": True, "_nrt": False}
_WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

logger = logging.getLogger(__name__)


_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


def _cache_folder() -> Path:
    chosen = _SETTINGS.CACHE_DIR
    if not chosen:
        chosen = _PACKAGE / "__pycache__" if os.access(_PACKAGE, os.W_OK) else Path.home() / ".cache" / "graphmetric"
    return Path(chosen) / "kernels"


@cache
def _digest_of(source: Path) -> str:
    """A digest of a file of kernels, of the files that it imports, and of how they are compiled.

    Imports are followed within this package and the package of the file, which may be another one.
    """
    packages = {package.name: package for package in (_PACKAGE, _package_of(source))}
    own, found, waiting = Path(__file__), set[Path](), [source]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            names = [] if path == own else _IMPORT.findall(path.read_text(encoding="utf-8"))
            for first, *rest in (name.split(".") for name in names):
                if first in packages:
                    waiting += _files_of(packages[first].joinpath(*rest))
    return blake2b(b"".join(path.read_bytes() for path in sorted(found)), digest_size=8).hexdigest()


def _package_of(source: Path) -> Path:
    """The folder of the outermost package that a file belongs to."""
    package = source.parent
    while (package.parent / "__init__.py").exists():
        package = package.parent
    return package


def _files_of(module: Path) -> list[Path]:
    """The file of a module; for a package all files of its folder, since any of them may be meant."""
    return sorted(module.glob("*.py")) if module.is_dir() else [module.with_suffix(".py")]


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
_packages = {"graphmetric"}
"""The packages whose kernels are compiled here."""
_problems: list[str] = list(filter(None, [_why_not_writable(CACHE_FOLDER)]))


def cache_problem() -> str | None:
    """Why compiled code is not kept, so that every process compiles it again; None if it is kept."""
    return _problems[0] if _problems else None


class _ForgivingCache:
    """Numba's cache of one entry; code that it cannot read or write is compiled again instead of ending the call."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, signature: Any, context: Any) -> Any:
        with working_clock.stopped():
            try:
                return self._cache.load_overload(signature, context)
            except Exception as error:  # noqa: BLE001 (a damaged pickle can raise anything)
                logger.debug("compiled code cannot be read and is made again: %r", error)
                with suppress(OSError):
                    self._cache.flush()  # a damaged index would prevent a new one
                return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with working_clock.stopped():
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
        source = Path(function.__code__.co_filename)
        _packages.add(function.__module__.partition(".")[0])
        # Read while the decorator runs; other packages keep their own.
        _SETTINGS.CACHE_DIR = str(CACHE_FOLDER / _digest_of(source))
        try:
            compiled = njit(cache=True, **options)(function)
        finally:
            _SETTINGS.CACHE_DIR = before
        compiled._cache = _ForgivingCache(compiled._cache)
        return compiled

    return decorate


entry = _cached(**_BARE)
part = njit(**_BARE, **_WITHOUT_WRAPPERS)
hot_part = njit(forceinline=True, **_BARE, **_WITHOUT_WRAPPERS)
fragment = njit(inline="always", **_BARE)
counted_entry = _cached(nogil=True)
counted_part = njit(nogil=True, **_WITHOUT_WRAPPERS)


class _CompilationListener(event.Listener):
    """Announces the first compilation of this process, and stops the clock during all of them."""

    announced = False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        working_clock.stop()
        if not self.announced:
            self.announced = True
            problem = cache_problem()
            when = f"in every process, as it cannot be kept: {problem}" if problem else "once; it is kept for later"
            announce(f"compiling graphmetric's loops, which takes up to a minute and happens {when}")

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            working_clock.resume()


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).partition(".")[0] in _packages


event.register("numba:compile", _CompilationListener())  # type: ignore[no-untyped-call]
