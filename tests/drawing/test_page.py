"""Plots that a browser, an XML reader and an enemy all get right."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric._foundation.markup import element, escape_text
from graphmetric.drawing.page import HEIGHT, WIDTH, AxisScale, Plot, nice_ticks, tick_text

SVG = "{http://www.w3.org/2000/svg}"


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_even_and_within(low: float, extent: float) -> None:
    ticks = nice_ticks(low, low + extent)
    assert 2 <= len(ticks) <= 8
    assert low - 1e-6 * extent <= ticks[0]
    assert ticks[-1] <= low + extent * (1 + 1e-6)
    steps = np.diff(ticks)
    assert steps == pytest.approx(np.full(len(steps), steps[0]))
    assert f"{steps[0]:.0e}"[0] in "125"


def test_ticks_of_nothing() -> None:
    assert nice_ticks(3.0, 3.0) == [3.0]
    assert tick_text(0.1 + 0.2) == "0.3"


@given(st.floats(-100, 100), st.floats(0.1, 100), st.floats(0, 1))
def test_scale_is_linear(low: float, extent: float, share: float) -> None:
    scale = AxisScale(low, low + extent, 50, 250)
    assert scale(low + share * extent) == pytest.approx(50 + share * 200, abs=1e-6)


def test_everything_is_drawn_inside() -> None:
    plot = Plot((0, 4), (-1, 4), title="a < b & c", x_name="<x>", y_name="y")
    plot.band([0, 2, 4], [0, 1, 2], [1, 3, 4], "wide-band")
    plot.line([0, 4], [0, 4], "ideal")
    plot.dots([1, 2], [1, 2], "mark", ["one", "<two>"])
    plot.bars([1, 3], [2, -1], 0.8, ["up", "down"])
    root = ElementTree.fromstring(plot.to_svg())
    assert root.findtext(f"{SVG}title") == "a < b & c"
    assert [dot.findtext(f"{SVG}title") for dot in root.iter(f"{SVG}circle")] == ["one", "<two>"]
    for bar in root.iter(f"{SVG}rect"):
        left, top, width, height = (float(bar.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= left < left + width <= WIDTH
        assert 0 <= top < top + height <= HEIGHT
    up, down = root.iter(f"{SVG}rect")
    assert float(up.attrib["y"]) + float(up.attrib["height"]) == pytest.approx(float(down.attrib["y"]))


@given(st.text())
def test_any_text_is_safe_and_can_be_written(text: str) -> None:
    markup = element("p", escape_text(text), title=text)
    root = ElementTree.fromstring(markup.encode())
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    assert (root.text or "") == shown
    assert root.attrib["title"] == shown
