"""Colours of node labels: the customary ones for chemical elements, and different ones for different labels."""

from __future__ import annotations

import colorsys
import math
import zlib
from collections.abc import Hashable, Iterable

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
