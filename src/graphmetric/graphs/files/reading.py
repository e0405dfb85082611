"""Read graphs from files, folders, patterns and streams."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, concatenate, pack
from graphmetric.graphs.files.collection_fit import CollectionFit
from graphmetric.graphs.files.file_format import FileFormat, Part
from graphmetric.graphs.files.folders import expand
from graphmetric.graphs.files.limits import DEFAULT_LIMITS, Limits
from graphmetric.graphs.files.registry import format_by_name
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.files.xml import id_from_text
from graphmetric.graphs.graph import Graph

_CHUNK = 10_000
"""Graphs packed at a time."""

Readable = str | os.PathLike[str] | BinaryIO


def read_graphs(
    path: Readable, format: str | None = None, *, limits: Limits = DEFAULT_LIMITS, **options: Any
) -> GraphCollection:
    """Read graphs from a file, a folder, a pattern such as ``"data/**/*.gexf"``, or standard input (``"-"``).

    The format is chosen by the file's suffix unless named; see :func:`formats`. Files in a folder are read in natural
    order (g2 before g10); a file with a single graph that has no id gives it the file's name without suffix
    (as an integer if it is one). Gzip is recognised by its content.

    Args:
        path: Where to read; a binary stream needs ``format``.
        format: Name of a format, such as ``"gexf"``.
        limits: Protection against files that would take too much memory or time.
        options: Options of the format, such as ``node_label="type"`` or ``directed=True``.

    Raises:
        FileError: Something is wrong with a file; the message names it and the line or element.
        InvalidArgument: The format has no such option.
    """
    return GraphCollection._of(concatenate(_packed(_located_parts(path, format, limits, options)) or [pack([])]))


def iter_graphs(
    path: Readable, format: str | None = None, *, limits: Limits = DEFAULT_LIMITS, **options: Any
) -> Iterator[Graph]:
    """The graphs of :func:`read_graphs` one by one; formats that stream are never in memory as a whole."""
    for _, part in _located_parts(path, format, limits, options):
        if isinstance(part, Graph):
            yield part
        else:
            yield from GraphCollection._of(part)


def _located_parts(
    path: Readable, format: str | None, limits: Limits, options: dict[str, Any]
) -> Iterator[tuple[Source, Part]]:
    """Parts with the source they come from; counts graphs against the limit."""
    total = 0
    for source, chosen, name_graphs in _sources(path, format, limits):
        parts = chosen.read(source, chosen.parsed_options(options))
        for part in _named(parts, source) if name_graphs else parts:
            total += 1 if isinstance(part, Graph) else part.num_graphs
            with source.located():
                limits.check_graphs(total)
            yield source, part


def _sources(path: Readable, format: str | None, limits: Limits) -> Iterator[tuple[Source, FileFormat, bool]]:
    named = None if format is None else format_by_name(format)
    if path == "-" or not isinstance(path, str | os.PathLike):
        if named is None:
            raise InvalidArgument("reading a stream needs format=..., since there is no file name to tell it")
        stream = sys.stdin.buffer if isinstance(path, str) else _checked_stream(path)
        yield Source(stream, limits, name="<stdin>" if path == "-" else None), named, False
        return
    given = Path(path)
    chosen = expand(given, named)
    noticed: set[str] = set()
    for file, found in chosen:
        yield Source(file, limits, noticed=noticed), found, file != given


def _checked_stream(stream: Any) -> BinaryIO:
    if not hasattr(stream, "read") or not isinstance(stream.read(0), bytes):
        raise InvalidArgument(f"expected a path or a stream opened in binary mode; got {type(stream).__name__}")
    return stream  # type: ignore[no-any-return]


def _named(parts: Iterator[Part], source: Source) -> Iterator[Part]:
    """Give a file's only graph the file's name, if it has no id."""
    first, second = next(parts, None), next(parts, None)
    if isinstance(first, Columns) and first.num_graphs == 1:
        first = first.graph(0)
    if second is None and isinstance(first, Graph) and first.id is None and source.path is not None:
        name = source.path.name
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
