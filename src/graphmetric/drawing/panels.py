"""Graphs in a row, each under some lines of text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphmetric.drawing.layout import Positions, lay_out
from graphmetric.drawing.svg import INK, MARGIN, PLAIN, Canvas, add_graph, choose_scale, label_colors
from graphmetric.errors import needs_extra
from graphmetric.graphs.graph import Graph

_GAP = 24.0
_TOP = 44.0
_LINE = 18.0


class Panel(NamedTuple):
    """A graph and the lines above it."""

    graph: Graph
    lines: list[str]


def draw_panels(panels: Sequence[Panel]) -> str:
    """Draw the first panel, a line, then the others, as SVG."""
    canvas, left = Canvas(), 0.0
    colors = _colors(panels)
    for k, (graph, lines) in enumerate(panels):
        positions = lay_out(graph)
        scale = choose_scale(positions)
        width = scale.unit * _extent(positions, 0) + 2 * MARGIN
        for row, words in enumerate(lines):
            canvas.text((left + MARGIN, _LINE * (row + 1)), words, size=14.0 if row == 0 else 12.0)
            width = max(width, MARGIN + 8.0 * len(words))
        add_graph(canvas, graph, scale.place(positions, left=left, top=_TOP), scale=scale, colors=colors)
        left += width + _GAP
        if k == 0:
            canvas.line((left - _GAP / 2, 8.0), (left - _GAP / 2, _TOP + 100.0), color="#c3c7cf", width=1.2)
    return canvas.to_svg()


def paint_panels(panels: Sequence[Panel]) -> bytes:
    """Draw the panels as a PNG, by matplotlib."""
    with needs_extra("plot", "drawing a PNG"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    colors = _colors(panels)
    placed = [lay_out(graph) for graph, _ in panels]
    widths = [max(_extent(positions, 0) + 1.2, 2.4) for positions in placed]
    height = max(_extent(positions, 1) for positions in placed) + 2.2
    figure = Figure(figsize=(0.62 * sum(widths), 0.62 * height), dpi=110)
    FigureCanvasAgg(figure)
    grid = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
    for axes, (graph, lines), positions in zip(grid, panels, placed, strict=True):
        _draw_panel(axes, graph, positions, colors)
        axes.set_title("\n".join(lines), fontsize=8, loc="left")
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()


def _colors(panels: Sequence[Panel]) -> dict[str, str]:
    """A color for every node label of the graphs."""
    return label_colors(label for graph, _ in panels for label in graph.node_labels or ())


def _draw_panel(axes: Any, graph: Graph, positions: Positions, colors: dict[str, str]) -> None:
    for u, v in graph.edges.tolist():
        axes.plot(*positions[[u, v]].T, color=INK, linewidth=1.2, zorder=1)
    labels = graph.node_labels or (None,) * graph.num_nodes
    for (x, y), label in zip(positions.tolist(), labels, strict=True):
        style = {"color": colors.get(str(label), PLAIN), "markeredgecolor": INK, "markersize": 11}
        axes.plot([x], [y], marker="o", zorder=2, **style)
        if label is not None:
            axes.annotate(str(label)[:3], (x, y), ha="center", va="center", fontsize=6, zorder=3)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.margins(0.25)
    axes.axis("off")


def _extent(positions: Positions, axis: int) -> float:
    return float(np.max(positions[:, axis], initial=0.0))
