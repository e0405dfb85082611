"""An open index: its graphs, its model and the points of its map, at one edition of where it is stored.

It is changed here and written to its store. What reads queries and searches is in :mod:`graphmetric.search`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.progress import progress
from graphmetric.edit_distance import EditCosts
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.index import IndexStore, TransactionalStore, open_store
from graphmetric.index.building import Chunk, GraphDescriber, GraphWriter, ReadingRecord, SegmentBuilder, new_chunks
from graphmetric.index.folder.lists import InvertedLists
from graphmetric.index.graphs import IndexedGraphs, OpenSegment
from graphmetric.index.segment import Segment
from graphmetric.index.store import IndexRecord, Manifest, Part

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from graphmetric.learned.learned_distance import LearnedDistance

Points = NDArray[np.float32]
"""(graphs, 2): places in the plane; NaN for graphs that were not laid out."""


class IndexModel(Protocol):
    """The model of an index."""

    model: LearnedDistance

    def encoder(self, basis: NDArray[np.float32] | None = None) -> GraphDescriber:
        """Return what encodes the graphs of a new segment."""


Learned = TypeVar("Learned", bound=IndexModel)


class OpenIndex(Generic[Learned]):
    """Graphs that can be searched and changed; in memory, or at an edition of a folder or a database."""

    def __init__(
        self, learned: Learned | None = None, costs: EditCosts | None = None, reading: MoleculeOptions | None = None
    ) -> None:
        if costs is not None and not isinstance(costs, EditCosts):
            raise InvalidArgument(f"costs must be graphmetric.EditCosts; got {costs!r}")
        self.learned = learned
        self.graphs = IndexedGraphs()
        self.reading = reading
        self.home: tuple[IndexStore, str] | None = None
        """The store it was read from or written to, and the edition."""
        self._costs = costs
        self._next_number = 0
        self._points: Points | None = None  # of a map that was built, by position; graphs that came later are missing

    @classmethod
    def load(
        cls, store: IndexStore, choose_model: Callable[[Manifest], Learned | None], verify: bool | None
    ) -> OpenIndex[Learned]:
        """Open the present edition of a store; ``choose_model`` loads the model that belongs to it."""

        def choose(manifest: Manifest) -> tuple[Learned | None, bytes | None]:
            points = store.read_part("map", manifest.parts["map"]) if "map" in manifest.parts else None
            return choose_model(manifest), points

        (learned, points), manifest, graphs = store.open(choose, verify)
        index = cls(learned, manifest.costs)
        index._move(store, manifest, graphs, None if points is None else _parse_points(points, len(graphs)))
        return index

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def model(self) -> LearnedDistance | None:
        """The trained distance; None if there is none."""
        return None if self.learned is None else self.learned.model

    @property
    def costs(self) -> EditCosts:
        """The edit costs of certified searches, unless a search names others."""
        if self._costs is not None:
            return self._costs
        return EditCosts() if self.model is None else self.model.costs

    @property
    def edition(self) -> str | None:
        """An identifier that changes with every write; None if the index is in memory only."""
        return None if self.home is None else self.home[1]

    @property
    def points(self) -> Points | None:
        """The points of a map for each graph that was not removed; None if there are none."""
        if self._points is None:
            return None
        later = np.full((self.graphs.size - len(self._points), 2), np.nan, dtype=np.float32)
        points = np.concatenate([self._points, later])[self.graphs.alive]
        return None if np.isnan(points).all() else points

    def keep_points(self, points: Points | None) -> None:
        """Keep the points of a map, or none; a database has them at once."""
        self._points = None if points is None else self._spread(points)
        if self._live is not None:
            self.save(self._live)

    def build(self, store: IndexStore, graphs: Any, ids: Iterable[Hashable] | None, workers: Executor | None) -> None:
        """Write an index of these graphs in place of what the store holds, and open it."""
        self._replace(store, lambda builder: self._store(builder, graphs, ids, workers))

    def add(self, graphs: Any, ids: Iterable[Hashable] | None, workers: Executor | None) -> None:
        """Add graphs: in memory, or in a database at once."""
        first, live = self._next_number, self._live
        segment = self._store(SegmentBuilder(), graphs, ids, workers)
        if live is None:
            self._append(segment)
            return
        new = IndexedGraphs()
        new.append(OpenSegment(segment))
        numbered = range(first, self._next_number)
        known = self.reading  # which the first graphs may have set
        self._follow(live, *live.append(partial(self._copy, graphs=new), numbered))
        if self.reading is None and known is not None:
            self.reading = known
            self.save(live)

    def encode(self, learned: Learned, store: IndexStore | None, workers: Executor | None) -> None:
        """Let a model encode all graphs, in memory or on their way to a store; on failure nothing has changed."""
        before = self.learned, self.graphs, self._points
        try:
            self.learned, self._points = learned, None  # a map would be of what the model makes of the graphs
            if store is None:
                self._compact(encode=True, workers=workers)
            else:
                self._replace(store, partial(self._copy, encode=True, workers=workers))
        except BaseException:
            self.learned, self.graphs, self._points = before
            raise

    def remove(self, ids: Sequence[Hashable]) -> None:
        """Remove graphs by id, all or none: in memory, or in a database at once."""
        if (live := self._live) is not None:
            self._follow(live, *live.remove(ids))
            return
        positions = [self.graphs.find(name) for name in ids]
        if None in positions:
            raise InvalidArgument(f"the index has no graph {ids[positions.index(None)]!r}; nothing was removed")
        self.graphs.remove(np.array(positions, dtype=np.int64))

    def save(self, place: str | os.PathLike[str] | IndexStore) -> None:
        """Write the index to a store; to where it came from only what is new."""
        store = open_store(place)
        base = self._base(store)
        if base is None and (self._live is not None or isinstance(store, TransactionalStore)):
            self._replace(store, self._copy)
            return
        if self.graphs.needs_compaction:
            self._compact()
        manifest = store.save(self.graphs, self._record(), base)
        self.home = store, manifest.edition

    def _move(self, store: IndexStore, manifest: Manifest, graphs: IndexedGraphs, points: Points | None) -> None:
        """Take the graphs of an edition in place of the own ones, and the points of its map."""
        self.graphs, self._next_number, self.reading = graphs, manifest.next_number, manifest.reading
        self.home = store, manifest.edition
        self._points = None if points is None else self._spread(points)

    def _follow(self, store: IndexStore, manifest: Manifest, graphs: IndexedGraphs) -> None:
        """Take over an edition that was just written."""
        points = None
        if "map" in manifest.parts:
            with suppress(FileError):  # another writer has moved the map on; the next load finds it
                points = _parse_points(store.read_part("map", manifest.parts["map"]), len(graphs))
        self._move(store, manifest, graphs, points)

    def _replace(self, store: IndexStore, make: Callable[[GraphWriter], Any]) -> None:
        """Write a whole index, and take the graphs from there."""
        points = self.points
        self._move(store, *store.replace(make, self._record, self._base(store)), points)

    def _store(
        self, builder: GraphWriter, graphs: Any, ids: Iterable[Hashable] | None, workers: Executor | None
    ) -> Any:
        """Give new graphs to a writer; returns what it makes of them."""
        number, total = count(self._next_number), len(graphs) if hasattr(graphs, "__len__") else None
        shown = self.graphs.distinctions() if self.reading is None else {}
        record = ReadingRecord(self.reading, shown, is_empty=len(self) == 0)
        chunks = record.check_each(new_chunks(graphs, ids, number, self.reading))
        made = self._write(builder, chunks, total, True, workers)
        if isinstance(made, Segment):
            self.graphs.check_new_ids(made)
        self._next_number, self.reading = next(number), record.reading
        return made

    def _copy(
        self,
        builder: GraphWriter,
        encode: bool = False,
        graphs: IndexedGraphs | None = None,
        workers: Executor | None = None,
    ) -> Any:
        """Give graphs, by default all of the index, to a writer, without those that were removed.

        The graphs are encoded again only if ``encode`` is True.
        """
        graphs = self.graphs if graphs is None else graphs
        return self._write(builder, graphs.chunks(), len(graphs), encode, workers)

    def _write(
        self, builder: GraphWriter, chunks: Iterator[Chunk], total: int | None, encode: bool, workers: Executor | None
    ) -> Any:
        """Give graphs to a writer, with arrays that are computed now or already stored."""
        describer = GraphDescriber()
        if self.learned is not None:
            describer = self.learned.encoder(None if encode else self.graphs.segments[0].segment.arrays.get("basis"))
        done = 0
        with progress("indexing", total, "graphs") as bar:
            for chunk, rows in describer.describe(chunks, workers) if encode else describer.copy(chunks):
                builder.append(chunk.graphs.columns, chunk.ids, rows)
                done += len(chunk.graphs)
                bar.advance(len(chunk.graphs), "" if total else f"{done:,} graphs")
        return builder.finish(basis=describer.basis)

    def _compact(self, encode: bool = False, workers: Executor | None = None) -> None:
        """Make one segment of all graphs that were not removed."""
        merged, points = self._copy(SegmentBuilder(), encode, workers=workers), self.points
        self.graphs, self._points = IndexedGraphs(), points
        self._append(merged)

    def _append(self, segment: Segment) -> None:
        self.graphs.append(OpenSegment(segment, InvertedLists.worthwhile(segment)))

    @property
    def _live(self) -> TransactionalStore | None:
        """The store to which changes are written at once; None if they stay in memory."""
        home = None if self.home is None else self.home[0]
        return home if isinstance(home, TransactionalStore) else None

    def _base(self, store: IndexStore) -> str | None:
        """The edition of this index, if it came from this store or was written to it."""
        return self.home[1] if self.home is not None and self.home[0].place == store.place else None

    def _record(self) -> IndexRecord:
        """Return the parts of an index other than its graphs, for writing."""
        parts = dict[Part, bytes]()
        if (points := self.points) is not None:
            parts["map"] = points.astype("<f4").tobytes()
        return IndexRecord(self.model, self._costs, self._next_number, self.reading, parts)

    def _spread(self, points: Points) -> Points:
        """Points of the graphs that were not removed, by the positions of all."""
        spread = np.full((self.graphs.size, 2), np.nan, dtype=np.float32)
        spread[self.graphs.alive] = points
        return spread


def _parse_points(content: bytes, count: int) -> Points:
    """The points of a map, one for each graph that was not removed."""
    points = np.frombuffer(content, dtype="<f4")
    if len(points) != 2 * count:
        raise FileError(f"the map of the index has {len(points) // 2} points for {count} graphs; build the map again")
    return points.reshape(-1, 2).astype(np.float32)
