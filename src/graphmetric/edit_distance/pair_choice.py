"""Which pairs of a collection to label: all, some at random, or those that look near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection

Pairs = NDArray[np.int64]


def choose_pairs(
    graphs: GraphCollection, choice: str, *, costs: EditCosts | None = None, random_state: int | None = 0
) -> Pairs:
    """Pairs (i, j) with i < j, each once, sorted: ``"all"``, ``"random:N"`` or ``"near:N"``.

    Near pairs are pairs of a graph and one of those with the smallest lower bound (label counts and degrees) to it;
    the graphs they start from are drawn at random when there are more graphs than pairs.
    """
    rng = np.random.default_rng(random_state)
    count = len(graphs)
    if choice == "all":
        return np.column_stack(np.triu_indices(count, k=1)).astype(np.int64)
    kind, _, number = choice.partition(":")
    if kind not in ("random", "near") or not number.isdecimal() or int(number) < 1:
        raise InvalidArgument(f"pairs is {choice!r}; it takes 'all', 'random:N' or 'near:N' with a number N")
    wanted = min(int(number), count * (count - 1) // 2)
    if kind == "random":
        return _pairs_of_ranks(np.sort(rng.choice(count * (count - 1) // 2, wanted, replace=False)), count)
    return _near_pairs(CollectionBounds.of(graphs, costs), wanted, rng)


def _pairs_of_ranks(ranks: NDArray[np.int64], count: int) -> Pairs:
    """The pairs at these places of the list (0, 1), (0, 2), ..., (1, 2), ..."""
    ends = np.cumsum(np.arange(count - 1, 0, -1))  # after the pairs of graph 0, 1, ...
    i = np.searchsorted(ends, ranks, side="right")
    j = count - (ends[i] - ranks)
    return np.column_stack([i, j]).astype(np.int64)


def _near_pairs(bounds: CollectionBounds, wanted: int, rng: np.random.Generator) -> Pairs:
    count = len(bounds.vectors)
    starts = rng.permutation(count)
    found: set[tuple[int, int]] = set()
    neighbours = -(-wanted // min(count, wanted))
    while len(found) < wanted:
        for k in starts.tolist():
            lower = bounds.to_all(k)
            lower[k] = np.inf
            tie_break = rng.random(count)
            for other in np.lexsort((tie_break, lower))[:neighbours].tolist():
                if len(found) < wanted and other != k:
                    found.add((min(k, other), max(k, other)))
            if len(found) == wanted:
                break
        neighbours *= 2  # mutual neighbours were counted twice
    return np.array(sorted(found), dtype=np.int64)
