"""Random graphs for property tests; every kind of attribute can be switched off."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphmetric.graphs.graph import Graph

FEATURE_WIDTH = 2
IMAGE_SHAPE = (1, 2, 1)

words = st.text(string.ascii_letters + "αβ", min_size=1, max_size=3)
short_texts = st.text(max_size=4)
finite = st.floats(allow_nan=False, allow_infinity=False)
weights = finite.filter(lambda weight: weight != 0)
simple_labels = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3))
labels = st.one_of(
    simple_labels, st.binary(max_size=3), st.tuples(simple_labels, st.integers()), st.tuples(st.tuples(simple_labels))
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), finite, st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
metadata_of_any_kind = st.dictionaries(st.text(max_size=3), json_values, max_size=2)

Choice = st.SearchStrategy[Any] | None


@st.composite
def graphs(
    draw: Callable[..., Any],
    *,
    min_nodes: int = 0,
    max_nodes: int = 6,
    node_labels: Choice = labels,
    edge_labels: Choice = labels,
    edge_weights: bool = True,
    node_features: bool = True,
    node_texts: Choice = short_texts,
    node_images: bool = True,
    direction: bool = True,
    loops: bool = True,
    ids: Choice = labels,
    metadata: Choice = metadata_of_any_kind,
    always: bool = False,
) -> Graph:
    """A graph whose columns are present or absent by chance; ``always`` makes those that may be present so.

    Strategies given for labels, texts, ids and metadata draw one value each; None switches the column off. Features
    have :data:`FEATURE_WIDTH` numbers and images :data:`IMAGE_SHAPE` bytes, so that graphs fit into one collection.
    """

    def present(switch: object) -> bool:
        return switch not in (None, False) and (always or draw(st.booleans()))

    n = draw(st.integers(min_nodes, max_nodes))
    directed = direction and draw(st.booleans())
    possible = [(u, v) for u in range(n) for v in range(n) if (u != v or loops) and (directed or u <= v)]
    edges = draw(st.lists(st.sampled_from(possible), unique=True, max_size=8)) if possible else []

    def per(count: int, values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    columns: dict[str, Any] = {}
    if present(node_labels):
        columns["node_labels"] = per(n, node_labels)
    if present(edge_labels):
        columns["edge_labels"] = per(len(edges), edge_labels)
    if present(edge_weights):
        columns["edge_weights"] = per(len(edges), weights)
    if present(node_features):
        columns["node_features"] = np.array(per(n * FEATURE_WIDTH, finite)).reshape(n, FEATURE_WIDTH)
    if present(node_texts):
        columns["node_texts"] = per(n, node_texts)
    if present(node_images):
        pixels = np.array(per(n * int(np.prod(IMAGE_SHAPE)), st.integers(0, 255)), dtype=np.uint8)
        columns["node_images"] = pixels.reshape(n, *IMAGE_SHAPE)
    if present(ids):
        columns["id"] = draw(ids)
    if present(metadata):
        columns["metadata"] = draw(metadata)
    return Graph(n, edges, directed=directed, **columns)


def exact(graph: Graph) -> dict[str, Any]:
    """Everything a graph has, such that 1, 1.0 and True differ; two graphs are the same if these are equal."""
    described: dict[str, Any] = {
        name: None if (array := getattr(graph, name)) is None else (array.dtype.str, array.shape, array.tolist())
        for name in ("edges", "edge_weights", "node_features", "node_images")
    }
    for name in ("node_labels", "edge_labels", "node_texts", "id", "num_nodes", "directed"):
        described[name] = repr(getattr(graph, name))
    described["metadata"] = dict(graph.metadata)
    return described


def without_empty_columns(graph: Graph) -> Graph:
    """Columns without any value removed, for formats that cannot tell them from no column."""
    names = ["node_labels", "node_features", "node_texts", "node_images"] if graph.num_nodes == 0 else []
    names += ["edge_labels", "edge_weights"] if graph.num_edges == 0 else []
    names += [n for n in ("node_labels", "edge_labels") if all(label is None for label in getattr(graph, n) or ())]
    return graph.replace(**dict.fromkeys(names))


def graph_lists(*, min_size: int = 0, max_size: int = 5, **options: Any) -> st.SearchStrategy[list[Graph]]:
    """Lists of :func:`graphs` that fit into one collection."""
    return st.lists(graphs(**options), min_size=min_size, max_size=max_size)
