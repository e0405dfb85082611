"""What certified searches have proven, so that a question that is asked again continues instead of starting over.

A bound holds for a pair of graphs up to isomorphism, and for edit costs. So what is remembered of a query is found by
its certificate and the costs, and what is known about a candidate by the certificate of that: candidates may be
removed, added again or moved, and a graph that was changed has another certificate. Node maps are kept in the canonical
numbering of both graphs, so that they serve all graphs that are isomorphic to these.

Candidates that histograms or common branches have excluded are not remembered, since that takes no time to find again.
The oldest queries are forgotten when there are too many.
"""

from __future__ import annotations

import io
import json
import threading
import warnings
import zipfile
from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.nearest import KnownCandidates
from graphmetric.errors import FileError
from graphmetric.graphs.canonical import DEFAULT_BUDGET, search_orders
from graphmetric.graphs.collection import GraphCollection, identify_graphs
from graphmetric.graphs.graph import Graph

VERSION = 1
LARGEST_MEMORY = 64 << 20
"""Bytes that are remembered at most."""
_PAIR_BYTES = 33
"""Bytes of a candidate without its map."""

Names = NDArray[np.uint64]
"""(graphs, 2): certificates."""
Load = Callable[[NDArray[np.int64]], GraphCollection]
"""Makes the candidates of rising numbers."""


