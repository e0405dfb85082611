"""Features of a collection: packed once, cut into padded batches on demand.

Which graphs go into one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.features._kernels.neighbours import Arcs, Edges, fill_edges, fill_rows
from graphmetric.features.attributes import AttributeArrays, ImageScale
from graphmetric.features.options import FeatureSchema
from graphmetric.features.structure import hop_buckets
from graphmetric.graphs.columns import Has


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How large a batch gets. All counts are after padding."""

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
    """Whether one more graph of this size would be too much for a batch padded to k nodes."""
    padded = (count + 1) * k
    if padded > limits.nodes or padded * k > limits.pairs:
        return True
    return padded > limits.spare and size < k and real + size < (1 - limits.largest_waste) * padded


class GraphBatch(NamedTuple):
    """Features of a few graphs, padded to ``k`` nodes each, the largest of them; None where not in use.

    Rows beyond a graph's own nodes are padding: their values mean nothing and ``mask`` is False there.
    """

    mask: NDArray[np.bool_]
    """(graphs, k): which nodes are real."""
    full: bool
    """Whether all of them are."""
    role: NDArray[np.int32]
    """(graphs, k): Weisfeiler-Lehman codes."""
    degree: NDArray[np.int32]
    """(graphs, k, 2): edges that leave and that enter."""
    weights: NDArray[np.float32]
    """(graphs, k, k): scaled weight of the edge from i to j, 0 without one. Row i is w_i."""
    has_attributes: NDArray[np.bool_]
    """(graphs, 4): whether the graph has tags, vectors, texts, images."""
    relation: NDArray[np.int32] | None = None
    """(graphs, k, k): code of the edge from i to j, 0 without one."""
    hops: NDArray[np.int32] | None = None
    """(graphs, k, k): buckets of hop distances."""
    strength: NDArray[np.float32] | None = None
    """(graphs, k, 2): compressed sums of the weights that leave and that enter."""
    walks: NDArray[np.float32] | None = None
    """(graphs, k, steps): return probabilities."""
    tag: NDArray[np.int32] | None = None
    """(graphs, k): codes of tags."""
    vector: NDArray[np.float32] | None = None
    """(graphs, k, numbers): standardised real vectors."""
    text: NDArray[np.int32] | None = None
    """(graphs, k): which row of ``tokens``."""
    tokens: NDArray[np.int32] | None = None
    """(texts, words): word codes of the distinct texts of this batch, 0 after the last word."""
    image: NDArray[np.int32] | None = None
    """(graphs, k): which row of ``pixels``."""
    pixels: NDArray[np.float32] | None = None
    """(images, channels, height, width): images of the real nodes of this batch, in [0, 1]."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """The features of a collection, one row per node (or edge, where said), and per graph where said."""

    schema: FeatureSchema
    edges: Edges
    arcs: Arcs
    order: NDArray[np.int64]
    """One per node row: the number the node had in its graph as it was given. Rows are in canonical order."""
    flags: NDArray[np.uint8]
    """One per graph: :class:`~graphmetric.graphs.columns.Has` bits."""
    role: NDArray[np.int32]
    degree: NDArray[np.int32]
    weight: NDArray[np.float32]
    """One per edge row, scaled."""
    relation: NDArray[np.int32]
    """One per edge row."""
    strength: NDArray[np.float32] | None
    walks: NDArray[np.float32] | None
    attributes: AttributeArrays
    image_scale: ImageScale | None

    def __len__(self) -> int:
        return len(self.flags)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of each graph."""
        return np.diff(self.edges.node_ptr)

    def batches(self, limits: BatchLimits | None = None) -> Iterator[tuple[NDArray[np.int64], GraphBatch]]:
        """All graphs in batches of like sizes: their positions in the collection, and their features.

        Every position comes exactly once, not in order. A large graph shares a batch with none much smaller.
        """
        for positions in group_by_size(self.sizes, limits or BatchLimits()):
            yield positions, self.padded(positions)

    def padded(self, positions: ArrayLike) -> GraphBatch:
        """The graphs at these positions, padded to the largest of them (one node at least)."""
        chosen = np.ascontiguousarray(positions, dtype=np.int64)
        sizes = self.sizes[chosen]
        k = max(1, int(sizes.max(initial=0)))
        rows = np.empty((len(chosen), k), dtype=np.int64)
        fill_rows(self.edges.node_ptr, chosen, rows)
        mask = np.arange(k) < sizes[:, None]
        weights = np.zeros((len(chosen), k, k), dtype=np.float32)
        fill_edges(self.edges, self.weight, chosen, weights)
        return GraphBatch(
            mask=mask,
            full=bool(mask.all()),
            role=_gather(self.role, rows),
            degree=_gather(self.degree, rows),
            weights=weights,
            relation=self._relations(chosen, k),
            hops=self._hops(chosen, k),
            strength=None if self.strength is None else _gather(self.strength, rows),
            walks=None if self.walks is None else _gather(self.walks, rows),
            has_attributes=_has_attributes(self.flags[chosen]),
            **self._attributes(rows, mask),
        )

    def _relations(self, chosen: NDArray[np.int64], k: int) -> NDArray[np.int32] | None:
        if not (self.schema.edge_labelled or self.schema.directed):
            return None
        dense = np.zeros((len(chosen), k, k), dtype=np.int32)
        fill_edges(self.edges, self.relation, chosen, dense)
        return dense

    def _hops(self, chosen: NDArray[np.int64], k: int) -> NDArray[np.int32] | None:
        if not self.schema.max_hops:
            return None
        return hop_buckets(self.edges.node_ptr, self.arcs, chosen, k, self.schema.max_hops)

    def _attributes(self, rows: NDArray[np.int64], mask: NDArray[np.bool_]) -> dict[str, Any]:
        given = self.attributes
        columns: dict[str, Any] = {}
        if given.tag is not None:
            columns["tag"] = _gather(given.tag, rows)
        if given.vector is not None:
            columns["vector"] = _gather(given.vector, rows)
        if given.text is not None and given.tokens is not None:
            used, place = np.unique(_gather(given.text, rows), return_inverse=True)
            columns |= {"tokens": given.tokens[used], "text": place.reshape(rows.shape).astype(np.int32)}
        if given.images is not None and self.image_scale is not None and mask.any():
            number = np.cumsum(mask.ravel()).reshape(mask.shape) - 1
            columns["pixels"] = self.image_scale.scale(given.images[rows[mask]])
            columns["image"] = np.maximum(number, 0).astype(np.int32)
        return columns


def _gather(array: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    if len(array) == 0:  # nothing but empty graphs: a batch still has a node of padding each
        return np.zeros((*rows.shape, *array.shape[1:]), dtype=array.dtype)
    return array[rows]


def _has_attributes(flags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    kinds = np.array([Has.NODE_LABELS, Has.NODE_FEATURES, Has.NODE_TEXTS, Has.NODE_IMAGES], dtype=np.uint8)
    has: NDArray[np.bool_] = (flags[:, None] & kinds) != 0
    return has
