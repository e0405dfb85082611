"""Axes, bands, lines and bars as SVG. Colours are classes of the style sheet, so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from graphmetric.drawing.page import Markup, element, say

WIDTH, HEIGHT = 600.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 14.0, 14.0, 48.0
"""Margins, where the ticks and the names of the axes are."""

Paint = Literal["wide-band", "narrow-band", "middle", "ideal", "bar", "mark"]
"""What the style sheet knows."""


class Scale(NamedTuple):
    """A linear map of values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)


class Plot:
    """A pair of axes to draw on; later things lie over earlier ones."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], *, title: str, x_name: str, y_name: str) -> None:
        self._x = Scale(*x, LEFT, WIDTH - RIGHT)
        self._y = Scale(*y, HEIGHT - BOTTOM, TOP)
        self._title = title
        self._elements = [*self._x_axis(x_name), *self._y_axis(y_name)]

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], paint: Paint) -> None:
        """The area between two curves."""
        outline = [*zip(xs, high, strict=True), *reversed(list(zip(xs, low, strict=True)))]
        self._add("polygon", paint, points=self._points(outline))

    def line(self, xs: Sequence[float], ys: Sequence[float], paint: Paint) -> None:
        """A curve."""
        self._add("polyline", paint, points=self._points(zip(xs, ys, strict=True)))

    def dots(self, xs: Sequence[float], ys: Sequence[float], paint: Paint, notes: Sequence[str]) -> None:
        """Points; a note appears when the pointer rests on its point."""
        for x, y, note in zip(xs, ys, notes, strict=True):
            center = {"cx": f"{self._x(x):.1f}", "cy": f"{self._y(y):.1f}"}
            self._add("circle", paint, element("title", say(note)), r="3.6", **center)

    def bars(self, xs: Sequence[float], heights: Sequence[float], width: float, notes: Sequence[str]) -> None:
        """Bars from zero, ``width`` wide in units of x; notes as for dots."""
        for x, height, note in zip(xs, heights, notes, strict=True):
            left, right = self._x(x - width / 2), self._x(x + width / 2)
            top, ground = sorted((self._y(height), self._y(0.0)))
            self._add(
                "rect",
                "bar",
                element("title", say(note)),
                x=f"{left:.1f}",
                y=f"{top:.1f}",
                width=f"{right - left:.1f}",
                height=f"{ground - top:.1f}",
                rx="2",
            )

    def to_svg(self) -> Markup:
        """The whole picture, as wide as its surroundings."""
        return element(
            "svg",
            element("title", say(self._title)),
            *self._elements,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
            role="img",
            class_="plot",
        )

    def _add(self, name: str, paint: str, *children: Markup, **attributes: str) -> None:
        self._elements.append(element(name, *children, class_=paint, **attributes))

    def _points(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)

    def _x_axis(self, name: str) -> Iterable[Markup]:
        ground = HEIGHT - BOTTOM
        for tick in nice_ticks(self._x.low, self._x.high):
            yield _grid_line(self._x(tick), TOP, self._x(tick), ground)
            yield _words(tick_text(tick), self._x(tick), ground + 18, "middle")
        yield _words(name, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "axis-name")

    def _y_axis(self, name: str) -> Iterable[Markup]:
        for tick in nice_ticks(self._y.low, self._y.high):
            yield _grid_line(LEFT, self._y(tick), WIDTH - RIGHT, self._y(tick))
            yield _words(tick_text(tick), LEFT - 8, self._y(tick) + 4, "end")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        yield _words(name, 16, middle, "middle", "axis-name", f"rotate(-90 16 {middle:.0f})")


def nice_ticks(low: float, high: float, about: int = 7) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within the range, ``about`` as many as asked for.

    Example:
        >>> nice_ticks(0, 23)
        [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    if not low < high:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    """Short, without the noise of binary fractions."""
    return f"{value:.6g}"


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", class_="grid", **{name: f"{value:.1f}" for name, value in ends.items()})


def _words(text: str, x: float, y: float, anchor: str, class_: str = "tick", transform: str | None = None) -> Markup:
    turned = {} if transform is None else {"transform": transform}
    return element("text", say(text), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=class_, **turned)
