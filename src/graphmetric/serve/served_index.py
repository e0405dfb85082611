"""One edition of an index as it is served: it answers requests, in the calling thread, with JSON values."""

from __future__ import annotations

import io
import logging
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from graphmetric import __version__
from graphmetric.drawing.alignment import draw_aligned_pair, lay_over
from graphmetric.drawing.svg import draw_graph, label_colors
from graphmetric.edit_distance import EditDistance, ExactSearch, graph_edit_distance
from graphmetric.edit_distance.edit_path import edit_path_of
from graphmetric.edit_distance.limited import COUNTED_KINDS
from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph
from graphmetric.formats import ReadLimits, available_formats, iter_graphs
from graphmetric.formats.conversion import from_smiles
from graphmetric.formats.files import molecule_options
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.formats.values import integer_from_text
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_to_json
from graphmetric.remote.serialization import (
    number,
    write_alignment,
    write_graph,
    write_labels,
    write_layout,
    write_progress,
    write_result,
)
from graphmetric.search import GraphIndex, SearchHit
from graphmetric.search.collection_map import CollectionMap
from graphmetric.search.hits import EXPLAIN_SECONDS, SearchProgress, SearchResult, find_edits
from graphmetric.serve.lanes import Stop
from graphmetric.serve.problems import Problem, to_bytes
from graphmetric.serve.schema import (
    LONGEST_LABEL,
    LONGEST_SMILES,
    MOST_FILES_GRAPHS,
    MOST_HITS,
    DistanceRequest,
    ExplainRequest,
    FileData,
    GraphData,
    GraphQuery,
    SearchRequest,
)
from graphmetric.serve.settings import ServiceSettings

logger = logging.getLogger("graphmetric.serve")

_DEFAULT_K = 10
_EXPLAINED_HITS = 50
"""Hits whose edits are listed with a search."""
_MOST_VALUES, _MOST_KEYS, _SHOWN_IDS = 50, 30, 20
_EDGES_DRAWN = 4
"""Edges for each node that may be drawn; the layout takes longer for each."""
_DRAWINGS = 512
_READABLE = {
    suffix: known.name
    for known in available_formats()
    if known.name in ("json", "jsonl", "gexf", "graphml", "gxl", "gml", "dot", "smiles", "sdf", "tve")
    for suffix in known.suffixes
}
"""Formats of text that never name another file."""


