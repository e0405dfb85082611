"""Two graphs side by side: matched nodes in the same place and color, edits marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from graphmetric._foundation.markup import shorten
from graphmetric.drawing.layout import Positions, lay_out
from graphmetric.drawing.svg import (
    INK,
    LONGEST_LABEL,
    MARGIN,
    PLAIN,
    Canvas,
    NodeStyle,
    Scale,
    add_graph,
    choose_scale,
    hls_color,
)
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.edits import edges_of
from graphmetric.graphs.graph import Graph

DELETED, INSERTED, CHANGED = "#c8352b", "#2b8a3e", "#e08a00"
_LINES = 24
"""Edits listed below the picture before it says how many more there are."""

NodeMap = Sequence[int | None]


class Alignment(Protocol):
    """The data to draw; the result of an edit distance has these attributes."""

    @property
    def first(self) -> Graph: ...
    @property
    def second(self) -> Graph: ...
    @property
    def node_map(self) -> NodeMap | None:
        """For each node of the first graph the node of the second that it corresponds to; None where it is deleted."""

    @property
    def edit_path(self) -> Iterable[object] | None:
        """The edits that turn the first graph into the second, each of which says in words what it is."""

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def exact(self) -> bool: ...
    @property
    def method(self) -> str: ...


def draw_alignment(result: Alignment) -> str:
    """Two graphs beside each other as SVG, with their distance and the edits below them."""
    left, right, positions, scale = _align(result)
    named = (("first", result.first.id), ("second", result.second.id))
    titles = [role if id is None else f"{role}: {id}" for role, id in named]
    width = float(positions[:, 0].max(initial=0.0)) * scale.unit + 2 * MARGIN
    gap = max(width, 260.0, 8.0 * len(titles[0])) + 40.0
    canvas = Canvas()
    canvas.text((MARGIN, 20), titles[0], size=13)
    canvas.text((gap + MARGIN, 20), titles[1], size=13)
    left.draw(canvas, scale.place(positions, top=16.0), scale)
    right.draw(canvas, scale.place(positions, gap, 16.0), scale)
    _add_legend(canvas, result)
    return canvas.to_svg()


def draw_aligned_pair(result: Alignment, colors: Mapping[str, str]) -> tuple[str, str]:
    """Both graphs as SVG of their own, matched nodes in the same place, nodes in the colors of their labels."""
    left, right, positions, scale = _align(result)
    first, second = Canvas(), Canvas()
    left.draw(first, scale.place(positions), scale, colors)
    right.draw(second, scale.place(positions), scale, colors)
    for canvas in (first, second):
        canvas.width = max(first.width, second.width)
        canvas.height = max(first.height, second.height)
    return first.to_svg(), second.to_svg()


class _Side(NamedTuple):
    """One of two graphs that are laid over each other."""

    graph: Graph
    other: Graph
    partner: NodeMap
    """For each node the node of the other graph that it corresponds to."""
    places: list[int]
    """For each node its place in the joint layout, which is also the number that edits give it."""
    unmatched: str
    """The color of what the other graph lacks."""

    def draw(self, canvas: Canvas, points: Positions, scale: Scale, colors: Mapping[str, str] | None = None) -> None:
        """Add this graph; matched nodes share a color, unless ``colors`` are given by label."""
        styles = [self._node_style(v, colors) for v in range(self.graph.num_nodes)]
        tags, other_tags = edges_of(self.graph), edges_of(self.other)
        ends: list[tuple[Any, Any]] = [(self.partner[u], self.partner[v]) for u, v in tags]
        found = [other_tags.get((u, v), None if self.graph.directed else other_tags.get((v, u))) for u, v in ends]
        strokes = [
            self.unmatched if match is None else INK if match == tag else CHANGED
            for tag, match in zip(tags.values(), found, strict=True)
        ]
        dashed = [match is None for match in found]
        add_graph(canvas, self.graph, points[self.places], styles, strokes, dashed, scale=scale)

    def _node_style(self, v: int, colors: Mapping[str, str] | None) -> NodeStyle:
        labels, other_labels, match = self.graph.node_labels, self.other.node_labels, self.partner[v]
        label = "" if labels is None else str(labels[v])
        number = self.places[v]
        fill, ring = "#ffffff", self.unmatched
        if match is not None:
            relabeled = labels is not None and other_labels is not None and labels[v] != other_labels[match]
            fill = _hue(number) if colors is None else colors.get(label, PLAIN)
            ring = CHANGED if relabeled else INK
        return NodeStyle(fill, shorten(label, LONGEST_LABEL), ring, match is None, str(number), label)


def _align(result: Alignment) -> tuple[_Side, _Side, Positions, Scale]:
    """Both sides and the layout of both graphs laid over each other: nodes of the first, then inserted ones."""
    first, second, node_map = result.first, result.second, result.node_map
    if node_map is None:
        raise InvalidArgument(f"method {result.method} gives no node map to draw")
    places, joint = lay_over(result)
    positions = lay_out(joint)
    left = _Side(first, second, list(node_map), list(range(first.num_nodes)), DELETED)
    back = [u if u < first.num_nodes else None for u in places]
    return left, _Side(second, first, back, places, INSERTED), positions, choose_scale(positions)


def lay_over(result: Alignment) -> tuple[list[int], Graph]:
    """Both graphs laid over each other as one: for each node of the second its place there, and the graph.

    The place is that of its partner; nodes without one come after those of the first graph.
    """
    partner = {v: u for u, v in enumerate(result.node_map or ()) if v is not None}
    inserted = count(result.first.num_nodes)
    places = [partner[v] if v in partner else next(inserted) for v in range(result.second.num_nodes)]
    edges = {tuple(sorted(edge)) for edge in result.first.edges.tolist()}
    edges |= {tuple(sorted((places[u], places[v]))) for u, v in result.second.edges.tolist()}
    return places, Graph(next(inserted), sorted(edges))


def _add_legend(canvas: Canvas, result: Alignment) -> None:
    top = canvas.height + 26
    words = f"edit distance {result.upper:g}" if result.exact else f"between {result.lower:g} and {result.upper:g}"
    canvas.text((MARGIN, top), f"{words} ({result.method})", size=14)
    at = MARGIN
    for color, meaning in ((DELETED, "deleted"), (INSERTED, "inserted"), (CHANGED, "relabeled")):
        canvas.line((at, top + 18), (at + 22, top + 18), color, dashed=color != CHANGED)
        canvas.text((at + 28, top + 22), meaning, size=12)
        at += 110
    canvas.text((at, top + 22), "same colour: matched", size=12)
    lines = [f"{k}. {edit}" for k, edit in enumerate(result.edit_path or (), 1)]
    if len(lines) > _LINES:
        lines[_LINES:] = [f"... and {len(lines) - _LINES} more"]
    for k, words in enumerate(lines):
        canvas.text((MARGIN, top + 46 + 17 * k), words, size=12)


def _hue(k: int) -> str:
    """Colors for matched pairs: golden-ratio steps around the wheel, so that neighbors in number differ clearly."""
    return hls_color((0.55 + 0.618034 * k) % 1.0, 0.8, 0.65)
