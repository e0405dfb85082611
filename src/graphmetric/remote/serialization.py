"""Results as JSON values and back: what the service sends and what the client makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from graphmetric.drawing.layout import lay_out
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.formats.file_source import DEFAULT_LIMITS
from graphmetric.formats.json_graphs import graph_from_dict, graph_to_dict
from graphmetric.formats.values import plain
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.edits import Edit
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_to_json
from graphmetric.search.hits import SearchHit, SearchProgress, SearchReport, SearchResult

_SHOWN_LABELS = 64
_AS_THEY_ARE = ("method", "seconds", "tolerance", "note")
"""Fields of an edit distance that are JSON values already."""


def number(value: float | None) -> float | None:
    """A number as JSON has it: null for what is infinite or unknown."""
    return None if value is None or not math.isfinite(value) else float(value) + 0.0  # never -0.0


def write_graph(graph: Graph) -> dict[str, Any]:
    """A graph as the service sends and takes it."""
    return graph_to_dict(graph)


def write_labels(graphs: GraphCollection) -> dict[str, Any]:
    """Return the choices for drawing a query: labels, the most frequent first, and directions."""
    return {
        "directed": bool((graphs.flags & 1).any()),
        "node_labels": _frequent(graphs.columns.node_labels),
        "edge_labels": _frequent(graphs.columns.edge_labels),
    }


def _frequent(column: LabelColumn | None) -> list[Any]:
    if column is None:
        return []
    counts = np.bincount(column.codes, minlength=len(column.vocabulary))
    return [label_to_json(column.vocabulary[code]) for code in np.argsort(-counts, kind="stable")[:_SHOWN_LABELS]]


def write_layout(graph: Graph) -> list[list[float]]:
    """Return the positions of the nodes in drawings."""
    points: list[list[float]] = np.round(lay_out(graph), 3).tolist()
    return points


def read_graph(data: dict[str, Any]) -> Graph:
    """The graph that :func:`write_graph` wrote."""
    return graph_from_dict(data, DEFAULT_LIMITS)


def write_result(
    result: SearchResult,
    *,
    k: int | None = None,
    graphs: bool = False,
    explain: Callable[[SearchHit], Any] | None = None,
    explained: int = 0,
) -> dict[str, Any]:
    """Hits and report of a search; ``explain`` makes the edits of the first hits, ``explained`` of them."""
    report = asdict(result.report)
    return {
        "hits": [
            _write_hit(rank, hit, graphs, explain if rank <= explained else None)
            for rank, hit in enumerate(result.hits[:k], 1)
        ],
        "total": len(result.hits),
        "view": result.view,
        "report": report | {"undecided_lower": number(report["undecided_lower"]), "text": str(result.report)},
    }


def _write_hit(rank: int, hit: SearchHit, graphs: bool, explain: Callable[[SearchHit], Any] | None) -> dict[str, Any]:
    graph = hit.graph
    written: dict[str, Any] = {
        "rank": rank,
        "id": label_to_json(hit.id),
        **{name: number(getattr(hit, name)) for name in ("distance", "exact", "lower", "upper")},
        "proven": hit.proven,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "metadata": plain(graph.metadata),
    }
    if graphs:
        written["graph"] = write_graph(graph)
    if explain is not None:
        written["edits"] = explain(hit)
    elif hit.edits is not None:
        written["edits"] = write_alignment(hit.edits)
    return written


def write_progress(progress: SearchProgress, k: int | None = None) -> dict[str, Any]:
    """Return the progress of a certified search, with its hits so far."""
    told = {name: getattr(progress, name) for name in ("found", "excluded", "undecided", "seconds")}
    hits = write_result(progress.result(), k=k)["hits"]
    return told | {"undecided_lower": number(progress.undecided_lower), "hits": hits}


def write_alignment(found: EditDistance, *, listed: bool = False) -> dict[str, Any]:
    """Bounds and node map of an edit distance, on the raw scale; with ``listed`` also its edits."""
    written: dict[str, Any] = {
        **{name: number(getattr(found, name)) for name in ("lower", "upper", "value")},
        **{name: getattr(found, name) for name in ("exact", "impossible", *_AS_THEY_ARE)},
        "node_map": None if found.node_map is None else list(found.node_map),
        "expanded": found.nodes_expanded,
        "limits": None if found.limits is None else dict(found.limits),
        "replaced": None if found.replaced is None else sorted(map(list, found.replaced)),
    }
    path = found.edit_path if listed else None
    if path is not None:
        written["counts"] = {name: count for name, count in asdict(path.counts).items() if count}
        written["edits"] = [
            _write_edit(edit) | {"place": place} for edit, place in zip(path.edits, path.places, strict=True)
        ]
    return written


def _write_edit(edit: Edit) -> dict[str, Any]:
    """Its kind, the nodes it touches, labels before and after, and a sentence."""
    kind = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in type(edit).__name__)[1:]
    given = {one.name: getattr(edit, one.name) for one in fields(edit)}
    nodes = [given["node"]] if "node" in given else [given["u"], given["v"]]
    labels: dict[str, Any] = {name: label_to_json(given[name]) for name in ("old", "new", "label") if name in given}
    return {"kind": kind, "nodes": nodes, **labels, "text": str(edit)}


def read_alignment(data: Mapping[str, Any], first: Graph, second: Graph, costs: EditCosts) -> EditDistance:
    """The edit distance that :func:`write_alignment` wrote."""
    upper = math.inf if data["upper"] is None else data["upper"]
    lower = math.inf if data["impossible"] else data["lower"]
    return EditDistance(
        first=first,
        second=second,
        costs=costs,
        lower=lower,
        upper=upper,
        value=upper if data["value"] is None else data["value"],
        node_map=None if data["node_map"] is None else tuple(data["node_map"]),
        nodes_expanded=data["expanded"],
        limits=data["limits"],
        replaced=None if data["replaced"] is None else frozenset((u, v) for u, v in data["replaced"]),
        **{name: data[name] for name in _AS_THEY_ARE},
    )


def read_result(
    data: Mapping[str, Any], query: Graph, costs: EditCosts, fetch: Callable[[Hashable], Graph]
) -> SearchResult:
    """Read the search result that :func:`write_result` wrote; ``fetch`` loads a hit's graph on demand."""
    hits = tuple(_read_hit(hit, query, costs, fetch) for hit in data["hits"])
    report = SearchReport(**{one.name: data["report"][one.name] for one in fields(SearchReport)})
    return SearchResult(query, hits, data["view"], report)


def _read_hit(data: Mapping[str, Any], query: Graph, costs: EditCosts, fetch: Callable[[Hashable], Graph]) -> SearchHit:
    id, edits, graph = label_from_json(data["id"]), data.get("edits"), data.get("graph")

    def load() -> Graph:
        return fetch(id) if graph is None else read_graph(graph)

    def explain(found: Graph) -> EditDistance:
        assert edits is not None
        return read_alignment(edits, query, found, costs)

    certified = data["proven"] is not None
    distance = math.inf if data["distance"] is None else data["distance"]
    bounds = {name: data[name] for name in ("exact", "lower", "upper", "proven")}
    if certified and bounds["upper"] is None:
        bounds["upper"] = math.inf
    return SearchHit(id, distance, load, **bounds, explain=explain if certified and edits else None)
