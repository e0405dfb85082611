"""What the command line prints: text that any terminal takes, and one sentence for what went wrong.

Graphs come from files of other people. An id may hold a character that the terminal's encoding lacks, half of a
surrogate pair, or an escape sequence that would move the cursor; none of them may stop a command or rule the terminal.

What a user of the command line reads: warnings in words, and no character that could steer the terminal.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.markup import escape

from graphmetric.errors import FileError, GraphMetricError


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

STOPPED = 130
"""Exit status after Ctrl-C, as shells have it."""
OUR_FAULT = 70
"""Exit status of an error that nobody foresaw (EX_SOFTWARE)."""

_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|bad_alloc|Unable to allocate", re.I)
_FAULT = (
    "This is a fault of graphmetric, not yours. Please report it with the lines above, the command, and what "
    "`graphmetric doctor` prints."
)

logger = logging.getLogger(__name__)


def prepare_streams() -> None:
    """Let both outputs escape the characters that they cannot encode, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: object = "", *, err: bool = False) -> None:
    """Print some lines, to standard error if ``err``; control characters in them are shown, not obeyed."""
    with speaking():
        click.echo(printable(str(text)), err=err)


def say_json(value: Any, *, lines: bool = False) -> None:
    """Print data for a program to read; ``lines`` puts all of it into one line."""
    say(to_json(value, lines=lines))


def to_json(value: Any, *, lines: bool = False) -> str:
    """JSON that every program can read: in ASCII, and numbers that JSON does not have are null."""
    return json.dumps(_plain(value), indent=None if lines else 2, allow_nan=False)


@contextmanager
def speaking() -> Iterator[None]:
    """Around all that is printed: where standard output cannot be written, the error says so."""
    try:
        yield
    except BrokenPipeError:  # the reader of our output, such as `head`, has left
        raise
    except OSError as error:
        discard_output()
        raise FileError(f"cannot be written: {error.strerror or error}", "standard output") from error


def in_line(text: object) -> str:
    """A name as part of a line: also its tabs and newlines are shown as escapes."""
    return printable(str(text)).replace("\t", "\\t").replace("\n", "\\n")


def in_table(text: object) -> str:
    """The same for rich, which would take a name in brackets for a colour."""
    return escape(in_line(text))


def can_print(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


class PlainFormatter(logging.Formatter):
    """Log lines with control characters shown."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def finish_output() -> None:
    """Write what is still buffered, while an error can be told."""
    if sys.stdout is not None:
        with speaking():
            sys.stdout.flush()


def discard_output() -> None:
    """Point standard output nowhere, so that Python does not complain about it once more when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def explain(error: BaseException) -> int:
    """Tell the user what stopped the command; returns the exit status.

    What the user or the machine caused is one line. Anything else is our fault, and comes with a traceback.
    """
    cause = error.__cause__ if isinstance(error, click.exceptions.Abort) and error.__cause__ is not None else error
    with contextlib.suppress(OSError, FileError):  # nobody hears us
        if isinstance(cause, KeyboardInterrupt | click.exceptions.Abort):
            say("stopped", err=True)
            return STOPPED
        if isinstance(cause, click.ClickException):
            cause.show()
            return cause.exit_code
        if isinstance(cause, BrokenPipeError):
            discard_output()
            return 1
        sentence = _sentence_for(cause)
        if sentence is None:
            traceback.print_exception(cause)
            say(_FAULT, err=True)
            return OUR_FAULT
        logger.debug("traceback:", exc_info=cause)
        say(f"Error: {sentence}", err=True)
    return 1


def _sentence_for(error: BaseException) -> str | None:
    """None for what should never happen."""
    if isinstance(error, GraphMetricError):
        return str(error)
    if _is_out_of_memory(error):
        return (
            f"there is not enough memory ({_first_line(error) or 'the system gave no more'}); take fewer or smaller "
            "graphs at a time, fewer --jobs, or a larger machine"
        )
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{place}{error.strerror or error}"
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start : error.end][:1]
        return f"the character {character!a} cannot be written as {error.encoding}; rename what holds it"
    if isinstance(error, UnicodeDecodeError):
        return f"bytes {error.object[error.start : error.end][:4]!r} are not text in {error.encoding}"
    return None


def _is_out_of_memory(error: BaseException) -> bool:
    """Also as torch, faiss and the system say it."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_NO_MEMORY.search(str(error))))


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _plain(value: Any) -> Any:
    """Numbers that JSON does not have become None, so that what is printed can be read everywhere."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
