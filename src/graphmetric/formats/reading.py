"""Read graphs from files, folders, patterns and streams.

Which files a path stands for: a file, a folder, or a pattern.

Whether graphs from files fit together into one collection.
"""

from __future__ import annotations

import glob
import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import numpy as np

from graphmetric.errors import ConversionWarning, FileError, InvalidArgument
from graphmetric.formats.file_format import FileFormat, Part
from graphmetric.formats.registry import format_by_name, format_by_suffix, formats, unknown_suffix
from graphmetric.formats.source import DEFAULT_LIMITS, Limits, Skipped, Source, natural_key
from graphmetric.formats.xml import id_from_text
from graphmetric.graphs.collection import GraphCollection, pack
from graphmetric.graphs.columns import COLUMNS, Columns, Has, concatenate
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

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
        problem = f"has folders inside ({_folders_named(inner)})"
        raise FileError(f"{problem}; read them by a pattern such as '{folder}/**/*.gexf'", folder)
    chosen = [(entry, format or format_by_suffix(entry)) for entry in entries]
    unknown = [entry.name for entry, found in chosen if found is None]
    if unknown:
        problem = f"has {len(unknown)} files of no known format ({_folders_named(unknown)}); choose files by a pattern"
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


def _folders_named(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


class CollectionFit:
    """Checks parts in turn: one shape per column, and not too much memory for rows that are only filled up."""

    def __init__(self) -> None:
        self._shapes: dict[str, tuple[tuple[int, ...], str]] = {}
        self._row_bytes: dict[str, int] = {}
        self._absent = dict.fromkeys(COLUMNS, 0)

    def check(self, part: Part, source: Source) -> None:
        """Raise unless ``part`` fits those before it."""
        for name, described in COLUMNS.items():
            column = part.column(name) if isinstance(part, Graph) else getattr(part, name)
            if column is None:
                self._absent[name] += len(part.edges) if described.per == "edge" else part.num_nodes
            else:
                self._add(name, column.codes if isinstance(column, LabelColumn) else column, source)
        with source.located():
            source.limits.check_filler(sum(size * self._absent[name] for name, size in self._row_bytes.items()))

    def _add(self, name: str, array: Any, source: Source) -> None:
        shape = (array.shape[1:], str(array.dtype))
        if self._shapes.setdefault(name, shape) != shape:
            problem = f"{name} of shape {shape} after graphs with {self._shapes[name]}"
            raise source.error(f"{problem}; read such graphs one by one with iter_graphs")
        if name not in self._row_bytes:
            self._row_bytes[name] = array.itemsize * math.prod(shape[0])


_CHUNK = 10_000
"""Graphs packed at a time."""

Readable = str | os.PathLike[str] | BinaryIO


OnError = Literal["raise", "skip"]
"""What to do with a graph that cannot be read: end with an error, or go on and say at the end how many there were."""


def read_graphs(
    path: Readable,
    format: str | None = None,
    *,
    directed: bool | None = None,
    on_error: OnError = "raise",
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> GraphCollection:
    """Read graphs from a file, a folder, a pattern such as ``"data/**/*.gexf"``, or standard input (``"-"``).

    The format is chosen by the file's suffix unless named; see :func:`formats`. Files in a folder are read in natural
    order (g2 before g10); a file with a single graph that has no id gives it the file's name without suffix
    (as an integer if it is one). Gzip is recognised by its content.

    Args:
        path: Where to read; a binary stream needs ``format``.
        format: Name of a format, such as ``"gexf"``.
        directed: Make all graphs directed or undirected. Where the file does not say, its edges are read as arcs or as
            edges; where it says otherwise, graphs are converted as by ``Graph.replace(directed=...)``.
        on_error: ``"raise"`` at the first graph that cannot be read, or ``"skip"`` such graphs (whole files, where
            nothing in them can be read) and warn at the end how many there were.
        limits: Protection against files that would take too much memory or time.
        options: Options of the format, such as ``node_label="type"``.

    Raises:
        FileError: Something is wrong with a file; the message names it and the line or element.
        InvalidArgument: The format has no such option.

    Warns:
        ConversionWarning: Something was left out or skipped, or a file holds no graphs; the message names it.
    """
    parts = _located_parts(path, format, limits, options, directed, on_error)
    return GraphCollection._of(concatenate(_packed(parts) or [pack([])]))


def iter_graphs(
    path: Readable,
    format: str | None = None,
    *,
    directed: bool | None = None,
    on_error: OnError = "raise",
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> Iterator[Graph]:
    """The graphs of :func:`read_graphs` one by one; formats that stream are never in memory as a whole."""
    for _, part in _located_parts(path, format, limits, options, directed, on_error):
        if isinstance(part, Graph):
            yield part
        else:
            yield from GraphCollection._of(part)


def _located_parts(
    path: Readable,
    format: str | None,
    limits: Limits,
    options: dict[str, Any],
    directed: bool | None,
    on_error: OnError,
) -> Iterator[tuple[Source, Part]]:
    """Parts with the source they come from; counts graphs against the limit."""
    if on_error not in get_args(OnError):
        raise InvalidArgument(f"on_error must be 'raise' or 'skip'; got {on_error!r}")
    total = 0
    empty: list[str] = []
    skipped = Skipped() if on_error == "skip" else None
    for source, chosen, name_graphs in _sources(path, format, limits, skipped):
        before = total, 0 if skipped is None else skipped.count
        parts = chosen.read(source, chosen.parsed_options(options, directed))
        with source.record():
            for part in _with_direction(_named(parts, source) if name_graphs else parts, directed, source):
                total += 1 if isinstance(part, Graph) else part.num_graphs
                limits.check_graphs(total)
                yield source, part
        if before == (total, 0 if skipped is None else skipped.count):
            empty.append(source.name)
    if empty:
        warnings.warn(ConversionWarning(_without_graphs(empty)), stacklevel=3)
    if skipped is not None and skipped.first is not None:
        if not total:
            raise skipped.first
        said = "1 graph" if skipped.count == 1 else f"{skipped.count} graphs"
        problem = f"{said} could not be read and left out; the first: {skipped.first}"
        warnings.warn(ConversionWarning(problem), stacklevel=3)


def _without_graphs(names: list[str], most: int = 5) -> str:
    if len(names) == 1:
        return f"{names[0]} holds no graphs"
    return f"{len(names)} files hold no graphs: {', '.join(names[:most])}{', ...' if len(names) > most else ''}"


def _with_direction(parts: Iterator[Part], directed: bool | None, source: Source) -> Iterator[Part]:
    """Parts whose graphs are all directed, or all undirected, unless ``directed`` is None."""
    for part in parts:
        flags = np.array([Has.DIRECTION * part.directed]) if isinstance(part, Graph) else part.flags
        if directed is None or ((flags & Has.DIRECTION != 0) == directed).all():
            yield part
            continue
        for graph in [part] if isinstance(part, Graph) else GraphCollection._of(part):
            with source.record(f"graph {graph.id!r}" if graph.id is not None else None):
                yield graph.replace(directed=directed)


def _sources(
    path: Readable, format: str | None, limits: Limits, skipped: Skipped | None
) -> Iterator[tuple[Source, FileFormat, bool]]:
    named = None if format is None else format_by_name(format)
    if path == "-" or not isinstance(path, str | os.PathLike):
        if named is None:
            raise InvalidArgument("reading a stream needs format=..., since there is no file name to tell it")
        stream = sys.stdin.buffer if isinstance(path, str) else _checked_stream(path)
        yield Source(stream, limits, name="<stdin>" if path == "-" else None, skipped=skipped), named, False
        return
    given = Path(path)
    chosen = expand(given, named)
    noticed: set[str] = set()
    for file, found in chosen:
        yield Source(file, limits, noticed=noticed, skipped=skipped), found, file != given


def _checked_stream(stream: Any) -> BinaryIO:
    if not hasattr(stream, "read") or not isinstance(stream.read(0), bytes):
        raise InvalidArgument(f"expected a path or a stream opened in binary mode; got {type(stream).__name__}")
    return stream  # type: ignore[no-any-return]


def _named(parts: Iterator[Part], source: Source) -> Iterator[Part]:
    """Give a file's only graph the file's name, if it has no id."""
    first, second = next(parts, None), next(parts, None)
    if isinstance(first, Columns) and first.num_graphs == 1:
        first = GraphCollection._of(first)[0]
    if second is None and isinstance(first, Graph) and first.id is None and source.path is not None:
        name = source.path.name.encode("utf-8", "backslashreplace").decode("utf-8")  # names may be any bytes
        first = first.replace(id=id_from_text(Path(name[:-3] if name.lower().endswith(".gz") else name).stem))
    for part in (first, second):
        if part is not None:
            yield part
    yield from parts


def _packed(located: Iterable[tuple[Source, Part]]) -> list[Columns]:
    done: list[Columns] = []
    loose: list[Graph] = []
    fit = CollectionFit()
    for source, part in located:
        fit.check(part, source)
        if isinstance(part, Graph):
            loose.append(part)
        if loose and (len(loose) == _CHUNK or not isinstance(part, Graph)):
            done.append(pack(loose))
            loose = []
        if not isinstance(part, Graph):
            done.append(part)
    return done + ([pack(loose)] if loose else [])
