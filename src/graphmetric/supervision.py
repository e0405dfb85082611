"""What a fit learns from: distances the user has, or edit distances it computes itself within a budget."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.edit_distance import ExactSearch, Labels, pairwise_edit_distances
from graphmetric.edit_distance.pair_choice import choose_pairs
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.training import TrainingLabels

NODE_LIMIT = 2_000
"""Search-tree nodes per pair: graphs of ten nodes are solved exactly, and of larger ones no pair takes a second."""
_PAIRS_PER_GRAPH = 50
_SMALLEST_POOL = 100
"""Labels are spent on so many graphs that each is in about 50 pairs: fewer, and a mini-batch would hold no pairs."""
_MOST_HELD_OUT = 500
"""Graphs that a fraction holds out for validation; more would cost labels and tell nothing new."""
_VALIDATION_SHARE = 0.1
"""Of the budget of labels."""

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LabelBudget:
    """How much work a fit may put into labels."""

    pairs: int
    """At most so many edit distances are computed; those to the empty graph are known for nothing."""
    seconds_per_pair: float | None = None
    """After which a search gives bounds; None: after :data:`NODE_LIMIT` nodes, the same on every machine."""
    n_jobs: int | None = -1
    store: str | os.PathLike[str] | None = None
    """Folder for finished work, so that a stopped job goes on."""

    def __post_init__(self) -> None:
        if isinstance(self.pairs, bool) or not isinstance(self.pairs, int | np.integer) or self.pairs < 1:
            raise InvalidArgument(f"label_budget must be a number of pairs, 1 or more; got {self.pairs!r}")

    def label(self, graphs: GraphCollection, pairs: Positions) -> TrainingLabels:
        """Edit distances at unit costs, or bounds of them."""
        limit = NODE_LIMIT if self.seconds_per_pair is None else None
        method = ExactSearch(time_limit=self.seconds_per_pair, node_limit=limit)
        found = pairwise_edit_distances(graphs, pairs=pairs, method=method, n_jobs=self.n_jobs, store=self.store)
        return TrainingLabels(pairs, found.lower, found.upper)


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """Graphs, and labels that name them by position."""

    graphs: GraphCollection
    """Those that labels speak of."""
    training: TrainingLabels
    validation: TrainingLabels
    """Pairs with at least one graph that was held out."""
    origin: str
    """Where the labels come from, in words."""


def hold_out(count: int, val: ArrayLike | None, fraction: float, seed: int) -> Positions:
    """Positions of the validation graphs, ascending: the given ones, or a fraction drawn by seed."""
    if val is None:
        if not 0 <= fraction < 1:
            raise InvalidArgument(f"validation_fraction must be in [0, 1); got {fraction}")
        wanted = min(round(fraction * count), _MOST_HELD_OUT, max(0, count - 2))
        return np.sort(np.random.default_rng(seed).permutation(count)[:wanted])
    chosen = np.unique(np.asarray(val))
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen[0] < 0 or chosen[-1] >= count):
        raise InvalidArgument(f"val must hold positions of graphs, 0..{count - 1}; got {val!r}")
    if len(chosen) >= count:
        raise InvalidArgument(f"val holds out all of the {count} graphs; nothing is left to train on")
    return chosen.astype(np.int64)


def read_supervision(graphs: GraphCollection, distances: Any, held_out: Positions) -> Supervision:
    """The user's distances in any of their forms; see :func:`read_distances`."""
    labels = read_distances(distances, len(graphs))
    supervision = _part(graphs, labels, held_out, "given")
    if len(supervision.training) == 0:
        raise InvalidArgument(
            f"there is nothing to train on: of {len(labels)} known pairs none is between two of the "
            f"{len(graphs) - len(held_out)} training graphs ({len(held_out)} are held out for validation)"
        )
    return supervision


