"""Files that are written whole: a reader, or a crash, finds the old file or the new one and never half of one.

A disk that is full, read-only or gone is a fault of neither the code nor the data: what the system says becomes a
:class:`~graphmetric.errors.FileError` that names the file and the reason.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from graphmetric.errors import FileError, GraphMetricError

_NAME_KEPT = 40
"""Characters of its name that an unfinished file keeps: a name may have 255 bytes, and a character has up to four."""


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes its name only when the block ends without an error.

    A device or a pipe, such as ``/dev/stdout``, is written directly: replacing it with a file would destroy it.

    Raises:
        FileError: The system cannot write the file: no space, no permission, no such folder.
    """
    target = Path(path)
    with system_errors_named(target):
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(target))  # a link stays a link, to the new file
        part = unfinished(target)
        try:
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        finally:
            with contextlib.suppress(OSError):  # nothing was created, or nothing can be removed
                part.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a whole file, or nothing; halves of characters in a text are spelled out."""
    with atomic_write(path) as file:
        file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)


@contextmanager
def system_errors_named(path: str | os.PathLike[str], action: str = "written") -> Iterator[None]:
    """Turn system errors about ``path`` into FileError; errors that name other files pass unchanged."""
    try:
        yield
    except OSError as error:
        if isinstance(error, GraphMetricError) or _is_about_another_file(error, Path(path)):
            raise
        raise FileError(f"cannot be {action}: {_reason(error, Path(path))}", path) from error


def check_writable(path: str | os.PathLike[str], *, folder: bool = False, size: int = 0) -> None:
    """Raise FileError if ``path`` cannot be written, before hours of work are spent on it.

    A file is really created and removed, since permission bits alone are not reliable: root ignores them, and a
    mounted disk may be read-only.

    Args:
        path: The file or folder that will be written; a folder may lie in folders that do not exist yet.
        folder: Whether it is a folder.
        size: The least number of bytes that will be needed.
    """
    target = Path(path)
    with system_errors_named(target):
        if folder:
            if target.exists() and not target.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            place = next(parent for parent in (target, *target.absolute().parents) if parent.exists())
        else:
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if target.exists() and not target.is_file():
                return  # a device or a pipe
            place = Path(os.path.realpath(target)).parent
        trial = unfinished(place / target.name)
        try:
            trial.touch(exist_ok=False)
        finally:
            with contextlib.suppress(OSError):
                trial.unlink(missing_ok=True)
        free = shutil.disk_usage(place).free
    if size > free:
        raise FileError(
            f"needs {in_bytes(size)} or more, and its disk has {in_bytes(free)} left; make room or write elsewhere",
            path,
        )


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make the folder, and those it lies in, unless it exists; FileError if that is not possible."""
    with system_errors_named(path, "made"):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def unfinished(target: Path) -> Path:
    """A new hidden name beside ``target``, for a file or folder that will be renamed to it."""
    return target.with_name(f".{target.name[:_NAME_KEPT]}.{secrets.token_hex(4)}.part")


def in_bytes(number: float) -> str:
    """A number of bytes for people to read, such as ``1.5 GB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def _is_about_another_file(error: OSError, path: Path) -> bool:
    """Errors in reading and writing name no file; errors in opening name the file they are about."""
    if error.filename is None or not isinstance(error.filename, str | bytes):
        return False
    named, target = (Path(os.path.realpath(name)) for name in (os.fsdecode(error.filename), path))
    inside_or_around = target in (named, *named.parents) or named in target.parents
    return not inside_or_around and not (named.parent in target.parents and named.suffix == ".part")


def _reason(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError) and not path.parent.exists():
        return f"there is no folder {path.parent}"
    return error.strerror or str(error)
