"""The learned distance from a query to the graphs of a segment, and lower bounds of it that cost less."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmetric.distance import (
    BlockNorm,
    Comparison,
    EdgeMatching,
    Matching,
    PairDistance,
    Representation,
    View,
    view_distances,
)
from graphmetric.distance.comparison import Side, Unsolved
from graphmetric.distance.views import Extent
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned_distance import LearnedDistance
from graphmetric.model import link_graphs
from graphmetric.search._kernels.axis_gaps import AxisValues, add_axis_gaps
from graphmetric.search.encoding import as_bytes, represent, sort_within
from graphmetric.search.learned_model import head_on_cpu
from graphmetric.search.segment import Arrays, Segment
from graphmetric.search.vector_index import ListIndex, scan

_ROUNDING = 4e-6
"""Of single precision, relative to the sum of the norms of all states, which bounds every number on the way."""

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """Encoded queries, of which one is looked at."""

    arrays: Arrays
    side: Side
    row: int
    view: View
    unsolved: Unsolved = field(default_factory=Unsolved)
    """Of the distances that were measured from it."""

    @property
    def vector(self) -> Floats:
        """What the vector index is asked for."""
        return self.arrays["vectors"][self.row]  # type: ignore[no-any-return]

    @property
    def states(self) -> Floats:
        """Of its nodes."""
        start, size = int(self.side.graphs.start[self.row]), int(self.side.graphs.size[self.row])
        return self.arrays["states"][start : start + size]


def encode_queries(learned: LearnedDistance, graphs: GraphCollection, view: View) -> list[Query]:
    """All queries in one batch."""
    head = head_on_cpu(learned)
    with learned.limited_threads():
        encoded = learned.encode(graphs).detached().compacted()
        arrays = represent(head, encoded)
    arrays["certificates"] = as_bytes(learned.identify(graphs))
    pointers = torch.cat([encoded.start, encoded.size.sum()[None]])
    side = _side(head, arrays, pointers, encoded.links, learned.strict)
    return [Query(arrays, side, row, view) for row in range(len(graphs))]


class Group(NamedTuple):
    """What a search looks at in a segment: of isomorphic graphs only the first, which stands for all of them."""

    space: SegmentSpace
    offset: int
    """The position of the first graph of the segment among all graphs of the index."""
    positions: Positions
    """Rising, within the segment."""
    copies: NDArray[np.int64]
    """For each position how many graphs of the whole index it stands for."""


class SegmentSpace:
    """A segment, ready to be searched by the learned distance."""

    def __init__(self, learned: LearnedDistance, segment: Segment, lists: ListIndex | None) -> None:
        self.head, self.segment, self.lists = head_on_cpu(learned), segment, lists
        self._learned = learned

    @cached_property
    def _side(self) -> Side:
        arrays = dict(self.segment.arrays)
        seen = self.segment.graphs.without(self._learned.costs.ignore)
        links = link_graphs(self._learned.featurizer, seen) if self.head.needs_links else None
        return _side(self.head, arrays, torch.from_numpy(arrays["node_ptr"]), links, self._learned.strict)

    @property
    def bounds_exist(self) -> bool:
        """Whether the distance of vectors is a lower bound; under a block norm it is the distance, rounding aside."""
        return isinstance(self.head, Matching | BlockNorm)

    def __len__(self) -> int:
        return len(self.segment)

    def measure(self, query: Query, positions: Positions) -> Floats:
        """The learned distances to chosen graphs."""
        return self.measure_pairs(query, np.full(len(positions), query.row), positions)

    def measure_pairs(self, query: Query, rows: Positions, positions: Positions) -> Floats:
        """The same from several queries that were encoded together with this one, at once."""
        epsilon = self.head.epsilon if self._learned.strict else 0.0
        comparison = Comparison(self.head, query.view, query.side, self._side, epsilon, query.unsolved)
        return comparison.of_pairs(torch.from_numpy(np.column_stack([rows, positions]))).numpy()

    def gaps(self, query: Query, positions: Positions | None = None) -> Floats:
        """Distances of the vectors of chosen graphs, by default all; where bounds exist, no raw distance is below."""
        vectors = self.segment.arrays["vectors"]
        return scan(vectors if positions is None else vectors[positions], query.vector, self._blocks)

    @property
    def _blocks(self) -> int:
        if isinstance(self.head, Matching):
            return self.head.heads
        return self.head.blocks if isinstance(self.head, BlockNorm) else 1

    def bound(self, query: Query, gaps: Floats, positions: Positions) -> Floats:
        """Lower bounds of the distances to these graphs, in the view of the query, from the gaps of their vectors."""
        left = Extent(*(part[query.row] for part in query.side.extent))
        right = Extent(*(part[torch.from_numpy(positions)] for part in self._side.extent))
        slack = _ROUNDING * (left.to_empty + right.to_empty)
        raw = (torch.from_numpy(gaps) - slack).clamp(min=0)
        return view_distances(raw, self.head.scale, query.view, left, right).numpy()

    def tighten(self, query: Query, gaps: Floats, positions: Positions) -> Floats:
        """The same from the sorted states of these graphs along a few axes; see ``_kernels/axis_gaps.py``.

        An edge matching takes a hundred times as long as the matching of its states, which bounds it better still.
        """
        if isinstance(self.head, EdgeMatching):
            chosen = self._side.graphs.take(torch.from_numpy(positions))
            matched = Matching().compare(query.side.graphs.take(slice(query.row, query.row + 1)), chosen)
            return self.bound(query, np.maximum(gaps, matched.numpy()), positions)
        arrays = self.segment.arrays
        if "axes" not in arrays:
            return self.bound(query, gaps, positions)
        states = query.states
        own = sort_within(states @ arrays["basis"], np.array([len(states)]))
        more = np.empty(len(positions))
        add_axis_gaps(own, AxisValues(arrays["axes"], arrays["node_ptr"]), positions, more)
        squared = np.square(gaps, dtype=np.float64) + more
        return self.bound(query, np.sqrt(np.maximum(squared, 0)).astype(np.float32), positions)


def _side(head: PairDistance, arrays: Arrays, node_ptr: Tensor, links: Tensor | None, strict: bool) -> Side:
    """Arrays of a segment as the comparison of collections has them, nothing computed anew."""
    start, size = node_ptr[:-1], node_ptr.diff()
    vectors = torch.from_numpy(arrays["vectors"])
    z = vectors[:, :0] if isinstance(head, Matching) else torch.from_numpy(arrays.get("projected", arrays["vectors"]))
    rows = torch.from_numpy(arrays["states"]) if "states" in arrays else vectors[:0]
    to_empty = torch.from_numpy(arrays["to_empty"])
    number = torch.from_numpy(arrays["certificates"][:, :8].copy().view("<i8")[:, 0].astype(np.int64))
    if strict:  # as Comparison.prepare has it
        to_empty = torch.where(size > 0, to_empty + head.epsilon, 0.0)
    return Side(Representation(z, rows, start, size, links), Extent(size.to(to_empty), to_empty), number)
