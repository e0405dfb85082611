"""The graphs a budget of labels is spent on.

Labels come in *cliques*: sets of graphs of which all pairs are labelled. A mini-batch encodes each graph once for all
its pairs, so n graphs of a clique serve n(n-1)/2 pairs, where n graphs with labels scattered among many serve few.

Every clique also has mutations of its training graphs, for two reasons: a small collection is learned by heart before
the budget is spent, and graphs of a large one are hardly ever near each other, while near pairs are what decides the
top of a ranking. And it has an empty graph of its own, to which all distances are known for nothing.

No two graphs of a clique are isomorphic: a copy would cost labels that are known, and time in every mini-batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphmetric.edit_distance import EditCosts, pairwise_edit_distances
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs.canonical import isomorphism_classes
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.supervision.mutations import Mutator
from graphmetric.supervision.record import Positions
from graphmetric.training import TrainingLabels

SMALLEST_CLIQUE = 50
"""Graphs of a clique, if the budget pays for one: half a mini-batch. Where labels are dear more graphs are better than
more pairs of each: on molecules of 25 atoms the labels of 23 cliques of 40 taught more than those of one of 190."""
LARGEST_CLIQUE = 1_600
MOST_MUTATIONS = 10
"""Of one training graph; copies of it do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPool:
    """Training graphs, mutations of them, and as many empty graphs as there are cliques, in this order."""

    graphs: GraphCollection
    drawn: Positions
    """Which of the training graphs were drawn: their positions in the collection that the pool was drawn from."""
    origins: Positions
    """Of each mutation: the place in ``graphs`` of the training graph that it was made from."""
    cliques: tuple[Positions, ...]
    """Places in ``graphs`` of the members of each clique, in random order, its empty graph left out."""

    def pairs(self) -> Positions:
        """All pairs to label. Each member comes with all before it, so that any first part of the list is dense."""
        parts = [clique[np.column_stack(np.tril_indices(len(clique), k=-1))] for clique in self.cliques]
        return np.sort(np.concatenate(parts), axis=1)

    def label_empty_graphs(self, costs: EditCosts | None = None) -> TrainingLabels:
        """Each member's distance to the empty graph of its clique: \\|V\\| + \\|E\\| at unit costs."""
        anchors = np.arange(len(self.graphs) - len(self.cliques), len(self.graphs))
        members = np.concatenate(self.cliques)
        pairs = np.column_stack([members, np.repeat(anchors, [len(clique) for clique in self.cliques])])
        if costs is None or costs.is_unit:
            return TrainingLabels.exact(pairs, (self.graphs.sizes + self.graphs.edge_counts)[members])
        found = pairwise_edit_distances(self.graphs, pairs=pairs, costs=costs)
        return TrainingLabels(pairs, found.lower, found.upper)


def draw_pool(
    training: GraphCollection,
    pairs: int,
    edits: int,
    rng: np.random.Generator,
    smallest_clique: int = SMALLEST_CLIQUE,
) -> TrainingPool:
    """Graphs for at most so many labelled pairs; ``edits`` is the most that a mutation has, 0: no mutations.

    It sees the training graphs and nothing else, so nothing else can get into training.
    """
    if isinstance(edits, bool) or not isinstance(edits, int | np.integer) or edits < 0:
        raise InvalidArgument(f"mutation_edits must be a number of edits, 0 or more (0: no mutations); got {edits!r}")
    distinct = find_distinct(training)
    count, size = plan_cliques(len(distinct), pairs, mutations=edits > 0, smallest=smallest_clique)
    drawn = rng.permutation(distinct)[: count * (size - size // 3 if edits else size)]
    chosen, mutator = training[drawn], Mutator(training, edits)
    made: list[tuple[int, Graph]] = []
    cliques = []
    for own in np.array_split(np.arange(len(drawn)), min(count, len(drawn))):
        first = len(made)
        made += _mutate_evenly(chosen, own, size - len(own), mutator, rng)
        cliques.append(rng.permutation(np.concatenate([own, len(drawn) + np.arange(first, len(made))])))
    mutations = GraphCollection(graph for _, graph in made)
    empty = GraphCollection([Graph(0, directed=training[0].directed)] * len(cliques))
    origins = np.array([origin for origin, _ in made], dtype=np.int64)
    return TrainingPool(chosen + mutations + empty, drawn, origins, tuple(cliques))


def _mutate_evenly(
    graphs: GraphCollection, own: Positions, wanted: int, mutator: Mutator, rng: np.random.Generator
) -> list[tuple[int, Graph]]:
    """Origins and mutations, as many as wanted unless their own limit, that of a graph or copies forbid it."""
    number = min(wanted, MOST_MUTATIONS * len(own)) if mutator.edits else 0
    origins = np.resize(rng.permutation(own), number).tolist()
    found = ((origin, mutator.mutate(graphs[origin], rng)) for origin in origins)
    made = [(origin, graph) for origin, graph in found if graph is not None]
    kept = find_distinct(graphs[own] + GraphCollection(graph for _, graph in made))
    return [made[k - len(own)] for k in kept.tolist() if k >= len(own)]


def find_distinct(graphs: GraphCollection) -> Positions:
    """Positions, ascending, of the first graph of every isomorphism class; of all, if that is too hard to find out."""
    try:
        return np.unique(isomorphism_classes(graphs), return_index=True)[1]
    except WorkBudgetExceeded:
        return np.arange(len(graphs))


def plan_cliques(graphs: int, pairs: int, *, mutations: bool, smallest: int = SMALLEST_CLIQUE) -> tuple[int, int]:
    """How many cliques, and of how many graphs, for so many pairs of a collection of so many graphs.

    Cliques are as large as they may be while all training graphs are in one, a third of each being mutations; from
    ``smallest`` to :data:`LARGEST_CLIQUE` graphs. A budget that does not pay for the smallest buys one
    that is smaller still.
    """
    wanted, available = (3 * graphs // 2, (1 + MOST_MUTATIONS) * graphs) if mutations else (graphs, graphs)
    to_see_all = 2 * pairs // max(1, wanted) + 1
    size = min(max(to_see_all, smallest), LARGEST_CLIQUE, _largest_clique(pairs), available)
    count = max(1, min(2 * pairs // max(1, size * (size - 1)), -(-available // size)))
    return count, min(_largest_clique(pairs // count), LARGEST_CLIQUE, -(-available // count))


def _largest_clique(pairs: int) -> int:
    """The most graphs with at most so many pairs."""
    return (1 + math.isqrt(1 + 8 * pairs)) // 2
