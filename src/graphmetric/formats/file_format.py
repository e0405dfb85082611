"""What a file format is: one record that the registry lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from graphmetric.errors import InvalidArgument
from graphmetric.formats.file_source import FileSource, located
from graphmetric.formats.not_kept import NotKept
from graphmetric.graphs.columns import COLUMNS, Columns
from graphmetric.graphs.graph import Graph

Part: TypeAlias = Graph | Columns
"""What a reader yields: one graph, or many already packed."""

Writer: TypeAlias = Callable[[Iterable[Graph], BinaryIO, NotKept], None]
"""Writes graphs as one file, and remembers what the file does not keep."""

EVERYTHING = frozenset({"directed", "id", "metadata", *COLUMNS})
"""The parts of a graph besides its nodes and edges."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """For formats whose reader has nothing to choose."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format by which graphs are read and perhaps written."""

    name: str
    """What ``format=`` takes."""
    suffixes: tuple[str, ...]
    """File name endings that choose this format, lower case, without ``.gz``."""
    description: str
    """One line for listings."""
    holds: frozenset[str]
    """Which of :data:`EVERYTHING` a file of this format can carry."""
    read: Callable[[FileSource, Any], Iterator[Part]]
    """Graphs of one source, lazily where the format permits."""
    write: Writer | None = None
    """Write graphs as one file; None if such files are only read, or are folders."""
    options: type = NoOptions
    """Dataclass of the reader's options."""
    one_graph_per_file: bool = False
    """Whether a file holds exactly one graph, so that several need a folder."""
    names_nodes: bool = False
    """Whether nodes have names in such files, so that ``metadata["node_names"]`` needs no place of its own."""
    claims_folder: Callable[[Path], bool] | None = None
    """Whether a folder as a whole is of this format; None if the format has no folder layout."""
    write_folder: Callable[[Iterable[Graph], Path, str, NotKept], None] | None = None
    """Fill an empty folder with graphs; the text is the folder's final name."""

    def parsed_options(self, given: dict[str, Any], directed: bool | None = None) -> Any:
        """The options as a record; raises :class:`InvalidArgument` for unknown names.

        ``directed`` is for every format: readers of files that may not say it take it as an option.
        """
        known = [field.name for field in fields(self.options)]
        if "directed" in known:
            given = given | {"directed": directed}
        unknown = sorted(set(given) - set(known))
        if unknown:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise InvalidArgument(f"format {self.name!r} has no option {unknown[0]!r}; {has}")
        return self.options(**given)


def writer_of_lines(lines: Callable[[Graph, int, NotKept], Iterable[str]]) -> Writer:
    """The writer of a format that has one graph after the other; ``lines`` gives those of one graph, given its place.

    Errors name the graph.
    """

    def write(graphs: Iterable[Graph], stream: BinaryIO, not_kept: NotKept) -> None:
        for k, graph in enumerate(graphs):
            with located(None, f"graphs[{k}]"):
                text = "\n".join(lines(graph, k, not_kept))
            stream.write(text.encode("utf-8") + b"\n")

    return write
