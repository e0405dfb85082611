"""Named attributes of nodes and edges: which become which column of a graph, and how they are written again.

Shared by the libraries (networkx, igraph) and by every format whose nodes carry attributes of any name: JSON node-link,
GEXF, GraphML, GXL, GML and DOT. Nodes go by names there, which are kept in the metadata where they say more than a
number.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from graphmetric._foundation.options import format_json
from graphmetric.errors import InvalidGraph
from graphmetric.formats.file_format import EVERYTHING, ConversionLosses, FileFormat
from graphmetric.formats.file_source import FileSource, natural_key
from graphmetric.formats.values import id_from_text, is_integer, is_number, plain, read_labels, safe_key, shortened
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_to_json

NODE_NAMES = "node_names"
"""Key of ``metadata`` for the names that nodes had where they were not 0..n-1."""

Place = str | int | None
Scalar = str | bool | int | float
Row = dict[str, Scalar]

_WRITTEN = {
    "node": {"label": "node_labels", "text": "node_texts"},
    "edge": {"label": "edge_labels", "weight": "edge_weights"},
}
"""Attributes of nodes and edges in files, and their columns."""
_BYTES_PER_VALUE = 64
"""A number as a Python object in a list."""


@dataclass(frozen=True, slots=True)
class AttributeOptions:
    """Choice of the attributes of a file's nodes and edges that become columns of the graph."""

    node_label: str | Sequence[str] | None = ("label", "symbol", "chem", "type")
    """The node attribute that becomes ``node_labels``. Of several names, the first that any node has."""
    edge_label: str | Sequence[str] | None = ("label", "valence", "type", "bond_type")
    """The edge attribute that becomes ``edge_labels``, chosen in the same way."""
    edge_weight: str | None = "weight"
    """The edge attribute that becomes ``edge_weights``; an edge without it weighs 1."""
    node_text: str | None = "text"
    """The node attribute that becomes ``node_texts``; a node without it has the text ''."""
    node_features: str | Sequence[str] | None = "numeric"
    """Node attributes that become ``node_features``, in this order; ``"numeric"`` takes all remaining attributes that
    are numbers (or lists of numbers) on every node, in natural order of their names (x2 before x10)."""
    directed: bool | None = None
    """Whether edges are arcs, if the file does not specify it."""


attribute_format = partial(FileFormat, holds=EVERYTHING - {"node_images"}, options=AttributeOptions, names_nodes=True)
"""Makes the :class:`FileFormat` of files whose nodes have names and named attributes."""


