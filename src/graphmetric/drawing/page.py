"""Pages that need nothing but themselves: one HTML file without scripts, links, or anything to fetch.

Text that is safe in a page has a type of its own, so that the type checker tells it from text that is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import NewType

LEGEND = 14
"""Labels that a legend names."""

Markup = NewType("Markup", str)
"""Well-formed HTML. Made by :func:`say` and :func:`element`, or written out in this folder without anything foreign."""


def say(words: object) -> Markup:
    """Any text, escaped; what cannot be printed, such as control characters, is shown as a replacement character."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(words))
    return Markup(escape(shown))


def element(name: str, *children: Markup, **attributes: object) -> Markup:
    """``<name attributes>children</name>``; underscores in names of attributes stand for hyphens, ``class_`` works."""
    written = "".join(f' {key.strip("_").replace("_", "-")}="{say(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(children)}</{name}>")


def join(parts: list[Markup] | tuple[Markup, ...]) -> Markup:
    """One after the other, each on a line of its own."""
    return Markup("\n".join(parts))


def render_page(title: str, subtitle: str, sections: Sequence[Markup]) -> str:
    """A whole page in the one style, which follows the reader's choice of light or dark. It is well-formed XML, too."""
    head = element(
        "head",
        Markup('<meta charset="utf-8"/>'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        element("title", say(title)),
        element("style", Markup((files(__package__) / "style.css").read_text(encoding="utf-8"))),
    )
    top = element("header", element("h1", say(title)), element("p", say(subtitle)))
    body = element("body", element("main", top, join(list(sections))))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def section(title: str, lead: str, *body: Markup) -> Markup:
    """A part of a page under a title, with a sentence that says what it shows."""
    return element("section", element("h2", say(title)), element("p", say(lead), class_="lead"), *body)


def card(value: str, name: str, sentence: str, kind: str = "") -> Markup:
    """A number to remember; ``kind`` may be "good" or "bad"."""
    parts = [element("strong", say(value)), element("b", say(name)), element("p", say(sentence))]
    return element("div", *parts, class_=f"card {kind}".strip())


def legend(colors: Mapping[str, str]) -> Markup:
    """The colours of labels, in the given order; nothing if there are none."""
    entries = [
        element("span", element("i", style=f"background:{color}"), say(shorten(label, 16)))
        for label, color in list(colors.items())[:LEGEND]
    ]
    if len(colors) > LEGEND:
        entries.append(element("span", say(f"and {len(colors) - LEGEND:,} more")))
    return element("p", say("Node labels: "), *entries, class_="legend") if colors else Markup("")


def shorten(text: str, most: int) -> str:
    """As much of a text as there is room for."""
    return text if len(text) <= most else text[: most - 1] + "…"
