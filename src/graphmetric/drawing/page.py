"""Web pages that need nothing but themselves, and the plots on them: no scripts, links, or anything to fetch.

Colors are classes of the style sheet, so that they follow the reader's choice of light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple

from graphmetric._foundation.markup import Markup, element, escape_text, join, shorten

LEGEND = 14
"""Labels that a legend names."""
WIDTH, HEIGHT = 600.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 14.0, 14.0, 48.0
"""Margins of a plot, where the ticks and the names of the axes are."""

Paint = Literal["wide-band", "narrow-band", "middle", "ideal", "bar", "mark"]
"""The classes of the style sheet that plots use."""


def render_page(title: str, subtitle: str, sections: Sequence[Markup]) -> str:
    """A whole page in the one style. It is well-formed XML, too."""
    head = element(
        "head",
        Markup('<meta charset="utf-8"/>'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        element("title", escape_text(title)),
        element("style", Markup((files(__package__) / "style.css").read_text(encoding="utf-8"))),
    )
    top = element("header", element("h1", escape_text(title)), element("p", escape_text(subtitle)))
    body = element("body", element("main", top, join(sections)))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def section(title: str, lead: str, *body: Markup) -> Markup:
    """A part of a page under a title, with a sentence that says what it shows."""
    return element("section", element("h2", escape_text(title)), element("p", escape_text(lead), class_="lead"), *body)


def card(value: str, name: str, sentence: str, kind: str = "") -> Markup:
    """A number to remember; ``kind`` may be "good" or "bad"."""
    parts = [
        element("strong", escape_text(value)),
        element("b", escape_text(name)),
        element("p", escape_text(sentence)),
    ]
    return element("div", *parts, class_=f"card {kind}".strip())


def legend(colors: Mapping[str, str]) -> Markup:
    """The colors of labels, in the given order; nothing if there are none."""
    entries = [
        element("span", element("i", style=f"background:{color}"), escape_text(shorten(label, 16)))
        for label, color in list(colors.items())[:LEGEND]
    ]
    if len(colors) > LEGEND:
        entries.append(element("span", escape_text(f"and {len(colors) - LEGEND:,} more")))
    return element("p", escape_text("Node labels: "), *entries, class_="legend") if colors else Markup("")


class AxisScale(NamedTuple):
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
        self._x = AxisScale(*x, LEFT, WIDTH - RIGHT)
        self._y = AxisScale(*y, HEIGHT - BOTTOM, TOP)
        self._title = title
        self._elements = [*self._x_axis(x_name), *self._y_axis(y_name)]

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], paint: Paint) -> None:
        """The area between two curves."""
        outline = [*zip(xs, high, strict=True), *reversed(list(zip(xs, low, strict=True)))]
        self._elements.append(element("polygon", class_=paint, points=self._points(outline)))

    def line(self, xs: Sequence[float], ys: Sequence[float], paint: Paint) -> None:
        """A curve."""
        self._elements.append(element("polyline", class_=paint, points=self._points(zip(xs, ys, strict=True))))

    def dots(self, xs: Sequence[float], ys: Sequence[float], paint: Paint, notes: Sequence[str]) -> None:
        """Points; a note appears when the pointer rests on its point."""
        for x, y, note in zip(xs, ys, notes, strict=True):
            hint = element("title", escape_text(note))
            self._elements.append(element("circle", hint, class_=paint, cx=self._x(x), cy=self._y(y), r=3.6))

    def bars(self, xs: Sequence[float], heights: Sequence[float], width: float, notes: Sequence[str]) -> None:
        """Bars from zero, ``width`` wide in units of x; notes as for dots."""
        for x, height, note in zip(xs, heights, notes, strict=True):
            left, right = self._x(x - width / 2), self._x(x + width / 2)
            top, ground = sorted((self._y(height), self._y(0.0)))
            size = {"width": right - left, "height": ground - top}
            self._elements.append(
                element("rect", element("title", escape_text(note)), class_="bar", x=left, y=top, rx=2, **size)
            )

    def to_svg(self) -> Markup:
        """The whole picture, as wide as its surroundings."""
        return element(
            "svg",
            element("title", escape_text(self._title)),
            *self._elements,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
            role="img",
            class_="plot",
        )

    def _points(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)

    def _x_axis(self, name: str) -> Iterable[Markup]:
        ground = HEIGHT - BOTTOM
        for tick in nice_ticks(self._x.low, self._x.high):
            yield element("line", class_="grid", x1=self._x(tick), y1=TOP, x2=self._x(tick), y2=ground)
            yield _words(tick_text(tick), self._x(tick), ground + 18, "middle")
        yield _words(name, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "axis-name")

    def _y_axis(self, name: str) -> Iterable[Markup]:
        for tick in nice_ticks(self._y.low, self._y.high):
            yield element("line", class_="grid", x1=LEFT, y1=self._y(tick), x2=WIDTH - RIGHT, y2=self._y(tick))
            yield _words(tick_text(tick), LEFT - 8, self._y(tick) + 4, "end")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        yield _words(name, 16.0, middle, "middle", "axis-name", f"rotate(-90 16 {middle:.0f})")


def nice_ticks(low: float, high: float, about: int = 7) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within the range, roughly ``about`` of them.

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


def _words(text: str, x: float, y: float, anchor: str, class_: str = "tick", transform: str | None = None) -> Markup:
    return element("text", escape_text(text), x=x, y=y, text_anchor=anchor, class_=class_, transform=transform)
