"""Drawing graphs as SVG text."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from graphmetric.graphs.drawing.layout import Positions, layout
from graphmetric.graphs.graph import Graph

UNIT = 46.0
"""Pixels between neighbours."""
RADIUS = 13.0
MARGIN = 26.0
INK = "#30343b"

_ELEMENTS = {
    "C": "#9aa0a8", "N": "#5b8def", "O": "#e4574f", "S": "#e0b62f", "P": "#e08a2f", "F": "#6abf69", "Cl": "#4fae5b",
    "Br": "#a0522d", "I": "#8e5bd0", "H": "#e8eaed", "B": "#f0a3a3", "Si": "#c8b07a",
}  # fmt: skip
_PALETTE = (
    "#5b8def",
    "#e4574f",
    "#6abf69",
    "#e0b62f",
    "#8e5bd0",
    "#4fb3bf",
    "#e08a2f",
    "#d36ba6",
    "#8d9a4a",
    "#9aa0a8",
)


def label_color(label: Hashable) -> str:
    """A colour for a label: the customary one for chemical elements, otherwise one that depends on the text alone."""
    if label is None:
        return "#9aa0a8"
    text = str(label)
    return _ELEMENTS.get(text, _PALETTE[zlib.crc32(text.encode("utf-8", "surrogatepass")) % len(_PALETTE)])


@dataclass(frozen=True, slots=True)
class NodeStyle:
    """How one node looks."""

    fill: str
    text: str
    ring: str = INK
    """Colour of the outline."""
    dashed: bool = False
    note: str = ""
    """Small print beside the node."""


class Canvas:
    """SVG elements and the space they take."""

    def __init__(self) -> None:
        self._elements: list[str] = []
        self.width = self.height = 0.0

    def _cover(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def line(
        self, a: Sequence[float], b: Sequence[float], color: str = INK, width: float = 1.8, dashed: bool = False
    ) -> None:
        """A straight line."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._elements.append(
            f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
            f'stroke="{color}" stroke-width="{width}"{dash}/>'
        )
        self._cover(max(a[0], b[0]) + MARGIN, max(a[1], b[1]) + MARGIN)

    def circle(self, center: Sequence[float], radius: float, style: NodeStyle) -> None:
        """A node: a disc with a word in it."""
        dash = ' stroke-dasharray="3 2"' if style.dashed else ""
        x, y = center
        self._elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{style.fill}" stroke="{style.ring}" '
            f'stroke-width="1.6"{dash}/>'
        )
        if style.text:
            size = min(12.0, 1.9 * radius / (0.6 * len(style.text)))
            self.text((x, y + size * 0.35), style.text, size=size, anchor="middle", color=_readable_on(style.fill))
        if style.note:
            self.text((x + radius, y - radius + 2), style.note, size=9.0, color="#6b7280")
        self._cover(x + radius + 4, y + radius + 4)

    def ring(self, center: Sequence[float], radius: float, color: str, dashed: bool = False) -> None:
        """An open circle, as a self-loop is drawn."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._elements.append(
            f'<circle cx="{center[0]:.1f}" cy="{center[1]:.1f}" r="{radius:.1f}" fill="none" stroke="{color}" '
            f'stroke-width="1.6"{dash}/>'
        )

    def arrow_head(self, tip: Sequence[float], direction: Sequence[float], color: str = INK) -> None:
        """A small triangle that ends at ``tip``."""
        step = np.asarray(direction) / max(float(np.linalg.norm(direction)), 1e-9)
        side = np.array([-step[1], step[0]])
        base = np.asarray(tip) - 8 * step
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (np.asarray(tip), base + 4 * side, base - 4 * side))
        self._elements.append(f'<polygon points="{points}" fill="{color}"/>')

    def text(
        self, at: Sequence[float], words: str, size: float = 12.0, anchor: str = "start", color: str = INK
    ) -> None:
        """Words, safely escaped."""
        printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
        self._elements.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size:.1f}" text-anchor="{anchor}" '
            f'fill="{color}">{escape(printable)}</text>'
        )
        extent = size * 0.6 * len(printable)
        self._cover(at[0] + {"start": extent, "middle": extent / 2, "end": 0.0}[anchor] + 4, at[1] + size * 0.4)

    def to_svg(self) -> str:
        """The whole picture on a white ground."""
        body = "\n".join(self._elements)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
        )


def draw_graph(graph: Graph) -> str:
    """One graph as SVG."""
    canvas = Canvas()
    add_graph(canvas, graph, place(layout(graph)))
    return canvas.to_svg()


def place(positions: Positions, left: float = 0.0, top: float = 0.0) -> Positions:
    """Layout units as pixels."""
    return np.asarray(positions * UNIT + np.array([left + MARGIN, top + MARGIN + 4]))


def add_graph(
    canvas: Canvas,
    graph: Graph,
    points: Positions,
    styles: Sequence[NodeStyle] | None = None,
    edge_colors: Sequence[str] | None = None,
    dashed_edges: Sequence[bool] | None = None,
) -> None:
    """Draw nodes and edges at the given points; styles default to colours by label."""
    for k, (u, v) in enumerate(graph.edges.tolist()):
        color = INK if edge_colors is None else edge_colors[k]
        dashed = dashed_edges is not None and dashed_edges[k]
        if u == v:
            canvas.ring(points[u] - [0, RADIUS + 5], 8.0, color, dashed)
            continue
        for shift in _bond_shifts(graph, k):
            offset = _normal(points[u], points[v]) * shift
            canvas.line(points[u] + offset, points[v] + offset, color, dashed=dashed)
        if graph.directed:
            step = (points[v] - points[u]) / max(float(np.linalg.norm(points[v] - points[u])), 1e-9)
            canvas.arrow_head(points[v] - step * (RADIUS + 1), step, color)
    labels = graph.node_labels or (None,) * graph.num_nodes
    for v in range(graph.num_nodes):
        text = "" if labels[v] is None else str(labels[v])
        style = NodeStyle(label_color(labels[v]), text[:6]) if styles is None else styles[v]
        canvas.circle(points[v], RADIUS, style)


def _bond_shifts(graph: Graph, k: int) -> tuple[float, ...]:
    """Double and triple bonds are drawn as such."""
    column = graph.edge_label_column
    label = None if column is None else str(column.vocabulary[column.codes[k]])
    return {"2": (-2.2, 2.2), "3": (-3.6, 0.0, 3.6)}.get(label or "", (0.0,))


def _normal(a: Positions, b: Positions) -> Positions:
    step = b - a
    return np.array([-step[1], step[0]]) / max(float(np.linalg.norm(step)), 1e-9)


def _readable_on(fill: str) -> str:
    red, green, blue = (int(fill[k : k + 2], 16) for k in (1, 3, 5))
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 150 else "white"
