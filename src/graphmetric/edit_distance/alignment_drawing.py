"""Two graphs side by side: matched nodes in the same place and colour, edits marked."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphmetric.drawing.layout import Positions, layout
from graphmetric.drawing.svg import INK, MARGIN, PLAIN, Canvas, NodeStyle, Scale, add_graph, choose_scale, shorten
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from graphmetric.edit_distance.result import EditDistance, NodeMap

DELETED, INSERTED, CHANGED = "#c8352b", "#2b8a3e", "#e08a00"
_LINES = 24
"""Edits listed below the picture before it says how many more there are."""


def draw_alignment(result: EditDistance) -> str:
    """The node map and the edits of a result as SVG."""
    aligned = _align(result)
    width = float(aligned.positions[:, 0].max(initial=0.0)) * aligned.scale.unit + 2 * MARGIN
    gap = max(width, 260.0, 8.0 * len(_title("first", result.first))) + 40.0
    canvas = Canvas()
    canvas.text((MARGIN, 20), _title("first", result.first), size=13)
    canvas.text((gap + MARGIN, 20), _title("second", result.second), size=13)
    aligned.add_first(canvas, top=16.0)
    aligned.add_second(canvas, left=gap, top=16.0)
    _add_legend(canvas, result)
    return canvas.to_svg()


def draw_aligned_pair(result: EditDistance, colors: Mapping[str, str]) -> tuple[str, str]:
    """Both graphs as SVG of their own, matched nodes in the same place, nodes in the colours of their labels."""
    aligned, first, second = _align(result), Canvas(), Canvas()
    aligned.add_first(first, colors=colors)
    aligned.add_second(second, colors=colors)
    for canvas in (first, second):
        canvas.width, canvas.height = max(first.width, second.width), max(first.height, second.height)
    return first.to_svg(), second.to_svg()


@dataclass(frozen=True, slots=True)
class _Aligned:
    """Two graphs laid over each other."""

    first: Graph
    second: Graph
    node_map: NodeMap
    places: list[int]
    """For each node of the second graph its place in the joint layout, whose first places are the first graph's."""
    positions: Positions
    scale: Scale

    def add_first(
        self, canvas: Canvas, *, left: float = 0.0, top: float = 0.0, colors: Mapping[str, str] | None = None
    ) -> None:
        points = self.scale.place(self.positions, left, top)[: self.first.num_nodes]
        partner = dict(enumerate(self.node_map))
        styles = _styles(self.first, self.second, partner, DELETED, list(range(self.first.num_nodes)), colors)
        add_graph(canvas, self.first, points, *styles, scale=self.scale)

    def add_second(
        self, canvas: Canvas, *, left: float = 0.0, top: float = 0.0, colors: Mapping[str, str] | None = None
    ) -> None:
        points = self.scale.place(self.positions, left, top)[self.places]
        back: dict[int, int | None] = dict.fromkeys(range(self.second.num_nodes))
        back |= {v: u for u, v in enumerate(self.node_map) if v is not None}
        styles = _styles(self.second, self.first, back, INSERTED, self.places, colors)
        add_graph(canvas, self.second, points, *styles, scale=self.scale)


def _align(result: EditDistance) -> _Aligned:
    node_map = result.node_map
    if node_map is None:
        raise InvalidArgument(f"method {result.method} gives no node map to draw")
    joint, places = _joint_graph(result.first, result.second, node_map)
    positions = layout(joint)
    return _Aligned(result.first, result.second, node_map, places, positions, choose_scale(positions))


def _joint_graph(first: Graph, second: Graph, node_map: NodeMap) -> tuple[Graph, list[int]]:
    """Both graphs laid over each other: nodes of the first, then inserted ones; and where the second's nodes are."""
    place_of = {v: u for u, v in enumerate(node_map) if v is not None}
    inserted = [v for v in range(second.num_nodes) if v not in place_of]
    place_of |= {v: first.num_nodes + k for k, v in enumerate(inserted)}
    edges = {tuple(sorted(edge)) for edge in first.edges.tolist()}
    edges |= {tuple(sorted((place_of[u], place_of[v]))) for u, v in second.edges.tolist()}
    joint = Graph(first.num_nodes + len(inserted), sorted(edges))
    return joint, [place_of[v] for v in range(second.num_nodes)]


def _styles(
    graph: Graph,
    other: Graph,
    partner: dict[int, int | None],
    unmatched: str,
    numbers: list[int],
    colors: Mapping[str, str] | None,
) -> tuple[list[NodeStyle], list[str], list[bool]]:
    """Styles of the nodes, and colour and dashing of the edges, of one side; ``numbers`` are those the edits use.

    Matched nodes share a colour, unless ``colors`` are given by label.
    """
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
        fill = _hue(numbers[v]) if colors is None else colors.get(label, PLAIN)
        nodes.append(NodeStyle(fill, text, ring=ring, note=str(numbers[v]), hint=label))
    tags, other_tags = _edge_tags(graph), _edge_tags(other)
    strokes, dashed = list[str](), list[bool]()
    for (u, v), tag in tags.items():
        ends = (partner[u], partner[v])
        found = None if None in ends else _lookup(other_tags, ends, graph.directed)
        strokes.append(unmatched if found is None else INK if found == (tag,) else CHANGED)
        dashed.append(found is None)
    return nodes, strokes, dashed


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
