"""Text that is safe in a page. The type checker tells it from text that is not."""

from __future__ import annotations

from html import escape
from typing import NewType

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