class RememberedPairs(NamedTuple):
    """What is proven about one query; candidates have rising names."""

    names: Names
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """Infinite where no map is remembered."""
    stage: NDArray[np.int8]
    maps: NDArray[np.int32]
    """(candidates with an upper bound, nodes of the query): maps between the canonical numberings."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return _PAIR_BYTES * len(self.names) + self.maps.nbytes

    def merge(self, other: RememberedPairs) -> RememberedPairs:
        """What is known from both, the smaller upper bound with its map."""
        names = np.concatenate([self.names, other.names])
        upper = np.concatenate([self.upper, other.upper])
        row = np.full(len(names), -1)
        row[np.isfinite(upper)] = np.arange(np.isfinite(upper).sum())
        order = np.lexsort((upper, names[:, 1], names[:, 0]))
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = (names[order[1:]] != names[order[:-1]]).any(axis=1)
        group, kept = np.cumsum(is_first) - 1, order[is_first]
        lower, stage = np.zeros(len(kept)), np.zeros(len(kept), dtype=np.int8)
        np.maximum.at(lower, group, np.concatenate([self.lower, other.lower])[order])
        np.maximum.at(stage, group, np.concatenate([self.stage, other.stage])[order])
        rows = row[kept]
        maps = np.concatenate([self.maps, other.maps])[rows[rows >= 0]]
        return RememberedPairs(names[kept], lower, upper[kept], stage, maps)


class SearchMemory:
    """What an index remembers of certified searches; may be used by several threads."""

    def __init__(self, read: Callable[[], bytes] | None = None) -> None:
        """``read`` gives what was stored; it is asked when the memory is first used."""
        self._known = dict[str, RememberedPairs]()
        self._read = read
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._queries)

    def check(self) -> None:
        """Read what was stored now; raises FileError where that is not possible."""
        if self._read is not None:
            self._known, self._read = _parse(self._read()), None

    @property
    def _queries(self) -> dict[str, RememberedPairs]:
        """What is known about each query, in the order in which they were asked; the lock must be held."""
        try:
            self.check()
        except FileError as error:
            self._read = None
            warnings.warn(f"{error}; searches begin without what was proven before", stacklevel=5)
        return self._known

    def recall(self, key: str, query: Graph, names: Names, load: Load) -> KnownCandidates | None:
        """What is known about the candidates of these names, by their numbers; None if nothing is."""
        with self._lock:
            known = self._queries.get(key)
        if known is None:
            return None
        place = np.searchsorted(known.names[:, 0], names[:, 0])
        place[place == len(known.names)] = 0
        graphs = np.flatnonzero((known.names[place] == names).all(axis=1)) if len(known.names) else place[:0]
        place = place[graphs]
        has_map = np.isfinite(known.upper)
        mapped = has_map[place]
        rows = (np.cumsum(has_map) - 1)[place[mapped]]
        maps, order = np.empty((len(rows), query.num_nodes), dtype=np.int64), _orders(GraphCollection([query]))[0]
        for k, (row, nodes) in enumerate(zip(rows.tolist(), _orders(load(graphs[mapped])), strict=True)):
            maps[k, order] = _renumbered(known.maps[row].astype(np.int64), nodes)
        return KnownCandidates(
            graphs, known.lower[place], known.upper[place], maps, known.stage[place].astype(np.int64)
        )

    def keep(self, key: str, query: Graph, names: Names, load: Load, found: KnownCandidates) -> None:
        """Remember what is known about candidates; ``names`` are those of all, by number."""
        mapped = np.isfinite(found.upper)
        maps, order = np.empty((mapped.sum(), query.num_nodes), dtype=np.int32), _orders(GraphCollection([query]))[0]
        for k, nodes in enumerate(_orders(load(found.graphs[mapped]))):
            maps[k] = _renumbered(found.maps[k, order], np.argsort(nodes))
        new = RememberedPairs(names[found.graphs], found.lower, found.upper, found.stage.astype(np.int8), maps)
        with self._lock:
            old = self._queries.pop(key, None)
            self._queries[key] = new.merge(new if old is None else old)  # which also sorts them
            while sum(pairs.size for pairs in self._queries.values()) > LARGEST_MEMORY:
                self._queries.pop(next(iter(self._queries)))

    def to_bytes(self) -> bytes:
        """All of it, for a file."""
        with self._lock:
            queries = dict(self._queries)
        arrays = {"version": np.array(VERSION), "keys": np.array(list(queries), dtype="U32")}
        for k, pairs in enumerate(queries.values()):
            arrays |= {f"{name}{k}": column for name, column in pairs._asdict().items()}
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()


def _parse(content: bytes) -> dict[str, RememberedPairs]:
    """What :meth:`SearchMemory.to_bytes` wrote; raises FileError where it did not."""
    known = dict[str, RememberedPairs]()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            if int(data["version"]) != VERSION:
                raise ValueError(f"version {int(data['version'])} is not {VERSION}")
            for k, key in enumerate(data["keys"].tolist()):
                columns = (data[f"{name}{k}"] for name in RememberedPairs._fields)
                known[key] = _checked(RememberedPairs(*columns))
    except (KeyError, EOFError, OSError, zipfile.BadZipFile, TypeError, ValueError) as error:
        raise FileError(f"what is stored is not what searches have proven: {error}") from None
    return known


def memory_keys(queries: GraphCollection, costs: EditCosts) -> list[str]:
    """For each query a text that isomorphic queries with the same costs share."""
    said = json.dumps(costs.to_dict(), sort_keys=True, default=repr)
    texts = (f"{certificate} {said}" for certificate in identify_graphs(queries))
    return [blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]


def as_names(certificates: NDArray[np.uint8]) -> Names:
    """Certificates as an index keeps them, as two numbers each."""
    return np.ascontiguousarray(certificates).view(">u8").astype(np.uint64).reshape(-1, 2)


def _checked(pairs: RememberedPairs) -> RememberedPairs:
    """The same; raises ValueError if the arrays do not belong together."""
    count, mapped = len(pairs.names), int(np.isfinite(pairs.upper).sum())
    shapes = pairs.names.shape == (count, 2), pairs.lower.shape == pairs.upper.shape == pairs.stage.shape == (count,)
    if not all(shapes) or pairs.maps.ndim != 2 or len(pairs.maps) != mapped or np.isnan(pairs.lower).any():
        raise ValueError("its arrays do not belong together")
    return pairs


def _renumbered(images: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """A map whose images have other numbers; deleted nodes stay -1."""
    return np.append(numbers, -1)[images]


def _orders(graphs: GraphCollection) -> list[NDArray[np.int64]]:
    """The nodes of each graph in canonical order; certificates of graphs too regular for that tell numberings apart."""
    outcome = search_orders(graphs.columns, DEFAULT_BUDGET).outcome
    parts = np.split(outcome.order, graphs.columns.node_ptr[1:-1])
    return [part if is_known else np.arange(len(part)) for part, is_known in zip(parts, outcome.solved, strict=False)]
