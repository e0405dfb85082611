"""A stored run of graphs of an index: packed columns, embeddings, ids and metadata.

A segment never changes, in memory or on disk. Its arrays by name; those from ``vectors`` to ``seen`` only where the
index has a model:

==========================  ============================================================================
node_ptr, edge_ptr          where the nodes and edges of each graph start, and where the last ones end
flags, edges, node_labels,  the columns of :class:`~graphmetric.graphs.columns.Columns`; labels and texts as
...                         codes into vocabularies
vectors                     (graphs, width): what stands for a graph when near ones are looked for
projected                   (graphs, width): what the head compares, where that is another vector
states                      (nodes, d): node states, for heads that compare them
axes, basis                 states along a few axes, sorted within each graph, for heads that bound distances
                            by them (:mod:`graphmetric.distance._kernels.matching`)
to_empty                    learned distances to the empty graph
seen                        (graphs, 16): equal for graphs that the model does not tell apart
certificates                (graphs, 16): equal for isomorphic graphs
histograms                  counts of labels and degrees, by columns, for the bounds of certified searches
                            (:mod:`graphmetric.edit_distance.collection_bounds`)
branches                    for each node a number for its label and its edges, rising within each graph
id_keys                     64-bit digests of the ids
notes, note_ptr             for each graph a line of JSON: its id and its metadata
==========================  ============================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import format_json, parse_json
from graphmetric.edit_distance.collection_bounds import (
    number_labels,
)
from graphmetric.errors import InvalidGraph
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import COLUMNS, Columns
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_to_json

Arrays = dict[str, NDArray[Any]]
Positions = NDArray[np.int64]
Classes = Literal["certificates", "seen"]
"""Arrays of names that graphs of a class share."""


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment on disk."""

    name: str
    digest: str
    """The digest of its description, which has the digests of its files."""
    removed: tuple[int, ...] = ()
    """Positions of graphs that were removed."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Arrays and vocabularies of some graphs."""

    arrays: Mapping[str, NDArray[Any]]
    vocabularies: Mapping[str, tuple[Hashable, ...]]

    def __len__(self) -> int:
        return len(self.arrays["flags"])

    @cached_property
    def graphs(self) -> GraphCollection:
        """The graphs, without ids and metadata."""
        optional: dict[str, Any] = {
            name: LabelColumn(self.arrays[name], self.vocabularies[name]) if COLUMNS[name].coded else self.arrays[name]
            for name in COLUMNS
            if name in self.arrays
        }
        required: dict[str, Any] = {name: self.arrays[name] for name in ("node_ptr", "edge_ptr", "flags", "edges")}
        return GraphCollection._of(Columns(**required, **optional))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of nodes of each graph."""
        return np.diff(self.arrays["node_ptr"])

    @property
    def edge_counts(self) -> NDArray[np.int64]:
        """The number of edges of each graph."""
        return np.diff(self.arrays["edge_ptr"])

    def collection(self, chosen: NDArray[np.int64]) -> GraphCollection:
        """Chosen graphs, without ids and metadata."""
        return self.graphs[chosen]

    @property
    def reads_rows(self) -> bool:
        """Return whether node states are too large to keep in memory, so that :meth:`part` reads them."""
        return False

    def part(self, chosen: NDArray[np.int64], names: Sequence[str]) -> Segment:
        """Chosen graphs with these arrays; positions rise."""
        raise NotImplementedError("a segment that holds its arrays is used as it is")

    @cached_property
    def label_numbers(self) -> tuple[dict[bytes, int], dict[bytes, int]]:
        """The numbers of node labels and of edge labels in ``histograms``."""
        node, edge = (number_labels(self.vocabularies.get(name, ())) for name in ("node_labels", "edge_labels"))
        return node, edge

    @cached_property
    def histograms(self) -> NDArray[np.int16]:
        """The histograms of all graphs."""
        return self.arrays["histograms"]

    @cached_property
    def branches(self) -> NDArray[np.uint32]:
        """The branches of all nodes."""
        return self.arrays["branches"]

    def names(self, classes: Classes) -> NDArray[np.uint8]:
        """(graphs, 16): equal for graphs of one class; what a model sees was not stored in earlier versions."""
        return self.arrays[classes] if classes in self.arrays else self.arrays["certificates"]

    def learned(self, chosen: NDArray[np.int64]) -> Arrays:
        """Return the embeddings of chosen graphs, without derived arrays; empty without a model."""
        if "vectors" not in self.arrays:
            return {}
        names = [name for name in ("vectors", "projected", "to_empty") if name in self.arrays]
        arrays = {"seen": self.names("seen")[chosen], **{name: self.arrays[name][chosen] for name in names}}
        if "states" in self.arrays:
            nodes = np.repeat(np.isin(np.arange(len(self)), chosen), self.sizes)
            arrays["states"] = self.arrays["states"][nodes]
        return arrays

    def note(self, k: int) -> tuple[Hashable, dict[str, Any]]:
        """Id and metadata of graph ``k``."""
        return next(self.notes(np.array([k])))

    def notes(self, chosen: NDArray[np.int64]) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        """Id and metadata of chosen graphs."""
        ptr, notes = self.arrays["note_ptr"], self.arrays["notes"]
        for first, last in zip(ptr[chosen].tolist(), ptr[chosen + 1].tolist(), strict=True):
            id, metadata = parse_json(notes[first:last].tobytes())
            yield label_from_json(id), metadata

    def graph(self, k: int) -> Graph:
        """Graph ``k`` with its id and metadata."""
        id, metadata = self.note(k)
        return self.graphs[k].replace(id=id, metadata=metadata)

    def hits(self, chosen: Sequence[int]) -> list[tuple[Hashable, Callable[[], Graph]]]:
        """For each of a few graphs its id and a function that makes it, also after the index has changed."""
        notes = self.notes(np.array(chosen, dtype=np.int64))
        return [(id, partial(self.graph, k)) for k, (id, _) in zip(chosen, notes, strict=True)]

    @cached_property
    def metadata(self) -> list[dict[str, Any]]:
        """The metadata of all graphs, read when it is first used in a condition."""
        return [facts for _, facts in self.notes(np.arange(len(self)))]


def id_keys(ids: Iterable[Hashable]) -> NDArray[np.uint64]:
    """Return 64-bit digests that distinguish ids."""
    digests = (blake2b(format_json(label_to_json(id), nan=True).encode(), digest_size=8).digest() for id in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def find_key(id: object) -> np.uint64 | None:
    """Return the digest of an id to find; None for values that cannot be ids, such as a list."""
    try:
        return id_keys([id.item() if isinstance(id, np.generic) else id])[0]  # type: ignore[no-any-return]
    except (TypeError, InvalidGraph):
        return None
