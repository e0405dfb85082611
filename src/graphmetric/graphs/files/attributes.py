"""From named nodes and edges with free attributes to the columns of a graph.

Shared by every format whose nodes carry attributes of any name: JSON node-link, GEXF, GraphML and GXL.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from graphmetric.errors import FileError
from graphmetric.graphs.files.attribute_rows import AttributeRows
from graphmetric.graphs.files.graph_dict import is_number, read_labels
from graphmetric.graphs.files.hash_floods import safe_key
from graphmetric.graphs.files.json_values import shortened
from graphmetric.graphs.files.node_names import with_names
from graphmetric.graphs.files.source import Source, natural_key
from graphmetric.graphs.graph import Graph

Place = str | int | None

_BYTES_PER_VALUE = 64
"""A number as a Python object in a list."""


@dataclass(frozen=True, slots=True)
class AttributeOptions:
    """Which attributes of a file's nodes and edges become which columns of the graph."""

    node_label: str | Sequence[str] | None = ("label", "symbol", "chem", "type")
    """The node attribute that becomes ``node_labels``. Of several names the first that any node of the graph has."""
    edge_label: str | Sequence[str] | None = ("label", "valence", "type", "bond_type")
    """The edge attribute that becomes ``edge_labels``, likewise."""
    edge_weight: str | None = "weight"
    """The edge attribute that becomes ``edge_weights``; an edge without it weighs 1."""
    node_text: str | None = "text"
    """The node attribute that becomes ``node_texts``; a node without it has the text ''."""
    node_features: str | Sequence[str] | None = "numeric"
    """Node attributes that become ``node_features``, in this order; ``"numeric"`` takes all remaining attributes that
    are numbers (or lists of numbers) on every node, in natural order of their names (x2 before x10)."""
    directed: bool | None = None
    """Whether edges are arcs, where the file does not say."""


class GraphBuilder:
    """Collects the nodes and edges of one graph, checks them as they come, and makes the graph."""

    def __init__(
        self,
        source: Source,
        options: AttributeOptions,
        *,
        directed: bool,
        node_defaults: Mapping[str, Any] | None = None,
        edge_defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self._source, self._options, self._directed = source, options, directed
        self._names: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._nodes = AttributeRows(node_defaults)
        self._pairs: dict[tuple[int, int], Place] = {}
        self._edges = AttributeRows(edge_defaults)

    def add_node(self, name: Hashable, attributes: Mapping[str, Any], where: Place) -> None:
        """Add a node under the name by which edges refer to it."""
        key = safe_key(name)
        if key in self._numbers:
            raise self._source.error(f"node {shortened(name)} is declared twice", where)
        self._numbers[key] = len(self._nodes)
        self._names.append(name)
        self._nodes.append(attributes)
        if len(self._nodes) > self._source.limits.max_nodes:
            with self._source.located(where):
                self._source.limits.check_nodes(len(self._nodes))

    def add_edge(self, tail: Hashable, head: Hashable, attributes: Mapping[str, Any], where: Place) -> None:
        """Add an edge between two nodes that were added before."""
        u, v = (self._number(name, where) for name in (tail, head))
        pair = (u, v) if self._directed or u <= v else (v, u)
        if pair in self._pairs:
            problem = f"the edge from {shortened(tail)} to {shortened(head)} is given twice; merge parallel edges"
            raise self._source.error(problem, where)
        self._pairs[pair] = where
        self._edges.append(attributes)
        if len(self._edges) > self._source.limits.max_edges:
            with self._source.located(where):
                self._source.limits.check_edges(len(self._edges))

    def _number(self, name: Hashable, where: Place) -> int:
        number = self._numbers.get(safe_key(name))
        if number is None:
            raise self._source.error(f"an edge names node {shortened(name)}, which is not declared", where)
        return number

    def build(self, where: Place, *, id: Hashable = None, metadata: Mapping[str, Any] | None = None) -> Graph:
        """The graph; says which attributes found no place in it."""
        with self._source.located(where):
            columns = choose_columns(self._nodes, self._edges, self._options, self._source, list(self._pairs.values()))
            return Graph(
                len(self._nodes),
                list(self._pairs),
                directed=self._directed,
                id=id,
                metadata=with_names(metadata, self._names),
                **columns,
            )


def choose_columns(
    nodes: AttributeRows,
    edges: AttributeRows,
    options: AttributeOptions,
    source: Source,
    edge_places: Sequence[Place] | None = None,
) -> dict[str, Any]:
    """The columns of a graph under the names of its constructor's arguments; says which attributes have no place."""
    source.limits.check_filler(_BYTES_PER_VALUE * nodes.cells_of_defaults)
    node_label = _chosen("node", options.node_label, nodes)
    edge_label = _chosen("edge", options.edge_label, edges)
    features = _features(nodes, options.node_features, {node_label, options.node_text})
    texts = options.node_text if options.node_text is not None and nodes.has(options.node_text) else None
    _notice_left_out("node", nodes, {node_label, options.node_text, *features}, source)
    _notice_left_out("edge", edges, {edge_label, options.edge_weight}, source)
    return {
        "node_labels": None if node_label is None else read_labels(nodes.column(node_label)),
        "edge_labels": None if edge_label is None else read_labels(edges.column(edge_label)),
        "edge_weights": _weights(edges, options.edge_weight, source, edge_places),
        "node_features": np.array(list(chain.from_iterable(features.values()))).T if features else None,
        "node_texts": None if texts is None else nodes.column(texts, missing=""),
    }


def _chosen(kind: str, names: str | Sequence[str] | None, rows: AttributeRows) -> str | None:
    candidates = [names] if isinstance(names, str) else names or ()
    found = next((name for name in candidates if rows.has(name)), None)
    if found is None and isinstance(names, str) and len(rows):
        raise FileError(f"no {kind} has the attribute {names!r}; {_present(kind, rows)}")
    return found


def _features(
    nodes: AttributeRows, wanted: str | Sequence[str] | None, taken: set[str | None]
) -> dict[str, list[list[float]]]:
    """Attribute name -> its columns of numbers."""
    if wanted is None or not len(nodes):
        return {}
    if wanted == "numeric":
        names: Sequence[str] = sorted(nodes.common_names() - taken, key=natural_key)
    else:
        names = [wanted] if isinstance(wanted, str) else wanted
    found = {name: columns for name in names if (columns := nodes.numeric_columns(name)) is not None}
    if wanted != "numeric" and len(found) < len(set(names)):
        wrong = next(name for name in names if name not in found)
        raise FileError(f"attribute {wrong!r} is not a number on every node; {_present('node', nodes)}")
    return found


def _weights(
    edges: AttributeRows, name: str | None, source: Source, places: Sequence[Place] | None
) -> list[float] | None:
    if name is None or not edges.has(name):
        return None
    weights = edges.column(name, missing=1.0)
    for k, weight in enumerate(weights):
        if not is_number(weight):
            where = None if places is None else places[k]
            raise source.error(f"{name} must be a finite number; got {shortened(weight)}", where)
    return weights


def _notice_left_out(kind: str, rows: AttributeRows, used: set[str | None], source: Source) -> None:
    if left_out := rows.names() - used:
        advice = f" (choose by {kind}_label=..., or by --{kind}-label on the command line)"
        source.notice_left_out(f"{kind} attributes", left_out, advice)


def _present(kind: str, rows: AttributeRows) -> str:
    names = sorted(rows.names(), key=natural_key)
    return f"{kind}s have {', '.join(map(repr, names[:20]))}" if names else f"{kind}s have no attributes"
