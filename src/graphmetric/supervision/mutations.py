"""Mutations of training graphs: graphs that are near them, and like those to come."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has
from graphmetric.graphs.draft import Draft
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn
from graphmetric.graphs.mutation import mutate

_LABELS = 8
"""Nodes, or edges, of the collection whose labels one mutation chooses from: frequent labels stay frequent."""


class Mutator:
    """Makes graphs that are one to ``edits`` edits away from a given one, in the manner of a collection.

    Labels are drawn from the collection, the frequent ones more often. No mutation has more nodes than the largest of
    its graphs, and mutations of connected graphs are connected.
    """

    def __init__(self, graphs: GraphCollection, edits: int) -> None:
        self.edits = edits
        self._most_nodes = int(graphs.sizes.max())
        columns = graphs.columns
        self._node_labels = _used(columns.node_labels, np.repeat(graphs.flags & Has.NODE_LABELS, graphs.sizes))
        self._edge_labels = _used(columns.edge_labels, np.repeat(graphs.flags & Has.EDGE_LABELS, graphs.edge_counts))

    def mutate(self, origin: Graph, rng: np.random.Generator) -> Graph | None:
        """A mutation; None where the graph allows of none, such as a single node without labels."""
        found = mutate(
            origin,
            int(rng.integers(1, self.edits + 1)),
            random_state=rng,
            node_labels=None if origin.node_label_column is None else _drawn(self._node_labels, rng),
            edge_labels=None if origin.edge_label_column is None else _drawn(self._edge_labels, rng),
            connected=Draft(origin).is_connected(),
            min_nodes=min(1, self._most_nodes),
            max_nodes=self._most_nodes,
        )
        return found.graph if found.edits else None


def _used(column: LabelColumn | None, present: np.ndarray) -> tuple[Sequence[Hashable], np.ndarray]:
    """A vocabulary, and the codes of the rows that are no fillers."""
    if column is None:
        return (), np.empty(0, dtype=np.int64)
    return column.vocabulary, column.codes[present > 0]


def _drawn(used: tuple[Sequence[Hashable], np.ndarray], rng: np.random.Generator) -> Sequence[Hashable]:
    vocabulary, codes = used
    return [vocabulary[code] for code in rng.choice(codes, _LABELS).tolist()] if len(codes) else ()
