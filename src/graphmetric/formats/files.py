"""Read graphs from files, folders, patterns and streams; write them to files and folders, whole or not at all.

The last part says which formats there are, how a name or a suffix chooses one, and which files a path stands for.
"""

from __future__ import annotations

import glob
import gzip
import math
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import numpy as np

from graphmetric._foundation.atomic_files import atomic_write, system_errors_named, unfinished
from graphmetric.errors import ConversionWarning, FileError, InvalidArgument, UnknownFormat
from graphmetric.formats.attributes import without_names
from graphmetric.formats.binary import BINARY
from graphmetric.formats.dot import DOT
from graphmetric.formats.file_format import EVERYTHING, ConversionLosses, FileFormat, Part
from graphmetric.formats.file_source import DEFAULT_LIMITS, FileSource, ReadingCall, ReadLimits, located, natural_key
from graphmetric.formats.gml import GML
from graphmetric.formats.gspan import GSPAN
from graphmetric.formats.json_graphs import JSON_DOCUMENT, JSON_LINES
from graphmetric.formats.molecules import SDF, SMILES, MoleculeOptions
from graphmetric.formats.tudataset import TUDATASET
from graphmetric.formats.values import id_from_text, shortened
from graphmetric.formats.xml_graphs import CXL, GEXF, GRAPHML, GXL
from graphmetric.graphs.collection import GraphCollection, checked_item, pack
from graphmetric.graphs.columns import COLUMNS, Columns, GraphFlags, concatenate
from graphmetric.graphs.graph import Graph

_CHUNK = 10_000
"""Graphs packed at a time."""

Readable = str | os.PathLike[str] | BinaryIO

OnError = Literal["raise", "skip"]
"""Treatment of a graph that cannot be read: raise an error, or skip it and report the number at the end."""


def read_graphs(
    path: Readable,
    format: str | None = None,
    *,
    directed: bool | None = None,
    on_error: OnError = "raise",
    limits: ReadLimits = DEFAULT_LIMITS,
    reading: MoleculeOptions | None = None,
    **options: Any,
) -> GraphCollection:
    """Read graphs from a file, a folder, a pattern such as ``"data/**/*.gexf"``, or standard input (``"-"``).

    The format is chosen by the file's suffix unless named; see :func:`available_formats`. Files in a folder are read in
    natural order (g2 before g10); a file with a single graph that has no id gives it the file's name without suffix
    (as an integer if it is one). Gzip is recognized by its content.

    Args:
        path: Where to read; a binary stream needs ``format``.
        format: Name of a format, such as ``"gexf"``.
        directed: Make all graphs directed or undirected. Where the file does not say, its edges are read as arcs or as
            edges; where it says otherwise, graphs are converted as by ``Graph.replace(directed=...)``.
        on_error: ``"raise"`` at the first graph that cannot be read, or ``"skip"`` such graphs (whole files, where
            nothing in them can be read) and warn at the end how many there were.
        limits: Protection against files that would take too much memory or time.
        reading: Options for molecules, such as the ``reading`` of an index; files of other kinds do not need them.
        options: Options of the format, such as ``node_label="type"``.

    Raises:
        FileError: Something is wrong with a file; the message names it and the line or element.
        InvalidArgument: The format has no such option.

    Warns:
        ConversionWarning: Something was left out or skipped, or a file holds no graphs; the message names it.
    """
    packed: list[Columns] = []
    parts = _parts_that_fit(_parts(path, format, directed, on_error, limits, reading, options))
    for single, run in groupby(parts, lambda part: isinstance(part, Graph)):
        if not single:
            packed.extend(run)  # type: ignore[arg-type]
        while chunk := list(islice(run, _CHUNK)):
            packed.append(pack(chunk))  # type: ignore[arg-type]
    used = molecule_options(path, format, reading, options)
    return GraphCollection._of(concatenate(packed or [pack([])]), reading=used)


