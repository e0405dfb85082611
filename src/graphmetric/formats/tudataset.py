"""TUDataset folders: all graphs of a set in a few tables, ``DS_A.txt``, ``DS_graph_indicator.txt`` and so on.

The comma-separated number tables that TUDataset folders consist of.

Writer of TUDataset folders.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from graphmetric.errors import FileError
from graphmetric.formats.file_format import FileFormat
from graphmetric.formats.json_values import shortened
from graphmetric.formats.losses import Notes
from graphmetric.formats.source import Source
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, Has, assemble_columns, pointers
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn


class _Kind(NamedTuple):
    name: str
    dtype: DTypeLike
    parse: Callable[[bytes], float]
    characters: bytes
    largest: float


# numpy gives the nearest 64-bit integer for one that does not fit, so the largest stay clear of that.
_INTEGERS = _Kind("integers", np.int64, int, b"0123456789+- \t\r\n", 1e18)
_NUMBERS = _Kind("numbers", np.float64, float, b"0123456789+-.eE \t\r\n", np.finfo(np.float64).max)


def read_integers(source: Source) -> NDArray[np.int64]:
    """A table of integers, one row per line."""
    return _read_table(source, _INTEGERS)


def read_numbers(source: Source) -> NDArray[np.float64]:
    """A table of finite numbers, one row per line."""
    return _read_table(source, _NUMBERS)


def _read_table(source: Source, kind: _Kind) -> NDArray[Any]:
    data = source.read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip()
    if not data:
        return np.empty((0, 1), dtype=kind.dtype)
    commas = _commas_per_line(data)
    try:
        if (commas != commas[0]).any():
            raise ValueError
        return _parsed(data.replace(b",", b" "), kind).reshape(len(commas), int(commas[0]) + 1)
    except ValueError:
        raise source.error(*_first_problem(data.split(b"\n"), int(commas[0]) + 1, kind)) from None


def _commas_per_line(data: bytes) -> NDArray[np.intp]:
    characters = np.frombuffer(data, dtype=np.uint8)
    ends = np.append(np.flatnonzero(characters == ord("\n")), len(data))
    return np.diff(np.searchsorted(np.flatnonzero(characters == ord(",")), ends), prepend=0)


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


def _first_problem(lines: list[bytes], width: int, kind: _Kind) -> tuple[str, int | None]:
    for number, line in enumerate(lines, start=1):
        if not _is_row(line, width, kind):
            found = shortened(line.decode("utf-8", "replace"))
            return f"expected {width} {kind.name} with commas between them; found {found}", number
    return f"expected {width} {kind.name} per line", None


def _is_row(line: bytes, width: int, kind: _Kind) -> bool:
    cells = line.split(b",")
    try:
        fits = all(abs(kind.parse(cell)) <= kind.largest for cell in cells)
    except ValueError:
        return False
    return fits and len(cells) == width and not line.translate(None, kind.characters + b",")


def write_tudataset(graphs: Iterable[Graph], folder: Path, name: str) -> None:
    """Fill ``folder`` with the tables of a set called ``name``."""
    columns = GraphCollection(graphs).columns
    sizes = np.diff(columns.node_ptr)
    if not sizes.all():
        raise FileError("a graph without nodes has no place in this format", None, f"graphs[{int(sizes.argmin())}]")
    notes = Notes()
    for kind, lines in _tables(columns, notes).items():
        (folder / f"{name}_{kind}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    notes.warn()


def _tables(columns: Columns, notes: Notes) -> dict[str, list[str]]:
    """The lines of each file, by the part of its name after the set's."""
    graph_of_edge = np.repeat(np.arange(columns.num_graphs), np.diff(columns.edge_ptr))
    pairs = columns.edges + columns.node_ptr[graph_of_edge, None] + 1
    back = _reversed_rows(columns, graph_of_edge)
    rows = np.concatenate([np.arange(len(pairs)), back])
    graph_of_node = np.repeat(np.arange(columns.num_graphs), np.diff(columns.node_ptr))
    tables = {
        "A": _lines(np.concatenate([pairs, pairs[back, ::-1]])),
        "graph_indicator": _lines(graph_of_node[:, None] + 1),
    }
    if _all_have(columns, Has.NODE_LABELS, "node_labels", notes):
        tables["node_labels"] = _label_lines(columns.node_labels, "node_labels", notes)
    if _all_have(columns, Has.EDGE_LABELS, "edge_labels", notes):
        lines = _label_lines(columns.edge_labels, "edge_labels", notes)
        tables["edge_labels"] = [lines[row] for row in rows.tolist()]
    if _all_have(columns, Has.EDGE_WEIGHTS, "edge_weights", notes) and columns.edge_weights is not None:
        tables["edge_attributes"] = _lines(columns.edge_weights[rows, None])
    if _all_have(columns, Has.NODE_FEATURES, "node_features", notes) and columns.node_features is not None:
        if columns.node_features.shape[1] == 0:
            raise FileError("features of width 0 have no place in this format")
        tables["node_attributes"] = _lines(columns.node_features)
    classes = _classes(columns, notes)
    return tables if classes is None else tables | {"graph_labels": [str(label) for label in classes]}


