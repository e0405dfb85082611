"""An index of graphs: nearest graphs by edit distance with proofs, and by a learned distance if it has a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, get_args, overload

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.executors import as_executor
from graphmetric._foundation.markup import Markup, key_value_table, notebook_view
from graphmetric._foundation.options import checked_count, checked_number
from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.method import TimeLimit
from graphmetric.edit_distance.methods import LARGEST_EASY
from graphmetric.errors import FileError, InvalidArgument, SearchInterrupted
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index import IndexStore, open_store
from graphmetric.index.open_index import OpenIndex
from graphmetric.index.store import Manifest
from graphmetric.search.certified import CertifiedSearch
from graphmetric.search.collection_map import CollectionMap, MapMethod, lay_out_by_neighbours, make_map
from graphmetric.search.hits import Explanation, SearchHit, SearchResult, find_edits
from graphmetric.search.options import RangeKeywords, RangeOptions, SearchKeywords, SearchOptions
from graphmetric.search.queries import QueryReader, is_several

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

    from graphmetric.learned.learned_distance import LearnedDistance
    from graphmetric.search.learned_search import LearnedSearches

_WARM_SECONDS = 1.0
"""The time limit of a search that is only made so that later ones need not wait."""


class GraphIndex:
    """Graphs ready to be searched, with what a model made of them if there is one; in memory, or in a mapped folder.

    Example:
        >>> import graphmetric as gm
        >>> molecules = gm.load_dataset("molecules").graphs[:60]
        >>> index = GraphIndex.build(molecules)
        >>> index
        GraphIndex(60 graphs, no model)
        >>> [hit.exact for hit in index.search(molecules[7], k=3)][0]
        0.0
        >>> model = gm.GraphDistance("small", max_steps=20, label_budget=200, n_jobs=1).fit(molecules)
        >>> index = GraphIndex.build(model, molecules)
        >>> index.search(molecules[7], k=3)[0].id == molecules[7].id
        True
    """

    def __init__(
        self, model: Any = None, *, costs: EditCosts | None = None, reading: MoleculeOptions | None = None
    ) -> None:
        """An empty index; see :meth:`build` and :meth:`load`."""
        learned = None if model is None else _search_by(model)
        self._hold(OpenIndex(learned, costs, _checked_reading(reading)))

    def _hold(self, index: OpenIndex[LearnedSearches]) -> None:
        self._open = index
        self._queries = QueryReader(index)

    @classmethod
    def build(
        cls,
        model: Any = None,
        graphs: Any = None,
        *,
        ids: Iterable[Hashable] | None = None,
        out: str | os.PathLike[str] | None = None,
        store: str | IndexStore | None = None,
        costs: EditCosts | None = None,
        reading: MoleculeOptions | None = None,
        executor: Any = None,
    ) -> GraphIndex:
        """Index graphs: ``build(graphs)`` for certified searches, ``build(model, graphs)`` for learned ones as well.

        Args:
            model: A fitted :class:`graphmetric.GraphDistance`, or a trained distance that was loaded; the index keeps
                it, and rejects any other. It encodes on the device it is on. Without a model, torch is not needed;
                :meth:`add_model` adds one later.
            graphs: Anything :func:`graphmetric.as_graphs` accepts. Only a few thousand graphs of an iterator exist at a
                time; with ``out`` this also holds for their columns and embeddings.
            ids: Names of the graphs instead of their own. Each must occur once; a graph without a name gets a number.
            out: A folder to build the index in; an index in it is replaced atomically.
            store: Instead of a folder the address of a PostgreSQL database with pgvector, such as
                ``postgresql://user@host/database?index=molecules``; needs the extra [postgres]. Later changes to this
                index are written there at once.
            costs: Edit costs of certified searches; by default those that the model was trained for, or unit costs.
            reading: Options by which the molecules were read, such as ``MoleculeOptions(distinguish="charge")``. The
                index keeps them and reads queries alike. Not needed for SMILES and for collections of
                :func:`graphmetric.read_graphs`; pass it for other graphs that were made from molecules.
            executor: A :class:`concurrent.futures.Executor`, such as a pool of processes, or a dask ``Client``, whose
                workers encode the graphs, a few thousand at a time, on their CPU. This process reads and writes them.
                The index is the same, to the last bit on machines of one kind.
        """
        if graphs is None:
            if model is None or hasattr(model, "fit") or hasattr(model, "featurizer"):
                raise InvalidArgument("there are no graphs to index: call build(graphs) or build(model, graphs)")
            model, graphs = None, model
        if out is not None and store is not None:
            raise InvalidArgument("an index is built in a folder (out=) or in a database (store=), not in both")
        index, place = cls(model, costs=costs, reading=reading), out if store is None else store
        if place is None:
            index.add(graphs, ids, executor=executor)
        else:
            index._open.build(open_store(place), graphs, ids, _workers_of(executor))
        return index

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str] | IndexStore,
        *,
        model: Any = None,
        verify: bool | None = None,
        n_jobs: int | None = 1,
        device: str = "cpu",
    ) -> GraphIndex:
        """Open the index of a folder, with memory-mapped arrays, or of a database, which is read on demand.

        It stays at the edition it opened, or that it wrote itself, whatever others write.

        Args:
            folder: The folder, or the address of the database, of :meth:`build` or :meth:`save`.
            model: The model it was built with, if that is in memory already; any other is rejected.
            verify: Whether to compare the digests of all files (True), of those up to 256 MB (None) or of none, for
                a folder that is known to be intact (False). Sizes are always compared.
            n_jobs: Threads for encoding queries.
            device: Device on which its own model encodes queries and added graphs, such as "cuda". A given
                ``model`` stays on its device.
        """
        store = open_store(folder)
        index = cls()
        index._hold(OpenIndex.load(store, partial(_choose_model, store, model, (n_jobs, device)), verify))
        return index

    def __len__(self) -> int:
        return len(self._open.graphs)

    def __repr__(self) -> str:
        kind = "no model" if self.model is None else f"{self.model.network.options.head.kind} distance"
        return f"GraphIndex({len(self):,} graphs, {kind})"

    def _repr_html_(self) -> str:
        about = {
            "model": "none: searches are certified" if self.model is None else self.model.network.options.head.kind,
            "edit costs": self.costs,
            "molecules by": self.reading,
            "map": "by t-SNE" if self._open.points is not None else "by principal components",
            "folder": None if self._open.home is None else self._open.home[0].place,
            "edition": self.edition,
        }
        return notebook_view(
            f"Index of {len(self):,} graphs", key_value_table(about), Markup(self.graphs._repr_html_())
        )

    def __contains__(self, id: object) -> bool:
        return self._open.graphs.find(id) is not None

    @property
    def model(self) -> LearnedDistance | None:
        """The trained distance of the index; None if it has no model."""
        return self._open.model

    @property
    def costs(self) -> EditCosts:
        """The edit costs of certified searches, unless a search names others."""
        return self._open.costs

    @property
    def reading(self) -> MoleculeOptions | None:
        """The options by which molecules of the index and of queries are read; None if not recorded.

        Can be set for an index that does not record it; stored by :meth:`save`.
        """
        return self._open.reading

    @reading.setter
    def reading(self, reading: MoleculeOptions | None) -> None:
        self._open.reading = _checked_reading(reading)

    @property
    def edition(self) -> str | None:
        """A text that is new each time the index is written; None if it is in memory only.

        It is the edition that this object was read from, or that it has written: the store may hold a later one.
        """
        return self._open.edition

    @property
    def ids(self) -> list[Hashable]:
        """The ids of all graphs, in the order in which they were added."""
        return list(self._open.graphs.ids())

    @property
    def graphs(self) -> GraphCollection:
        """All graphs with their ids and metadata, in the order of their ids."""
        columns = self._open.graphs.collection(np.flatnonzero(self._open.graphs.alive)).columns
        ids, metadata = zip(*self._open.graphs.notes(), strict=True) if len(self) else ((), ())
        return GraphCollection._of(replace(columns, ids=ids, metadata=metadata), reading=self._open.reading)

    @property
    def metadata(self) -> list[Mapping[str, Any]]:
        """The metadata of all graphs, in the order of their ids."""
        return [facts for _, facts in self._open.graphs.notes()]

    @property
    def metadata_keys(self) -> list[str]:
        """The keys of the metadata that graphs have, in the order in which they first occur."""
        return list(dict.fromkeys(key for facts in self.metadata for key in facts))

    def vectors(self, query: Any = None) -> NDArray[np.float32]:
        """(graphs, width): the vectors by which the model finds near graphs, of all graphs or of a query."""
        learned = self._needed_model("question")
        if query is not None:
            return learned.vectors(self._queries.resolve_all(query))
        found = np.concatenate([one.segment.arrays["vectors"] for one in self._open.graphs.segments])
        return np.asarray(found[self._open.graphs.alive])

    def build_map(self, method: MapMethod = "tsne") -> CollectionMap:
        """Lay out all graphs in the plane and keep their points, which :meth:`save` stores.

        Points of graphs that are added later are interpolated from their nearest neighbors, until the next call.

        Args:
            method: ``"tsne"``, which keeps neighbors together: a few milliseconds of CPU time per graph; needs
                scikit-learn. ``"pca"`` drops such a map: principal components are computed on demand.
        """
        if method not in get_args(MapMethod):
            raise InvalidArgument(f"no map by {method!r}; there are: {', '.join(get_args(MapMethod))}")
        self._open.keep_points(lay_out_by_neighbours(self) if method == "tsne" else None)
        return self.map()

    def map(self) -> CollectionMap:
        """The graphs as points in the plane: as :meth:`build_map` laid them out, or else by principal components."""
        return make_map(self, self._open.points)

    def graph(self, id: Hashable) -> Graph:
        """The graph with this id."""
        position = self._open.graphs.find(id)
        if position is None:
            raise self._queries.unknown(id)
        return self._open.graphs.loader(position)()

    def add(self, graphs: Any, ids: Iterable[Hashable] | None = None, *, executor: Any = None) -> None:
        """Add graphs; they are found at once, and on disk after :meth:`save`.

        An index in a database writes them at once, all or none, after whatever other writers have written.

        Args:
            graphs: As in :meth:`build`, like all that follow.
            ids: Names of the graphs instead of their own.
            executor: Whose workers encode the graphs.
        """
        self._open.add(graphs, ids, _workers_of(executor))

    def add_model(self, model: Any, *, out: str | os.PathLike[str] | None = None, executor: Any = None) -> None:
        """Let a model encode all graphs of an index that has none, for searches by its learned distance.

        Args:
            model: A fitted :class:`graphmetric.GraphDistance`, or a trained distance that was loaded.
            out: A folder to write the index to, with all its changes: memory then holds what the model makes of some
                thousand graphs at a time. It may be where the index came from. Without it the index is in memory, and
                on disk after :meth:`save`.
            executor: Whose workers encode the graphs, as in :meth:`build`.
        """
        learned, workers = _search_by(model), _workers_of(executor)
        if self.model is not None and self.model.digest != learned.model.digest:
            raise InvalidArgument("the index has another model already: build a new index for this one")
        if self.model is not None:
            return
        self._open.encode(learned, None if out is None else open_store(out), workers)

    def remove(self, ids: Iterable[Hashable] | Hashable) -> None:
        """Remove graphs by id; on disk after :meth:`save`, in a database at once."""
        names: list[Hashable] = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
        self._open.remove(names)

    def save(self, folder: str | os.PathLike[str] | IndexStore) -> None:
        """Write the index to a folder, or to the address of a database; readers of an earlier one there see that one
        until this is whole.

        An index that came from a database is there already. Saving to where it came from writes only what is new.
        Raises FileError if that index was changed meanwhile.
        """
        self._open.save(folder)

    @overload
    def search(
        self, query: list[Any] | GraphCollection, k: int = 10, **options: Unpack[SearchKeywords]
    ) -> list[SearchResult]: ...
    @overload
    def search(self, query: Any, k: int = 10, **options: Unpack[SearchKeywords]) -> SearchResult: ...
    def search(self, query: Any, k: int = 10, **options: Unpack[SearchKeywords]) -> SearchResult | list[SearchResult]:
        """Find the ``k`` nearest graphs, nearest first, ties in the order of addition.

        If several graphs share the last distance, a certified search may list any of them, unless they are
        isomorphic: to prove that no graph is nearer takes far less work than to find all that are as near.

        Args:
            query: A graph in any form :func:`graphmetric.as_graph` accepts, an id of the index, or a SMILES; or a list
                of these, for a list of results.
            k: The number of graphs to find; the result is shorter if the index has no more.
            options: The fields of :class:`~graphmetric.search.options.SearchOptions`: ``view``, ``certified``,
                ``exhaustive``, ``num_candidates``, ``where``, ``distinct``, ``time_limit``, ``costs``, ``limits``,
                ``n_jobs`` and ``callback``.

        Raises:
            SearchInterrupted: Ctrl-C was pressed during a certified search. Its ``known`` is the result so far; for
                a list of queries, the results of those whose search had begun.
        """
        k, chosen = checked_count(k, "k"), SearchOptions(**options)
        learned = self._chosen_model("search", chosen)
        if learned is None and chosen.num_candidates is not None:
            raise InvalidArgument("a certified search evaluates as many graphs as needed: omit num_candidates")
        most = None if learned is None else chosen.limit_candidates(k, len(self))

        def ask(graphs: GraphCollection) -> list[SearchResult]:
            if learned is not None:
                return learned.nearest(self._open.graphs, chosen.where, chosen.distinct, graphs, chosen.view, k, most)
            return self._certified_search(graphs, chosen).nearest(k)

        return self._answer(query, ask)

    @overload
    def range_search(
        self, query: list[Any] | GraphCollection, radius: float, **options: Unpack[RangeKeywords]
    ) -> list[SearchResult]: ...
    @overload
    def range_search(self, query: Any, radius: float, **options: Unpack[RangeKeywords]) -> SearchResult: ...
    def range_search(
        self, query: Any, radius: float, **options: Unpack[RangeKeywords]
    ) -> SearchResult | list[SearchResult]:
        """Find all graphs at most at this distance from a query, nearest first; none is missed.

        If a certified search runs out of time, its report has the number of undecided graphs and a lower bound of their
        distances. The hits may then include graphs whose distance is only bounded.

        Args:
            query: A graph, an id or a SMILES, or a list of these, as in :meth:`search`.
            radius: The largest distance, in the view.
            options: The fields of :class:`~graphmetric.search.options.RangeOptions`: those of :meth:`search` but
                ``exhaustive`` and ``num_candidates``.
        """
        radius = checked_number(radius, "radius", "a number that is not negative")
        chosen = RangeOptions(**options)
        learned = self._chosen_model("range search", chosen)

        def ask(graphs: GraphCollection) -> list[SearchResult]:
            if learned is not None:
                selection = self._open.graphs.select(chosen.where, chosen.distinct, learned.classes)
                return learned.within(self._open.graphs, selection, graphs, chosen.view, radius)
            return self._certified_search(graphs, chosen).within(radius)

        return self._answer(query, ask)

    def _certified_search(self, queries: GraphCollection, options: RangeOptions) -> CertifiedSearch:
        selection = self._open.graphs.select(options.where, options.distinct)
        return CertifiedSearch(self._open.graphs, selection, queries, options.with_costs(self.costs))

    def _answer(
        self, query: Any, ask: Callable[[GraphCollection], list[SearchResult]]
    ) -> SearchResult | list[SearchResult]:
        """The results of all queries, or that of a single one on its own, also when Ctrl-C ends the search."""
        graphs, several = self._queries.resolve_all(query), is_several(query)
        try:
            results = ask(graphs) if len(graphs) else []
        except SearchInterrupted as stopped:
            if not stopped.known:
                raise KeyboardInterrupt from None
            if several:
                raise
            raise SearchInterrupted(stopped.known[0]) from None
        return results if several else results[0]

    def warm_up(self) -> None:
        """Compile the searches and read their columns now, instead of in the first search."""
        if len(self) == 0:
            return
        sizes = np.where(self._open.graphs.alive, self._open.graphs.per_graph("sizes"), 0)
        for position in {int(np.argmax(sizes > LARGEST_EASY)), int(np.argmax(sizes > 0))}:
            query = self._open.graphs.loader(position)()
            self.range_search(query, 0.0, certified=True)
            self.search(query, 1, certified=True, time_limit=_WARM_SECONDS)
            if self._open.learned is not None:
                self.search(query, 1)

    def explain(self, query: Any, hit: SearchHit | Hashable, *, time_limit: TimeLimit = "auto") -> Explanation:
        """Explain how the query becomes the graph of a hit: the edits, what is proven of their number, a drawing.

        Edits of a certified search are used if they belong to this query and are proven to be the fewest. All others
        are searched for, and the answer then has a lower bound of their number.

        Args:
            query: A graph, an id or a SMILES, as in :meth:`search`.
            hit: A hit of any search, or the id of a graph of the index.
            time_limit: Seconds of the search. "auto" is half a second, None is no limit.
        """
        graph = self.resolve(query)
        found = hit if isinstance(hit, SearchHit) else SearchHit(hit, float("nan"), partial(self.graph, hit))
        return Explanation(find_edits(graph, found, self.costs, time_limit))

    def verify(self) -> None:
        """Read every file of the index on disk and compare digests; raises FileError at the first that is wrong."""
        if self._open.home is None:
            raise InvalidArgument("the index is in memory only; there are no files to verify")
        self.load(self._open.home[0], verify=True)

    def resolve(self, query: Any) -> Graph:
        """The graph that a query means: a graph in any form, the id of a graph of the index, or a SMILES.

        A SMILES and an RDKit molecule are read as the molecules of the index were.
        """
        return self._queries.resolve(query)

    def as_query(self, graph: Graph) -> Graph:
        """The graph without edge labels if no graph of the index has any: each would be an edit.

        The bonds of a SMILES always have labels, so searches do this for a SMILES by themselves.
        """
        return self._queries.drop_unknown_labels(graph)

    def query_reading(self) -> MoleculeOptions:
        """The options by which to read the molecules of queries.

        If the index does not record any it warns once, and raises where labels show that more was distinguished than
        queries would.
        """
        return self._queries.reading()

    def _chosen_model(self, question: str, options: RangeOptions) -> LearnedSearches | None:
        """Return the learned search; None for a certified search."""
        if options.certified or (options.certified is None and self._open.learned is None):
            return None
        if options.limits is not None:
            raise InvalidArgument("limits is for certified searches, not for the learned distance: say certified=True")
        return self._needed_model(question)

    def _needed_model(self, question: str) -> LearnedSearches:
        """Return the learned search; raises if the index has no model."""
        if self._open.learned is None:
            raise InvalidArgument(
                f"this {question} needs a learned distance, and the index has no model: ask for a certified search, or "
                "add a model to the index (add_model)"
            )
        return self._open.learned


def _checked_reading(reading: MoleculeOptions | None) -> MoleculeOptions | None:
    if reading is not None and not isinstance(reading, MoleculeOptions):
        raise InvalidArgument(f"reading must be graphmetric.formats.MoleculeOptions; got {reading!r}")
    return reading


def _workers_of(executor: Any) -> Executor | None:
    return None if executor is None else as_executor(executor)


def _choose_model(
    store: IndexStore, model: Any, runs_on: tuple[int | None, str], manifest: Manifest
) -> LearnedSearches | None:
    """The learned search of an index, on ``n_jobs`` threads and a device.

    ``model`` is the model of the index if it is in memory already.
    """
    if manifest.model is None and model is not None:
        raise InvalidArgument(f"{store.place} has no model: leave out model=, and add one by add_model")
    if manifest.model is None:
        return None
    if model is None:
        with store.model(manifest.model) as folder:
            learned = _search_by(_load_model(folder, *runs_on))
        if learned.model.digest != manifest.model:
            raise FileError(
                "holds another model than it was built with, or was built by another version of graphmetric: build the "
                "index again",
                store.place,
            )
        return learned
    learned = _search_by(model)
    if learned.model.digest != manifest.model:
        raise InvalidArgument(
            f"{store.place} was built with another model (its digest is {manifest.model[:12]}, not "
            f"{learned.model.digest[:12]}): leave out model= to use its own, or build the index again"
        )
    return learned


def _load_model(folder: Path, n_jobs: int | None, device: str) -> LearnedDistance:
    """The model of an index; torch is imported only here and in :func:`_search_by`."""
    from graphmetric.learned.learned_distance import LearnedDistance

    return LearnedDistance.load(folder, n_jobs, device)


def _search_by(model: Any) -> LearnedSearches:
    """Return the learned search by a model."""
    from graphmetric.learned.learned_distance import LearnedDistance
    from graphmetric.search.learned_search import LearnedSearches

    return LearnedSearches(LearnedDistance.of(model))