def make_supervision(graphs: GraphCollection, held_out: Positions, budget: LabelBudget, seed: int) -> Supervision:
    """Labels of our own: random and near pairs of training graphs, random pairs with validation graphs.

    Each training graph is also paired with the empty graph, whose distance is \\|V\\| + \\|E\\| at unit costs.
    """
    rng = np.random.default_rng(seed)
    training = np.setdiff1d(np.arange(len(graphs)), held_out)
    size = max(_SMALLEST_POOL, 2 * budget.pairs // _PAIRS_PER_GRAPH)
    pool = np.sort(rng.permutation(training)[:size])
    for_validation = _pairs_between(pool, held_out, int(_VALIDATION_SHARE * budget.pairs), rng)
    for_training = pool[_pairs_within(graphs[pool], budget.pairs - len(for_validation), seed)]
    labels = budget.label(graphs, np.concatenate([for_training, for_validation]))
    empty = Graph(0, directed=graphs[0].directed)
    known = _pairs_with_empty_graph(graphs, pool)
    extended = GraphCollection(graphs) + GraphCollection([empty])
    return _part(extended, labels.joined(known), held_out, "computed: edit distances at unit costs")


def label_some_pairs(graphs: GraphCollection, budget: LabelBudget, seed: int) -> TrainingLabels:
    """All pairs, or as many at random as the budget allows."""
    possible = len(graphs) * (len(graphs) - 1) // 2
    choice = "all" if possible <= budget.pairs else f"random:{budget.pairs}"
    return budget.label(graphs, choose_pairs(graphs, choice, random_state=seed))


def read_distances(distances: Any, count: int) -> TrainingLabels:
    """Labels from a square matrix (NaN: unknown), from records with pairs and bounds, or from (pairs, values)."""
    if isinstance(distances, TrainingLabels):
        labels = distances
    elif isinstance(distances, Labels):
        labels = TrainingLabels(distances.pairs, distances.lower, distances.upper)
    elif isinstance(distances, tuple) and len(distances) == 2:
        values = np.asarray(distances[1], dtype=np.float64)
        known = ~np.isnan(values)
        labels = TrainingLabels.exact(np.asarray(distances[0])[known], values[known])
    else:
        labels = _read_matrix(distances, count)
    if len(labels) and not (labels.pairs.min() >= 0 and labels.pairs.max() < count):
        raise InvalidArgument(
            f"distances speak of graphs {labels.pairs.min()}..{labels.pairs.max()}; graphs are numbered 0..{count - 1}"
        )
    return labels


def _read_matrix(distances: Any, count: int) -> TrainingLabels:
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.shape != (count, count):
        raise InvalidArgument(
            f"distances of {count} graphs are a matrix of shape ({count}, {count}), labels, or a tuple (pairs, "
            f"values); got shape {matrix.shape}. (Cross-validation in scikit-learn cuts only the rows of a matrix: "
            "leave distances out there, and each fold computes its own)"
        )
    return TrainingLabels.from_matrix(matrix)


def _part(graphs: GraphCollection, labels: TrainingLabels, held_out: Positions, origin: str) -> Supervision:
    """Keep the graphs that occur; a pair with any graph that is held out is for validation only."""
    used, places = np.unique(labels.pairs, return_inverse=True)
    moved = TrainingLabels(places.reshape(labels.pairs.shape), labels.lower, labels.upper)
    validates = np.isin(labels.pairs, held_out).any(axis=1)
    return Supervision(
        graphs[used], moved.take(np.flatnonzero(~validates)), moved.take(np.flatnonzero(validates)), origin
    )


def _pairs_within(pool: GraphCollection, wanted: int, seed: int) -> Positions:
    """Half near, half at random; all, where the budget suffices."""
    possible = len(pool) * (len(pool) - 1) // 2
    if possible <= wanted:
        return choose_pairs(pool, "all")
    parts = [f"near:{wanted // 2}"] * (wanted > 1) + [f"random:{wanted - wanted // 2}"]
    return np.unique(np.concatenate([choose_pairs(pool, part, random_state=seed) for part in parts]), axis=0)


def _pairs_between(first: Positions, second: Positions, wanted: int, rng: np.random.Generator) -> Positions:
    possible = len(first) * len(second)
    chosen = np.sort(rng.choice(possible, min(wanted, possible), replace=False)) if possible else np.empty(0, np.int64)
    return np.column_stack([first[chosen // max(1, len(second))], second[chosen % max(1, len(second))]])


def _pairs_with_empty_graph(graphs: GraphCollection, pool: Positions) -> TrainingLabels:
    chosen = graphs[pool]
    return TrainingLabels.exact(
        np.column_stack([pool, np.full_like(pool, len(graphs))]), chosen.sizes + chosen.edge_counts
    )
