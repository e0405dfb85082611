"""A picture of what a repair did: violations before and after, and which distances moved how far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.errors import InvalidArgument, needs_extra
from graphmetric.metric_repair.nearness import Matrix, check_matrix
from graphmetric.metric_repair.triangle_inequality import Triangles, count_inequalities, draw_triangles, measure_depths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEFORE, _AFTER, _INK = "#d1495b", "#30638e", "#333333"
_BINS = 40
_NEGLIGIBLE = 1e-6  # of the largest distance: what a repair may leave is not drawn as a violation
_MOST_CELLS = 150  # rows of the heat map; more items are shown in blocks
_MOST_TRIPLES = 2_000_000  # looked at for the first histogram; of more, a sample


def draw_repair(before: ArrayLike, after: ArrayLike, *, title: str | None = None) -> Figure:
    """Draw violations before and after, how far distances moved, and where, as a matplotlib figure.

    Save it with ``figure.savefig("repair.png")``, or show it in a notebook by its name. Depths of violations are from
    all triangles for up to some 200 items, and from two million random ones for more.
    """
    first, second = check_matrix(before, "before"), check_matrix(after, "after")
    if first.shape != second.shape:
        raise InvalidArgument(f"before and after must be of one shape; got {first.shape} and {second.shape}")
    if len(first) < 3:
        raise InvalidArgument(f"a picture of a repair needs at least 3 items; got {len(first)}")
    with needs_extra("plot", "a figure of a repair"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(13.5, 4.2), dpi=120, layout="constrained")
    axes: Any = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 0.95])
    _draw_depths(axes[0], first, second)
    _draw_moves(axes[1], first, second)
    _draw_places(figure, axes[2], first, second)
    if title is not None:
        figure.suptitle(title, fontsize=13, color=_INK)
    return figure


def _draw_depths(axes: Axes, before: Matrix, after: Matrix) -> None:
    sides = _choose_triangles(len(before))
    depths = [measure_depths(matrix, sides) for matrix in (before, after)]
    smallest = _NEGLIGIBLE * before.max(initial=0.0)
    violated = [depth[depth > smallest] for depth in depths]
    largest = max(depth.max(initial=0.0) for depth in violated) or 1.0
    for depth, colour, name in zip(violated, (_BEFORE, _AFTER), ("before", "after"), strict=True):
        label = f"{name}: {len(depth) / len(sides):.2%} violated" if len(depth) else f"{name}: none"
        axes.hist(depth, bins=_BINS, range=(0.0, largest), color=colour, alpha=0.75, label=label)
    if any(len(depth) for depth in violated):
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    sampled = f", of {len(sides):,} drawn" if len(sides) < count_inequalities(len(before)) else ""
    names = "excess of the long side over the other two", f"triangle inequalities{sampled}"
    _label(axes, "violations of the triangle inequality", *names)
    axes.legend(frameon=False)


def _draw_moves(axes: Axes, before: Matrix, after: Matrix) -> None:
    moves = (after - before)[np.triu_indices(len(before), 1)]
    moved = moves[moves != 0]
    largest = np.abs(moved).max(initial=0.0) or 1.0
    # An odd number of bins, so that one of them is around zero.
    axes.hist(moved, bins=_BINS + 1, range=(-largest, largest), color=_AFTER, alpha=0.85)
    axes.axvline(0.0, color=_INK, linewidth=0.8)
    title = f"{len(moved):,} of {len(moves):,} pairs moved, by {np.abs(moves).max():.3g} at most"
    _label(axes, title, "change of the distance", "pairs that moved")


def _draw_places(figure: Figure, axes: Axes, before: Matrix, after: Matrix) -> None:
    blocks, items = _block_means(np.abs(after - before))
    image = axes.imshow(blocks, cmap="PuRd", extent=(0, len(before), len(before), 0), interpolation="nearest")
    figure.colorbar(image, ax=axes, shrink=0.85, label="|change|" if items == 1 else "mean |change|")
    _label(axes, "where" if items == 1 else f"where, in blocks of {items} items", "item", "item")


def _label(axes: Axes, title: str, x_name: str, y_name: str) -> None:
    axes.set(xlabel=x_name, ylabel=y_name)
    axes.set_title(title, fontsize=11, color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def _choose_triangles(m: int) -> Triangles:
    """(n, 3) items i, j, k, with ij as the long side; drawn from a fixed seed if there are too many."""
    if count_inequalities(m) > _MOST_TRIPLES:
        return draw_triangles(m, _MOST_TRIPLES, np.random.default_rng(0))
    i, j, k = np.indices((m, m, m), np.int32, sparse=True)
    return np.argwhere((i < j) & (k != i) & (k != j)).astype(np.int32)


def _block_means(change: Matrix) -> tuple[Matrix, int]:
    """The matrix itself if it is small, else means of square blocks; and the items along a block."""
    items = -(-len(change) // _MOST_CELLS)
    starts = np.arange(0, len(change), items)
    sums = np.add.reduceat(np.add.reduceat(change, starts, axis=0), starts, axis=1)
    sizes = np.diff(np.append(starts, len(change)))
    return sums / np.outer(sizes, sizes), items
