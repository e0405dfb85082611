"""Whether graphs from files fit together into one collection."""

from __future__ import annotations

import math
from typing import Any

from graphmetric.graphs.columns import EDGE_COLUMNS
from graphmetric.graphs.files.file_format import Part
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

_OF_GRAPH = {
    "node_labels": "node_label_column",
    "edge_labels": "edge_label_column",
    "node_texts": "node_text_column",
    "node_features": "node_features",
    "node_images": "node_images",
    "edge_weights": "edge_weights",
}
"""Column of a collection -> the array behind it in a graph."""


class CollectionFit:
    """Checks parts in turn: one shape per column, and not too much memory for rows that are only filled up."""

    def __init__(self) -> None:
        self._shapes: dict[str, tuple[tuple[int, ...], str]] = {}
        self._row_bytes: dict[str, int] = {}
        self._absent = dict.fromkeys(_OF_GRAPH, 0)

    def check(self, part: Part, source: Source) -> None:
        """Raise unless ``part`` fits those before it."""
        num_nodes = part.num_nodes if isinstance(part, Graph) else int(part.node_ptr[-1])
        for name, attribute in _OF_GRAPH.items():
            column = getattr(part, attribute if isinstance(part, Graph) else name)
            if column is None:
                self._absent[name] += len(part.edges) if name in EDGE_COLUMNS else num_nodes
            else:
                self._add(name, column.codes if isinstance(column, LabelColumn) else column, source)
        with source.located():
            source.limits.check_filler(sum(size * self._absent[name] for name, size in self._row_bytes.items()))

    def _add(self, name: str, array: Any, source: Source) -> None:
        shape = (array.shape[1:], str(array.dtype))
        if self._shapes.setdefault(name, shape) != shape:
            problem = f"{name} of shape {shape} after graphs with {self._shapes[name]}"
            raise source.error(f"{problem}; read such graphs one by one with iter_graphs")
        if name not in self._row_bytes:
            self._row_bytes[name] = array.itemsize * math.prod(shape[0])
