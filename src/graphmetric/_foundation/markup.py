"""HTML that is safe, and the tables by which results show themselves in notebooks; the same tables as data frames.

Text that is safe in a page has a type of its own, so that the type checker tells it from text that is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NewType

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import needs_extra

if TYPE_CHECKING:
    import pandas

Markup = NewType("Markup", str)
"""Well-formed HTML, made by :func:`escape_text` and :func:`element` or a constant of the package."""

_SHOWN = 8
"""Rows and columns of a matrix that are shown."""
_LEFT = "text-align:left;vertical-align:top"


def escape_text(words: object) -> Markup:
    """Any text, escaped; what cannot be printed, such as control characters, is shown as a replacement character."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(words))
    return Markup(escape(shown))


def element(name: str, *children: Markup, **attributes: object) -> Markup:
    """``<name attributes>children</name>``.

    Underscores in names of attributes stand for hyphens, ``class_`` works, numbers with a fraction are written with one
    decimal, and attributes that are None are left out.
    """
    written = "".join(
        f' {key.strip("_").replace("_", "-")}="{f"{value:.1f}" if isinstance(value, float) else escape_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{''.join(children)}</{name}>")


def join(parts: Iterable[Markup]) -> Markup:
    """One after the other, each on a line of its own."""
    return Markup("\n".join(parts))


def shorten(text: str, most: int) -> str:
    """As much of a text as there is room for."""
    return text if len(text) <= most else text[: most - 1] + "…"


def notebook_view(title: str, *parts: Markup) -> str:
    """Return the notebook view of a result: a title, then its parts."""
    return element("div", element("p", element("strong", escape_text(title))), *parts)


def key_value_table(rows: Mapping[str, object]) -> Markup:
    """A table of names and values; values that are None are left out."""
    return element(
        "table",
        *(
            element("tr", element("th", escape_text(name), style=_LEFT), element("td", escape_text(value), style=_LEFT))
            for name, value in rows.items()
            if value is not None
        ),
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Markup]], more: int = 0) -> Markup:
    """A table with a heading for each column; ``more`` rows are only counted."""
    head = element("tr", *(element("th", escape_text(name), style=_LEFT) for name in columns))
    body = [element("tr", *(element("td", cell, style=_LEFT) for cell in row)) for row in rows]
    if more:
        body.append(element("tr", element("td", escape_text(f"and {more:,} more"), colspan=len(columns), style=_LEFT)))
    return element("table", element("thead", head), element("tbody", *body))


def matrix_table(lower: NDArray[np.float64], upper: NDArray[np.float64] | None = None) -> Markup:
    """The first rows and columns of a matrix, or of bounds of one; larger values are on a darker ground."""
    low = lower[:_SHOWN, :_SHOWN]
    high = low if upper is None else upper[:_SHOWN, :_SHOWN]
    shade = np.where(np.isfinite(high), high, 0.0)
    shade = 0.55 * np.maximum(0.0, shade) / (shade.max(initial=0.0) or 1.0)
    rest = [Markup("<th>…</th>")] if low.shape[1] < lower.shape[1] else []
    body = []
    for i, row in enumerate(low):
        texts = [f"{a:.4g}" if a == b or b != b else f"{a:.4g} .. {b:.4g}" for a, b in zip(row, high[i], strict=True)]
        styles = [f"background:rgba(63,110,214,{dark:.2f})" for dark in shade[i]]
        cells = [element("td", escape_text(text), style=style) for text, style in zip(texts, styles, strict=True)]
        body.append(element("tr", element("th", escape_text(i)), *cells))
    if len(low) < len(lower):
        body.append(element("tr", Markup("<th>…</th>")))
    head = element("tr", element("th"), *(element("th", escape_text(k)) for k in range(low.shape[1])), *rest)
    return element("table", element("thead", head), element("tbody", *body))


def captioned(pictures: Iterable[tuple[Markup, str]], more: int = 0) -> Markup:
    """Pictures beside each other, each with a line below it; ``more`` pictures are only counted."""
    tiles = [
        element(
            "figure",
            picture,
            element("figcaption", escape_text(shorten(words, 24)), title=words),
            style="margin:0 1em 1em 0",
        )
        for picture, words in pictures
    ]
    rest = [element("p", escape_text(f"and {more:,} more"))] if more else []
    return element("div", *tiles, *rest, style="display:flex;flex-wrap:wrap;align-items:end")


def data_frame(columns: Mapping[str, Any], what: str) -> pandas.DataFrame:
    """Columns of equal length as a data frame of pandas."""
    with needs_extra("pandas", what):
        import pandas
    return pandas.DataFrame(dict(columns))
