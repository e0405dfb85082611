"""All formats, how a name or a suffix chooses one, and which files a path stands for."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from graphmetric.errors import FileError, UnknownFormat
from graphmetric.formats.binary import BINARY
from graphmetric.formats.dot import DOT
from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.file_source import natural_key
from graphmetric.formats.gml import GML
from graphmetric.formats.json_graphs import JSON_DOCUMENT, JSON_LINES
from graphmetric.formats.line_graphs import LINE_GRAPHS
from graphmetric.formats.molecules import SDF, SMILES
from graphmetric.formats.tudataset import TUDATASET
from graphmetric.formats.xml_graphs import CXL, GEXF, GRAPHML, GXL

_FORMATS = (BINARY, JSON_LINES, JSON_DOCUMENT, GEXF, GRAPHML, GXL, CXL, GML, DOT, TUDATASET, LINE_GRAPHS, SMILES, SDF)
_IRRELEVANT_NAMES = re.compile("readme|licen[cs]e|copying|changelog|citation|checksums|thumbs|desktop")
_IRRELEVANT_SUFFIXES = (".md", ".rst", ".html", ".pdf", ".dtd", ".xsd", ".md5", ".sha256", ".py", ".ini", ".db", ".log")


def formats() -> tuple[FileFormat, ...]:
    """Every format that can be read or written."""
    return _FORMATS


def format_by_name(name: str) -> FileFormat:
    """The format called ``name``; a suffix such as ``.gmg`` or ``gmg`` will do."""
    wanted = name.lower()
    for known in _FORMATS:
        if wanted == known.name or wanted in known.suffixes or f".{wanted}" in known.suffixes:
            return known
    raise UnknownFormat(f"unknown format {name!r}; known are {', '.join(known.name for known in _FORMATS)}")


def format_of(path: Path) -> FileFormat:
    """The format that a file name's ending chooses."""
    found = _format_by_suffix(path)
    if found is None:
        known = ", ".join(suffix for known in _FORMATS for suffix in known.suffixes)
        problem = f"the suffix {path.suffix!r} names no format" if path.suffix else "the name has no suffix"
        raise UnknownFormat(f"{problem}; known are {known} (each also with .gz), or pass format=...", path)
    return found


def _format_by_suffix(path: Path) -> FileFormat | None:
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return next((known for known in _FORMATS if suffix in known.suffixes), None)


def expand(path: Path, format: FileFormat | None) -> list[tuple[Path, FileFormat]]:
    """The files (or whole folders) to read, in natural order, with the format of each."""
    try:
        if path.is_dir():
            return _expand_folder(path, format)
        if path.exists():
            return [(path, format or format_of(path))]
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from None
    if not glob.has_magic(str(path)):
        raise FileError("no such file or folder", path)
    found = sorted(glob.glob(str(path), recursive=True), key=natural_key)
    files = [file for file in map(Path, found) if file.is_file()]
    if not files:
        raise FileError("no file matches this pattern", path)
    return [(file, format or format_of(file)) for file in files]


def _expand_folder(folder: Path, format: FileFormat | None) -> list[tuple[Path, FileFormat]]:
    for known in [format] if format else _FORMATS:
        if known.claims_folder is not None and known.claims_folder(folder):
            return [(folder, known)]
    relevant = (entry for entry in folder.iterdir() if not _is_irrelevant(entry))
    entries = sorted(relevant, key=lambda entry: natural_key(entry.name))
    inner = [entry.name for entry in entries if entry.is_dir()]
    if inner:
        problem = f"has folders inside ({first_few(inner)})"
        raise FileError(f"{problem}; read them by a pattern such as '{folder}/**/*.gexf'", folder)
    chosen = [(entry, found) for entry in entries if (found := format or _format_by_suffix(entry)) is not None]
    if len(chosen) < len(entries):
        known_names = {entry.name for entry, _ in chosen}
        unknown = [entry.name for entry in entries if entry.name not in known_names]
        problem = f"has {len(unknown)} files of no known format ({first_few(unknown)}); choose files by a pattern"
        raise FileError(f"{problem} such as '{folder}/*.gexf', or pass format=...", folder)
    if not chosen:
        raise FileError("has no graph files", folder)
    return chosen


def _is_irrelevant(entry: Path) -> bool:
    name = entry.name.lower()
    named = name.startswith((".", "__")) or _IRRELEVANT_NAMES.fullmatch(name.split(".")[0]) is not None
    return named or entry.suffix.lower() in _IRRELEVANT_SUFFIXES


def first_few(names: list[str], most: int = 5) -> str:
    """The first names of a list, for a message."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
