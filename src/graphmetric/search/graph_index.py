"""An index of graphs: nearest graphs by a learned distance, and by edit distance with proofs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from graphmetric._foundation.options import checked_count, checked_number
from graphmetric.edit_distance import BeamSearch, EditCosts, graph_edit_distance
from graphmetric.edit_distance.method import TimeLimit
from graphmetric.errors import FileError, GraphMetricError, InvalidArgument, MissingExtra
from graphmetric.formats.conversion import as_graph
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

try:
    from graphmetric.learned.learned_distance import LearnedDistance
except ImportError as error:
    if (error.name or "").startswith("graphmetric"):
        raise
    raise MissingExtra(error.name or "torch", "learn", "an index by a learned distance") from None

from graphmetric.distance import View
from graphmetric.index.index_folder import IndexFolder, Manifest, StoredSegment
from graphmetric.index.indexed_graphs import Condition, IndexedGraphs, OpenSegment, Query, encode_segment
from graphmetric.index.segment import Segment, SegmentBuilder
from graphmetric.index.segment_folder import read_segment
from graphmetric.index.vector_lists import VectorLists
from graphmetric.search.certified import CERTIFIED_SECONDS, CertifiedSearch
from graphmetric.search.hits import Explanation, SearchHit, SearchResult
from graphmetric.search.learned_search import LearnedSearch

EXACT_UP_TO = 100_000
"""The largest index whose learned searches are exact unless the caller says otherwise."""
CANDIDATES = 300
"""The number of graphs that an approximate search looks at."""
_ATTEMPTS = 20
"""Attempts to open an index that is being replaced at the same time."""
_MOST_SEGMENTS, _MOST_REMOVED = 8, 0.25
"""With more segments, or a larger share of removed graphs, saving makes one segment of all."""
_BEAM_WIDTH = 100
"""Width of the beam search that explains a hit where the head does not align nodes."""


class SearchOptions(TypedDict, total=False):
    """The keywords of :meth:`GraphIndex.search`, which explains them."""

    view: View
    certified: bool
    exact: bool | None
    candidates: int | None
    where: Condition | None
    distinct: bool
    time_limit: TimeLimit
    costs: EditCosts | None


class GraphIndex:
    """Graphs with what a model made of them, in memory or in a folder that is mapped.

    Example:
        >>> import graphmetric as gm
        >>> molecules = gm.load_dataset("molecules").graphs[:60]
        >>> model = gm.GraphDistance("small", max_steps=20, label_budget=200, n_jobs=1).fit(molecules)
        >>> index = GraphIndex.build(model, molecules)
        >>> index.search(molecules[7], k=3)[0].id == molecules[7].id
        True
        >>> [hit.exact for hit in index.search(molecules[7], k=3, certified=True)][0]
        0.0
    """

    def __init__(self, model: LearnedDistance, next_number: int = 0) -> None:
        """An empty index; see :meth:`build` and :meth:`load`."""
        self._learned, self._graphs, self._next_number = model, IndexedGraphs(), next_number
        self._home: tuple[Path, str] | None = None  # where it was read from or written to, and which edition

    @classmethod
    def build(
        cls,
        model: Any,
        graphs: Any,
        *,
        ids: Iterable[Hashable] | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> GraphIndex:
        """Index graphs by a fitted :class:`graphmetric.GraphDistance`, or by a trained distance that was loaded.

        Args:
            model: The model; the index keeps it, and refuses another one.
            graphs: Anything :func:`graphmetric.as_graphs` takes. Only some thousand graphs of an iterator exist at a
                time; with ``out`` the same is true of all that the index makes of them.
            ids: Names of the graphs instead of their own. Each must occur once; a graph without a name gets a number.
            out: A folder to build the index in; what is there is replaced when the new index is whole.
        """
        index = cls(LearnedDistance.of(model))
        if out is None:
            index.add(graphs, ids)
            return index
        place = IndexFolder(out)
        with place.writing():
            part = place.new_segment()
            segment = index._encode(SegmentBuilder(part.open_rows), graphs, ids)
            lists = VectorLists.worthwhile(segment.arrays["vectors"])
            index._publish(place, (place.adopt(part, part.finish(segment, lists)),))
        return cls.load(out, model=model, verify=False)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        model: Any = None,
        verify: bool | None = None,
        n_jobs: int | None = 1,
    ) -> GraphIndex:
        """Open the index of a folder; its arrays are mapped, not read.

        Args:
            folder: Where :meth:`build` or :meth:`save` wrote it.
            model: The model it was built with, if that is in memory already; another one is refused.
            verify: Whether to compare the digests of all files (True), of those up to 256 MB (None) or of none, for
                a folder that is known to be whole (False). Sizes are always compared.
            n_jobs: Threads for encoding queries.
        """
        place = IndexFolder(folder)
        for _ in range(_ATTEMPTS):
            manifest = place.read()
            try:
                return cls._open(place, manifest, model, verify, n_jobs)
            except FileNotFoundError as error:
                if place.read().edition == manifest.edition:
                    raise FileError(f"is missing: {error.filename}", folder) from None
        raise FileError("is replaced faster than it can be opened; try again later", folder)

    @classmethod
    def _open(
        cls, place: IndexFolder, manifest: Manifest, model: Any, verify: bool | None, n_jobs: int | None
    ) -> GraphIndex:
        stored_model = place.model(manifest.model)
        if model is None and not stored_model.exists():
            raise FileNotFoundError(2, "no such folder", str(stored_model))
        own = LearnedDistance.load(stored_model, n_jobs) if model is None else LearnedDistance.of(model)
        if own.digest != manifest.model:
            raise InvalidArgument(
                f"{place.path} was built with another model (its digest is {manifest.model[:12]}, not "
                f"{own.digest[:12]}): leave out model= to use its own, or build the index again"
            )
        index = cls(own, manifest.next_number)
        for stored in manifest.segments:
            segment, lists = read_segment(place.segment(stored.name), stored.digest, verify)
            index._graphs.append(OpenSegment(own, segment, lists, stored))
        index._home = place.path, manifest.edition
        return index

    def __len__(self) -> int:
        return len(self._graphs)

    def __repr__(self) -> str:
        return f"GraphIndex({len(self):,} graphs, {self._learned.network.options.head.kind} distance)"

    def __contains__(self, id: object) -> bool:
        return self._graphs.find(id) is not None

    @property
    def model(self) -> LearnedDistance:
        """The trained distance of the index."""
        return self._learned

    @property
    def ids(self) -> list[Hashable]:
        """The ids of all graphs, in the order in which they were added."""
        return list(self._graphs.ids())

    def graph(self, id: Hashable) -> Graph:
        """The graph with this id."""
        position = self._graphs.find(id)
        if position is None:
            raise self._unknown(id)
        return self._graphs.loader(position)()

    def add(self, graphs: Any, ids: Iterable[Hashable] | None = None) -> None:
        """Add graphs; they are found at once, and on disk after :meth:`save`."""
        self._append(self._encode(SegmentBuilder(), graphs, ids))

    def remove(self, ids: Iterable[Hashable] | Hashable) -> None:
        """Remove graphs by id; on disk after :meth:`save`."""
        names: Iterable[Hashable] = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else ids
        positions = []
        for name in names:
            position = self._graphs.find(name)
            if position is None:
                raise InvalidArgument(f"the index has no graph {name!r}; nothing was removed")
            positions.append(position)
        self._graphs.remove(np.array(positions, dtype=np.int64))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index; readers of an earlier one there see that one until this is whole.

        Saving to where it came from writes only what is new. Raises FileError if that index was changed meanwhile.
        """
        place = IndexFolder(folder)
        with place.writing():
            at_home = self._home is not None and self._home[0] == place.path and (place.path / "index.json").exists()
            if at_home and self._home is not None and place.read().edition != self._home[1]:
                raise FileError("was changed by another process since this index was read: load it again", place.path)
            if len(self._graphs.segments) > _MOST_SEGMENTS or len(self) < (1 - _MOST_REMOVED) * self._graphs.size:
                self._compact()
            segments = self._graphs.segments
            before = [one.stored for one in segments]
            try:
                for one in segments:
                    if one.stored is None or not at_home:
                        part = place.new_segment()
                        part.write(one.segment)
                        one.stored = place.adopt(part, part.finish(one.segment, one.lists))
                self._publish(place, tuple(one.describe() for one in segments))
            except BaseException:  # what was not published is removed from the disk
                for one, stored in zip(segments, before, strict=True):
                    one.stored = stored
                raise

    @overload
    def search(
        self, query: list[Any] | GraphCollection, k: int = 10, **options: Unpack[SearchOptions]
    ) -> list[SearchResult]: ...
    @overload
    def search(self, query: Any, k: int = 10, **options: Unpack[SearchOptions]) -> SearchResult: ...
    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        view: View = "raw",
        certified: bool = False,
        exact: bool | None = None,
        candidates: int | None = None,
        where: Condition | None = None,
        distinct: bool = False,
        time_limit: TimeLimit = "auto",
        costs: EditCosts | None = None,
    ) -> SearchResult | list[SearchResult]:
        """The ``k`` nearest graphs, nearest first, equally near ones in the order in which they were added.

        Where several graphs share the last distance, a certified search may list any of them, unless they are
        isomorphic: to know that no graph is nearer takes far less work than to find all that are as near.

        Args:
            query: A graph in any form :func:`graphmetric.as_graph` takes, an id of the index, or a SMILES; or a list of
                these, for a list of results.
            k: The number of graphs to find; the result is shorter where the index has no more.
            view: The scale of the distances, by which they are ranked: "raw", "steinhaus" or "paper".
            certified: Search by edit distance, with proofs, instead of by the learned distance.
            exact: Whether a learned search must find what looking at every graph would find. None: if the index has at
                most :data:`~graphmetric.search.graph_index.EXACT_UP_TO` graphs and ``candidates`` is not given.
            candidates: The number of graphs that an approximate search looks at.
            where: Only graphs with this metadata: a mapping of values, or a function of the metadata.
            distinct: Only the first of isomorphic graphs.
            time_limit: Seconds for each query of a certified search, after which it says what it has proven. "auto" is
                60 seconds, None is no limit.
            costs: Edit costs of a certified search; by default those that the model was trained for. Others are
                possible: what is proven does not depend on the model, which only says where to look first.
        """
        k = checked_count(k, "k")
        graphs, selection = self._resolve(query), self._graphs.select(where, distinct)
        certifying: CertifiedSearch | None = None
        if certified:
            seconds = CERTIFIED_SECONDS if time_limit == "auto" else time_limit
            certifying = CertifiedSearch(self._graphs, selection, costs or self._learned.costs, view, seconds)
        limit = None if certified else self._limit_candidates(exact, candidates, k)
        queries = Query.encode(self._learned, graphs, view)
        with self._learned.limited_threads():
            if certifying is not None:
                results = certifying.answer(graphs, k, queries)
            else:
                parts = self._graphs.parts(selection)
                searches = (LearnedSearch(self._graphs, selection, parts, query) for query in queries)
                results = [search.nearest(graph, k, limit) for graph, search in zip(graphs, searches, strict=True)]
        return results if _is_several(query) else results[0]

    def range(
        self, query: Any, radius: float, *, view: View = "raw", where: Condition | None = None, distinct: bool = False
    ) -> SearchResult:
        """All graphs at most at this learned distance from one query, nearest first; none is missed."""
        if _is_several(query):
            raise InvalidArgument("range takes one query; call it for each")
        radius = checked_number(radius, "radius", "a number that is not negative")
        graphs, selection = self._resolve(query), self._graphs.select(where, distinct)
        (encoded,) = Query.encode(self._learned, graphs, view)
        with self._learned.limited_threads():
            parts = self._graphs.parts(selection)
            return LearnedSearch(self._graphs, selection, parts, encoded).within(graphs[0], radius)

    def explain(self, query: Any, hit: SearchHit | Hashable) -> Explanation:
        """How the query becomes the graph of a hit: which nodes correspond, the edits, a drawing.

        The edits of a certified hit are proven; otherwise the head aligns the nodes if it can, or a beam search does.
        """
        graph = self._resolve(query)[0]
        found = hit if isinstance(hit, SearchHit) else SearchHit(hit, float("nan"), partial(self.graph, hit))
        if found.edits is not None:
            return Explanation(found.edits)
        if self._learned.cpu_head.aligns:
            return Explanation(self._learned.align(graph, found.graph))
        search = BeamSearch(_BEAM_WIDTH)
        return Explanation(graph_edit_distance(graph, found.graph, method=search, costs=self._learned.costs))

    def verify(self) -> None:
        """Read every file of the index on disk and compare digests; raises FileError at the first that is wrong."""
        if self._home is None:
            raise InvalidArgument("the index is in memory only; there are no files to verify")
        GraphIndex.load(self._home[0], verify=True)

    def _encode(self, builder: SegmentBuilder, graphs: Any, ids: Iterable[Hashable] | None) -> Segment:
        number = count(self._next_number)
        segment = encode_segment(self._learned, builder, graphs, ids, number)
        self._graphs.check_new_ids(segment)
        self._next_number = next(number)
        return segment

    def _append(self, segment: Segment) -> None:
        lists = VectorLists.worthwhile(segment.arrays["vectors"])
        self._graphs.append(OpenSegment(self._learned, segment, lists))

    def _compact(self) -> None:
        """Make one segment of all graphs that were not removed; the model is not asked again."""
        merged = self._graphs.merge()
        self._graphs = IndexedGraphs()
        self._append(merged)

    def _publish(self, place: IndexFolder, segments: tuple[StoredSegment, ...]) -> None:
        if not place.model(self._learned.digest).exists():
            self._learned.save(place.model(self._learned.digest))
        manifest = place.publish(Manifest(self._learned.digest, self._next_number, segments))
        self._home = place.path, manifest.edition

    def _limit_candidates(self, exact: bool | None, candidates: int | None, k: int) -> int | None:
        """The number of graphs that an approximate search looks at; None for an exact search."""
        if candidates is not None and checked_count(candidates, "candidates") < k:
            raise InvalidArgument(f"candidates must be at least k = {k}; got {candidates}")
        if exact and candidates is not None:
            raise InvalidArgument("an exact search looks at all graphs it has to: leave out candidates")
        if exact or (exact is None and candidates is None and len(self) <= EXACT_UP_TO):
            return None
        return max(k, CANDIDATES) if candidates is None else candidates

    def _resolve(self, query: Any) -> GraphCollection:
        """The graphs that are asked for, by one query or by several."""
        if isinstance(query, GraphCollection):
            return query
        return GraphCollection([self._resolve_one(one) for one in (query if _is_several(query) else [query])])

    def _resolve_one(self, query: Any) -> Graph:
        """A graph in any form; a string or number is an id, and a string that is not an id is a SMILES."""
        if isinstance(query, Graph):
            return query
        if isinstance(query, bool) or not isinstance(query, str | int | np.integer):
            return as_graph(query)
        position = self._graphs.find(query)
        if position is not None:
            return self._graphs.loader(position)()
        if not isinstance(query, str):
            raise self._unknown(query)
        if len(query.split()) != 1:  # "NSC 16" would be the molecule N-S-C with a title
            raise self._unknown(query, ", and a SMILES has no blanks")
        try:
            return as_graph(query)
        except GraphMetricError as error:
            raise self._unknown(query, f", and it cannot be read as a SMILES either: {error}") from None

    def _unknown(self, query: Any, reason: str = "") -> InvalidArgument:
        """The error for a query that is not the id of a graph."""
        example = next(self._graphs.ids(), None)
        such = "the index is empty" if example is None else f"its first id is {example!r}"
        return InvalidArgument(f"the index has no graph {query!r} ({such}){reason}")


def _is_several(query: Any) -> bool:
    """Whether this is a list of queries; a tuple (edges, labels) or a matrix is one graph."""
    return isinstance(query, list | GraphCollection | Iterator)
