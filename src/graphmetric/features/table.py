"""Features of a collection: packed once, cut into padded batches on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.features._kernels.neighbours import Arcs, Edges, fill_edges, list_arcs
from graphmetric.features.attributes import ImageScale
from graphmetric.graphs.columns import Columns, GraphFlags, as_kernel_type

Array = TypeVar("Array")


@dataclass(frozen=True, slots=True)
class FeatureSchema:
    """Sizes of the fitted features, from which an encoder is built."""

    k_max: int
    """Columns of w_i and divisor of the fusion."""
    num_roles: int
    """Weisfeiler-Lehman codes run from 0 (never seen) to ``num_roles - 1``."""
    largest_degree: int
    """The largest degree in the training graphs; other graphs may have larger ones."""
    num_tags: int = 0
    """Tag codes run from 0 (never seen) to ``num_tags - 1``; 0: no training graph has tags."""
    vector_width: int = 0
    """Numbers per node; 0: none."""
    num_words: int = 0
    """Word codes run from 0 (padding) and 1 (never seen) to ``num_words - 1``; 0: no texts."""
    image_shape: tuple[int, int, int] | None = None
    """Channels, height, width; None: no images."""
    num_relations: int = 2
    """Codes of the relation between two nodes: 0 no edge, then labels of edges, then labels of arcs."""
    directed: bool = False
    """Whether any training graph is directed."""
    weighted: bool = False
    """Whether any training graph has edge weights."""
    return_steps: int = 0
    """Return probabilities per node."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of the size of a batch. All counts are after padding."""

    nodes: int = 2048
    """Graphs times nodes of the largest; a single larger graph is a batch of its own."""
    pairs: int = 1 << 20
    """Graphs times the square of that: the memory of attention and of distances between nodes."""
    spare: int = 1024
    """A batch below this many nodes takes in smaller graphs even if that means more padding than data."""
    largest_waste: float = 0.1
    """Above ``spare``, the share of padding at which a batch is closed."""


def group_by_size(sizes: NDArray[np.int64], limits: BatchLimits) -> Iterator[NDArray[np.int64]]:
    """Cut the positions, sorted from large to small graphs (equal sizes in the given order), into batches."""
    order = np.argsort(-sizes, kind="stable")
    begin, real, k = 0, 0, 1
    for place, size in enumerate(sizes[order].tolist()):
        if place > begin and _is_full(place - begin, real, size, k, limits):
            yield order[begin:place]
            begin, real = place, 0
        if place == begin:
            k = max(1, size)
        real += size
    if begin < len(order):
        yield order[begin:]


def _is_full(count: int, real: int, size: int, k: int, limits: BatchLimits) -> bool:
    """Return whether one more graph of this size would exceed a batch padded to k nodes."""
    padded = (count + 1) * k
    if padded > limits.nodes or padded * k > limits.pairs:
        return True
    return padded > limits.spare and size < k and real + size < (1 - limits.largest_waste) * padded


