"""TUDataset folders: all graphs of a set in a few tables, ``DS_A.txt``, ``DS_graph_indicator.txt`` and so on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from graphmetric.errors import FileError
from graphmetric.formats.file_format import ConversionLosses, FileFormat
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import is_integer, shortened
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import COLUMNS, Columns, GraphFlags, assemble_columns, pointers
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

_INDICATOR = "_graph_indicator.txt"
_COLUMNS = {
    "node_labels": "node_labels",
    "edge_labels": "edge_labels",
    "edge_attributes": "edge_weights",
    "node_attributes": "node_features",
}
"""Table -> the column of a collection."""


@dataclass(frozen=True, slots=True)
class TUDatasetOptions:
    """Reading options of a TUDataset folder."""

    directed: bool | None = None
    """Whether rows of ``DS_A.txt`` are arcs; otherwise the two directions of an edge are merged."""
    edge_weights: bool = True
    """Whether ``DS_edge_attributes.txt`` becomes the edge weights if it has a single column; a graph has no place for
    more."""


def read_tudataset(source: FileSource, options: TUDatasetOptions) -> Iterator[Columns]:
    """All graphs at once, since the tables are over all graphs."""
    name = _set_name(source.path) if source.path is not None and source.is_folder else None
    if name is None:
        raise source.error("expected a folder with DS_A.txt and DS_graph_indicator.txt")
    tables = _Tables(source, name)
    node_ptr, classes = tables.graphs()
    pairs, columns = tables.edges(node_ptr, bool(options.directed), options.edge_weights)
    graph_of_edge = np.searchsorted(node_ptr, pairs[:, 0], side="right") - 1
    edge_counts = np.bincount(graph_of_edge, minlength=len(node_ptr) - 1)
    most = int(np.diff(node_ptr).max(initial=0)), int(edge_counts.max(initial=0))
    source.check(nodes=most[0], edges=most[1])
    node_labels = tables.read("node_labels", int(node_ptr[-1]))
    with source.located():
        assembled = assemble_columns(
            node_ptr,
            pointers(edge_counts),
            pairs - node_ptr[graph_of_edge, None],
            directed=bool(options.directed),
            node_labels=None if node_labels is None else _label_column(node_labels),
            node_features=tables.read("node_attributes", int(node_ptr[-1])),
            metadata=None if classes is None else tuple({"class": label} for label in classes),
            **columns,
        )
    yield assembled


def _set_name(folder: Path) -> str | None:
    """The name of the set whose two necessary tables are in the folder."""
    found = sorted(path.name.removesuffix(_INDICATOR) for path in folder.glob(f"*{_INDICATOR}"))
    return next((name for name in found if (folder / f"{name}_A.txt").is_file()), None)


class _Tables:
    """The files of one set."""

    def __init__(self, folder: FileSource, name: str) -> None:
        self._folder, self._name = folder, name
        if os.path.exists(self._file("graph_attributes").name):
            folder.notice_left_out("tables", ["graph_attributes"], ", since graphs have no such attributes")

    def _file(self, kind: str) -> FileSource:
        return self._folder.beside(f"{self._name}_{kind}.txt")

    def read(self, kind: str, rows: int | None = None) -> NDArray[Any] | None:
        """A table of integers, or of numbers where it has attributes; None if the set does not have it."""
        source = self._file(kind)
        if not os.path.exists(source.name):
            return None
        table = _read_table(source, _NUMBERS if kind.endswith("attributes") else _INTEGERS)
        if rows is not None and len(table) != rows:
            raise source.error(f"expected {rows} lines; found {len(table)}")
        return table

    def graphs(self) -> tuple[NDArray[np.int64], list[int | tuple[int, ...]] | None]:
        """Return the start of each graph's nodes, and the graphs' classes if they have any."""
        source = self._file("graph_indicator")
        table = _read_table(source, _INTEGERS)
        if table.shape[1] != 1:
            raise source.error(f"expected one graph number per line; found {table.shape[1]}", 1)
        graph = table[:, 0]
        class_table, classes = self.read("graph_labels"), None
        if class_table is not None:
            self._file("graph_labels").check(graphs=len(class_table))
            classes = [row[0] if len(row) == 1 else tuple(row) for row in class_table.tolist()]
        wrong = np.flatnonzero((graph < 1) | (np.diff(graph, prepend=1) < 0))
        if len(wrong):
            found = graph[wrong[0]]
            raise source.error(f"graph numbers start at 1 and never decrease; found {found}", int(wrong[0]) + 1)
        source.check(graphs=int(graph[-1]) if len(graph) else 0)
        sizes = np.bincount(graph - 1, minlength=0 if classes is None else len(classes))
        if classes is None and len(graph) and sizes.min() == 0:
            raise source.error(f"graph {int(sizes.argmin()) + 1} has no nodes")
        if classes is not None and len(sizes) != len(classes):
            raise source.error(f"{len(sizes)} graphs; {self._name}_graph_labels.txt has {len(classes)} rows")
        return pointers(sizes), classes

    def edges(
        self, node_ptr: NDArray[np.int64], directed: bool, with_weights: bool
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Pairs of nodes, numbered over the whole set from 0, sorted, each once; and the columns of the edges."""
        pairs = self._pairs(node_ptr)
        if not directed:
            pairs = np.sort(pairs, axis=1)
        numbers = pairs[:, 0] * node_ptr[-1] + pairs[:, 1]
        _, kept, again = np.unique(numbers, return_index=True, return_inverse=True)
        tables = {kind: self.read(kind, len(pairs)) for kind in ("edge_labels", "edge_attributes")}
        for kind, table in tables.items():
            first = kept[again]
            differ = [] if table is None else np.flatnonzero((table[first] != table).any(axis=1)).tolist()
            if differ:
                a, b = int(first[differ[0]]) + 1, differ[0] + 1
                problem = f"lines {a} and {b} are the two directions of one edge and differ; read with directed=True"
                raise self._file(kind).error(problem, b)
        labels = tables["edge_labels"]
        weights = tables["edge_attributes"] if with_weights else None
        if weights is not None and weights.shape[1] != 1:
            self._folder.notice_left_out("tables", ["edge_attributes"], ": edges have one weight, not several numbers")
            weights = None
        columns = {
            "edge_labels": None if labels is None else _label_column(labels[kept]),
            "edge_weights": None if weights is None else weights[kept, 0],
        }
        return pairs[kept], columns

    def _pairs(self, node_ptr: NDArray[np.int64]) -> NDArray[np.int64]:
        source = self._file("A")
        pairs = _read_table(source, _INTEGERS)
        if len(pairs) and pairs.shape[1] != 2:
            raise source.error(f"expected two node numbers per line; found {pairs.shape[1]}", 1)
        pairs = pairs.reshape(-1, 2)
        outside = np.flatnonzero(((pairs < 1) | (pairs > node_ptr[-1])).any(axis=1))
        if len(outside):
            u, v = pairs[outside[0]].tolist()
            raise source.error(f"edge ({u}, {v}); the nodes are 1..{node_ptr[-1]}", int(outside[0]) + 1)
        graph = np.searchsorted(node_ptr, pairs - 1, side="right")
        across = np.flatnonzero(graph[:, 0] != graph[:, 1])
        if len(across):
            (u, v), (g, h) = pairs[across[0]].tolist(), graph[across[0]].tolist()
            raise source.error(f"edge ({u}, {v}) joins graph {g} and graph {h}", int(across[0]) + 1)
        return pairs - 1


