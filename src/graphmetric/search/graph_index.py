"""An index of graphs: nearest graphs by a learned distance, and by edit distance with proofs.

Compile ahead what learned and certified searches need, so that no query waits for it.

A service is ready when it is warm; after an installation the first query would otherwise wait most of a minute.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np

from graphmetric._foundation.limits import clock
from graphmetric._foundation.options import checked_count, checked_number
from graphmetric.distance import View
from graphmetric.edit_distance import EditCosts, graph_edit_distance, pairwise_edit_distances
from graphmetric.edit_distance.nearest import LARGEST_EASY
from graphmetric.edit_distance.registry import TimeLimit
from graphmetric.errors import FileError, InvalidArgument, MissingExtra
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index.encoding import encode_segment
from graphmetric.index.index_files import IndexFolder, Manifest, StoredSegment
from graphmetric.index.queries import Condition, SearchOptions, is_several, refuse_unknown
from graphmetric.index.segment import Segment, SegmentBuilder
from graphmetric.index.segment_files import read_segment
from graphmetric.index.segments import Held, HeldSegments, merge_segments
from graphmetric.index.vector_index import ListIndex, lists_are_worthwhile
from graphmetric.search.certified import CERTIFIED_SECONDS
from graphmetric.search.explain import Explanation, explain_hit
from graphmetric.search.hits import SearchHit, SearchResult
from graphmetric.search.index_search import IndexSearch

try:
    from graphmetric.learned.learned_distance import LearnedDistance
except ImportError as error:
    if (error.name or "").startswith("graphmetric"):
        raise
    raise MissingExtra(error.name or "torch", "learn", "an index by a learned distance") from None

_ATTEMPTS = 20
"""To open an index that is being exchanged at the same time."""
_MOST_SEGMENTS = 8
_MOST_REMOVED = 0.25
"""Beyond these, saving makes one segment of all."""


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

    def __init__(self, model: LearnedDistance, held: HeldSegments, next_number: int) -> None:
        """See :meth:`build` and :meth:`load`."""
        self._learned, self._held, self._next_number = model, held, next_number
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
            graphs: Anything :func:`graphmetric.as_graphs` takes. Of an iterator no more than some thousand exist at a
                time; with ``out`` the same is true of all that the index makes of them.
            ids: Names of the graphs instead of their own. Each must occur once; a graph without a name gets a number.
            out: A folder to build the index in; what is there is replaced when the new index is whole.
        """
        index = cls(LearnedDistance.of(model), HeldSegments([]), 0)
        if out is None:
            index._hold(index._encode(SegmentBuilder(), graphs, ids), None)
            return index
        folder = IndexFolder(out)
        with folder.writing():
            part = folder.new_segment()
            segment = index._encode(part.builder(), graphs, ids)
            lists = _make_lists(segment)
            stored = folder.adopt(part, part.finish(segment, lists))
            index._publish(folder, (stored,))
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
        raise FileError("is exchanged faster than it can be opened", folder)

    @classmethod
    def _open(
        cls,
        place: IndexFolder,
        manifest: Manifest,
        model: Any,
        verify: bool | None,
        n_jobs: int | None,
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
        index = cls(own, HeldSegments([]), manifest.next_number)
        for stored in manifest.segments:
            segment, lists = read_segment(place.segment(stored.name), stored.digest, verify)
            index._hold(segment, lists, stored)
        index._home = place.path, manifest.edition
        return index

    def __len__(self) -> int:
        return self._held.count

    def __repr__(self) -> str:
        return f"GraphIndex({len(self):,} graphs, {self._learned.network.options.head.kind} distance)"

    def __contains__(self, id: object) -> bool:
        return self._held.find(id) is not None

    @property
    def model(self) -> LearnedDistance:
        """The trained distance of the index."""
        return self._learned

    @property
    def ids(self) -> list[Hashable]:
        """Of all graphs, in the order in which they were added."""
        return [self._held.note(position)[0] for position in self._held.positions().tolist()]

    def graph(self, id: Hashable) -> Graph:
        """The graph of this name."""
        position = self._held.find(id)
        if position is None:
            raise refuse_unknown(id, self.ids)
        return self._held.graph(position)

    def add(self, graphs: Any, ids: Iterable[Hashable] | None = None) -> None:
        """Add graphs; they are found at once, and on disk after :meth:`save`."""
        self._hold(self._encode(SegmentBuilder(), graphs, ids), None)

    def remove(self, ids: Iterable[Hashable] | Hashable) -> None:
        """Remove graphs by name; on disk after :meth:`save`."""
        names: Iterable[Hashable] = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else ids
        positions = []
        for name in names:
            position = self._held.find(name)
            if position is None:
                raise InvalidArgument(f"the index has no graph {name!r}; nothing was removed")
            positions.append(position)
        self._held.remove(np.array(positions, dtype=np.int64))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index; readers of an earlier one there see that one until this is whole.

        Saving to where it came from writes only what is new. Raises FileError if that index was changed meanwhile.
        """
        place = IndexFolder(folder)
        with place.writing():
            at_home = self._home is not None and self._home[0] == place.path and (place.path / "index.json").exists()
            if at_home and self._home is not None and place.read().edition != self._home[1]:
                raise FileError("was changed by another process since this index was read: load it again", place.path)
            if self._held.crowded(_MOST_SEGMENTS, _MOST_REMOVED):
                self._compact()
            before = [held.stored for held in self._held.segments]
            try:
                for held in self._held.segments:
                    if held.stored is None or not at_home:
                        part = place.new_segment()
                        part.write(held.segment)
                        held.stored = place.adopt(part, part.finish(held.segment, held.space.lists))
                self._publish(place, tuple(held.described() for held in self._held.segments))
            except BaseException:  # what was not published is removed from the disk
                for held, stored in zip(self._held.segments, before, strict=True):
                    held.stored = stored
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

        Which of several graphs that share the last distance a certified search lists is not settled, unless they are
        isomorphic: to know that no graph is nearer takes far less work than to find all that are as near.

        Args:
            query: A graph in any form :func:`graphmetric.as_graph` takes, an id of the index, or a SMILES; or a list of
                these, for a list of results.
            k: How many; fewer where the index has no more.
            view: The scale of the distances, by which they are ranked: "raw", "steinhaus" or "paper".
            certified: By edit distance, proven, instead of by the learned distance.
            exact: Whether a learned search must find what looking at every graph would find. None: if the index has at
                most :data:`~graphmetric.search.index_search.EXACT_UP_TO` graphs and ``candidates`` is not given.
            candidates: Graphs that an approximate search looks at.
            where: Only graphs with this metadata: a mapping of values, or a function of the metadata.
            distinct: Of isomorphic graphs only the first.
            time_limit: Seconds for each query of a certified search, after which it says what it has proven. "auto" is
                60 seconds, None is no limit.
            costs: Of edits, in a certified search; by default those that the model was trained for. Others are
                possible: what is proven does not depend on the model, which only says where to look first.
        """
        k = checked_count(k, "k")
        search = self._search
        graphs = search.resolve(query)
        allowed = self._held.allowed(where, distinct)
        if certified:
            seconds = CERTIFIED_SECONDS if time_limit == "auto" else time_limit
            results = search.certify_nearest(graphs, k, view, allowed, costs, seconds)
        else:
            limit = search.limit_candidates(exact, candidates, k)
            results = search.find_nearest(graphs, k, view, allowed, limit)
        return results if is_several(query) else results[0]

    def range(
        self, query: Any, radius: float, *, view: View = "raw", where: Condition | None = None, distinct: bool = False
    ) -> SearchResult:
        """All graphs at most at this learned distance from one query, nearest first; none is missed."""
        if is_several(query):
            raise InvalidArgument("range takes one query; call it for each")
        radius = checked_number(radius, "radius", "a number that is not negative")
        (graph,) = self._search.resolve(query)
        return self._search.find_within(graph, radius, view, self._held.allowed(where, distinct))

    def explain(self, query: Any, hit: SearchHit | Hashable) -> Explanation:
        """How the query becomes the graph of a hit: which nodes correspond, the edits, a drawing."""
        graph = self._search.resolve(query)[0]
        found = hit if isinstance(hit, SearchHit) else SearchHit(hit, float("nan"), partial(self.graph, hit))
        return explain_hit(self._learned, graph, found)

    def verify(self) -> None:
        """Read every file of the index on disk and compare digests; raises FileError at the first that is wrong."""
        if self._home is None:
            raise InvalidArgument("the index is in memory only; there are no files to verify")
        GraphIndex.load(self._home[0], verify=True)

    @property
    def _search(self) -> IndexSearch:
        return IndexSearch(self._learned, self._held)

    def _encode(self, builder: SegmentBuilder, graphs: Any, ids: Iterable[Hashable] | None) -> Segment:
        """Run all graphs through the model into a segment."""
        number = count(self._next_number)
        segment = encode_segment(self._learned, builder, graphs, ids, number)
        self._held.check_new_ids(segment)
        self._next_number = next(number)
        return segment

    def _hold(self, segment: Segment, lists: ListIndex | None, stored: StoredSegment | None = None) -> None:
        if lists is None and stored is None:
            lists = _make_lists(segment)
        self._held.append(Held(self._learned, segment, lists, stored))

    def _compact(self) -> None:
        """Make one segment of all graphs that count; the model is not asked again."""
        merged = HeldSegments([])
        merged.append(Held(self._learned, merge_segments(self._held), None, None))
        self._held = merged

    def _publish(self, place: IndexFolder, segments: tuple[StoredSegment, ...]) -> None:
        if not place.model(self._learned.digest).exists():
            self._learned.save(place.model(self._learned.digest))
        manifest = place.publish(Manifest(self._learned.digest, self._next_number, segments))
        self._home = place.path, manifest.edition


def _make_lists(segment: Segment) -> ListIndex | None:
    vectors = segment.arrays["vectors"]
    return ListIndex.build(vectors) if lists_are_worthwhile(vectors) else None


SMALL, LARGE = LARGEST_EASY - 4, LARGEST_EASY + 4
"""Nodes of graphs on either side of where the certified search takes another path."""


def warm(model: str = "unlabelled") -> float:
    """Run every kind of search once on graphs that are quickly searched; gives the seconds it took without compiling.

    Compiled code is kept on disk (see :mod:`graphmetric._foundation.compilation`), so this is of use once after an
    installation.
    """
    started = clock()
    graphs = _graphs()
    index = GraphIndex.build(LearnedDistance.load(model), graphs)
    for query in (graphs[0], graphs[-1]):
        index.search(query, k=3)
        index.search(query, k=3, certified=True, time_limit=5)
        index.range(query, 2.0)
    pairwise_edit_distances(graphs[:4], n_jobs=1)
    graph_edit_distance(graphs[0], graphs[1], time_limit=5)
    return clock() - started


def _graphs() -> GraphCollection:
    """Trees of a few shapes in both sizes, none isomorphic to another."""
    import networkx as nx

    drawn = [nx.random_labeled_tree(nodes, seed=seed) for nodes in (SMALL, LARGE) for seed in range(8)]
    return GraphCollection([Graph(tree.number_of_nodes(), list(tree.edges)) for tree in drawn])
