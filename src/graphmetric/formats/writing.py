"""Write graphs to files and folders, whole or not at all."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from graphmetric._foundation.atomic_files import atomic_write, system_errors_named, unfinished
from graphmetric.errors import ConversionWarning, FileError, InvalidArgument, InvalidGraph
from graphmetric.formats.file_format import EVERYTHING, FileFormat
from graphmetric.formats.json_values import shortened
from graphmetric.formats.named_attributes import without_names
from graphmetric.formats.registry import format_by_name, format_by_suffix, unknown_suffix
from graphmetric.formats.source import located
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph


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
            raise InvalidArgument("writing to a stream needs format=..., since there is no file name to tell it")
        _write(given, sys.stdout.buffer if isinstance(path, str) else path, format_by_name(format))
        return
    target = Path(os.path.realpath(path))
    chosen = format_by_name(format) if format else format_by_suffix(target)
    if chosen is None:
        raise unknown_suffix(target)
    with located(str(path)):
        if chosen.write_folder is not None or (chosen.one_graph_per_file and not target.suffix):
            _write_folder(given, target, chosen)
        else:
            with _new_file(target) as stream:
                _write(given, stream, chosen)


def _write(graphs: Iterable[Graph], stream: BinaryIO, chosen: FileFormat) -> None:
    if chosen.write is None:
        raise FileError(f"format {chosen.name!r} {'is a folder' if chosen.can_write else 'is read only'}")
    watched = _Watched(graphs, chosen)
    try:
        chosen.write(watched.graphs(), stream)
    except UnicodeEncodeError as error:
        problem = f"{shortened(error.object[error.start : error.end])} is half of a character, which no file can hold"
        raise FileError(problem) from None
    watched.warn()


def _write_folder(graphs: Iterable[Graph], target: Path, chosen: FileFormat) -> None:
    watched = _Watched(graphs, chosen)
    with _new_folder(target) as folder:
        if chosen.write_folder is not None:
            chosen.write_folder(watched.graphs(), folder, target.name)
        else:
            _write_files(watched.graphs(), folder, chosen)
        watched.warn()


def _write_files(graphs: Iterable[Graph], folder: Path, chosen: FileFormat) -> None:
    """One file per graph, called by its id where that makes a safe, new name, else by its position."""
    assert chosen.write is not None
    for k, graph in enumerate(graphs):
        name = str(graph.id) if isinstance(graph.id, str | int) else ""
        safe = name.replace("_", "").replace("-", "").isalnum() and name.isascii() and len(name) <= 100
        file = folder / f"{name if safe else k}{chosen.suffixes[0]}"
        if file.exists():
            raise FileError(f"its file name {file.name} is already taken by another graph", None, f"graphs[{k}]")
        with located(None, f"graphs[{k}]"), file.open("wb") as stream:
            chosen.write([graph], stream)


class _Watched:
    """Graphs on their way to a writer, and which of their parts the format has no place for."""

    def __init__(self, graphs: Iterable[Graph], chosen: FileFormat) -> None:
        self._given, self._format = graphs, chosen
        self._lost: set[str] = set()

    def graphs(self) -> Iterable[Graph]:
        if isinstance(self._given, GraphCollection) and self._format.holds == EVERYTHING:
            return self._given  # packed columns can be written without making graphs
        return self._passing()

    def _passing(self) -> Iterator[Graph]:
        missing = [name for name in EVERYTHING if name not in self._format.holds]
        for k, graph in enumerate(self._given):
            if not isinstance(graph, Graph):
                raise InvalidGraph(f"graphs[{k}] is a {type(graph).__name__}, not a Graph; see graphmetric.as_graphs")
            self._lost.update(name for name in missing if self._has(graph, name))
            yield graph

    def _has(self, graph: Graph, name: str) -> bool:
        if name == "directed":
            return graph.directed
        if name == "metadata":
            return bool(without_names(graph.metadata) if self._format.names_nodes else graph.metadata)
        return getattr(graph, name) is not None

    def warn(self) -> None:
        if self._lost:
            lost = ", ".join(sorted(self._lost))
            warnings.warn(ConversionWarning(f"format {self._format.name!r} cannot hold {lost}; left out"), stacklevel=4)


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
