"""Beam searches: a better one, and the one the public benchmarks were computed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.beam import allocate_beam, search_beam
from graphmetric.edit_distance._kernels.local_search import MapResults
from graphmetric.edit_distance._kernels.published_beam import allocate_open_list, search_published_beam
from graphmetric.edit_distance._kernels.root_map import BoundResults
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import (
    EditDistanceMethod,
    Guarantee,
    Solutions,
    empty_maps,
    largest_sizes,
    node_counts,
    workspace_memory,
    workspace_size,
)
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument

_WIDEST = 1_000


@dataclass(frozen=True, slots=True)
class BeamSearch(EditDistanceMethod):
    """Level by level, the best partial maps by cost and a look ahead. The branch lower bound comes with it."""

    width: int = 10
    """Partial maps kept at each level, 1 to 1,000."""

    name: ClassVar[str] = "beam"
    guarantee: ClassVar[Guarantee] = "upper bound"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_width(self.width)

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        first, second = node_counts(problem, pairs)
        candidates = np.minimum(self.width * (first + second), 2_000_000)
        return np.asarray(workspace_memory(problem, pairs, root_only=True) + 8.0 * 11 * candidates)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return in_thread(lambda watch: self.solve_watched(problem, pairs, watch))

    def solve_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        size = workspace_size(problem, pairs, root_only=True)
        larger = size.larger + (size.smaller if size.null_nodes else 0)
        width = np.int64(min(self.width, max(1, 2_000_000 // (larger + 1))))  # the kernel numbers candidates in 21 bits
        lower, upper = np.zeros((2, len(pairs)), dtype=np.int64)
        results = BoundResults(lower, upper, empty_maps(problem, pairs))
        beam = allocate_beam(int(width), size.smaller, larger)
        work = watch.workspace(size)
        search_beam(problem.first, problem.second, problem.tables, pairs, width, work, beam, results)
        return Solutions(lower, upper, upper.astype(np.float64), np.zeros(len(pairs), dtype=np.int64), results.node_map)


@dataclass(frozen=True, slots=True)
class PublishedBeam(EditDistanceMethod):
    """Beam search as Neuhaus, Riesen and Bunke (2006) describe it; it depends on the order of nodes and of graphs."""

    width: int = 10
    """Open partial paths kept, 1 to 1,000."""

    name: ClassVar[str] = "published-beam"
    guarantee: ClassVar[Guarantee] = "upper bound"
    replaceable: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_width(self.width)

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        first, second = node_counts(problem, pairs)
        return 16.0 * (np.maximum(first, second) + 1.0) ** 2

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        results = MapResults(np.zeros(len(pairs), dtype=np.int64), empty_maps(problem, pairs))
        opened = allocate_open_list(self.width, *largest_sizes(problem, pairs))
        tables, width = problem.tables, np.int64(self.width)
        search_published_beam(problem.first, problem.second, tables, pairs, width, opened, results)
        value = results.upper.astype(np.float64)
        return Solutions(None, results.upper, value, np.zeros(len(pairs), dtype=np.int64), results.node_map)


def _check_width(width: int) -> None:
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= _WIDEST:
        raise InvalidArgument(f"a beam is 1 to {_WIDEST} wide; got {width!r}")
