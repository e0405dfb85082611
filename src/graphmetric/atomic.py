"""Writing so that a reader, or a crash, meets the old file or the new one and never a half."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes its name only when the block ends without an error."""
    target = Path(path)
    part = unfinished(target)
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def unfinished(target: Path) -> Path:
    """A new hidden name beside ``target``, for what will be renamed to it."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
