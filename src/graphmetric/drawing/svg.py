"""Drawing graphs as SVG text.

Colours of node labels: the customary ones for chemical elements, and different ones for different labels.
"""

from __future__ import annotations

import colorsys
import math
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from graphmetric.drawing.layout import Positions, layout, nearest_distances
from graphmetric.graphs.graph import Graph

PLAIN = "#9aa0a8"
"""Of nodes without a label."""

_ELEMENTS = {
    "C": "#9aa0a8", "N": "#5b8def", "O": "#e4574f", "S": "#e0b62f", "P": "#e08a2f", "F": "#8fd08e", "Cl": "#3f9a4c",
    "Br": "#a0522d", "I": "#8e5bd0", "H": "#e8eaed", "B": "#f0a3a3", "Si": "#c8b07a",
}  # fmt: skip
_PALETTE = (
    "#4477d6", "#dc4f45", "#57b368", "#e8c22a", "#8a5cc9", "#3fb0bd", "#e07f1a", "#d162a4", "#8f9a2a", "#7a4a30",
    "#a9c7f2", "#f5b0bd", "#1f5f50", "#66666e", "#bfe08f", "#c79be8",
)  # fmt: skip
_ALIKE = 60.0
"""Two colours whose red, green and blue differ by less than this (Euclidean, of 255) are hard to tell apart."""


def label_color(label: Hashable) -> str:
    """The colour of a label on its own; for labels that are shown together, see :func:`label_colors`."""
    return label_colors([label]).get(str(label), PLAIN)


def label_colors(labels: Iterable[Hashable]) -> dict[str, str]:
    """A colour for the text of each label that occurs; the first dozen and more are easy to tell apart.

    Chemical elements have their customary colours. Every other label has a favourite that depends on its text alone,
    and gets another one only where that is taken. So the colours do not depend on the order of the labels, and another
    label changes few of them.
    """
    texts = sorted({str(label) for label in labels if label is not None})
    colors = {text: _ELEMENTS[text] for text in texts if text in _ELEMENTS}
    for text in texts:
        if text not in colors:
            colors[text] = _choose(text, list(colors.values()))
    return colors


def _choose(text: str, taken: list[str]) -> str:
    favourite = zlib.crc32(text.encode("utf-8", "surrogatepass")) % len(_PALETTE)
    order = _PALETTE[favourite:] + _PALETTE[:favourite]
    free = next((color for color in order if _gap(color, taken) >= _ALIKE), None)
    return free or max(_MORE, key=lambda color: _gap(color, taken))


def _gap(color: str, taken: list[str]) -> float:
    return min((_apart(color, other) for other in taken), default=math.inf)


def _apart(first: str, second: str) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(_channels(first), _channels(second), strict=True)) ** 0.5)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[k : k + 2], 16) for k in (1, 3, 5))


def _turn_wheel(hues: int, lightness: tuple[float, ...]) -> tuple[str, ...]:
    parts = (colorsys.hls_to_rgb(k / hues, light, 0.6) for light in lightness for k in range(hues))
    return tuple("#" + "".join(f"{int(part * 255):02x}" for part in color) for color in parts)


_MORE = _turn_wheel(24, (0.35, 0.5, 0.65, 0.8))
"""For more labels than the palette has colours: whichever is furthest from those in use."""

UNIT = 46.0
"""Pixels between neighbours, at most."""
RADIUS = 13.0
"""Of a node, at most."""
MARGIN = 26.0
INK = "#30343b"

_WIDEST = 1100.0  # pixels; larger graphs are drawn smaller, down to the least unit
_LEAST_UNIT, _LEAST_RADIUS = 16.0, 3.5
_SPACING = 0.3  # radius as part of the distance between nodes that are near each other
_TOUCHING = 0.45  # likewise, of the nearest two
_SMALLEST_TEXT = 6.0  # pixels; smaller words are left out
_LONGEST_LABEL = 6  # characters
_DENSE = 3.0  # edges per node: above this, edges are thin and pale


class Scale(NamedTuple):
    """How large a layout is drawn."""

    unit: float
    """Pixels between neighbours."""
    radius: float
    """Of a node, in pixels."""

    @property
    def line(self) -> float:
        """Width of an edge."""
        return max(0.7, 1.8 * self.radius / RADIUS)

    def place(self, positions: Positions, left: float = 0.0, top: float = 0.0) -> Positions:
        """Layout units as pixels."""
        return np.asarray(positions * self.unit + np.array([left + MARGIN, top + MARGIN + 4]))


def choose_scale(positions: Positions) -> Scale:
    """Large enough to read and small enough for a screen; nodes never touch."""
    if len(positions) < 2:
        return Scale(UNIT, RADIUS)
    unit = max(_LEAST_UNIT, min(UNIT, _WIDEST / max(float(positions.max()), 1e-9)))
    spacing = unit * nearest_distances(positions)
    radius = max(_LEAST_RADIUS, _SPACING * float(np.quantile(spacing, 0.1)))
    return Scale(unit, min(RADIUS, radius, _TOUCHING * float(spacing.min())))


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
    hint: str = ""
    """Shown when the pointer rests on the node: a label that is too long for the disc."""


