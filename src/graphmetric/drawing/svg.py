"""Graphs as SVG: a canvas to draw on, nodes and edges at given points, and colors for node labels.

Chemical elements have their customary colors, and labels that are shown together have different ones.
"""

from __future__ import annotations

import colorsys
import math
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphmetric._foundation.markup import Markup, element, escape_text, join, shorten
from graphmetric.drawing.layout import Positions, lay_out, nearest_distances
from graphmetric.graphs.graph import Graph

INK = "#30343b"
PLAIN = "#9aa0a8"
"""The color of nodes without a label."""
UNIT = 46.0
"""Pixels between neighbors, at most."""
RADIUS = 13.0
"""The radius of a node in pixels, at most."""
MARGIN = 26.0
LONGEST_LABEL = 6
"""Characters that a node has room for."""

_ELEMENTS = {
    "C": "#9aa0a8", "N": "#5b8def", "O": "#e4574f", "S": "#e0b62f", "P": "#e08a2f", "F": "#8fd08e", "Cl": "#3f9a4c",
    "Br": "#a0522d", "I": "#8e5bd0", "H": "#e8eaed", "B": "#f0a3a3", "Si": "#c8b07a",
}  # fmt: skip
_PALETTE = (
    "#4477d6", "#dc4f45", "#57b368", "#e8c22a", "#8a5cc9", "#3fb0bd", "#e07f1a", "#d162a4", "#8f9a2a", "#7a4a30",
    "#a9c7f2", "#f5b0bd", "#1f5f50", "#66666e", "#bfe08f", "#c79be8",
)  # fmt: skip
_ALIKE = 60.0
"""Two colors whose red, green and blue differ by less than this (Euclidean, of 255) are hard to tell apart."""

_WIDEST = 1100.0  # pixels; larger graphs are drawn smaller, down to the least unit
_LEAST_UNIT, _LEAST_RADIUS = 16.0, 3.5
_SPACING = 0.3  # radius as part of the distance between nodes that are near each other
_TOUCHING = 0.45  # radius as part of the distance of the nearest two
_SMALLEST_TEXT = 6.0  # pixels; smaller words are left out
_DENSE = 3.0  # edges per node: above this, edges are thin and pale
_BONDS = {"2": (-2.2, 2.2), "3": (-3.6, 0.0, 3.6)}
"""Edge label -> how far beside the straight line each of its lines is; double and triple bonds are drawn as such."""


def draw_graph(graph: Graph, colors: Mapping[str, str] | None = None) -> str:
    """One graph as SVG; ``colors`` of labels by their text, for graphs that are shown together."""
    return graph_canvas(graph, colors).to_svg()


def graph_canvas(graph: Graph, colors: Mapping[str, str] | None = None) -> Canvas:
    """The drawing of one graph and its size."""
    canvas, positions = Canvas(), lay_out(graph)
    scale = choose_scale(positions)
    add_graph(canvas, graph, scale.place(positions), scale=scale, colors=colors)
    return canvas


def label_color(label: Hashable) -> str:
    """The color of a label on its own; for labels that are shown together, see :func:`label_colors`."""
    return label_colors([label]).get(str(label), PLAIN)