def _reversed_rows(columns: Columns, graph_of_edge: NDArray[np.int64]) -> NDArray[np.intp]:
    """Edges to be written in the other direction too: those of undirected graphs that are not self-loops."""
    undirected = (columns.flags[graph_of_edge] & Has.DIRECTION) == 0
    return np.flatnonzero(undirected & (columns.edges[:, 0] != columns.edges[:, 1]))


def _all_have(columns: Columns, what: Has, name: str, notes: Notes) -> bool:
    have = (columns.flags & what) != 0
    if have.any() and not have.all():
        notes.add(f"{name} left out: only some of the graphs have them")
    return bool(have.any() and have.all())


def _lines(table: NDArray[Any]) -> list[str]:
    return [", ".join(map(repr, row)) for row in table.tolist()]


def _label_lines(column: LabelColumn | None, name: str, notes: Notes) -> list[str]:
    assert column is not None
    texts = [_integers(label) for label in column.vocabulary]
    used = set(np.unique(column.codes).tolist())
    widths = {texts[code].count(",") for code in used if texts[code] is not None}
    if len(widths) > 1 or any(texts[code] is None for code in used):
        notes.add(f"{name} that are not integers are written as numbers in order of first appearance")
        return [str(code) for code in column.codes.tolist()]
    return [str(texts[code]) for code in column.codes.tolist()]


def _integers(label: object) -> str | None:
    parts = label if isinstance(label, tuple) and len(label) > 1 else (label,)
    if all(isinstance(part, int) and not isinstance(part, bool) and abs(part) < 2**53 for part in parts):
        return ", ".join(map(str, parts))
    return None


def _classes(columns: Columns, notes: Notes) -> list[int] | None:
    if columns.metadata is None:
        return None
    names = {name for given in columns.metadata for name in given}
    classes = [given.get("class") for given in columns.metadata]
    fits = all(isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63 for label in classes)
    lost = sorted(names - ({"class"} if fits else set()))
    if lost:
        notes.add(f"metadata {', '.join(map(repr, lost))} left out: this format keeps an integer 'class' only")
    return classes if fits else None  # type: ignore[return-value]


_INDICATOR = "_graph_indicator.txt"
_NOT_READ = ("graph_attributes",)


@dataclass(frozen=True, slots=True)
class TUDatasetOptions:
    """How to understand a TUDataset folder."""

    directed: bool | None = None
    """Whether rows of ``DS_A.txt`` are arcs; otherwise the two directions of an edge are merged."""
    edge_weights: bool = True
    """Whether ``DS_edge_attributes.txt`` becomes the edge weights if it has a single column; a graph has no place for
    more."""


@dataclass(frozen=True, slots=True)
class _Edges:
    pairs: NDArray[np.int64]
    """(edges, 2), numbered over the whole set from 0, sorted, each once."""
    row: NDArray[np.intp]
    """Which row of ``DS_A.txt`` each edge comes from."""


def is_tudataset(folder: Path) -> bool:
    """Whether a folder holds the two tables that every TUDataset has."""
    return _set_name(folder) is not None


def _set_name(folder: Path) -> str | None:
    found = sorted(path.name.removesuffix(_INDICATOR) for path in folder.glob(f"*{_INDICATOR}"))
    return next((name for name in found if (folder / f"{name}_A.txt").is_file()), None)