class Canvas:
    """SVG elements and the space they take."""

    def __init__(self) -> None:
        self._elements: list[str] = []
        self.width = self.height = 0.0

    def _cover(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def line(
        self,
        a: Sequence[float],
        b: Sequence[float],
        color: str = INK,
        width: float = 1.8,
        dashed: bool = False,
        pale: bool = False,
    ) -> None:
        """A straight line."""
        looks = ' stroke-dasharray="4 3"' if dashed else ""
        looks += ' stroke-opacity="0.4"' if pale else ""
        self._elements.append(
            f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
            f'stroke="{color}" stroke-width="{width:.2g}"{looks}/>'
        )
        self._cover(max(a[0], b[0]) + MARGIN, max(a[1], b[1]) + MARGIN)

    def circle(self, center: Sequence[float], radius: float, style: NodeStyle) -> None:
        """A node: a disc with a word in it."""
        dash = ' stroke-dasharray="3 2"' if style.dashed else ""
        x, y = center
        hint = f"<title>{escape(_printable(style.hint))}</title>" if style.hint else ""
        width = max(0.7, (1.6 if style.ring == INK or style.dashed else 3.0) * radius / RADIUS)
        self._elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{style.fill}" stroke="{style.ring}" '
            f'stroke-width="{width:.2g}"{dash}>{hint}</circle>'
        )
        size = min(0.95 * radius, 1.9 * radius / (0.6 * max(1, len(style.text))))
        if style.text and size >= _SMALLEST_TEXT:
            self.text((x, y + size * 0.35), style.text, size=size, anchor="middle", color=_readable_on(style.fill))
        if style.note and (small := min(9.0, 0.75 * radius)) >= _SMALLEST_TEXT:
            self.text((x + radius, y - radius + 2), style.note, size=small, color="#6b7280")
        self._cover(x + radius + 4, y + radius + 4)

    def ring(self, center: Sequence[float], radius: float, color: str, dashed: bool = False) -> None:
        """An open circle, as a self-loop is drawn."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._elements.append(
            f'<circle cx="{center[0]:.1f}" cy="{center[1]:.1f}" r="{radius:.1f}" fill="none" stroke="{color}" '
            f'stroke-width="1.6"{dash}/>'
        )

    def arrow_head(
        self, tip: Sequence[float], direction: Sequence[float], color: str = INK, length: float = 8.0
    ) -> None:
        """A small triangle that ends at ``tip``."""
        step = np.asarray(direction) / max(float(np.linalg.norm(direction)), 1e-9)
        side = np.array([-step[1], step[0]])
        base = np.asarray(tip) - length * step
        points = " ".join(
            f"{x:.1f},{y:.1f}" for x, y in (np.asarray(tip), base + length / 2 * side, base - length / 2 * side)
        )
        self._elements.append(f'<polygon points="{points}" fill="{color}"/>')

    def text(
        self, at: Sequence[float], words: str, size: float = 12.0, anchor: str = "start", color: str = INK
    ) -> None:
        """Words, safely escaped."""
        printable = _printable(words)
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


def draw_graph(graph: Graph, colors: Mapping[str, str] | None = None) -> str:
    """One graph as SVG; ``colors`` of labels by their text, for graphs that are shown together."""
    return graph_canvas(graph, colors).to_svg()


def graph_canvas(graph: Graph, colors: Mapping[str, str] | None = None) -> Canvas:
    """The drawing of one graph and its size."""
    canvas, positions = Canvas(), layout(graph)
    scale = choose_scale(positions)
    add_graph(canvas, graph, scale.place(positions), scale=scale, colors=colors)
    return canvas


def add_graph(
    canvas: Canvas,
    graph: Graph,
    points: Positions,
    styles: Sequence[NodeStyle] | None = None,
    edge_colors: Sequence[str] | None = None,
    dashed_edges: Sequence[bool] | None = None,
    *,
    scale: Scale,
    colors: Mapping[str, str] | None = None,
) -> None:
    """Draw nodes and edges at the given points; styles default to colours by label."""
    radius, pale = scale.radius, edge_colors is None and graph.num_edges > _DENSE * graph.num_nodes
    for k, (u, v) in enumerate(graph.edges.tolist()):
        color = INK if edge_colors is None else edge_colors[k]
        dashed = dashed_edges is not None and dashed_edges[k]
        if u == v:
            canvas.ring(points[u] - [0, 1.4 * radius], 0.6 * radius, color, dashed)
            continue
        for shift in _bond_shifts(graph, k):
            offset = _normal(points[u], points[v]) * shift * radius / RADIUS
            canvas.line(points[u] + offset, points[v] + offset, color, scale.line, dashed=dashed, pale=pale)
        if graph.directed:
            step = (points[v] - points[u]) / max(float(np.linalg.norm(points[v] - points[u])), 1e-9)
            canvas.arrow_head(points[v] - step * (radius + 1), step, color, 8.0 * radius / RADIUS)
    for v, style in enumerate(_label_styles(graph, colors) if styles is None else styles):
        canvas.circle(points[v], radius, style)


def _label_styles(graph: Graph, colors: Mapping[str, str] | None) -> list[NodeStyle]:
    labels = graph.node_labels or (None,) * graph.num_nodes
    chosen = label_colors(labels) if colors is None else colors
    texts = ["" if label is None else str(label) for label in labels]
    return [NodeStyle(chosen.get(text, PLAIN), shorten(text), hint=text) for text in texts]


def shorten(text: str) -> str:
    """As much of a label as a node has room for."""
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def _bond_shifts(graph: Graph, k: int) -> tuple[float, ...]:
    """Double and triple bonds are drawn as such."""
    column = graph.column("edge_labels")
    label = None if column is None else str(column.vocabulary[column.codes[k]])
    return {"2": (-2.2, 2.2), "3": (-3.6, 0.0, 3.6)}.get(label or "", (0.0,))


def _normal(a: Positions, b: Positions) -> Positions:
    step = b - a
    return np.array([-step[1], step[0]]) / max(float(np.linalg.norm(step)), 1e-9)


def _printable(words: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def _readable_on(fill: str) -> str:
    red, green, blue = (int(fill[k : k + 2], 16) for k in (1, 3, 5))
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 150 else "white"