def molecule_options(
    path: Readable, format: str | None = None, reading: MoleculeOptions | None = None, options: Mapping[str, Any] = {}
) -> MoleculeOptions | None:
    """The options by which :func:`read_graphs` reads the molecules of a path; None where it reads none."""
    named = None if format is None else format_by_name(format)
    is_path = isinstance(path, str | os.PathLike) and path != "-"
    kinds = [kind for _, kind in expand(Path(path), named)] if is_path else [named]  # type: ignore[arg-type]
    found = next((kind for kind in kinds if kind is not None and kind.options is MoleculeOptions), None)
    return None if found is None else found.parsed_options(dict(options), defaults=reading)


def iter_graphs(
    path: Readable,
    format: str | None = None,
    *,
    directed: bool | None = None,
    on_error: OnError = "raise",
    limits: ReadLimits = DEFAULT_LIMITS,
    reading: MoleculeOptions | None = None,
    **options: Any,
) -> Iterator[Graph]:
    """The graphs of :func:`read_graphs` one by one; formats that stream are never in memory as a whole."""
    for _, part in _parts(path, format, directed, on_error, limits, reading, options):
        yield from _graphs_of(part)


def _graphs_of(part: Part) -> Iterable[Graph]:
    return [part] if isinstance(part, Graph) else GraphCollection._of(part)


def _parts(
    path: Readable,
    format: str | None,
    directed: bool | None,
    on_error: OnError,
    limits: ReadLimits,
    reading: MoleculeOptions | None,
    options: dict[str, Any],
) -> Iterator[tuple[FileSource, Part]]:
    """Parts with the source they come from; counts graphs against the limit."""
    if on_error not in get_args(OnError):
        raise InvalidArgument(f"on_error must be 'raise' or 'skip'; got {on_error!r}")
    call = ReadingCall(limits, skips=on_error == "skip")
    total = 0
    empty: list[str] = []
    for source, chosen, name_graphs in _sources(path, format, call):
        before = total, call.skipped
        parts = chosen.read(source, chosen.parsed_options(options, directed, reading))
        with source.record():
            for part in _with_direction(_named(parts, source) if name_graphs else parts, directed, source):
                total += 1 if isinstance(part, Graph) else part.num_graphs
                limits.check(graphs=total)
                yield source, part
        if before == (total, call.skipped):
            empty.append(source.name)
    if empty:
        several = f"{len(empty)} files hold no graphs: {first_few(empty)}"
        warnings.warn(ConversionWarning(several if len(empty) > 1 else f"{empty[0]} holds no graphs"), stacklevel=3)
    if call.first_error is not None:
        if not total:
            raise call.first_error
        graphs, were = ("graph", "was") if call.skipped == 1 else ("graphs", "were")
        problem = f"{call.skipped} {graphs} could not be read and {were} left out; the first: {call.first_error}"
        warnings.warn(ConversionWarning(problem), stacklevel=3)


def _sources(path: Readable, format: str | None, call: ReadingCall) -> Iterator[tuple[FileSource, FileFormat, bool]]:
    """Yield the sources to read, their formats, and whether graphs without an id are named after their file."""
    named = None if format is None else format_by_name(format)
    if isinstance(path, str | os.PathLike) and path != "-":
        given = Path(path)
        for file, found in expand(given, named):
            yield FileSource(file, call), found, file != given
        return
    if path != "-" and not hasattr(path, "read"):
        raise InvalidArgument(f"path must be a path, or a stream opened in binary mode; got {path!r}")
    if named is None:
        raise InvalidArgument("reading a stream needs format=..., since there is no file name to choose it by")
    stream: Any = sys.stdin.buffer if isinstance(path, str) else path
    if not hasattr(stream, "read") or not isinstance(stream.read(0), bytes):
        raise InvalidArgument(f"expected a path or a stream opened in binary mode; got {type(stream).__name__}")
    yield FileSource(stream, call, name="<stdin>" if path == "-" else None), named, False