def label_colors(labels: Iterable[Hashable]) -> dict[str, str]:
    """A color for the text of each label that occurs; the first dozen and more are easy to tell apart.

    Chemical elements have their customary colors. Every other label has a favorite that depends on its text alone,
    and gets another one only where that is taken. So the colors do not depend on the order of the labels, and another
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
    return min((math.dist(_channels(color), _channels(other)) for other in taken), default=math.inf)


def _channels(color: str) -> bytes:
    return bytes.fromhex(color[1:])


def hls_color(hue: float, lightness: float, saturation: float) -> str:
    """A color of the wheel as hexadecimal digits."""
    return "#" + bytes(int(part * 255) for part in colorsys.hls_to_rgb(hue, lightness, saturation)).hex()


_MORE = [hls_color(k / 24, lightness, 0.6) for lightness in (0.35, 0.5, 0.65, 0.8) for k in range(24)]
"""For more labels than the palette has colors: whichever is furthest from those in use."""


class Scale(NamedTuple):
    """The size at which a layout is drawn."""

    unit: float
    """Pixels between neighbors."""
    radius: float
    """The radius of a node in pixels."""

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
    """The appearance of one node."""

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
        self._elements: list[Markup] = []
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
        look = {"stroke_dasharray": "4 3" if dashed else None, "stroke_opacity": "0.4" if pale else None}
        ends = {"x1": a[0], "y1": a[1], "x2": b[0], "y2": b[1]}
        self._elements.append(element("line", **ends, stroke=color, stroke_width=f"{width:.2g}", **look))
        self._cover(max(a[0], b[0]) + MARGIN, max(a[1], b[1]) + MARGIN)

    def circle(self, center: Sequence[float], radius: float, style: NodeStyle) -> None:
        """A node: a disc with a word in it."""
        x, y = center
        width = max(0.7, (1.6 if style.ring == INK or style.dashed else 3.0) * radius / RADIUS)
        look = {"stroke_width": f"{width:.2g}", "stroke_dasharray": "3 2" if style.dashed else None}
        hint = [element("title", escape_text(style.hint))] if style.hint else []
        self._elements.append(
            element("circle", *hint, cx=x, cy=y, r=radius, fill=style.fill, stroke=style.ring, **look)
        )
        size = min(0.95 * radius, 1.9 * radius / (0.6 * max(1, len(style.text))))
        if style.text and size >= _SMALLEST_TEXT:
            self.text((x, y + size * 0.35), style.text, size=size, anchor="middle", color=_readable_on(style.fill))
        if style.note and (small := min(9.0, 0.75 * radius)) >= _SMALLEST_TEXT:
            self.text((x + radius, y - radius + 2), style.note, size=small, color="#6b7280")
        self._cover(x + radius + 4, y + radius + 4)

    def ring(self, center: Sequence[float], radius: float, color: str, dashed: bool = False) -> None:
        """An open circle, as a self-loop is drawn."""
        look = {"fill": "none", "stroke": color, "stroke_width": 1.6, "stroke_dasharray": "4 3" if dashed else None}
        self._elements.append(element("circle", cx=center[0], cy=center[1], r=radius, **look))

    def arrow_head(self, tip: Positions, step: Positions, color: str, length: float) -> None:
        """A small triangle that ends at ``tip``; ``step`` is its direction, of length 1."""
        base, side = tip - length * step, np.array([-step[1], step[0]]) * length / 2
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, base + side, base - side))
        self._elements.append(element("polygon", points=points, fill=color))

    def text(
        self, at: Sequence[float], words: str, size: float = 12.0, anchor: str = "start", color: str = INK
    ) -> None:
        """Words, safely escaped."""
        look = {"font_size": size, "text_anchor": anchor, "fill": color}
        self._elements.append(element("text", escape_text(words), x=at[0], y=at[1], **look))
        extent = size * 0.6 * len(words)
        self._cover(at[0] + {"start": extent, "middle": extent / 2, "end": 0.0}[anchor] + 4, at[1] + size * 0.4)

    def to_svg(self) -> str:
        """The whole picture on a white ground."""
        return svg_picture(self.width, self.height, join(self._elements))


def svg_picture(width: float, height: float, body: str) -> str:
    """A whole picture on a white ground."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


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
    """Draw nodes and edges at the given points; styles default to colors by label."""
    radius = scale.radius
    pale = edge_colors is None and graph.num_edges > _DENSE * graph.num_nodes
    size = radius / RADIUS
    labels = graph.edge_labels or (None,) * graph.num_edges
    for k, (u, v) in enumerate(graph.edges.tolist()):
        color = INK if edge_colors is None else edge_colors[k]
        dashed = dashed_edges is not None and dashed_edges[k]
        if u == v:
            canvas.ring(points[u] - [0, 1.4 * radius], 0.6 * radius, color, dashed)
            continue
        step = (points[v] - points[u]) / max(float(np.linalg.norm(points[v] - points[u])), 1e-9)
        for shift in _BONDS.get(str(labels[k]), (0.0,)):
            offset = np.array([-step[1], step[0]]) * shift * size
            width = max(0.7, 1.8 * size)
            canvas.line(points[u] + offset, points[v] + offset, color, width, dashed=dashed, pale=pale)
        if graph.directed:
            canvas.arrow_head(points[v] - step * (radius + 1), step, color, 8.0 * size)
    for v, style in enumerate(_label_styles(graph, colors) if styles is None else styles):
        canvas.circle(points[v], radius, style)


def _label_styles(graph: Graph, colors: Mapping[str, str] | None) -> list[NodeStyle]:
    labels = graph.node_labels or (None,) * graph.num_nodes
    chosen = label_colors(labels) if colors is None else colors
    texts = ["" if label is None else str(label) for label in labels]
    return [NodeStyle(chosen.get(text, PLAIN), shorten(text, LONGEST_LABEL), hint=text) for text in texts]


def _readable_on(fill: str) -> str:
    red, green, blue = _channels(fill)
    return INK if 0.3 * red + 0.59 * green + 0.11 * blue > 150 else "white"