class AttributeRows:
    """The attributes of the nodes, or of the edges, of one graph: a mapping each, and defaults for all.

    Defaults are kept apart: copied into every row they would let a small file with many defaults and many nodes fill
    the memory.
    """

    def __init__(
        self,
        kind: str,
        rows: Sequence[Mapping[str, Any]],
        defaults: Mapping[str, Any] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """``kind`` is "node" or "edge"; ``without`` are keys that are not attributes, such as the id of a node."""
        self.kind = kind
        self._rows, self.defaults, self._without = rows, defaults or {}, without
        self._shapes = dict.fromkeys(map(tuple, rows))
        """The keys that a row has, once for all rows that have them: in most files one tuple."""

    def __len__(self) -> int:
        return len(self._rows)

    def names(self) -> list[str]:
        """Attributes that any row has, in order of first appearance."""
        found = dict.fromkeys(chain(*self._shapes, self.defaults if self._rows else ()))
        return [name for name in found if name not in self._without]

    def common_names(self) -> set[str]:
        """Attributes that every row has."""
        shapes = list(self._shapes)
        common = set(shapes[0]).intersection(*shapes[1:]) if shapes else set()
        return (common - self._without) | set(self.defaults)

    def has(self, name: str) -> bool:
        """Return whether any row has this attribute."""
        return name in self.names()

    def choose(self, names: str | Sequence[str] | None, parameter: str) -> str | None:
        """The first of the names that any row has; a name given as a plain string must be there."""
        candidates = [names] if isinstance(names, str) else names or ()
        found = next((name for name in candidates if self.has(name)), None)
        if found is None and isinstance(names, str) and len(self):
            problem = f"{parameter}={names!r}: no {self.kind} has the attribute {names!r}"
            raise InvalidGraph(f"{problem}; {self.described()}")
        return found

    def described(self) -> str:
        """List the attributes, for a message."""
        names = sorted(self.names(), key=natural_key)
        return f"{self.kind}s have {', '.join(map(repr, names[:20])) or 'no attributes'}"

    def column(self, name: str, missing: Any = None) -> list[Any]:
        """The values of one attribute, ``missing`` where there is none."""
        if all(name in shape for shape in self._shapes):
            return list(map(itemgetter(name), self._rows))
        missing = self.defaults.get(name, missing)
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


class GraphBuilder:
    """Collects the nodes and edges of one graph, checks them as they come, and makes the graph."""

    def __init__(
        self,
        source: FileSource,
        options: AttributeOptions,
        *,
        directed: bool,
        defaults: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """``defaults`` are those of every "node" and of every "edge"."""
        self._source, self._options, self._directed = source, options, directed
        self._names: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._pairs: dict[tuple[int, int], Place] = {}
        self._rows: dict[str, list[Mapping[str, Any]]] = {"node": [], "edge": []}
        self._defaults = defaults or {}

    def add_node(self, name: Hashable, attributes: Mapping[str, Any], where: Place) -> None:
        """Add a node under the name by which edges refer to it."""
        key = safe_key(name)
        if key in self._numbers:
            raise self._source.error(f"node {shortened(name)} is declared twice", where)
        self._numbers[key] = len(self._names)
        self._names.append(name)
        self._rows["node"].append(attributes)
        if len(self._names) > self._source.limits.max_nodes:
            self._source.check(where, nodes=len(self._names))

    def add_edge(self, tail: Hashable, head: Hashable, attributes: Mapping[str, Any], where: Place) -> None:
        """Add an edge between two nodes that were added before."""
        u, v = (self._numbers.get(safe_key(name)) for name in (tail, head))
        if u is None or v is None:
            name = shortened(tail if u is None else head)
            raise self._source.error(f"an edge names node {name}, which is not declared", where)
        pair = (u, v) if self._directed or u <= v else (v, u)
        if pair in self._pairs:
            problem = f"the edge from {shortened(tail)} to {shortened(head)} is given twice; merge parallel edges"
            raise self._source.error(problem, where)
        self._pairs[pair] = where
        self._rows["edge"].append(attributes)
        if len(self._pairs) > self._source.limits.max_edges:
            self._source.check(where, edges=len(self._pairs))

    def build(self, where: Place, *, id: Hashable = None, metadata: Mapping[str, Any] | None = None) -> Graph:
        """The graph; says which attributes found no place in it."""
        nodes, edges = (AttributeRows(kind, rows, self._defaults.get(kind)) for kind, rows in self._rows.items())
        with self._source.located(where):
            columns = choose_columns(nodes, edges, self._options, self._source, list(self._pairs.values()))
            metadata = with_names(metadata, self._names)
            pairs = list(self._pairs)
            return Graph(len(nodes), pairs, directed=self._directed, id=id, metadata=metadata, **columns)


def choose_columns(
    nodes: AttributeRows,
    edges: AttributeRows,
    options: AttributeOptions,
    source: FileSource,
    edge_places: Sequence[Place] | None = None,
) -> dict[str, Any]:
    """The columns of a graph under the names of its constructor's arguments; says which attributes have no place."""
    source.limits.check(filler_bytes=_BYTES_PER_VALUE * len(nodes.defaults) * len(nodes))  # once they are written out
    node_label = nodes.choose(options.node_label, "node_label")
    edge_label = edges.choose(options.edge_label, "edge_label")
    text = options.node_text
    features = _features(nodes, options.node_features, {node_label, text})
    for rows, used in ((nodes, {node_label, text, *features}), (edges, {edge_label, options.edge_weight})):
        advice = f" (choose by {rows.kind}_label=..., or by --{rows.kind}-label on the command line)"
        source.notice_left_out(f"{rows.kind} attributes", set(rows.names()) - used, advice)
    return {
        "node_labels": None if node_label is None else read_labels(nodes.column(node_label)),
        "edge_labels": None if edge_label is None else read_labels(edges.column(edge_label)),
        "edge_weights": _weights(edges, options.edge_weight, source, edge_places),
        "node_features": np.array(list(chain.from_iterable(features.values()))).T if features else None,
        "node_texts": nodes.column(text, missing="") if text is not None and nodes.has(text) else None,
    }


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
    wrong = next((name for name in names if name not in found), None)
    if wanted != "numeric" and wrong is not None:
        raise InvalidGraph(f"attribute {wrong!r} is not a number on every node; {nodes.described()}")
    return found


def _weights(
    edges: AttributeRows, name: str | None, source: FileSource, places: Sequence[Place] | None
) -> list[float] | None:
    if name is None or not edges.has(name):
        return None
    weights = edges.column(name, missing=1.0)
    for k, weight in enumerate(weights):
        if not is_number(weight):
            where = None if places is None else places[k]
            raise source.error(f"{name} must be a finite number; got {shortened(weight)}", where)
    return weights


def are_node_numbers(names: Sequence[Hashable]) -> bool:
    """Return whether the names of the nodes are the integers 0..n-1, in any order."""
    integers = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in names)
    return integers and set(names) == set(range(len(names)))


def only_number(names: Sequence[Hashable]) -> bool:
    """Return whether names just number the nodes, like 0, 1, 2 or n0, n1, n2 or _1, _2, _3."""
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


def without_names(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without the names of the nodes."""
    return {key: value for key, value in metadata.items() if key != NODE_NAMES}


def names_to_write(graph: Graph, kinds: tuple[type, ...]) -> list[Any] | None:
    """Names that can stand in a file for the nodes: distinct, of these types, and found again when read."""
    names = graph.metadata.get(NODE_NAMES)
    if not isinstance(names, list | tuple) or len(names) != graph.num_nodes or only_number(names):
        return None
    fits = all(type(name) in kinds for name in names) and len(set(names)) == len(names)
    return list(names) if fits else None


def node_ids(graph: Graph, prefix: str = "") -> list[str]:
    """Return the ids of the nodes in the file: their names if they have any, else numbers."""
    return names_to_write(graph, (str,)) or [f"{prefix}{number}" for number in range(graph.num_nodes)]


def listed_columns(graph: Graph, names: Mapping[str, str]) -> dict[str, list[Any]]:
    """The columns that a graph has, as lists; ``names`` are of attributes and their columns, as label: node_labels."""
    columns = {name: getattr(graph, column) for name, column in names.items()}
    return {
        name: column.tolist() if isinstance(column, np.ndarray) and column.ndim < 3 else list(column)
        for name, column in columns.items()
        if column is not None
    }


def rows_of_columns(columns: Mapping[str, Iterable[Any]], count: int) -> list[dict[str, Any]]:
    """Columns by name as one dict per node or edge."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, column in columns.items():
        for row, value in zip(rows, column, strict=True):
            row[name] = value
    return rows


class Content(NamedTuple):
    """A graph on its way to a file in which nodes and edges have named attributes."""

    graph: Graph
    id: str | None
    rows: dict[str, list[Row]]
    """The attributes of each "node" and "edge", and those of the one "graph": its metadata."""

    @classmethod
    def of(cls, graph: Graph, not_kept: ConversionLosses, *, metadata: bool = True) -> Content:
        """Everything as text, numbers or booleans; nodes have their features as ``f0``, ``f1``, ..."""
        facts = _metadata_row(graph, not_kept) if metadata else {}
        rows = {kind: _written_rows(graph, kind, not_kept) for kind in ("node", "edge")}
        return cls(graph, id_text(graph.id, not_kept), {"graph": [facts]} | rows)


def _written_rows(graph: Graph, kind: str, not_kept: ConversionLosses) -> list[Row]:
    """Rows whose labels are text, numbers or booleans, and absent where they are None: so they are read again."""
    columns = listed_columns(graph, _WRITTEN[kind])
    if kind == "node" and graph.node_features is not None:
        columns |= {f"f{k}": column for k, column in enumerate(graph.node_features.T.tolist())}
    rows = rows_of_columns(columns, graph.num_nodes if kind == "node" else graph.num_edges)
    for row in rows:
        label = row.get("label")
        if label is None:
            row.pop("label", None)
        elif not isinstance(label, Scalar):
            not_kept.change(f"{kind}_labels that are neither text, numbers nor booleans come back as JSON text")
            row["label"] = format_json(label_to_json(label))
    return rows


def _metadata_row(graph: Graph, not_kept: ConversionLosses) -> Row:
    """Metadata that are text, numbers or booleans as they are, other values as JSON text."""
    row: Row = {}
    named = names_to_write(graph, (str,)) is not None
    for name, value in (without_names(graph.metadata) if named else graph.metadata).items():
        value = plain(value, f"metadata[{name!r}]")
        if not isinstance(value, Scalar):
            not_kept.change(f"metadata {name!r} come back as JSON text")
            value = format_json(value, nan=True)
        row[name] = value
    return row


def id_text(id: Hashable, not_kept: ConversionLosses) -> str | None:
    """A graph's id as text; :func:`id_from_text` reads it."""
    if id is None:
        return None
    text = str(id) if isinstance(id, str) or is_integer(id) else format_json(label_to_json(id))
    if id_from_text(text) != id:
        not_kept.change("ids come back as integers where they look like one, else as text")
    return text


def scalar_text(value: Scalar) -> str:
    """A value as XML and DOT files spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