def edges_of(columns: Columns) -> Edges:
    """The edges of packed graphs, in the types that compiled loops take."""
    pointers = as_kernel_type(columns.node_ptr), as_kernel_type(columns.edge_ptr)
    return Edges(*pointers, as_kernel_type(columns.edges), (columns.flags & GraphFlags.DIRECTION) != 0)


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch(Generic[Array]):
    """Features of a few graphs, padded to ``k`` nodes each, the largest of them; None where not in use.

    Rows beyond a graph's own nodes are padding: their values mean nothing and ``mask`` is False there. The fields are
    arrays as :meth:`FeatureTable.padded` makes them, or tensors on a device as the encoder takes them.
    """

    mask: Array
    """(graphs, k): True for nodes, False for padding."""
    full: bool
    """Whether there is no padding."""
    largest_degree: int
    """The largest degree, known without waiting for a device."""
    role: Array
    """(graphs, k): Weisfeiler-Lehman codes."""
    degree: Array
    """(graphs, k, 2): edges that leave and that enter."""
    weights: Array
    """(graphs, k, k): scaled weight of the edge from i to j, 0 without one. Row i is w_i."""
    has_attributes: Array
    """(graphs, 4): whether the graph has tags, vectors, texts, images."""
    strength: Array | None = None
    """(graphs, k, 2): compressed sums of the weights that leave and that enter."""
    walks: Array | None = None
    """(graphs, k, steps): return probabilities."""
    tag: Array | None = None
    """(graphs, k): codes of tags."""
    vector: Array | None = None
    """(graphs, k, numbers): standardized real vectors."""
    text: Array | None = None
    """(graphs, k): row of ``tokens``."""
    tokens: Array | None = None
    """(texts, words): word codes of the distinct texts of this batch, 0 after the last word."""
    image: Array | None = None
    """(graphs, k): row of ``pixels``."""
    pixels: Array | None = None
    """(images, channels, height, width): images of the real nodes of this batch, in [0, 1]."""
    arc_ends: Array | None = None
    """(2, arcs): the row from which and the row to which each edge carries messages, every edge both ways. Row
    b * k + i is node i of graph b."""
    arc_relation: Array | None = None
    """(arcs,): the code of the edge; against the direction of a directed one, ``num_relations`` more."""
    arc_weight: Array | None = None
    """(arcs,): its scaled weight; None where no training graph has weights."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """The features of a collection, one row per node unless noted otherwise; None for kinds that are not in use."""

    schema: FeatureSchema
    edges: Edges
    arcs: Arcs
    order: NDArray[np.int64]
    """The number each node had in its graph as it was given. Rows are in canonical order."""
    flags: NDArray[np.uint8]
    """One per graph: :class:`~graphmetric.graphs.columns.GraphFlags` bits."""
    role: NDArray[np.int32]
    degree: NDArray[np.int32]
    weight: NDArray[np.float32]
    """One per edge row, scaled."""
    relation: NDArray[np.int32]
    """One per edge row."""
    strength: NDArray[np.float32] | None = None
    walks: NDArray[np.float32] | None = None
    tag: NDArray[np.int32] | None = None
    vector: NDArray[np.float32] | None = None
    text: NDArray[np.int32] | None = None
    """Row of ``tokens``."""
    tokens: NDArray[np.int32] | None = None
    """One row per distinct text."""
    images: NDArray[Any] | None = None
    """As given; scaled when a batch is cut, since floats take four times the memory of bytes."""
    image_scale: ImageScale | None = None

    def __len__(self) -> int:
        return len(self.flags)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of each graph."""
        return np.diff(self.edges.node_ptr)

    def batches(self, limits: BatchLimits | None = None) -> Iterator[tuple[NDArray[np.int64], GraphBatch[Any]]]:
        """Iterate over all graphs in batches of like sizes: their positions in the collection, and their features.

        Every position comes exactly once, not in order. A large graph shares a batch with none much smaller.
        """
        for positions in group_by_size(self.sizes, limits or BatchLimits()):
            yield positions, self.padded(positions)

    def padded(self, positions: ArrayLike) -> GraphBatch[Any]:
        """Return the graphs at these positions, padded to the largest of them (one node at least)."""
        chosen = np.ascontiguousarray(positions, dtype=np.int64)
        sizes, schema = self.sizes[chosen], self.schema
        k = max(1, int(sizes.max(initial=0)))
        mask = np.arange(k) < sizes[:, None]
        rows = np.where(mask, self.edges.node_ptr[chosen][:, None] + np.arange(k), 0)
        weights = np.zeros((len(chosen), k, k), dtype=np.float32)
        fill_edges(self.edges, self.weight, chosen, weights)
        kinds = np.array(
            [GraphFlags.NODE_LABELS, GraphFlags.NODE_FEATURES, GraphFlags.NODE_TEXTS, GraphFlags.NODE_IMAGES],
            dtype=np.uint8,
        )
        back = schema.num_relations if schema.directed else 0
        degree = _gather(self.degree, rows)
        ends, code, edge = list_arcs(self.edges.node_ptr, self.arcs, self.relation, chosen, k, back)
        return GraphBatch(
            mask=mask,
            full=bool(mask.all()),
            degree=degree,
            largest_degree=int(degree.max(initial=0)),
            weights=weights,
            has_attributes=(self.flags[chosen, None] & kinds) != 0,
            arc_ends=ends,
            arc_relation=code,
            arc_weight=self.weight[edge] if schema.weighted else None,
            **{name: _gather(getattr(self, name), rows) for name in ("role", "strength", "walks")},
            **{name: _gather(getattr(self, name), rows) for name in ("tag", "vector")},
            **self._texts(rows),
            **self._images(rows, mask),
        )

    def _texts(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        if self.text is None or self.tokens is None:
            return {}
        used, place = np.unique(_gather(self.text, rows), return_inverse=True)
        return {"tokens": self.tokens[used], "text": place.reshape(rows.shape).astype(np.int32)}

    def _images(self, rows: NDArray[np.int64], mask: NDArray[np.bool_]) -> dict[str, Any]:
        if self.images is None or self.image_scale is None or not mask.any():
            return {}
        number = np.cumsum(mask.ravel()).reshape(mask.shape) - 1
        pixels = self.image_scale.scale(self.images[rows[mask]])
        return {"pixels": pixels, "image": np.maximum(number, 0).astype(np.int32)}


def _gather(array: NDArray[Any] | None, rows: NDArray[np.int64]) -> Any:
    if array is None:
        return None
    if len(array) == 0:  # nothing but empty graphs: a batch still has a node of padding each
        return np.zeros((*rows.shape, *array.shape[1:]), dtype=array.dtype)
    return array[rows]
