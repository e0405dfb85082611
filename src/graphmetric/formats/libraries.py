"""networkx graphs.

igraph graphs. igraph is GPL: we read its objects when given some, and import it only in :func:`to_igraph`.

Data objects of PyTorch Geometric. Tensors are read through their own methods: only :func:`to_pyg` imports torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, InvalidGraph, MissingExtra
from graphmetric.formats.attributes import (
    DEFAULT_ROLES,
    FEATURES,
    IMAGE,
    LABEL,
    NODE_NAMES,
    TEXT,
    WEIGHT,
    Attribute,
    AttributedGraph,
    AttributeRoles,
    EdgeRows,
    ParallelEdges,
    are_node_numbers,
    build_graph,
    columns_by_name,
    describe_graph,
    merge_parallel_edges,
    pair_opposite_arcs,
)
from graphmetric.formats.losses import LeftOut
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import igraph as ig
    import networkx as nx
    from torch_geometric.data import Data


def from_igraph(
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
    roles = AttributeRoles(node_label, node_features, node_text, node_image, edge_label, edge_weight)
    left_out = LeftOut()
    converted = convert_igraph(graph, left_out, roles, parallel_edges, keep_names)
    left_out.warn("from_igraph", "to keep an attribute, name it: node_label=..., node_features=[...], ...")
    return converted


def convert_igraph(
    graph: Any,
    left_out: LeftOut,
    roles: AttributeRoles = DEFAULT_ROLES,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """:func:`from_igraph` that gathers what it leaves out instead of warning."""
    if not hasattr(graph, "vcount") or not hasattr(graph, "get_edgelist"):
        raise InvalidArgument(f"from_igraph takes an igraph graph; got a {type(graph).__name__}")
    described = AttributedGraph(
        graph.vcount(),
        graph.get_edgelist(),
        graph.is_directed(),
        {name: graph.vs[name] for name in graph.vs.attributes()},
        {name: graph.es[name] for name in graph.es.attributes()},
        {name: graph[name] for name in graph.attributes()},
    )
    names = described.node_attributes.get("name")
    if names is not None and roles.node_label != "name":
        del described.node_attributes["name"]
    if names is not None and keep_names:
        described.graph_attributes[NODE_NAMES] = tuple(names)
    return build_graph(described, roles, parallel_edges, left_out)


def to_igraph(graph: Graph) -> ig.Graph:
    """An igraph graph with the attributes that :func:`to_networkx` gives, equal after :func:`from_igraph`."""
    try:
        import igraph as ig
    except ImportError:
        raise MissingExtra("igraph", "igraph", "to_igraph") from None
    described = describe_graph(graph)
    result = ig.Graph(n=graph.num_nodes, edges=described.edges, directed=graph.directed)
    for name, fact in described.graph_attributes.items():
        result[name] = fact
    for sequence, columns in ((result.vs, described.node_attributes), (result.es, described.edge_attributes)):
        for name, column in columns.items():
            if column:
                sequence[name] = column
    return result


EdgeAttr = Literal["label", "weight"] | None

_OURS = ("node_labels", "edge_labels", "node_texts", "node_images", "id", "metadata", "directed")
_READ = {"num_nodes", "edge_index", "x", "y", "edge_weight", "edge_attr", *_OURS}


def from_pyg(
    data: Data,
    *,
    directed: bool | None = None,
    edge_attr: EdgeAttr = "label",
    one_hot: bool = False,
    parallel_edges: ParallelEdges = "error",
) -> Graph:
    """A PyG ``Data``; it is not changed.

    ``x`` becomes ``node_features``, ``edge_weight`` the weights, ``y`` goes to ``metadata["y"]``. A row of
    ``edge_attr`` becomes the label of its edge, a number or a tuple of numbers, or with ``edge_attr="weight"`` its
    weight; None leaves it out. With ``one_hot=True`` the rows of ``x`` and ``edge_attr`` are labels in one-hot code:
    label k where entry k is 1 (the molecule sets of PyG are stored this way). Also read is what :func:`to_pyg` adds.

    PyG stores an undirected edge as two arcs, without saying so. Where every arc has its equal opposite they are
    merged into undirected edges; otherwise the graph is directed. ``directed`` overrules this.
    """
    left_out = LeftOut()
    graph = convert_pyg(data, left_out, directed, edge_attr, one_hot, parallel_edges)
    left_out.warn("from_pyg")
    return graph


def convert_pyg(
    data: Any,
    left_out: LeftOut,
    directed: bool | None = None,
    edge_attr: EdgeAttr = "label",
    one_hot: bool = False,
    parallel_edges: ParallelEdges = "error",
) -> Graph:
    """:func:`from_pyg` that gathers what it leaves out instead of warning."""
    if edge_attr not in (*get_args(get_args(EdgeAttr)[0]), None):
        raise InvalidArgument(f"edge_attr must be 'label', 'weight' or None; got {edge_attr!r}")
    fields = _checked_fields(data)
    left_out.note("attribute", [name for name in fields if name not in _READ])
    arcs = _arcs(fields, edge_attr, one_hot)
    if directed is None and "directed" in fields:
        directed = bool(fields["directed"])
    rows, is_directed = pair_opposite_arcs(merge_parallel_edges(arcs, True, parallel_edges), directed)
    features, labels = _array(fields, "x"), fields.get("node_labels")
    if one_hot and features is not None:
        labels, features = _one_hot_labels(features, "x"), None
    return Graph(
        data.num_nodes or 0,
        rows.pairs,
        node_labels=labels,
        edge_labels=rows.labels,
        edge_weights=rows.weights,
        node_features=features,
        node_texts=fields.get("node_texts"),
        node_images=_array(fields, "node_images"),
        directed=is_directed,
        id=fields.get("id") if isinstance(fields.get("id"), Hashable) else None,
        metadata=_metadata(fields),
    )


def to_pyg(graph: Graph, *, dtype: str = "float32") -> Data:
    """A PyG ``Data`` from which :func:`from_pyg` makes the graph again.

    ``edge_index`` sorted, with both arcs of each undirected edge; features, weights and a number in ``metadata["y"]``
    as ``x``, ``edge_weight`` and ``y``. float32, PyG's usual type, rounds them; ``dtype="float64"`` is exact. Labels
    and texts are no tensors: they go along as the lists ``node_labels``, ``edge_labels`` (one entry per arc) and
    ``node_texts``, like ``node_images``, ``id``, ``metadata`` and, where it is, ``directed``.
    """
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError:
        raise MissingExtra("torch_geometric", "pyg", "to_pyg") from None
    if dtype not in ("float32", "float64"):
        raise InvalidArgument(f"dtype must be 'float32' or 'float64'; got {dtype!r}")
    arcs = graph.adjacency
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(arcs.indptr))
    data = Data(edge_index=torch.tensor(np.stack([sources, arcs.indices]), dtype=torch.int64))
    data.num_nodes = graph.num_nodes
    weights = None if graph.edge_weights is None else graph.edge_weights[arcs.edge]
    target, metadata = _split_target(graph.metadata)
    numbers = {"x": graph.node_features, "edge_weight": weights, "y": target, "node_images": graph.node_images}
    for name, array in numbers.items():
        if array is not None:
            kind = getattr(torch, dtype) if array.dtype == np.float64 else None
            data[name] = torch.tensor(np.array(array), dtype=kind)
    labels = graph.edge_labels
    others = {
        "node_labels": None if graph.node_labels is None else list(graph.node_labels),
        "edge_labels": None if labels is None else [labels[edge] for edge in arcs.edge],
        "node_texts": None if graph.node_texts is None else list(graph.node_texts),
        "id": graph.id,
        "metadata": metadata or None,
        "directed": graph.directed or None,
    }
    for name, other in others.items():
        if other is not None:
            data[name] = other
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
    labels, weights = fields.get("edge_labels"), _array(fields, "edge_weight")
    attributes = _array(fields, "edge_attr") if edge_attr else None
    if attributes is not None and edge_attr == "weight":
        weights = attributes
    elif attributes is not None:
        labels = _one_hot_labels(attributes, "edge_attr") if one_hot else _row_labels(attributes)
    if weights is not None:
        weights = _flat(weights, "edge weights")
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


def _flat(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim != 1:
        raise InvalidGraph(f"{name} must be one number per arc; got shape {values.shape}")
    return values


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


def from_networkx(
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
    roles = AttributeRoles(node_label, node_features, node_text, node_image, edge_label, edge_weight)
    left_out = LeftOut()
    converted = convert_networkx(graph, left_out, roles, parallel_edges, keep_names)
    left_out.warn("from_networkx", "to keep an attribute, name it: node_label=..., node_features=[...], ...")
    return converted


def convert_networkx(
    graph: Any,
    left_out: LeftOut,
    roles: AttributeRoles = DEFAULT_ROLES,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """:func:`from_networkx` that gathers what it leaves out instead of warning."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "is_multigraph"):
        raise InvalidArgument(f"from_networkx takes a networkx graph; got a {type(graph).__name__}")
    names = _ordered_names(graph)
    number = {name: i for i, name in enumerate(names)}
    edges = list(graph.edges(data=True))
    described = AttributedGraph(
        len(names),
        [(number[u], number[v]) for u, v, _ in edges],
        graph.is_directed(),
        columns_by_name([graph.nodes[name] for name in names]),
        columns_by_name([data for _, _, data in edges]),
        dict(graph.graph),
    )
    if graph.is_multigraph():
        meaningful = {key for _, _, key in graph.edges(keys=True) if type(key) is not int}
        left_out.note("edge key", sorted(meaningful, key=repr))
    if keep_names and not are_node_numbers(names):
        described.graph_attributes[NODE_NAMES] = tuple(names)
    return build_graph(described, roles, parallel_edges, left_out)


def to_networkx(graph: Graph) -> nx.Graph:
    """An ``nx.Graph`` or ``nx.DiGraph`` from which :func:`from_networkx` makes an equal graph again.

    Node attributes ``label``, ``x`` (a list of numbers), ``text``, ``image`` (an array); edge attributes ``label``
    and ``weight``; ``metadata`` and ``id`` as graph attributes. To give the nodes the names they once had::

        nx.relabel_nodes(h, dict(enumerate(h.graph["node_names"])))
    """
    import networkx as nx

    described = describe_graph(graph)
    result = nx.DiGraph() if graph.directed else nx.Graph()
    result.graph.update(described.graph_attributes)
    result.add_nodes_from(zip(range(graph.num_nodes), _rows(described.node_attributes, graph.num_nodes), strict=True))
    attributes = _rows(described.edge_attributes, graph.num_edges)
    result.add_edges_from((u, v, row) for (u, v), row in zip(described.edges, attributes, strict=True))
    return result


def _ordered_names(graph: Any) -> list[Hashable]:
    names = list(graph.nodes)
    return list(range(len(names))) if are_node_numbers(names) else names


def _rows(columns: dict[str, list[Any]], count: int) -> list[dict[str, Any]]:
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]
