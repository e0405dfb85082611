"""The query and its nearest graphs in a row, with their distances: the paper's Figure 2 for any query."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from graphmetric.errors import MissingExtra
from graphmetric.graphs.drawing.colors import PLAIN, label_colors
from graphmetric.graphs.drawing.layout import Positions, layout
from graphmetric.graphs.drawing.svg import INK, MARGIN, Canvas, add_graph, choose_scale
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from graphmetric.search.hits import SearchHit, SearchResult

_GAP, _TOP, _LINE = 24.0, 44.0, 18.0


def draw_hits(result: SearchResult) -> str:
    """SVG: the query, then every hit with its rank, distance and id."""
    panels = _panels(result)
    canvas, left, colors = Canvas(), 0.0, _colors(panels)
    for graph, lines in panels:
        positions = layout(graph)
        scale = choose_scale(positions)
        width = scale.unit * _extent(positions, 0) + 2 * MARGIN
        for row, words in enumerate(lines):
            canvas.text((left + MARGIN, _LINE * (row + 1)), words, size=14.0 if row == 0 else 12.0)
            width = max(width, MARGIN + 8.0 * len(words))
        add_graph(canvas, graph, scale.place(positions, left=left, top=_TOP), scale=scale, colors=colors)
        left += width + _GAP
        if graph is result.query:
            canvas.line((left - _GAP / 2, 8.0), (left - _GAP / 2, _TOP + 100.0), color="#c3c7cf", width=1.2)
    return canvas.to_svg()


def page_of_hits(result: SearchResult) -> str:
    """The drawing as a page of its own, without anything from elsewhere."""
    rows = "".join(
        f"<tr><td>{escape(words[0])}</td><td>{escape(' '.join(words[1:]))}</td></tr>"
        for _, words in _panels(result)[1:]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Nearest graphs</title></head>\n'
        '<body style="font-family: sans-serif"><h1>Nearest graphs</h1><div style="overflow-x: auto">'
        f"{draw_hits(result)}</div><p>{escape(str(result.report))}</p><table>{rows}</table></body></html>\n"
    )


def picture_of_hits(result: SearchResult) -> bytes:
    """The drawing as a PNG, by matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "drawing a PNG") from None
    panels = _panels(result)
    colors = _colors(panels)
    placed = [layout(graph) for graph, _ in panels]
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


def _draw_panel(axes: Any, graph: Graph, positions: Positions, colors: dict[str, str]) -> None:
    for u, v in graph.edges.tolist():
        axes.plot(*positions[[u, v]].T, color=INK, linewidth=1.2, zorder=1)
    labels = graph.node_labels or (None,) * graph.num_nodes
    for (x, y), label in zip(positions.tolist(), labels, strict=True):
        axes.plot(
            [x], [y], marker="o", markersize=11, color=colors.get(str(label), PLAIN), markeredgecolor=INK, zorder=2
        )
        if label is not None:
            axes.annotate(str(label)[:3], (x, y), ha="center", va="center", fontsize=6, zorder=3)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.margins(0.25)
    axes.axis("off")


def _panels(result: SearchResult) -> list[tuple[Graph, list[str]]]:
    name = "query" if result.query.id is None else f"query {result.query.id}"
    hits = [(hit.graph, [f"{rank}.  {_distance(hit)}", str(hit.id)]) for rank, hit in enumerate(result, 1)]
    return [(result.query, [name]), *hits]


def _colors(panels: list[tuple[Graph, list[str]]]) -> dict[str, str]:
    return label_colors(label for graph, _ in panels for label in graph.node_labels or ())


def _distance(hit: SearchHit) -> str:
    if hit.proven is None:
        return f"{hit.distance:.3g}"
    if hit.exact is None:
        return f"{hit.lower:.3g} .. {hit.upper:.3g}"
    return f"{hit.exact:.3g}" if hit.proven else f"{hit.exact:.3g}?"


def _extent(positions: Positions, axis: int) -> float:
    return float(np.max(positions[:, axis], initial=0.0))