class ServedIndex:
    """An index that never changes, with what is made of it once: its map, its facets, drawings."""

    def __init__(self, index: GraphIndex, name: str, settings: ServiceSettings) -> None:
        self.index, self.name, self.settings = index, name, settings
        self.stamp = {"edition": index.edition, "model": None if index.model is None else index.model.digest}
        """The fields that every response has."""
        self.draw_stored = lru_cache(_DRAWINGS)(partial(_draw_stored, index, settings))
        """A graph of the index as SVG, by its id. It holds no reference to ``self``: a replaced edition is freed at
        once, with its files, and not by a later garbage collection."""

    @cached_property
    def _reading(self) -> MoleculeOptions:
        """The options by which molecules of queries are read; logged once if the index does not record them."""
        reading: MoleculeOptions
        reading, notes = _with_notes(self.index.query_reading)
        for note in notes:
            logger.warning("%s", note)
        return reading

    def info(self) -> dict[str, Any]:
        """Describe the served index and the limits on requests."""
        settings = self.settings
        return {
            "name": self.name,
            "version": __version__,
            "graphs": len(self.index),
            "learned": self.index.model is not None,
            "smiles": find_spec("rdkit") is not None,
            "costs": self.index.costs.to_dict(),
            "reading": None if self.index.reading is None else self.index.reading.to_dict(),
            **self._content,
            "kinds_of_limits": list(COUNTED_KINDS),
            "formats": list(_READABLE),
            "limits": {
                "nodes": settings.max_nodes,
                "edges": settings.max_edges,
                "hits": MOST_HITS,
                "label": LONGEST_LABEL,
                "smiles": LONGEST_SMILES,
                "time_limit": settings.time_limit,
                "body": settings.max_body,
                "drawn_nodes": settings.max_drawn,
            },
            **self.stamp,
        }

    @cached_property
    def _content(self) -> dict[str, Any]:
        """Labels, ids and metadata that occur, for menus and examples."""
        return {
            **write_labels(self.index.graphs),
            "first_ids": [label_to_json(id) for id in islice(self.index.ids, _SHOWN_IDS)],
            "metadata": {
                key: [value for value, _ in counted.most_common(_MOST_VALUES)] for key, counted in self._facets.items()
            },
        }

    @cached_property
    def _facets(self) -> dict[str, Counter[Any]]:
        """Short values of the metadata, counted by key."""
        found: dict[str, Counter[Any]] = {}
        for facts in self.index.metadata:
            for key, value in facts.items():
                if key in found or len(found) < _MOST_KEYS:
                    counted = found.setdefault(key, Counter())
                    if _is_short(value):
                        counted[value] += 1
        return found

    def find_id(self, text: Hashable) -> Hashable:
        """Return the id of a graph as the index has it; a URL does not distinguish integers and strings."""
        return _find_id(self.index, text)

    def resolve(self, query: GraphQuery) -> Graph:
        """The graph that a request means."""
        if query.id is not None:
            return self.index.graph(self.find_id(query.id))
        if query.graph is not None:
            graph = self._build(query.graph)
        elif query.smiles is not None:
            if len(query.smiles.split()) != 1:
                raise InvalidGraph(f"SMILES {query.smiles[:80]!r} has blanks; give the SMILES alone")
            graph = _with_notes(from_smiles, query.smiles, **asdict(self._reading))[0]
        else:
            assert query.file is not None
            graphs, _ = self.read(query.file)
            if query.file.position >= len(graphs):
                raise InvalidGraph(
                    f"the file holds {len(graphs)} graphs; position {query.file.position} is none of them"
                )
            graph = graphs[query.file.position]
        return self.index.as_query(self._checked(graph))

    def _build(self, data: GraphData) -> Graph:
        self._check_size(data.num_nodes, len(data.edges))
        given = data.model_dump()
        return Graph(given.pop("num_nodes"), given.pop("edges"), **given)

    def _check_size(self, nodes: int, edges: int) -> None:
        for what, given, most in (("nodes", nodes, self.settings.max_nodes), ("edges", edges, self.settings.max_edges)):
            if given > most:
                raise Problem(
                    422,
                    f"the graph has {given:,} {what}; {most:,} are allowed",
                    advice=f"Send a smaller graph, or start the service with --max-{what}.",
                    limit=what,
                )

    def _checked(self, graph: Graph) -> Graph:
        self._check_size(graph.num_nodes, graph.num_edges)
        for label in {*(graph.node_labels or ()), *(graph.edge_labels or ())}:
            if isinstance(label, str) and len(label) > LONGEST_LABEL:
                raise Problem(
                    422,
                    f"label {label[:40]!r}... has {len(label):,} characters; {LONGEST_LABEL} are allowed",
                    limit="label",
                )
        return graph

    def read(self, file: FileData) -> tuple[list[Graph], list[str]]:
        """Return the graphs of a file's content and the conversion losses. No path is opened, whatever the name."""
        suffix = f".{file.name.rpartition('.')[2].lower()}"
        known = _READABLE.get(suffix)
        if known is None:
            there = ", ".join(_READABLE)
            raise Problem(422, f"the name ends in {suffix[-20:]!r}, which names no format of text; there are {there}")
        content = io.BytesIO(file.text.encode("utf-8"))
        limits = ReadLimits(
            max_bytes=self.settings.max_body,
            max_document_bytes=self.settings.max_body,
            max_line_bytes=self.settings.max_body,
            max_graphs=MOST_FILES_GRAPHS,
            max_nodes=self.settings.max_nodes,
            max_edges=self.settings.max_edges,
        )
        reading = None if molecule_options(content, known) is None else self._reading
        graphs, notes = _with_notes(lambda: list(iter_graphs(content, known, limits=limits, reading=reading)))
        if not graphs:
            raise InvalidGraph("the file holds no graphs")
        return [self._checked(graph) for graph in graphs], notes

    def write_read(self, file: FileData) -> dict[str, Any]:
        """The graphs of a file's content as JSON values."""
        graphs, notes = self.read(file)
        return {"graphs": [write_graph(graph) for graph in graphs], "notes": notes}

    def is_certified(self, asked: SearchRequest) -> bool:
        """Return whether a search is certified: by edit distance, with proofs."""
        return self.index.model is None if asked.certified is None else asked.certified

    def search(
        self, asked: SearchRequest, stop: Stop, report: Callable[[dict[str, Any]], None] | None = None
    ) -> dict[str, Any]:
        """Run a search; ``report`` receives the progress of a certified one."""
        query, certified = self.resolve(asked), self.is_certified(asked)
        k = asked.k or (_DEFAULT_K if asked.within is None else MOST_HITS)
        options: dict[str, Any] = {name: getattr(asked, name) for name in ("view", "distinct")}
        options |= {"certified": certified, "where": asked.where or None, "limits": asked.limits or None}
        if certified:

            def watch(progress: SearchProgress) -> bool:
                if report is not None and not stop.requested():
                    report(write_progress(progress, k))
                return stop.requested()

            options |= {"time_limit": stop.seconds, "n_jobs": 1, "callback": watch}
        result: SearchResult
        if asked.within is None:
            result = self.index.search(query, k, **options)
        else:
            result = self.index.range_search(query, float(asked.within), **options)
        explain = (lambda hit: self._explain_hit(query, hit, stop)) if asked.explain else None
        return {
            "certified": certified,
            "stopped": certified and stop.requested() and not result.report.complete,
            "query": write_graph(query),
            "notes": [] if certified else self._describe_unfamiliar(query),
            **write_result(result, k=k, graphs=asked.graphs, explain=explain, explained=_EXPLAINED_HITS),
            **self.stamp,
        }

    def _describe_unfamiliar(self, query: Graph) -> list[str]:
        model = self.index.model
        return [] if model is None else model.describe_unfamiliar(GraphCollection([query]))

    def _explain_hit(self, query: Graph, hit: SearchHit, stop: Stop) -> dict[str, Any] | None:
        found = hit.edits
        if not stop.requested():
            found = find_edits(query, hit, self.index.costs, min(EXPLAIN_SECONDS, stop.seconds), stop.requested)
        return None if found is None else write_alignment(found, listed=True)

    def distance(self, asked: DistanceRequest, stop: Stop) -> dict[str, Any]:
        """The answer to a request for a distance."""
        first, second = self.resolve(asked.first), self.resolve(asked.second)
        learned = None
        if asked.learned:
            if self.index.model is None:
                raise InvalidArgument("the index has no model, so there is no learned distance: leave out learned")
            learned = number(self.index.model.distance(first, second))
        return {**self._write_pair(self._measure(first, second, asked.limits, stop)), "learned": learned}

    def _write_pair(self, found: EditDistance) -> dict[str, Any]:
        graphs = {"first": write_graph(found.first), "second": write_graph(found.second)}
        return {"distance": write_alignment(found, listed=True), **graphs, **self.stamp}

    def _measure(self, first: Graph, second: Graph, limits: Mapping[str, int] | None, stop: Stop) -> EditDistance:
        return graph_edit_distance(
            first,
            second,
            method=ExactSearch(time_limit=stop.seconds),
            costs=self.index.costs,
            limits=limits or None,
            should_end=stop.requested,
        )

    def explain(self, asked: ExplainRequest, stop: Stop) -> dict[str, Any]:
        """The answer to a request for an explanation."""
        first, second = self.resolve(asked.first), self.resolve(asked.second)
        if asked.node_map is not None:
            found = self._follow(first, second, asked.node_map)
        else:
            found = self._measure(first, second, asked.limits, stop)
        places, joint = lay_over(found)
        drawable = found.node_map is not None and self._is_drawable(joint)
        svg = None
        if asked.draw and drawable:
            labels = [*(first.node_labels or ()), *(second.node_labels or ())]
            svg = draw_aligned_pair(found, label_colors(labels))
        layout = write_layout(joint) if drawable else None
        return {**self._write_pair(found), "layout": layout, "places": places, "svg": svg}

    def _follow(self, first: Graph, second: Graph, node_map: list[int | None]) -> EditDistance:
        """Return the edits of a node map from the client."""
        used = [v for v in node_map if v is not None]
        if len(node_map) != first.num_nodes or len(set(used)) < len(used) or max(used, default=-1) >= second.num_nodes:
            raise InvalidArgument(
                f"node_map must have an entry for each of the {first.num_nodes} nodes of first: null, or a node of "
                f"second (0..{second.num_nodes - 1}), each at most once"
            )
        if first.directed != second.directed:
            raise InvalidArgument("one graph is directed and the other is not; there are no edits between them")
        total = float(edit_path_of(first, second, tuple(node_map), self.index.costs).counts.total)
        costs, given = self.index.costs, tuple(node_map)
        return EditDistance(first, second, costs, "node_map", 0.0, total, total, given, nodes_expanded=0, seconds=0.0)

    def embed(self, query: GraphQuery) -> dict[str, Any]:
        """The vector of a graph and its place on the map."""
        graph = self.resolve(query)
        vector, (x, y) = self.map.vectors_of(graph), self.map.place(graph)
        return {"vector": vector.tolist(), "x": x, "y": y, **self.stamp}

    @cached_property
    def map(self) -> CollectionMap:
        """The map of the collection."""
        return self.index.map()

    @cached_property
    def map_content(self) -> bytes:
        """The map as JSON, which is large, and the same for all clients."""
        return to_bytes(self._write_map())

    def _write_map(self) -> dict[str, Any]:
        """The map as columns."""
        found, graphs = self.map, self.index.graphs
        chosen = found.positions.tolist()
        ids, metadata = self.index.ids, self.index.metadata
        points = np.round(found.points, 4)
        return {
            "method": found.method,
            "kind": found.kind,
            "explained": found.explained,
            "placed": found.placed,
            "ids": [label_to_json(ids[k]) for k in chosen],
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "cluster": found.clusters.tolist(),
            "num_nodes": graphs.sizes[chosen].tolist(),
            "num_edges": graphs.edge_counts[chosen].tolist(),
            "metadata": {
                key: [value if _is_short(value := metadata[k].get(key)) else None for k in chosen]
                for key in self._facets
            },
            "graphs": len(self.index),
            **self.stamp,
        }

    def graph(self, text: str) -> dict[str, Any]:
        """A graph of the index, and where to draw its nodes."""
        graph = self.index.graph(self.find_id(text))
        layout = write_layout(graph) if self._is_drawable(graph) else None
        return {"graph": write_graph(graph), "layout": layout, **self.stamp}

    def draw(self, query: GraphQuery) -> str:
        """A graph as SVG."""
        return _draw(self.resolve(query), self.settings)

    def _is_drawable(self, graph: Graph) -> bool:
        return _is_drawable(graph, self.settings)


