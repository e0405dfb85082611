"""What a user of the command line reads: warnings in words, and no character that could steer the terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what is warned of within as a line to standard error, each message once, without file names."""
    if getattr(warnings.showwarning, "prints_notes", False):  # an outer block does it already
        yield
        return
    said: set[str] = set()

    def say(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if text not in said:
            said.add(text)
            click.echo(f"note: {printable(text)}", err=True)

    say.prints_notes = True  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        if not sys.warnoptions:
            for library_matter in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", library_matter)
        warnings.showwarning = say
        yield


def printable(text: str) -> str:
    """The text with control characters and halves of characters spelled out, such as ``\\x1b``; line ends stay.

    Ids and labels come from files; a terminal would obey the escape sequences in them.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" or char in _HARMLESS else char.encode("unicode_escape").decode()
        for char in text
    )


_HARMLESS = "\xa0\u2002\u2003\u2009\u202f\u3000"
"""Blanks that Python does not count as printable."""
