"""The graphs that queries mean: graphs in any form, ids of the index, SMILES."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphmetric.errors import ConversionWarning, GraphMetricError, InvalidArgument
from graphmetric.formats.conversion import as_graph, is_molecule
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index.building import check_labels, check_reading
from graphmetric.index.open_index import OpenIndex


class QueryReader:
    """Reads the queries of an index as its graphs were read."""

    def __init__(self, index: OpenIndex[Any]) -> None:
        self._index, self._has_warned = index, False

    def drop_unknown_labels(self, graph: Graph) -> Graph:
        """The graph without edge labels if no graph of the index has any: each would be an edit.

        The bonds of a SMILES always have labels, so searches do this for a SMILES by themselves.
        """
        return graph if self._index.graphs.have_edge_labels else graph.replace(edge_labels=None)

    def reading(self) -> MoleculeOptions:
        """The options by which to read the molecules of queries.

        If the index does not record any it warns once, and raises where labels show that more was distinguished than
        queries would.
        """
        reading = self._index.reading or MoleculeOptions()
        self._check(reading)
        if self._index.reading is None and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                "the index does not record how its molecules were read: queries are read by elements and bond types "
                "alone, and distances are wrong if its molecules were read otherwise. Set index.reading, or say "
                "--distinguish on the command line",
                ConversionWarning,
                stacklevel=4,
            )
        return reading

    def _check(self, reading: MoleculeOptions | None) -> None:
        """Raise where molecules of queries were read otherwise than those of the index."""
        check_reading(reading, self._index.reading, "the queries")
        if self._index.reading is None:
            check_labels(self._index.graphs.distinctions(), reading, "the graphs of the index")

    def resolve_all(self, query: Any) -> GraphCollection:
        """The graphs that one query or several mean."""
        if isinstance(query, GraphCollection):
            self._check(query.reading)
            return query
        return GraphCollection([self.resolve(one) for one in (query if is_several(query) else [query])])

    def resolve(self, query: Any) -> Graph:
        """The graph that a query means: a graph in any form, the id of a graph of the index, or a SMILES.

        A SMILES and an RDKit molecule are read as the molecules of the index were.
        """
        if isinstance(query, Graph):
            return query
        if isinstance(query, bool) or not isinstance(query, str | int | np.integer):
            return as_graph(query, self.reading() if is_molecule(query) else None)
        position = self._index.graphs.find(query)
        if position is not None:
            return self._index.graphs.loader(position)()
        if not isinstance(query, str):
            raise self.unknown(query)
        if len(query.split()) != 1:  # "NSC 16" would be the molecule N-S-C with a title
            raise self.unknown(query, ", and a SMILES has no blanks")
        try:
            return self.drop_unknown_labels(as_graph(query, self.reading()))
        except GraphMetricError as error:
            raise self.unknown(query, f", and it cannot be read as a SMILES either: {error}") from None

    def unknown(self, query: Any, reason: str = "") -> InvalidArgument:
        """The error for a query that is not the id of a graph."""
        example = next(self._index.graphs.ids(), None)
        such = "the index is empty" if example is None else f"its first id is {example!r}"
        return InvalidArgument(f"the index has no graph {query!r} ({such}){reason}")


def is_several(query: Any) -> bool:
    """Return whether this is a list of queries; a tuple (edges, labels) or a matrix is one graph."""
    return isinstance(query, list | GraphCollection | Iterator)