def _find_id(index: GraphIndex, text: Hashable) -> Hashable:
    if text in index:
        return text
    meant = integer_from_text(str(text)) if len(str(text)) < 20 else str(text)[:80]
    if meant in index:
        return meant
    first = next(iter(index.ids), None)
    there = "the index is empty" if first is None else f"its first id is {first!r}"
    advice = "Give the id of a graph that is there; GET /v1/map lists them."
    raise Problem(404, f"the index has no graph {meant!r}; {there}", advice=advice)


def _draw_stored(index: GraphIndex, settings: ServiceSettings, text: str) -> str:
    return _draw(index.graph(_find_id(index, text)), settings)


def _draw(graph: Graph, settings: ServiceSettings) -> str:
    if not _is_drawable(graph, settings):
        most = settings.max_drawn
        raise Problem(
            422,
            f"the graph has {graph.num_nodes:,} nodes and {graph.num_edges:,} edges; {most:,} nodes and "
            f"{most * _EDGES_DRAWN:,} edges are drawn at most",
            advice="Ask for the graph as JSON, or start the service with --max-drawn.",
            limit="drawn",
        )
    return draw_graph(graph)


def _is_drawable(graph: Graph, settings: ServiceSettings) -> bool:
    most = settings.max_drawn
    return graph.num_nodes <= most and graph.num_edges <= _EDGES_DRAWN * most


def _is_short(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) and len(str(value)) <= LONGEST_LABEL


_converting = threading.Lock()
"""Warnings are caught for the whole process, so one thread at a time does it."""


def _with_notes(make: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, list[str]]:
    """Return the result of a conversion and its warnings."""
    with _converting, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = make(*arguments, **options)
    return made, [str(one.message) for one in caught if isinstance(one.message, ConversionWarning)]