def _named(parts: Iterator[Part], source: FileSource) -> Iterator[Part]:
    """Give a file's only graph the file's name, if it has no id."""
    start = list(islice(parts, 2))
    first = start[0] if len(start) == 1 else None
    if isinstance(first, Columns) and first.num_graphs == 1:
        first = GraphCollection._of(first)[0]
    if isinstance(first, Graph) and first.id is None and source.path is not None:
        name = source.path.name.encode("utf-8", "backslashreplace").decode("utf-8")  # names may be any bytes
        start = [first.replace(id=id_from_text(Path(name[:-3] if name.lower().endswith(".gz") else name).stem))]
    yield from start
    yield from parts


def _with_direction(parts: Iterator[Part], directed: bool | None, source: FileSource) -> Iterator[Part]:
    """Parts whose graphs are all directed, or all undirected, unless ``directed`` is None."""
    for part in parts:
        found = part.directed if isinstance(part, Graph) else part.flags & GraphFlags.DIRECTION != 0
        if directed is None or np.all(found == directed):
            yield part
            continue
        for graph in _graphs_of(part):
            with source.record(f"graph {graph.id!r}" if graph.id is not None else None):
                yield graph.replace(directed=directed)


def _parts_that_fit(parts: Iterable[tuple[FileSource, Part]]) -> Iterator[Part]:
    """The parts, if each column has one shape in all, and rows that are only filled up take not too much memory."""
    shapes: dict[str, tuple[tuple[int, ...], str]] = {}
    row_bytes: dict[str, int] = {}
    absent = dict.fromkeys(COLUMNS, 0)
    for source, part in parts:
        for name, known in COLUMNS.items():
            column = part.column(name) if isinstance(part, Graph) else getattr(part, name)
            if column is None:
                absent[name] += len(part.edges) if known.per == "edge" else part.num_nodes
                continue
            array = column.codes if known.coded else column
            shape = (array.shape[1:], str(array.dtype))
            if shapes.setdefault(name, shape) != shape:
                problem = f"{name} of shape {shape} after graphs with {shapes[name]}"
                raise source.error(f"{problem}; read such graphs one by one with iter_graphs")
            row_bytes[name] = array.itemsize * math.prod(shape[0])
        source.check(filler_bytes=sum(size * absent[name] for name, size in row_bytes.items()))
        yield part


def write_graphs(
    graphs: Graph | Iterable[Graph], path: str | os.PathLike[str] | BinaryIO, format: str | None = None
) -> None:
    """Write graphs in the format that the suffix or ``format`` names; a name that ends in ``.gz`` is compressed.

    The file appears under its name only when it is complete. Formats that are folders (``tudataset``), or that hold one
    graph per file (``gexf``) and are given a name without suffix, make a new folder. ``"-"`` is standard output.

    Raises:
        FileError: The file cannot be written, or a graph has something that the format cannot express.

    Warns:
        ConversionWarning: The format cannot hold some column, which was left out or changed; the message names it.
    """
    given: Iterable[Graph] = [graphs] if isinstance(graphs, Graph) else graphs
    if path == "-" or not isinstance(path, str | os.PathLike):
        if format is None:
            raise InvalidArgument("writing to a stream needs format=..., since there is no file name to choose it by")
        with ConversionLosses() as not_kept:
            _write(given, sys.stdout.buffer if isinstance(path, str) else path, format_by_name(format), not_kept)
        return
    target = Path(os.path.realpath(path))
    chosen = format_by_name(format) if format else format_of(target)
    is_folder = chosen.write_folder is not None or (chosen.one_graph_per_file and not target.suffix)
    new = _new_folder if is_folder else _new_file
    # The warnings come first, so that where they are errors nothing appears under the name.
    with located(str(path)), new(target) as place, ConversionLosses() as not_kept:
        if isinstance(place, Path):
            _write_folder(given, place, target.name, chosen, not_kept)
        else:
            _write(given, place, chosen, not_kept)


def _write(graphs: Iterable[Graph], stream: BinaryIO, chosen: FileFormat, not_kept: ConversionLosses) -> None:
    if chosen.write is None:
        raise FileError(f"format {chosen.name!r} {'is a folder' if chosen.write_folder else 'is read only'}")
    try:
        chosen.write(_watched(graphs, chosen, not_kept), stream, not_kept)
    except UnicodeEncodeError as error:
        problem = f"{shortened(error.object[error.start : error.end])} is half of a character, which no file can hold"
        raise FileError(problem) from None


