"""The ``t # / v / e`` text of the graph-search codes: one graph after the other, one node or edge per line."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import BinaryIO

from graphmetric.errors import FileError
from graphmetric.graphs.files.file_format import FileFormat
from graphmetric.graphs.files.json_values import shortened
from graphmetric.graphs.files.line_graph_reader import LineOptions, label_from_text, read_line_graphs
from graphmetric.graphs.files.notes import Notes
from graphmetric.graphs.files.source import located
from graphmetric.graphs.graph import Graph


def write_line_graphs(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """``t # id`` with the id, or the position of the graph where it has none."""
    notes = Notes()
    for k, graph in enumerate(graphs):
        with located(None, f"graphs[{k}]"):
            text = "\n".join(_lines(graph, _id_text(graph.id, k, notes), notes))
        stream.write(text.encode("utf-8") + b"\n")
    notes.warn()


def _lines(graph: Graph, id: str, notes: Notes) -> list[str]:
    nodes = [_word(label, "node_labels", notes) for label in graph.node_labels or [None] * graph.num_nodes]
    edges = [_word(label, "edge_labels", notes) for label in graph.edge_labels or [None] * graph.num_edges]
    lines = [f"t # {id}", *(f"v {k}{word}" for k, word in enumerate(nodes))]
    return lines + [f"e {u} {v}{word}" for (u, v), word in zip(graph.edges.tolist(), edges, strict=True)]


def _id_text(id: Hashable, k: int, notes: Notes) -> str:
    if id is None:
        return str(k)
    text = str(id)
    if not _is_word(id, text) or id == -1:
        notes.add("ids that are neither integers nor words without blanks become the graph's position")
        return str(k)
    if label_from_text(text) != id:
        notes.add("ids come back as integers where they look like one, else as text")
    return text


def _word(label: Hashable, column: str, notes: Notes) -> str:
    if label is None:
        return ""
    text = str(label)
    if not _is_word(label, text):
        raise FileError(f"label {shortened(label)} is not an integer or a word without blanks, as this format needs")
    if label_from_text(text) != label:
        notes.add(f"{column} come back as integers where they look like one, else as text")
    return f" {text}"


def _is_word(value: Hashable, text: str) -> bool:
    fits = isinstance(value, str | int) and not isinstance(value, bool) and text.split() == [text]
    return fits and text.isprintable()


LINE_GRAPHS = FileFormat(
    name="tve",
    suffixes=(".tve", ".txt", ".lg", ".gspan"),
    description="text of the graph-search codes: 't # id', 'v number label', 'e node node label'; streams",
    holds=frozenset({"node_labels", "edge_labels", "id"}),
    read=read_line_graphs,
    write=write_line_graphs,
    options=LineOptions,
)