def _label_column(table: NDArray[np.int64]) -> LabelColumn:
    """Integers as labels, tuples of integers where the table has several columns."""
    single = table.shape[1] == 1
    distinct, codes = np.unique(table[:, 0] if single else table, axis=None if single else 0, return_inverse=True)
    vocabulary = distinct.tolist() if single else map(tuple, distinct.tolist())
    return LabelColumn(codes.reshape(-1).astype(np.int32), tuple(vocabulary))


class _Kind(NamedTuple):
    """The type of a table's entries."""

    name: str
    dtype: DTypeLike
    characters: bytes
    largest: float


# numpy gives the nearest 64-bit integer for one that does not fit, so the largest stay clear of that.
_INTEGERS = _Kind("integers", np.int64, b"0123456789+- \t\r\n", 1e18)
_NUMBERS = _Kind("numbers", np.float64, b"0123456789+-.eE \t\r\n", np.finfo(np.float64).max)


def _read_table(source: FileSource, kind: _Kind) -> NDArray[Any]:
    """Numbers with commas between them, one row per line."""
    data = source.read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip()
    if not data:
        return np.empty((0, 1), dtype=kind.dtype)
    characters = np.frombuffer(data, dtype=np.uint8)
    ends = np.append(np.flatnonzero(characters == ord("\n")), len(data))
    commas = np.diff(np.searchsorted(np.flatnonzero(characters == ord(",")), ends), prepend=0)
    width = int(commas[0]) + 1
    try:
        if (commas != commas[0]).any():
            raise ValueError
        return _parsed(data.replace(b",", b" "), kind).reshape(len(commas), width)
    except ValueError:
        wrong = (k for k, line in enumerate(data.split(b"\n"), start=1) if not _is_row(line, width, kind))
        number = next(wrong, None)
        expected = f"expected {width} {kind.name} with commas between them"
        if number is None:
            raise source.error(expected) from None
        line = data.split(b"\n")[number - 1].decode("utf-8", "replace")
        raise source.error(f"{expected}; found {shortened(line)}", number) from None


