"""Graphs from and to networkx, igraph and PyTorch Geometric, each imported only where graphs are made for it.

networkx and igraph have named attributes, and one set of rules:

* a missing label is the tag ``None``; a missing weight counts 1; a missing feature, text or image is refused;
* attributes of the whole graph become its ``metadata``, the attribute ``id`` its ``id``;
* attributes that no column asks for are named in one :class:`~graphmetric.errors.ConversionWarning`.

igraph is GPL: we read its objects when given some, and import it only in :func:`to_igraph`. Tensors of PyG are read
through their own methods: only :func:`to_pyg` imports torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, InvalidGraph, needs_extra
from graphmetric.formats.attributes import (
    NODE_NAMES,
    AttributeRows,
    are_node_numbers,
    listed_columns,
    rows_of_columns,
)
from graphmetric.formats.edge_lists import EdgeRows, ParallelEdges, merge_parallel_edges, pair_opposite_arcs
from graphmetric.formats.file_format import ConversionLosses, warns_at_the_end
from graphmetric.graphs.columns import COLUMNS
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import igraph as ig
    import networkx as nx
    from torch_geometric.data import Data

_ADVICE = "to keep an attribute, name it: node_label=..., node_features=[...], ..."
_NODE_ATTRIBUTES = {"label": "node_labels", "x": "node_features", "text": "node_texts", "image": "node_images"}
_EDGE_ATTRIBUTES = {"label": "edge_labels", "weight": "edge_weights"}
_EMPTY_COLUMNS = "empty_columns"
"""Graph attribute for columns that exist but have no node or edge to sit on."""
_RESERVED = ("id", "metadata", _EMPTY_COLUMNS)


@dataclass(frozen=True, slots=True)
class IfPresent:
    """The name of an attribute that is used where the graph has it; a plain string demands it."""

    name: str


Attribute = str | IfPresent | None
"""An attribute that must exist, one that may, or none at all."""

LABEL, FEATURES, TEXT, IMAGE, WEIGHT = map(IfPresent, ("label", "x", "text", "image", "weight"))


class _Roles(NamedTuple):
    """The attribute that becomes each column."""

    node_label: Attribute
    node_features: Attribute | Sequence[str]
    node_text: Attribute
    node_image: Attribute
    edge_label: Attribute
    edge_weight: Attribute


@warns_at_the_end(_ADVICE)
def from_networkx(
    not_kept: ConversionLosses,
    graph: nx.Graph,
    *,
    node_label: Attribute = LABEL,
    node_features: Attribute | Sequence[str] = FEATURES,
    node_text: Attribute = TEXT,
    node_image: Attribute = IMAGE,
    edge_label: Attribute = LABEL,
    edge_weight: Attribute = WEIGHT,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """A networkx graph, directed or not, multigraph or not; it is not changed.

    Each column takes the attribute of the given name: the defaults are used where they exist, a name given as a plain
    string must exist, None leaves the column out. ``node_features`` may be a list of attributes, put side by side.
    Other node and edge attributes are named in one :class:`ConversionWarning`; graph attributes become ``metadata``,
    the attribute ``id`` the ``id``. A missing label is the tag None, a missing weight counts 1; missing features,
    texts and images are refused.

    Nodes that are named 0..n-1 keep these numbers. Others are numbered in the order of ``list(graph)``, and their
    names are kept as ``metadata["node_names"]`` unless ``keep_names=False``. :meth:`Graph.relabeled` moves
    the names along.
    """
    if not hasattr(graph, "nodes") or not hasattr(graph, "is_multigraph"):
        raise InvalidArgument(f"from_networkx takes a networkx graph; got a {type(graph).__name__}")
    names = list(graph.nodes)
    facts = dict(graph.graph)
    if are_node_numbers(names):
        names = list(range(len(names)))
    elif keep_names:
        facts[NODE_NAMES] = tuple(names)
    number = {name: i for i, name in enumerate(names)}
    edges = list(graph.edges(data=True))
    if graph.is_multigraph():
        meaningful = {key for _, _, key in graph.edges(keys=True) if type(key) is not int}
        not_kept.leave_out(sorted(meaningful, key=repr), "edge key")
    return _built(
        AttributeRows("node", [graph.nodes[name] for name in names]),
        AttributeRows("edge", [data for _, _, data in edges]),
        [(number[u], number[v]) for u, v, _ in edges],
        graph.is_directed(),
        facts,
        _Roles(node_label, node_features, node_text, node_image, edge_label, edge_weight),
        parallel_edges,
        not_kept,
    )


def to_networkx(graph: Graph) -> nx.Graph:
    """An ``nx.Graph`` or ``nx.DiGraph`` from which :func:`from_networkx` makes an equal graph again.

    Node attributes ``label``, ``x`` (a list of numbers), ``text``, ``image`` (an array); edge attributes ``label``
    and ``weight``; ``metadata`` and ``id`` as graph attributes. To give the nodes the names they once had::

        nx.relabel_nodes(h, dict(enumerate(h.graph["node_names"])))
    """
    import networkx as nx

    result = nx.DiGraph() if graph.directed else nx.Graph()
    result.graph.update(_graph_attributes(graph))
    nodes = rows_of_columns(listed_columns(graph, _NODE_ATTRIBUTES), graph.num_nodes)
    edges = rows_of_columns(listed_columns(graph, _EDGE_ATTRIBUTES), graph.num_edges)
    result.add_nodes_from(enumerate(nodes))
    result.add_edges_from((u, v, row) for (u, v), row in zip(graph.edges.tolist(), edges, strict=True))
    return result


@warns_at_the_end(_ADVICE)
def from_igraph(
    not_kept: ConversionLosses,
    graph: ig.Graph,
    *,
    node_label: Attribute = LABEL,
    node_features: Attribute | Sequence[str] = FEATURES,
    node_text: Attribute = TEXT,
    node_image: Attribute = IMAGE,
    edge_label: Attribute = LABEL,
    edge_weight: Attribute = WEIGHT,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """An igraph graph, by the rules of :func:`from_networkx`; it is not changed.

    igraph numbers its vertices 0..n-1 and so do we; the vertex attribute ``name`` becomes ``metadata["node_names"]``.
    An attribute that is None counts as missing.
    """
    if not hasattr(graph, "vcount") or not hasattr(graph, "get_edgelist"):
        raise InvalidArgument(f"from_igraph takes an igraph graph; got a {type(graph).__name__}")
    nodes = {name: graph.vs[name] for name in graph.vs.attributes()}
    edges = {name: graph.es[name] for name in graph.es.attributes()}
    facts = {name: graph[name] for name in graph.attributes()}
    if "name" in nodes and keep_names:
        facts[NODE_NAMES] = tuple(nodes["name"])
    if node_label != "name":
        nodes.pop("name", None)
    return _built(
        AttributeRows("node", rows_of_columns(nodes, graph.vcount())),
        AttributeRows("edge", rows_of_columns(edges, graph.ecount())),
        graph.get_edgelist(),
        graph.is_directed(),
        facts,
        _Roles(node_label, node_features, node_text, node_image, edge_label, edge_weight),
        parallel_edges,
        not_kept,
    )


def to_igraph(graph: Graph) -> ig.Graph:
    """An igraph graph with the attributes that :func:`to_networkx` gives, equal after :func:`from_igraph`."""
    with needs_extra("igraph", "to_igraph"):
        import igraph as ig
    result = ig.Graph(n=graph.num_nodes, edges=graph.edges.tolist(), directed=graph.directed)
    for name, fact in _graph_attributes(graph).items():
        result[name] = fact
    for sequence, names in ((result.vs, _NODE_ATTRIBUTES), (result.es, _EDGE_ATTRIBUTES)):
        for name, column in listed_columns(graph, names).items():
            if column:
                sequence[name] = column
    return result


def _built(
    nodes: AttributeRows,
    edges: AttributeRows,
    pairs: list[tuple[int, int]],
    directed: bool,
    facts: dict[str, Any],
    roles: _Roles,
    parallel_edges: ParallelEdges,
    not_kept: ConversionLosses,
) -> Graph:
    """The graph with each attribute in its column; the facts about the whole graph become its metadata."""
    weights = _values(edges, roles.edge_weight, "edge_weight")
    rows = EdgeRows(
        pairs,
        _values(edges, roles.edge_label, "edge_label"),
        None if weights is None else [1.0 if weight is None else weight for weight in weights],
    )
    rows = merge_parallel_edges(rows, directed, parallel_edges)
    features = roles.node_features
    several = [features] if features is None or isinstance(features, str | IfPresent) else list(features)
    blocks = (_complete_values(nodes, name, "node_features") for name in several)
    vectors = [COLUMNS["node_features"].read(block, len(nodes)) for block in blocks if block is not None]
    columns: dict[str, Any] = {
        "node_labels": _values(nodes, roles.node_label, "node_label"),
        "node_features": np.hstack(vectors) if vectors else None,
        "node_texts": _complete_values(nodes, roles.node_text, "node_text"),
        "node_images": _complete_values(nodes, roles.node_image, "node_image"),
        "edge_labels": rows.labels,
        "edge_weights": rows.weights,
    }
    of_nodes = (roles.node_label, roles.node_text, roles.node_image, *several)
    for attributes, chosen in ((nodes, of_nodes), (edges, (roles.edge_label, roles.edge_weight))):
        used = {choice.name if isinstance(choice, IfPresent) else choice for choice in chosen}
        not_kept.leave_out([name for name in attributes.names() if name not in used], f"{attributes.kind} attribute")
    empty = facts.pop(_EMPTY_COLUMNS) if isinstance(facts.get(_EMPTY_COLUMNS), Mapping) else {}
    count = {"node": len(nodes), "edge": len(edges)}
    columns |= {name: column for name, column in empty.items() if name in columns and count[name[:4]] == 0}
    identity = facts.pop("id", None) if isinstance(facts.get("id"), Hashable) else None
    nested = facts.pop("metadata") if isinstance(facts.get("metadata"), Mapping) else {}
    return Graph(len(nodes), rows.pairs, directed=directed, id=identity, metadata=facts | dict(nested), **columns)


def _values(rows: AttributeRows, choice: Attribute, parameter: str) -> list[Any] | None:
    """The values, None for nodes or edges that lack it; None altogether where nobody has or wants it."""
    name = rows.choose((choice.name,) if isinstance(choice, IfPresent) else choice, parameter)
    if name is None and isinstance(choice, str):
        return []  # of no nodes or no edges
    return None if name is None else rows.column(name)


def _complete_values(rows: AttributeRows, choice: Attribute, parameter: str) -> list[Any] | None:
    """The values; refused where some nodes lack them."""
    values = _values(rows, choice, parameter)
    lacking = next((i for i, value in enumerate(values or ()) if value is None), None)
    if lacking is not None:
        name = choice.name if isinstance(choice, IfPresent) else choice
        raise InvalidGraph(
            f"{rows.kind} {lacking} has no attribute {name!r}, which others have; "
            f"give it one, or leave the attribute out with {parameter}=None"
        )
    return values


def _graph_attributes(graph: Graph) -> dict[str, Any]:
    """Return the attributes that :func:`_built` reads back: metadata, id, and columns without nodes or edges."""
    facts = {name: fact for name, fact in graph.metadata.items() if name not in _RESERVED}
    if hidden := {name: fact for name, fact in graph.metadata.items() if name in _RESERVED}:
        facts["metadata"] = hidden
    if graph.id is not None:
        facts["id"] = graph.id
    columns = {name: getattr(graph, name) for name in COLUMNS}
    if empty := {name: column for name, column in columns.items() if column is not None and len(column) == 0}:
        facts[_EMPTY_COLUMNS] = empty
    return facts


EdgeAttr = Literal["label", "weight"] | None

_OURS = ("node_labels", "edge_labels", "node_texts", "node_images", "id", "metadata", "directed")
_READ = {"num_nodes", "edge_index", "x", "y", "edge_weight", "edge_attr", *_OURS}


@warns_at_the_end()
def from_pyg(
    not_kept: ConversionLosses,
    data: Data,
    *,
    directed: bool | None = None,
    edge_attr: EdgeAttr = "label",
    one_hot: bool = False,
    parallel_edges: ParallelEdges = "error",
) -> Graph:
    """A PyG ``Data``; it is not changed.

    ``x`` becomes ``node_features``, ``edge_weight`` the weights, ``y`` goes to ``metadata["y"]``. A row of
    ``edge_attr`` becomes the label of its edge, a number or a tuple of numbers (with a warning if these are not
    integers), or with ``edge_attr="weight"`` its weight; None leaves it out. With ``one_hot=True`` the rows of ``x``
    and ``edge_attr`` are labels in one-hot code: label k where entry k is 1 (the molecule sets of PyG are stored this
    way). Also read is what :func:`to_pyg` adds.

    PyG stores an undirected edge as two arcs, without saying so. Where every arc has its equal opposite they are
    merged into undirected edges; otherwise the graph is directed. ``directed`` overrules this.
    """
    if edge_attr not in (*get_args(get_args(EdgeAttr)[0]), None):
        raise InvalidArgument(f"edge_attr must be 'label', 'weight' or None; got {edge_attr!r}")
    fields = _checked_fields(data)
    not_kept.leave_out([name for name in fields if name not in _READ], "attribute")
    arcs = _arcs(fields, edge_attr, one_hot)
    if edge_attr == "label" and not one_hot and _has_fractions(_array(fields, "edge_attr")):
        not_kept.change(
            "edge_attr holds real numbers, and every different row became an edge label of its own, equal to no other: "
            "edge_attr='weight' makes weights of them, one number per edge, and edge_attr=None leaves them out"
        )
    if directed is None and "directed" in fields:
        directed = bool(fields["directed"])
    rows = merge_parallel_edges(arcs, True, parallel_edges)
    features = _array(fields, "x")
    labels = fields.get("node_labels")
    if one_hot and features is not None:
        labels, features = _one_hot_labels(features, "x"), None
    graph = Graph(
        data.num_nodes or 0,
        rows.pairs,
        node_labels=labels,
        edge_labels=rows.labels,
        edge_weights=rows.weights,
        node_features=features,
        node_texts=fields.get("node_texts"),
        node_images=_array(fields, "node_images"),
        directed=True,
        id=fields.get("id") if isinstance(fields.get("id"), Hashable) else None,
        metadata=_metadata(fields),
    )
    return pair_opposite_arcs(graph) if directed is None else graph.replace(directed=directed)


def to_pyg(graph: Graph, *, dtype: str = "float32") -> Data:
    """A PyG ``Data`` from which :func:`from_pyg` makes the graph again.

    ``edge_index`` sorted, with both arcs of each undirected edge; features, weights and a number in ``metadata["y"]``
    as ``x``, ``edge_weight`` and ``y``. float32, PyG's usual type, rounds them; ``dtype="float64"`` is exact. Labels
    and texts are not tensors: they go along as the lists ``node_labels``, ``edge_labels`` (one entry per arc) and
    ``node_texts``, like ``node_images``, ``id``, ``metadata`` and, where it is, ``directed``.
    """
    with needs_extra("pyg", "to_pyg"):
        import torch
        from torch_geometric.data import Data
    if dtype not in ("float32", "float64"):
        raise InvalidArgument(f"dtype must be 'float32' or 'float64'; got {dtype!r}")
    arcs = graph.adjacency
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(arcs.indptr))
    data = Data(edge_index=torch.tensor(np.stack([sources, arcs.indices]), dtype=torch.int64))
    target, metadata = _split_target(graph.metadata)
    weights = None if graph.edge_weights is None else graph.edge_weights[arcs.edge]
    arrays = {"x": graph.node_features, "edge_weight": weights, "y": target, "node_images": graph.node_images}
    values: dict[str, Any] = {"num_nodes": graph.num_nodes}
    for name, array in arrays.items():
        if array is not None:
            kind = getattr(torch, dtype) if array.dtype == np.float64 else None
            values[name] = torch.tensor(np.array(array), dtype=kind)
    values |= listed_columns(graph, {"node_labels": "node_labels", "node_texts": "node_texts"})
    labels = graph.edge_labels
    values["edge_labels"] = None if labels is None else [labels[edge] for edge in arcs.edge]
    values |= {"id": graph.id, "metadata": metadata or None, "directed": graph.directed or None}
    for name, value in values.items():
        if value is not None:
            data[name] = value
    return data


def _split_target(metadata: Mapping[str, Any]) -> tuple[NDArray[Any] | None, dict[str, Any]]:
    """The number called y, as PyG has it, and the other facts; other kinds of y stay among the facts."""
    target = metadata.get("y")
    if type(target) not in (int, float, bool) or (type(target) is int and abs(target) >= 2**63):
        return None, dict(metadata)
    return np.array([target]), {name: fact for name, fact in metadata.items() if name != "y"}


def _checked_fields(data: Any) -> dict[str, Any]:
    if not hasattr(data, "to_dict") or not hasattr(data, "num_nodes"):
        raise InvalidArgument(f"from_pyg takes a torch_geometric.data.Data; got a {type(data).__name__}")
    if hasattr(data, "to_data_list"):
        raise InvalidArgument("from_pyg takes one Data; this is a Batch: convert each of batch.to_data_list()")
    fields = {name: value for name, value in data.to_dict().items() if value is not None}
    if "edge_index" not in fields and "adj_t" in fields:
        raise InvalidArgument("this Data holds adj_t and no edge_index; undo the transform ToSparseTensor first")
    return fields


def _arcs(fields: dict[str, Any], edge_attr: EdgeAttr, one_hot: bool) -> EdgeRows:
    index = _array(fields, "edge_index")
    if index is None:
        index = np.empty((2, 0), dtype=np.int64)
    if index.ndim != 2 or len(index) != 2:
        raise InvalidGraph(f"edge_index must have shape (2, arcs); got {index.shape}")
    labels = fields.get("edge_labels")
    weights = _array(fields, "edge_weight")
    attributes = _array(fields, "edge_attr") if edge_attr else None
    if attributes is not None and edge_attr == "weight":
        weights = attributes
    elif attributes is not None:
        labels = _one_hot_labels(attributes, "edge_attr") if one_hot else _row_labels(attributes)
    if weights is not None:
        weights = weights[:, 0] if weights.ndim == 2 and weights.shape[1] == 1 else weights
        if weights.ndim != 1:
            raise InvalidGraph(f"edge weights must be one number per arc; got shape {weights.shape}")
    for name, column in (("edge labels", labels), ("edge weights", weights)):
        if column is not None and len(column) != index.shape[1]:
            raise InvalidGraph(f"{name}: {len(column)} rows; edge_index has {index.shape[1]} arcs")
    pairs = [(u, v) for u, v in index.T.tolist()]
    return EdgeRows(pairs, labels, None if weights is None else weights.tolist())


def _array(fields: dict[str, Any], name: str) -> NDArray[Any] | None:
    value = fields.get(name)
    if value is None:
        return None
    try:
        return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except TypeError:
        raise InvalidGraph(f"{name} has dtype {value.dtype}, which numpy does not know; convert it first") from None


def _has_fractions(rows: NDArray[Any] | None) -> bool:
    """Return whether any number is not an integer, so that rows are measurements rather than codes."""
    return rows is not None and rows.dtype.kind == "f" and bool((np.isfinite(rows) & (rows != np.rint(rows))).any())


def _row_labels(rows: NDArray[Any]) -> list[Hashable]:
    if rows.ndim == 1 or rows.shape[1:] == (1,):
        return list(rows.reshape(-1).tolist())
    return list(map(tuple, rows.reshape(len(rows), -1).tolist()))


def _one_hot_labels(rows: NDArray[Any], name: str) -> list[Hashable]:
    if rows.ndim != 2 or not ((rows == 1).sum(axis=1) == 1).all() or not ((rows == 0) | (rows == 1)).all():
        raise InvalidGraph(f"one_hot=True, but not every row of {name} has a single 1 among zeros")
    return list(rows.argmax(axis=1).tolist())


def _metadata(fields: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(fields.get("metadata", {}))
    target = _array(fields, "y")
    if target is not None:
        metadata["y"] = target.item() if target.shape in ((), (1,)) else target.tolist()
    return metadata
