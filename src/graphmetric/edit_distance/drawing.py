"""Two graphs side by side: matched nodes in the same place and colour, edits marked."""

from __future__ import annotations

import colorsys
from typing import TYPE_CHECKING

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.drawing.layout import layout
from graphmetric.graphs.drawing.svg import INK, MARGIN, Canvas, NodeStyle, add_graph, choose_scale, shorten
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from graphmetric.edit_distance.edit_path import NodeMap
    from graphmetric.edit_distance.result import EditDistance

DELETED, INSERTED, CHANGED = "#c8352b", "#2b8a3e", "#e08a00"
_LINES = 24
"""Edits listed below the picture before it says how many more there are."""


def draw_alignment(result: EditDistance) -> str:
    """The node map and the edits of a result as SVG."""
    node_map = result.node_map
    if node_map is None:
        raise InvalidArgument(f"method {result.method} gives no node map to draw")
    joint, second_nodes = _joint_graph(result.first, result.second, node_map)
    positions = layout(joint)
    scale = choose_scale(positions)
    width = float(positions[:, 0].max(initial=0.0)) * scale.unit + 2 * MARGIN
    gap = max(width, 260.0, 8.0 * len(_title("first", result.first))) + 40.0
    canvas = Canvas()
    canvas.text((MARGIN, 20), _title("first", result.first), size=13)
    canvas.text((gap + MARGIN, 20), _title("second", result.second), size=13)
    left = scale.place(positions, top=16.0)[: result.first.num_nodes]
    right = scale.place(positions, left=gap, top=16.0)[second_nodes]
    add_graph(canvas, result.first, left, *_first_styles(result.first, result.second, node_map), scale=scale)
    second_styles = _second_styles(result.first, result.second, node_map, second_nodes)
    add_graph(canvas, result.second, right, *second_styles, scale=scale)
    _add_legend(canvas, result)
    return canvas.to_svg()


def _joint_graph(first: Graph, second: Graph, node_map: NodeMap) -> tuple[Graph, list[int]]:
    """Both graphs laid over each other: nodes of the first, then inserted ones; and where the second's nodes are."""
    place_of = {v: u for u, v in enumerate(node_map) if v is not None}
    inserted = [v for v in range(second.num_nodes) if v not in place_of]
    place_of |= {v: first.num_nodes + k for k, v in enumerate(inserted)}
    edges = {tuple(sorted(edge)) for edge in first.edges.tolist()}
    edges |= {tuple(sorted((place_of[u], place_of[v]))) for u, v in second.edges.tolist()}
    joint = Graph(first.num_nodes + len(inserted), sorted(edges))
    return joint, [place_of[v] for v in range(second.num_nodes)]


def _first_styles(first: Graph, second: Graph, node_map: NodeMap) -> tuple[list[NodeStyle], list[str], list[bool]]:
    return _styles(first, second, dict(enumerate(node_map)), DELETED, list(range(first.num_nodes)))


def _second_styles(
    first: Graph, second: Graph, node_map: NodeMap, numbers: list[int]
) -> tuple[list[NodeStyle], list[str], list[bool]]:
    back: dict[int, int | None] = dict.fromkeys(range(second.num_nodes))
    back |= {v: u for u, v in enumerate(node_map) if v is not None}
    return _styles(second, first, back, INSERTED, numbers)


def _styles(
    graph: Graph, other: Graph, partner: dict[int, int | None], unmatched: str, numbers: list[int]
) -> tuple[list[NodeStyle], list[str], list[bool]]:
    """Styles of the nodes, and colour and dashing of the edges, of one side; ``numbers`` are those the edits use."""
    labels, other_labels = graph.node_labels, other.node_labels
    nodes = []
    for v in range(graph.num_nodes):
        label = "" if labels is None else str(labels[v])
        text = shorten(label)
        match = partner[v]
        if match is None:
            nodes.append(NodeStyle("#ffffff", text, ring=unmatched, dashed=True, note=str(numbers[v]), hint=label))
            continue
        relabeled = labels is not None and other_labels is not None and labels[v] != other_labels[match]
        ring = CHANGED if relabeled else INK
        nodes.append(NodeStyle(_hue(numbers[v]), text, ring=ring, note=str(numbers[v]), hint=label))
    tags, other_tags = _edge_tags(graph), _edge_tags(other)
    colors, dashed = [], []
    for (u, v), tag in tags.items():
        ends = (partner[u], partner[v])
        found = None if None in ends else _lookup(other_tags, ends, graph.directed)
        colors.append(unmatched if found is None else INK if found == (tag,) else CHANGED)
        dashed.append(found is None)
    return nodes, colors, dashed


def _edge_tags(graph: Graph) -> dict[tuple[int, int], object]:
    labels = graph.edge_labels or (None,) * graph.num_edges
    weights = graph.edge_weights.tolist() if graph.edge_weights is not None else [1.0] * graph.num_edges
    tags = zip(labels, weights, strict=True)
    return {(u, v): tag for (u, v), tag in zip(graph.edges.tolist(), tags, strict=True)}


def _lookup(tags: dict[tuple[int, int], object], ends: tuple[int | None, ...], directed: bool) -> tuple[object] | None:
    """The tag of the other graph's edge in a 1-tuple, or None when it has no such edge."""
    for key in (ends,) if directed else (ends, ends[::-1]):
        if key in tags:
            return (tags[key],)
    return None


def _add_legend(canvas: Canvas, result: EditDistance) -> None:
    top = canvas.height + 26
    words = f"edit distance {result.upper:g}" if result.exact else f"between {result.lower:g} and {result.upper:g}"
    canvas.text((MARGIN, top), f"{words} ({result.method})", size=14)
    at = MARGIN
    for color, meaning in ((DELETED, "deleted"), (INSERTED, "inserted"), (CHANGED, "relabeled")):
        canvas.line((at, top + 18), (at + 22, top + 18), color, dashed=color != CHANGED)
        canvas.text((at + 28, top + 22), meaning, size=12)
        at += 110
    canvas.text((at, top + 22), "same colour: matched", size=12)
    edits = [str(edit) for edit in result.edit_path.edits] if result.edit_path else []
    for k, words in enumerate(edits[:_LINES]):
        canvas.text((MARGIN, top + 46 + 17 * k), f"{k + 1}. {words}", size=12)
    if len(edits) > _LINES:
        canvas.text((MARGIN, top + 46 + 17 * _LINES), f"... and {len(edits) - _LINES} more", size=12)


def _hue(k: int) -> str:
    """Colours for matched pairs: golden-ratio steps around the wheel, so that neighbours in number differ clearly."""
    red, green, blue = colorsys.hls_to_rgb((0.55 + 0.618034 * k) % 1.0, 0.8, 0.65)
    return f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"


def _title(role: str, graph: Graph) -> str:
    return role if graph.id is None else f"{role}: {graph.id}"
