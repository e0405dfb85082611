"""The columns of a graph as the simple named attributes that the XML formats have, for writing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from graphmetric.graphs.files.json_values import format_json, plain
from graphmetric.graphs.files.node_names import names_to_write, without_names
from graphmetric.graphs.files.notes import Notes
from graphmetric.graphs.files.xml import id_from_text
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_to_json

Scalar = str | bool | int | float
Row = dict[str, Scalar]


def node_rows(graph: Graph, notes: Notes) -> list[Row]:
    """One dict per node: ``label``, ``text``, and the features as ``f0``, ``f1``, ..."""
    rows: list[Row] = [{} for _ in range(graph.num_nodes)]
    _fill(rows, "label", graph.node_labels, "node_labels", notes)
    _fill(rows, "text", graph.node_texts, "node_texts", notes)
    if graph.node_features is not None:
        for k, column in enumerate(graph.node_features.T.tolist()):
            _fill(rows, f"f{k}", column, "node_features", notes)
    return rows


def edge_rows(graph: Graph, notes: Notes) -> list[Row]:
    """One dict per edge: ``label`` and ``weight``."""
    rows: list[Row] = [{} for _ in range(graph.num_edges)]
    _fill(rows, "label", graph.edge_labels, "edge_labels", notes)
    _fill(rows, "weight", None if graph.edge_weights is None else graph.edge_weights.tolist(), "edge_weights", notes)
    return rows


def node_ids(graph: Graph, prefix: str) -> list[str]:
    """What nodes are called in the file: by their names if they have some, else by number."""
    return names_to_write(graph, (str,)) or [f"{prefix}{number}" for number in range(graph.num_nodes)]


def metadata_row(graph: Graph, notes: Notes) -> Row:
    """Metadata that are text, numbers or booleans as they are, other values as JSON text."""
    row: Row = {}
    named = names_to_write(graph, (str,)) is not None
    for name, value in (without_names(graph.metadata) if named else graph.metadata).items():
        value = plain(value, f"metadata[{name!r}]")
        if not isinstance(value, str | bool | int | float):
            notes.add(f"metadata {name!r} come back as JSON text")
            value = format_json(value, nan=True)
        row[name] = value
    return row


def id_text(id: Hashable, notes: Notes) -> str | None:
    """A graph's id as text; :func:`id_from_text` reads it."""
    if id is None:
        return None
    text = str(id) if isinstance(id, str | int) and not isinstance(id, bool) else format_json(label_to_json(id))
    if id_from_text(text) != id:
        notes.add("ids come back as integers where they look like one, else as text")
    return text


def text_of(value: Scalar) -> str:
    """A value as the XML formats spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


class KindTable:
    """The one type of each attribute over all graphs of a file; mixtures become text, which is said."""

    def __init__(self, rows: Iterable[Row], what: str, notes: Notes) -> None:
        kinds: dict[str, set[type]] = {}
        for row in rows:
            for name, value in row.items():
                kinds.setdefault(name, set()).add(type(value))
        for name, found in kinds.items():
            if len(found) > 1:
                notes.add(f"{what} {name!r} have values of several types, which come back as text")
        self.kinds = {name: found.pop() if len(found) == 1 else str for name, found in kinds.items()}
        """Attribute name -> ``str``, ``bool``, ``int`` or ``float``, in order of first appearance."""


def _fill(rows: list[Row], name: str, values: Iterable[Hashable] | None, column: str, notes: Notes) -> None:
    for row, value in zip(rows, values or (), strict=False):
        if isinstance(value, str | bool | int | float):
            row[name] = value
        elif value is not None:  # an absent attribute is None again when read
            notes.add(f"{column} that are neither text, numbers nor booleans come back as JSON text")
            row[name] = format_json(label_to_json(value))
