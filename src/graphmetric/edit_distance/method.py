"""What every way of computing an edit distance has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.workspace import WorkspaceSize
from graphmetric.edit_distance.encoding import EncodedProblem

Guarantee = Literal["exact", "upper bound", "lower bound", "estimate"]


class Solutions(NamedTuple):
    """What a method found for some pairs, in integer units of the encoded problem."""

    lower: NDArray[np.int64] | None
    upper: NDArray[np.int64] | None
    value: NDArray[np.float64]
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    expanded: NDArray[np.int64]
    node_map: NDArray[np.int64] | None
    """(pairs, nodes of the largest first graph): node of the second graph, -1 for a deleted one."""


class EditDistanceMethod(ABC):
    """Base of all methods; a subclass is a frozen dataclass of its parameters and calls its kernel."""

    name: ClassVar[str]
    """What it is called on the command line."""
    guarantee: ClassVar[Guarantee]
    """What its answer is, compared with the true distance."""
    symmetric: ClassVar[bool] = True
    """Whether d(G, H) and d(H, G) are equal whenever the costs are symmetric."""

    @abstractmethod
    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        """Compute the pairs (place in the first collection, place in the second)."""


def node_counts(problem: EncodedProblem, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes of the first and of the second graph of each pair."""
    return np.diff(problem.first.node_start)[pairs[:, 0]], np.diff(problem.second.node_start)[pairs[:, 1]]


def largest_sizes(problem: EncodedProblem, pairs: NDArray[np.int64]) -> tuple[int, int]:
    """Nodes of the largest first graph and of the largest second graph of the pairs."""
    first, second = node_counts(problem, pairs)
    return int(first.max(initial=0)), int(second.max(initial=0))


def smaller_sizes(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nodes of the smaller graph of each pair."""
    return np.minimum(*node_counts(problem, pairs))


def merged(chosen: NDArray[np.bool_], inside: Solutions, outside: Solutions) -> Solutions:
    """Solutions of the chosen pairs and of the others, put back in the order of the pairs."""

    def mix(a: NDArray[Any] | None, b: NDArray[Any] | None) -> Any:
        assert a is not None
        assert b is not None
        width = [max(a.shape[1], b.shape[1])] if a.ndim == 2 else []
        whole = np.full([len(chosen), *width], -1, dtype=a.dtype)
        for part, rows in ((a, chosen), (b, ~chosen)):
            whole[(rows, slice(part.shape[1])) if part.ndim == 2 else rows] = part
        return whole

    return Solutions(*(mix(a, b) for a, b in zip(inside, outside, strict=True)))


def empty_maps(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Room for a node map per pair."""
    return np.full((len(pairs), largest_sizes(problem, pairs)[0]), -1, dtype=np.int64)


def workspace_size(problem: EncodedProblem, pairs: NDArray[np.int64], root_only: bool = False) -> WorkspaceSize:
    """Room for the largest of the pairs; ``root_only`` for kernels that do not search."""
    first, second = node_counts(problem, pairs)
    first_edges = np.diff(problem.first.edge_start)[pairs[:, 0]]
    second_edges = np.diff(problem.second.edge_start)[pairs[:, 1]]
    tables = problem.tables
    indirect = tables.node_delete[:, None] + tables.node_insert[None, :]
    return WorkspaceSize(
        smaller=int(np.minimum(first, second).max(initial=0)),
        larger=int(np.maximum(first, second).max(initial=0)),
        edges=int(np.maximum(first_edges, second_edges).max(initial=0)),
        edge_codes=tables.edge_cost.shape[1] - 1,
        null_nodes=bool((tables.node_substitute > indirect).any()),
        root_only=root_only,
    )
