"""TUDataset folders: all graphs of a set in a few tables, ``DS_A.txt``, ``DS_graph_indicator.txt`` and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.assembly import assemble_columns
from graphmetric.graphs.columns import Columns, pointers
from graphmetric.graphs.files.file_format import FileFormat
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.files.tudataset_text import read_integers, read_numbers
from graphmetric.graphs.files.tudataset_writer import write_tudataset
from graphmetric.graphs.labels import LabelColumn

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