def read_tudataset(source: Source, options: TUDatasetOptions) -> Iterator[Columns]:
    """All graphs at once, since the tables are over all graphs."""
    name = _set_name(source.path) if source.path is not None and source.is_folder else None
    if name is None:
        raise source.error("expected a folder with DS_A.txt and DS_graph_indicator.txt")
    tables = _Tables(source, name)
    node_ptr, classes = tables.graphs()
    edges = _merged(tables, node_ptr, bool(options.directed))
    graph_of_edge = np.searchsorted(node_ptr, edges.pairs[:, 0], side="right") - 1
    edge_counts = np.bincount(graph_of_edge, minlength=len(node_ptr) - 1)
    with source.located():
        source.limits.check_nodes(int(np.diff(node_ptr).max(initial=0)))
        source.limits.check_edges(int(edge_counts.max(initial=0)))
        columns = assemble_columns(
            node_ptr,
            pointers(edge_counts),
            edges.pairs - node_ptr[graph_of_edge, None],
            directed=bool(options.directed),
            node_labels=tables.labels("node_labels", int(node_ptr[-1])),
            edge_labels=tables.edge_labels(edges),
            edge_weights=tables.edge_weights(edges) if options.edge_weights else None,
            node_features=tables.numbers("node_attributes", int(node_ptr[-1])),
            metadata=None if classes is None else tuple({"class": label} for label in classes),
        )
    yield columns


class _Tables:
    """The files of one set."""

    def __init__(self, folder: Source, name: str) -> None:
        self._folder, self._name = folder, name
        self._edge_tables: dict[str, NDArray[Any]] = {}
        assert folder.path is not None
        ignored = [kind for kind in _NOT_READ if (folder.path / f"{name}_{kind}.txt").exists()]
        folder.notice_left_out("tables", ignored, ", since graphs have no such attributes")

    def file(self, kind: str) -> Source | None:
        """The source of one table, or None if the set does not have it."""
        source = self._folder.beside(f"{self._name}_{kind}.txt")
        assert source.path is not None
        return source if source.path.exists() else None

    def required(self, kind: str) -> Source:
        """The source of a table that every set has."""
        return self._folder.beside(f"{self._name}_{kind}.txt")

    def graphs(self) -> tuple[NDArray[np.int64], list[int | tuple[int, ...]] | None]:
        """Where each graph's nodes start, and the graphs' classes if they have some."""
        source = self.required("graph_indicator")
        table = read_integers(source)
        if table.shape[1] != 1:
            raise source.error(f"expected one graph number per line; found {table.shape[1]}", 1)
        graph = table[:, 0]
        classes = self._classes()
        wrong = np.flatnonzero((graph < 1) | (np.diff(graph, prepend=1) < 0))
        if len(wrong):
            found = graph[wrong[0]]
            raise source.error(f"graph numbers start at 1 and never decrease; found {found}", int(wrong[0]) + 1)
        count = int(graph[-1]) if len(graph) else 0
        with source.located():
            self._folder.limits.check_graphs(count)
        sizes = np.bincount(graph - 1, minlength=0 if classes is None else len(classes))
        if classes is None and count and sizes.min() == 0:
            raise source.error(f"graph {int(sizes.argmin()) + 1} has no nodes")
        if classes is not None and len(sizes) != len(classes):
            raise source.error(f"{len(sizes)} graphs; {self._name}_graph_labels.txt has {len(classes)} rows")
        return pointers(sizes), classes

    def _classes(self) -> list[int | tuple[int, ...]] | None:
        source = self.file("graph_labels")
        if source is None:
            return None
        table = read_integers(source)
        with source.located():
            self._folder.limits.check_graphs(len(table))
        return [row[0] if len(row) == 1 else tuple(row) for row in table.tolist()]

    def labels(self, kind: str, rows: int) -> LabelColumn | None:
        """A column of integer labels, tuples of integers where the table has several columns."""
        source = self.file(kind)
        return None if source is None else _label_column(_of_length(source, read_integers(source), rows))

    def numbers(self, kind: str, rows: int) -> NDArray[np.float64] | None:
        """A table of numbers."""
        source = self.file(kind)
        return None if source is None else _of_length(source, read_numbers(source), rows)

    def edge_table(self, kind: str, rows: int) -> NDArray[Any] | None:
        """One row per row of ``DS_A.txt``; kept, since it is needed for merging and after it."""
        source = self.file(kind)
        if source is None:
            return None
        if kind not in self._edge_tables:
            table = read_integers(source) if kind == "edge_labels" else read_numbers(source)
            self._edge_tables[kind] = _of_length(source, table, rows)
        return self._edge_tables[kind]

    def edge_labels(self, edges: _Edges) -> LabelColumn | None:
        """Labels of the merged edges."""
        table = self._edge_tables.get("edge_labels")
        return None if table is None else _label_column(table[edges.row])

    def edge_weights(self, edges: _Edges) -> NDArray[np.float64] | None:
        """Weights of the merged edges, from a table of one column."""
        table = self._edge_tables.get("edge_attributes")
        if table is not None and table.shape[1] != 1:
            self._folder.notice_left_out("tables", ["edge_attributes"], ": edges have one weight, not several numbers")
            return None
        return None if table is None else table[edges.row, 0]

    def check_merged(self, kind: str, kept: NDArray[np.intp], dropped: NDArray[np.intp]) -> None:
        """Raise unless rows that were merged agree in this table."""
        table = self.edge_table(kind, len(kept))
        if table is None:
            return
        differ = np.flatnonzero((table[kept] != table[dropped]).any(axis=1))
        if len(differ):
            a, b = int(kept[differ[0]]) + 1, int(dropped[differ[0]]) + 1
            problem = f"lines {a} and {b} are the two directions of one edge and differ; read with directed=True"
            raise self.required(kind).error(problem, b)