def _parsed(data: bytes, kind: _Kind) -> NDArray[Any]:
    """All numbers of a text at once; raises ValueError if there is anything else or a number does not fit."""
    if data.translate(None, kind.characters):
        raise ValueError
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says that it stopped before the end
        try:
            values = np.fromstring(data, dtype=kind.dtype, sep=" ")
        except DeprecationWarning:
            raise ValueError from None
    if not (np.abs(values) <= kind.largest).all():
        raise ValueError
    return values


def _is_row(line: bytes, width: int, kind: _Kind) -> bool:
    try:
        cells = [_parsed(cell, kind) for cell in line.split(b",")]
    except ValueError:
        return False
    return len(cells) == width and all(len(values) == 1 for values in cells)


def write_tudataset(graphs: Iterable[Graph], folder: Path, name: str, not_kept: ConversionLosses) -> None:
    """Fill ``folder`` with the tables of a set called ``name``."""
    columns = GraphCollection(graphs).columns
    sizes = np.diff(columns.node_ptr)
    if not sizes.all():
        raise FileError("a graph without nodes has no place in this format", None, f"graphs[{int(sizes.argmin())}]")
    for kind, lines in _tables_to_write(columns, not_kept).items():
        (folder / f"{name}_{kind}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def _tables_to_write(columns: Columns, not_kept: ConversionLosses) -> dict[str, list[str]]:
    """The lines of each file, by the part of its name after the set's."""
    graphs = np.arange(columns.num_graphs)
    graph_of_edge = np.repeat(graphs, np.diff(columns.edge_ptr))
    pairs = columns.edges + columns.node_ptr[graph_of_edge, None] + 1
    # Edges of undirected graphs are written in the other direction too, unless they are self-loops.
    undirected = (columns.flags[graph_of_edge] & GraphFlags.DIRECTION) == 0
    back = np.flatnonzero(undirected & (pairs[:, 0] != pairs[:, 1]))
    rows = np.concatenate([np.arange(len(pairs)), back]).tolist()
    tables = {
        "A": _lines(np.concatenate([pairs, pairs[back, ::-1]])),
        "graph_indicator": _lines(np.repeat(graphs, np.diff(columns.node_ptr))[:, None] + 1),
    }
    for kind, name in _COLUMNS.items():
        have = (columns.flags & COLUMNS[name].flag) != 0
        if not (have.any() and have.all()):
            if have.any():
                not_kept.change(f"{name} left out: only some of the graphs have them")
            continue
        column = getattr(columns, name)
        if name == "node_features" and column.shape[1] == 0:
            raise FileError("features of width 0 have no place in this format")
        if COLUMNS[name].coded:
            lines = _label_lines(column, name, not_kept)
        else:
            lines = _lines(column if column.ndim == 2 else column[:, None])
        tables[kind] = [lines[row] for row in rows] if COLUMNS[name].per == "edge" else lines
    classes = _classes(columns, not_kept)
    return tables if classes is None else tables | {"graph_labels": [str(label) for label in classes]}


def _lines(table: NDArray[Any]) -> list[str]:
    return [", ".join(map(repr, row)) for row in table.tolist()]


def _label_lines(column: LabelColumn, name: str, not_kept: ConversionLosses) -> list[str]:
    texts = [_integers(label) for label in column.vocabulary]
    codes = column.codes.tolist()
    used = {texts[code] for code in set(codes)}
    if None in used or len({text.count(",") for text in used if text is not None}) > 1:
        not_kept.change(f"{name} that are not integers are written as numbers in order of first appearance")
        return [str(code) for code in codes]
    return [str(texts[code]) for code in codes]


def _integers(label: object) -> str | None:
    parts = label if isinstance(label, tuple) and len(label) > 1 else (label,)
    fits = all(is_integer(part) and abs(part) < 2**53 for part in parts)
    return ", ".join(map(str, parts)) if fits else None


def _classes(columns: Columns, not_kept: ConversionLosses) -> list[int] | None:
    if columns.metadata is None:
        return None
    classes = [given.get("class") for given in columns.metadata]
    fits = all(is_integer(label) and abs(label) < 2**63 for label in classes)
    names = {name for given in columns.metadata for name in given}
    if lost := sorted(names - ({"class"} if fits else set())):
        not_kept.change(f"metadata {', '.join(map(repr, lost))} left out: this format keeps an integer 'class' only")
    return classes if fits else None  # type: ignore[return-value]


TUDATASET = FileFormat(
    "tudataset",
    (),
    "folder of TUDataset tables: DS_A.txt, DS_graph_indicator.txt, ...",
    holds=frozenset({*_COLUMNS.values(), "metadata"}),
    read=read_tudataset,
    options=TUDatasetOptions,
    claims_folder=lambda folder: _set_name(folder) is not None,
    write_folder=write_tudataset,
)
