"""From named nodes and edges with free attributes to the columns of a graph.

Shared by every format whose nodes carry attributes of any name: JSON node-link, GEXF, GraphML and GXL.

Free attributes of the nodes or edges of one graph, one mapping each, with defaults for all.

The names by which files refer to nodes: kept in the metadata where they say more than a number.

Values of formats that know texts only: what is spelled like a number is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from graphmetric.errors import FileError
from graphmetric.formats.attributes import NODE_NAMES
from graphmetric.formats.graph_dict import is_number, read_labels, safe_key
from graphmetric.formats.json_values import shortened
from graphmetric.formats.source import Source, natural_key
from graphmetric.graphs.graph import Graph


class AttributeRows:
    """The attributes that a file gives to nodes or edges.

    Defaults are kept apart: copied into every row they would let a small file with many defaults and many nodes fill
    the memory.
    """

    def __init__(
        self,
        defaults: Mapping[str, Any] | None = None,
        rows: Sequence[Mapping[str, Any]] = (),
        without: frozenset[str] = frozenset(),
    ) -> None:
        """``without`` are keys of the rows that are not attributes, such as the id of a node."""
        self._defaults = defaults or {}
        self._rows = list(rows)
        self._without = without
        self._known_shapes: set[tuple[str, ...]] | None = None

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the attributes of the next node or edge."""
        self._rows.append(row)
        self._known_shapes = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def _shapes(self) -> set[tuple[str, ...]]:
        """The keys that a row has, once for all rows that have them: in most files one tuple."""
        if self._known_shapes is None:
            self._known_shapes = set(map(tuple, self._rows))
        return self._known_shapes

    def names(self) -> set[str]:
        """Attributes that any row has."""
        found = set().union(*self._shapes) - self._without
        return found | set(self._defaults) if self._rows else found

    def common_names(self) -> set[str]:
        """Attributes that every row has."""
        shapes = list(self._shapes)
        common = set(shapes[0]).intersection(*shapes[1:]) if shapes else set()
        return (common - self._without) | set(self._defaults)

    def has(self, name: str) -> bool:
        """Whether any row has this attribute."""
        found = name not in self._without and any(name in shape for shape in self._shapes)
        return found or (bool(self._rows) and name in self._defaults)

    def column(self, name: str, missing: Any = None) -> list[Any]:
        """The values of one attribute, ``missing`` where there is none."""
        if all(name in shape for shape in self._shapes):
            return list(map(itemgetter(name), self._rows))
        missing = self._defaults.get(name, missing)
        return [row.get(name, missing) for row in self._rows]

    def numeric_columns(self, name: str) -> list[list[float]] | None:
        """The attribute as columns of numbers, several if it is a list on every row; None if it is anything else."""
        values = self.column(name)
        if all(map(is_number, values)):
            return [values]
        first = values[0]
        if not isinstance(first, list) or not all(isinstance(value, list) for value in values):
            return None
        fits = all(len(value) == len(first) and all(map(is_number, value)) for value in values)
        return [list(column) for column in zip(*values, strict=True)] if fits else None

    @property
    def cells_of_defaults(self) -> int:
        """How many values the defaults would be if they were written out."""
        return len(self._defaults) * len(self._rows)


def only_number(names: Sequence[Hashable]) -> bool:
    """Whether names just count the nodes, like 0, 1, 2 or n0, n1, n2 or _1, _2, _3."""
    if names == list(range(len(names))) and {int}.issuperset(map(type, names)):
        return True
    first = re.fullmatch("([^0-9]{0,8})([01])", str(names[0])) if names else None
    if first is None:
        return not names
    prefix, start = first[1], int(first[2])
    return all(str(name) == f"{prefix}{number}" for number, name in enumerate(names, start))


def with_names(metadata: Mapping[str, Any] | None, names: Sequence[Hashable]) -> dict[str, Any]:
    """Metadata with the names of the nodes, if these are worth keeping."""
    return dict(metadata or {}) | ({} if only_number(names) else {NODE_NAMES: tuple(names)})


def names_to_write(graph: Graph, kinds: tuple[type, ...]) -> list[Any] | None:
    """Names that can stand in a file for the nodes: distinct, of these types, and found again when read."""
    names = graph.metadata.get(NODE_NAMES)
    if not isinstance(names, list | tuple) or len(names) != graph.num_nodes or only_number(names):
        return None
    fits = all(type(name) in kinds for name in names) and len(set(names)) == len(names)
    return list(names) if fits else None


def without_names(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without the names of the nodes."""
    return {key: value for key, value in metadata.items() if key != NODE_NAMES}


_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")
_REAL = re.compile(r"-?(?:[0-9]{1,400}\.[0-9]{0,400}|\.[0-9]{1,400}|[0-9]{1,400}(?=[eE]))(?:[eE][+-]?[0-9]{1,4})?")


def value_from_text(text: str) -> str | int | float:
    """An integer or a finite number with a decimal point or exponent in their usual spelling, else the text itself."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


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
