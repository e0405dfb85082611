"""Which files a path stands for: a file, a folder, or a pattern."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from graphmetric.errors import FileError
from graphmetric.graphs.files.file_format import FileFormat
from graphmetric.graphs.files.registry import format_by_suffix, formats, unknown_suffix
from graphmetric.graphs.files.source import natural_key

_IRRELEVANT_NAMES = re.compile("readme|licen[cs]e|copying|changelog|citation|checksums|thumbs|desktop")
_IRRELEVANT_SUFFIXES = (".md", ".rst", ".html", ".pdf", ".dtd", ".xsd", ".md5", ".sha256", ".py", ".ini", ".db", ".log")


def expand(path: Path, format: FileFormat | None) -> list[tuple[Path, FileFormat]]:
    """The files (or whole folders) to read, in natural order, with the format of each."""
    try:
        return _expanded(path, format)
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from None


def _expanded(path: Path, format: FileFormat | None) -> list[tuple[Path, FileFormat]]:
    if path.is_dir():
        return _expand_folder(path, format)
    if not path.exists() and glob.has_magic(str(path)):
        found = sorted(glob.glob(str(path), recursive=True), key=natural_key)
        files = [file for file in map(Path, found) if file.is_file()]
        if not files:
            raise FileError("no file matches this pattern", path)
        return [(file, _format_of(file, format)) for file in files]
    if not path.exists():
        raise FileError("no such file or folder", path)
    return [(path, _format_of(path, format))]


def _expand_folder(folder: Path, format: FileFormat | None) -> list[tuple[Path, FileFormat]]:
    for known in [format] if format else formats():
        if known.claims_folder is not None and known.claims_folder(folder):
            return [(folder, known)]
    relevant = (entry for entry in folder.iterdir() if not _is_irrelevant(entry))
    entries = sorted(relevant, key=lambda entry: natural_key(entry.name))
    inner = [entry.name for entry in entries if entry.is_dir()]
    if inner:
        problem = f"has folders inside ({_named(inner)})"
        raise FileError(f"{problem}; read them by a pattern such as '{folder}/**/*.gexf'", folder)
    chosen = [(entry, format or format_by_suffix(entry)) for entry in entries]
    unknown = [entry.name for entry, found in chosen if found is None]
    if unknown:
        problem = f"has {len(unknown)} files of no known format ({_named(unknown)}); choose files by a pattern"
        raise FileError(f"{problem} such as '{folder}/*.gexf', or pass format=...", folder)
    if not chosen:
        raise FileError("has no graph files", folder)
    return [(entry, found) for entry, found in chosen if found is not None]


def _format_of(file: Path, format: FileFormat | None) -> FileFormat:
    found = format or format_by_suffix(file)
    if found is None:
        raise unknown_suffix(file)
    return found


def _is_irrelevant(entry: Path) -> bool:
    name = entry.name.lower()
    stem = name.split(".")[0]
    named = name.startswith((".", "__")) or _IRRELEVANT_NAMES.fullmatch(stem) is not None
    return named or entry.suffix.lower() in _IRRELEVANT_SUFFIXES


def _named(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
