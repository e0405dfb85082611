"""Writer of TUDataset folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import FileError
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.files.notes import Notes
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn


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
