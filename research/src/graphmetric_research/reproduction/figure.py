"""Figures: Figure 2 of the paper, and accuracy against time.

Figure 2 has a query and its ten nearest graphs by the learned distance, one row for each data set. The frontier has a
point for every method on a benchmark, and a line through those that no other beats in the same time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphmetric._foundation.atomic_files import atomic_write, make_folder, write_file
from graphmetric._foundation.options import to_plain
from graphmetric.drawing.svg import INK, graph_canvas, svg_picture
from graphmetric.errors import InvalidArgument, needs_extra
from graphmetric.estimator import GraphDistance, fit_once
from graphmetric.graphs.graph import Graph
from graphmetric.learned.model_folder import CHECKPOINT
from graphmetric.report.rankings import Neighbour, RankingTask, choose_examples
from graphmetric_research.reproduction.benchmark import Benchmark
from graphmetric_research.reproduction.experiments import Row, make_experiment
from graphmetric_research.reproduction.frontier import PANELS, Result, find_frontier, read_results
from graphmetric_research.reproduction.runner import RunOptions, load_for

NEAREST = 10
_CELL, _PICTURE, _ROW, _TITLE = 128.0, 96.0, 190.0, 30.0
"""Pixels: width of a cell, height of the graph in it, height of a row, and of the words above it."""
_RIGHT, _WRONG, _FAINT = "#1a7f37", "#b3261e", "#6b7280"


@dataclass(frozen=True, slots=True, eq=False)
class FigureRow:
    """One query and its nearest graphs."""

    dataset: str
    graphs: Sequence[Graph]
    query: int
    """Position in ``graphs``."""
    ranked: int
    """Number of graphs that were ranked: those whose true distance to the query is known."""
    neighbours: tuple[Neighbour, ...]

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        hits = []
        for hit in self.neighbours:
            scores = {"predicted": hit.predicted, "true": hit.lower, "right": hit.right}  # all distances are known here
            hits.append({"graph": hit.graph, "id": str(self.graphs[hit.graph].id), **scores})
        return {"dataset": self.dataset, "query": str(self.graphs[self.query].id), "ranked": self.ranked, "hits": hits}


def draw_figure(datasets: Sequence[str], options: RunOptions) -> list[Path]:
    """Write ``figure2/figure2.svg`` and its numbers as JSON, and return both paths.

    The model has the preset small and the first seed; it is kept, so that it is trained only once. The query is the
    first test graph, which ranks the training and validation graphs.
    """
    folder = options.out / "figure2"
    make_folder(folder)
    rows = [_find_row(name, options, folder) for name in datasets]
    contents = {
        folder / "figure2.svg": draw_rows(rows),
        folder / "figure2.json": json.dumps([row.to_dict() for row in rows], indent=2),
    }
    for path, text in contents.items():
        write_file(path, text)
    return list(contents)


def _find_row(name: str, options: RunOptions, folder: Path) -> FigureRow:
    benchmark = load_for(make_experiment("protocol-a"), options, name)
    model = _train_or_load(benchmark, options, folder)
    protocol = benchmark.protocol("A")
    task = RankingTask(protocol.queries[:1], protocol.database, "rank the training and validation graphs", split=True)
    predicted = model.pairwise(benchmark.graphs[task.queries], benchmark.graphs[task.database]).astype(np.float64)
    true = protocol.test_distances(benchmark.distances)[:1]
    (example,) = choose_examples(task, predicted, true, true, NEAREST)
    return FigureRow(name, benchmark.graphs, example.graph, int((~np.isnan(true)).sum()), example.by_model)


def _train_or_load(benchmark: Benchmark, options: RunOptions, folder: Path) -> GraphDistance:
    model, training = Row("figure 2", preset="small").options(quick=options.quick)
    seed = options.seeds[0]
    settings = f"{to_plain(model)} {to_plain(training)} {seed} {options.limit}"
    path = folder / f"{benchmark.name}-{blake2b(settings.encode(), digest_size=6).hexdigest()}"
    learned = GraphDistance((model, training), random_state=seed, n_jobs=options.threads, checkpoint=path / CHECKPOINT)
    protocol = benchmark.protocol("A")
    held_out = np.arange(len(protocol.train), len(protocol.seen))
    distances = protocol.visible_distances(benchmark.distances)
    return fit_once(learned, path, benchmark.graphs[protocol.seen], distances, held_out)[0]


def draw_rows(rows: Sequence[FigureRow]) -> str:
    """All rows as one SVG: the query in a frame, then its neighbours with learned and true distance below.

    ✓ marks graphs that are truly among the nearest, including all that tie with the last of them.
    """
    width = _CELL * (1 + max((len(row.neighbours) for row in rows), default=0))
    height = _ROW * len(rows)
    body = "\n".join(_draw_row(row, _ROW * k) for k, row in enumerate(rows))
    return svg_picture(width, height, body)


def _draw_row(row: FigureRow, top: float) -> str:
    title = f"{row.dataset}: the nearest of {row.ranked:,} graphs, with learned and true distance in edits"
    frame = (
        f'<rect x="4" y="{top + _TITLE - 4:.0f}" width="{_CELL - 8:.0f}" height="{_PICTURE + 8:.0f}" rx="6" '
        'fill="none" stroke="#5b8def" stroke-width="1.5"/>'
    )
    cells = [(row.query, "query", INK)]
    for hit in row.neighbours:
        sign, color = ("✓", _RIGHT) if hit.right else ("✗", _WRONG)
        cells.append((hit.graph, f"{sign} {hit.predicted:.2f}, true {hit.true}", color))
    drawn = [_draw_cell(row.graphs[k], words, color, n * _CELL, top) for n, (k, words, color) in enumerate(cells)]
    return "\n".join([_text(8, top + 18, title, size=13, anchor="start"), frame, *drawn])


def _draw_cell(graph: Graph, words: str, color: str, left: float, top: float) -> str:
    """The graph, scaled down if it does not fit, with words and its id below."""
    canvas, middle, bottom = graph_canvas(graph), left + _CELL / 2, top + _TITLE + _PICTURE
    scale = min((_CELL - 12) / max(canvas.width, 1), _PICTURE / max(canvas.height, 1), 0.75)
    x, y = middle - scale * canvas.width / 2, bottom - (_PICTURE + scale * canvas.height) / 2
    picture = f'<g transform="translate({x:.1f} {y:.1f}) scale({scale:.4f})">{canvas.to_svg()}</g>'
    name = "" if graph.id is None else str(graph.id)[:20]
    texts = _text(middle, bottom + 22, words, color=color), _text(middle, bottom + 37, name, size=10, color=_FAINT)
    return "\n".join([picture, *texts])


def _text(x: float, y: float, words: str, *, size: float = 12, anchor: str = "middle", color: str = INK) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{color}"'
    return f"<text {place}>{escape(words)}</text>"


_COLOURS = {
    "counts": "#9a6b1f",
    "assignment": "#6b7280",
    "beam and local search": "#b3261e",
    "dual bound": "#1a7f37",
    "relaxed distance": "#0f766e",
    "exact search": "#5b3fb5",
    "learned": "#1d5fd1",
}
_SCORES = ("rho", "p@10")
_RHO_TICKS = (0.5, 0.7, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_NAME_SIZE = 7.5
_PLACES = ((-5, 5, "right"), (6, -9, "left"), (6, 5, "left"), (-5, -12, "right"))
"""Where a name may be, the best place first: so many points beside its point, and which end of it is there."""
_NEAR = 12
"""Pixels between two points of which one name is enough."""
_LEAST_SHOWN = 5e-4
"""A rho nearer to 1 than this is drawn at this place."""


def draw_frontier(out: Path, panels: Sequence[str] = PANELS, *, validation: bool = False) -> Path:
    """Draw accuracy against time per pair from the results of a folder, with the frontier, as ``frontier.svg``.

    A panel shows the test part of its benchmark; with ``validation`` the validation part, if it was measured.
    """
    with needs_extra("plot", "the figure of accuracy and time"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
    results = read_results(out)
    shown = {name: lines for name in panels if (lines := _lines_of_panel(results, name, validation))}
    if not shown:
        raise InvalidArgument(f"{out} has no results of {', '.join(panels)}; run the benchmarks first")
    figure = Figure(figsize=(5.8 * len(shown), 9.6), layout="constrained")
    axes: Any = figure.subplots(len(_SCORES), len(shown), squeeze=False, sharex="col")
    for column, (name, lines) in enumerate(shown.items()):
        for row, score in enumerate(_SCORES):
            _draw_panel(axes[row, column], lines, score)
        part = " (validation)" if "validation" in lines[0]["protocol"] else ""
        title = f"{name}{part}: {lines[0]['mean nodes']:.0f} nodes, {lines[0]['database']:,} graphs ranked"
        axes[0, column].set_title(title, fontsize=11, color=INK)
        axes[-1, column].set_xlabel("microseconds of CPU time per pair")
    present = {line["family"] for lines in shown.values() for line in lines}
    families = [family for family in _COLOURS if family in present]
    marks = [
        axes[0, 0].plot([], [], marker="*" if family == "learned" else "o", linestyle="", color=_COLOURS[family])[0]
        for family in families
    ]
    figure.legend(marks, families, loc="outside lower center", ncols=min(len(families), 3 * len(shown)), frameon=False)
    figure.draw_without_rendering()  # so that points have their places
    figure.set_layout_engine("none")  # which names do not change any more
    for column, lines in enumerate(shown.values()):
        for row, score in enumerate(_SCORES):
            _name_points(axes[row, column], lines, score)
    path = out / "frontier.svg"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "frontier"}), atomic_write(path) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
    return path


def _lines_of_panel(results: list[Result], name: str, validation: bool) -> list[Result]:
    here = [line for line in results if line["benchmark"] == name]
    tested, validated = (
        [line for line in here if line["protocol"] == part] for part in ("ranking", "ranking, validation")
    )
    return validated if validation and validated else tested


def _draw_panel(axes: Any, lines: list[Result], score: str) -> None:
    """One benchmark and one score: a point for each method, and the frontier as a line."""
    best = find_frontier(lines, score)
    axes.set_xscale("log")
    steps = [line["us"] for line in best], [_height(line[score], score) for line in best]
    axes.step(*steps, where="post", color="#9ca3af", linewidth=1.2, zorder=1)
    for line in lines:
        learned, on_frontier = line["family"] == "learned", any(line is each for each in best)
        axes.plot(
            line["us"], _height(line[score], score), linestyle="", zorder=2,
            marker="*" if learned else "o", markersize=11 if learned else 6,
            color=_COLOURS.get(line["family"], INK), alpha=1.0 if on_frontier or learned else 0.45,
        )  # fmt: skip
    if score == "rho":
        axes.set_yticks([_height(rho, score) for rho in _RHO_TICKS], [f"{rho:g}" for rho in _RHO_TICKS])
    axes.margins(y=0.08)
    axes.set_ylabel(f"{score}, mean over queries")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)


def _height(value: float, score: str) -> float:
    """Factors of 1 - rho are equal heights, since good methods are otherwise squeezed together at the upper edge."""
    return -math.log10(max(1 - value, _LEAST_SHOWN)) if score == "rho" else value


class _Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top

    def holds(self, other: _Box) -> bool:
        across = self.left <= other.left and other.right <= self.right
        return across and self.bottom <= other.bottom and other.top <= self.top


def _name_points(axes: Any, lines: list[Result], score: str) -> None:
    """Write the names of learned methods, and of those on the frontier, where they cover least; the layout is done.

    A name that would cover another one is left out, and so is one beside a point that has a name.
    """
    learned = [line for line in lines if line["family"] == "learned"]
    others = [line for line in find_frontier(lines, score) if line["family"] != "learned"]
    points = {line["method"]: (line["us"], _height(line[score], score)) for line in lines}
    dots = [_Box(x - 2, y - 2, x + 2, y + 2) for x, y in axes.transData.transform([*points.values()]).tolist()]
    room, written, named = _Box(*axes.get_window_extent().extents.tolist()), list[_Box](), list[list[float]]()
    for line in (*learned, *others):
        name, point = line["method"].partition(", trained on")[0], points[line["method"]]
        at = axes.transData.transform(point).tolist()
        boxes = [_box_of_name(name, at, place, axes.figure.dpi / 72) for place in _PLACES]
        free = [k for k, box in enumerate(boxes) if room.holds(box) and not any(map(box.overlaps, written))]
        known = line["family"] != "learned" and any(math.dist(at, other) < _NEAR for other in named)
        if known or not free:
            continue
        chosen = min(free, key=lambda k: sum(map(boxes[k].overlaps, dots)))
        x, y, side = _PLACES[chosen]
        written.append(boxes[chosen])
        named.append(at)
        axes.annotate(
            name, point, textcoords="offset points", xytext=(x, y), ha=side, fontsize=_NAME_SIZE,
            color=_COLOURS.get(line["family"], INK),
        )  # fmt: skip


def _box_of_name(name: str, at: list[float], place: tuple[float, float, str], dots_per_point: float) -> _Box:
    """About the pixels that a name covers at some place beside a point."""
    x, y, side = place
    width = 0.5 * _NAME_SIZE * len(name)
    left = at[0] + dots_per_point * (x - (width if side == "right" else 0))
    bottom, top = (at[1] + dots_per_point * height for height in (y - 1, y + _NAME_SIZE))
    return _Box(left, bottom, left + dots_per_point * width, top)
