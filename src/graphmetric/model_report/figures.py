"""The plots of a report."""

from __future__ import annotations

import numpy as np

from graphmetric.evaluation import Calibration, SizeErrors
from graphmetric.graphs.drawing.page import Markup
from graphmetric.model_report.plots import Plot


def draw_calibration(bins: Calibration) -> Markup:
    """Predicted against true distances: the middle, where half and where nine tenths of the predictions lie."""
    low, lower, middle, upper, high = bins.quantiles.T.tolist()
    true = bins.true.tolist()
    most = max(1.0, *true, *high)
    plot = Plot(
        (0.0, most),
        (0.0, most),
        title="Predicted against true distances",
        x_name="true distance, in edits",
        y_name="predicted distance",
    )
    plot.band(true, low, high, "wide-band")
    plot.band(true, lower, upper, "narrow-band")
    plot.line([0.0, most], [0.0, most], "ideal")
    plot.line(true, middle, "middle")
    said = zip(true, middle, low, high, bins.count.tolist(), strict=True)
    plot.dots(
        true,
        middle,
        "mark",
        [f"true {t:.3g}: median {m:.2f}, nine tenths in {a:.2f} to {b:.2f}, {n:,} pairs" for t, m, a, b, n in said],
    )
    return plot.to_svg()


def draw_size_errors(bins: SizeErrors) -> Markup:
    """Mean error as bars, bias as points, by the size of the graphs."""
    size, absolute, bias = bins.mean_size.tolist(), bins.absolute.tolist(), bins.bias.tolist()
    step = float(np.diff(bins.mean_size).min()) if len(size) > 1 else 1.0
    most, least = max(0.1, *absolute, *bias), min(0.0, *bias)
    plot = Plot(
        (min(size) - step, max(size) + step),
        (1.1 * least, 1.1 * most),
        title="Error by size of the graphs",
        x_name="mean number of nodes of the two graphs",
        y_name="error, in edits",
    )
    said = zip(size, absolute, bias, bins.count.tolist(), strict=True)
    words = [f"{s:.1f} nodes: mean error {a:.2f}, bias {b:+.2f}, {n:,} pairs" for s, a, b, n in said]
    plot.bars(size, absolute, 0.8 * step, words)
    plot.line(size, bias, "middle")
    plot.dots(size, bias, "mark", words)
    return plot.to_svg()