def _merged(tables: _Tables, node_ptr: NDArray[np.int64], directed: bool) -> _Edges:
    source = tables.required("A")
    pairs = read_integers(source)
    if len(pairs) and pairs.shape[1] != 2:
        raise source.error(f"expected two node numbers per line; found {pairs.shape[1]}", 1)
    pairs = pairs.reshape(-1, 2) - 1
    outside = np.flatnonzero(((pairs < 0) | (pairs >= node_ptr[-1])).any(axis=1))
    if len(outside):
        u, v = (pairs[outside[0]] + 1).tolist()
        raise source.error(f"edge ({u}, {v}); the nodes are 1..{node_ptr[-1]}", int(outside[0]) + 1)
    graph = np.searchsorted(node_ptr, pairs, side="right")
    across = np.flatnonzero(graph[:, 0] != graph[:, 1])
    if len(across):
        (u, v), (g, h) = (pairs[across[0]] + 1).tolist(), graph[across[0]].tolist()
        raise source.error(f"edge ({u}, {v}) joins graph {g} and graph {h}", int(across[0]) + 1)
    if not directed:
        pairs = np.sort(pairs, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    new = np.ones(len(pairs), dtype=bool)
    new[1:] = (pairs[order][1:] != pairs[order][:-1]).any(axis=1)
    kept = order[new]
    group = np.cumsum(new) - 1
    for kind in ("edge_labels", "edge_attributes"):
        tables.check_merged(kind, kept[group], order)
    return _Edges(pairs[kept], kept)


def _of_length(source: Source, table: NDArray[Any], rows: int) -> NDArray[Any]:
    if len(table) != rows:
        raise source.error(f"expected {rows} lines; found {len(table)}")
    return table


def _label_column(table: NDArray[np.int64]) -> LabelColumn:
    if table.shape[1] == 1:
        distinct, codes = np.unique(table[:, 0], return_inverse=True)
        return LabelColumn(codes.astype(np.int32), tuple(distinct.tolist()))
    distinct, codes = np.unique(table, axis=0, return_inverse=True)
    return LabelColumn(codes.reshape(-1).astype(np.int32), tuple(map(tuple, distinct.tolist())))


TUDATASET = FileFormat(
    name="tudataset",
    suffixes=(),
    description="folder of TUDataset tables: DS_A.txt, DS_graph_indicator.txt, ...",
    holds=frozenset({"node_labels", "edge_labels", "edge_weights", "node_features", "metadata"}),
    read=read_tudataset,
    options=TUDatasetOptions,
    claims_folder=is_tudataset,
    write_folder=write_tudataset,
)