def _write_folder(
    graphs: Iterable[Graph], folder: Path, name: str, chosen: FileFormat, not_kept: ConversionLosses
) -> None:
    """A folder in its own format, or one file per graph, called by its id where that makes a safe, new name."""
    watched = _watched(graphs, chosen, not_kept)
    if chosen.write_folder is not None:
        chosen.write_folder(watched, folder, name, not_kept)
        return
    assert chosen.write is not None
    for k, graph in enumerate(watched):
        name = str(graph.id) if isinstance(graph.id, str | int) else ""
        safe = name.replace("_", "").replace("-", "").isalnum() and name.isascii() and len(name) <= 100
        file = folder / f"{name if safe else k}{chosen.suffixes[0]}"
        if file.exists():
            raise FileError(f"its file name {file.name} is already taken by another graph", None, f"graphs[{k}]")
        with located(None, f"graphs[{k}]"), file.open("wb") as stream:
            chosen.write([graph], stream, not_kept)


def _watched(graphs: Iterable[Graph], chosen: FileFormat, not_kept: ConversionLosses) -> Iterable[Graph]:
    """Graphs on their way to a writer; what of them the format has no place for is remembered."""
    if isinstance(graphs, GraphCollection) and chosen.holds == EVERYTHING:
        return graphs  # packed columns can be written without making graphs
    return _watched_one_by_one(graphs, chosen, not_kept)


def _watched_one_by_one(graphs: Iterable[Graph], chosen: FileFormat, not_kept: ConversionLosses) -> Iterator[Graph]:
    lost: set[str] = set()
    for k, graph in enumerate(graphs):
        checked_item(k, graph)
        facts = without_names(graph.metadata) if chosen.names_nodes else graph.metadata
        has = {"directed": graph.directed or None, "metadata": facts or None}
        unheld = EVERYTHING - chosen.holds
        lost |= {name for name in unheld if (has[name] if name in has else getattr(graph, name)) is not None}
        yield graph
    if lost:
        not_kept.change(f"format {chosen.name!r} cannot hold {', '.join(sorted(lost))}; left out")


@contextmanager
def _new_file(target: Path) -> Iterator[BinaryIO]:
    with atomic_write(target) as stored:
        if target.name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=stored, mode="wb", mtime=0) as zipped:
                yield zipped  # type: ignore[misc]
        else:
            yield stored


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileError("exists already; a folder of graphs is written to a new name", target)
    part = unfinished(target)
    try:
        with system_errors_named(target):
            part.mkdir()
            yield part
            os.replace(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


_FORMATS = (BINARY, JSON_LINES, JSON_DOCUMENT, GEXF, GRAPHML, GXL, CXL, GML, DOT, TUDATASET, GSPAN, SMILES, SDF)
_IRRELEVANT_NAMES = re.compile("readme|licen[cs]e|copying|changelog|citation|checksums|thumbs|desktop")
_IRRELEVANT_SUFFIXES = (".md", ".rst", ".html", ".pdf", ".dtd", ".xsd", ".md5", ".sha256", ".py", ".ini", ".db", ".log")


def available_formats() -> tuple[FileFormat, ...]:
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
    chosen = {entry: found for entry in entries if (found := format or _format_by_suffix(entry)) is not None}
    if unknown := [entry.name for entry in entries if entry not in chosen]:
        problem = f"has {len(unknown)} files of no known format ({first_few(unknown)}); choose files by a pattern"
        raise FileError(f"{problem} such as '{folder}/*.gexf', or pass format=...", folder)
    if not chosen:
        raise FileError("has no graph files", folder)
    return list(chosen.items())


def _is_irrelevant(entry: Path) -> bool:
    name = entry.name.lower()
    named = name.startswith((".", "__")) or _IRRELEVANT_NAMES.fullmatch(name.split(".")[0]) is not None
    return named or entry.suffix.lower() in _IRRELEVANT_SUFFIXES


def first_few(names: list[str], most: int = 5) -> str:
    """The first names of a list, for a message."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
