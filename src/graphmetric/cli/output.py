"""Output of commands: results, notes and errors, in a form that every terminal can show.

Graphs come from other people's files. An id may hold a character that the terminal's encoding lacks, half of a
surrogate pair, or an escape sequence that would move the cursor; none of these may stop a command or control the
terminal.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from graphmetric.errors import FileError, GraphMetricError

STOPPED = 130
"""Exit status after Ctrl-C, by the convention of shells."""
OUR_BUG = 70
"""Exit status after an error that nobody foresaw (EX_SOFTWARE)."""

_HARMLESS = "\n\t\xa0\u2002\u2003\u2009\u202f\u3000"
"""Line ends and blanks that Python does not count as printable."""
_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|bad_alloc|Unable to allocate", re.I)
_BUG = (
    "This is a bug in graphmetric, not your mistake. Please report it with the lines above, the command, and the "
    "output of `graphmetric doctor`."
)

AS_JSON = "graphmetric.json"
"""Key in the context of a command: whether its result is printed as JSON."""

logger = logging.getLogger(__name__)


def show(text: object = "", *, err: bool = False) -> None:
    """Print lines, to standard error if ``err``; control characters in them are shown, not obeyed."""
    with output_errors_named():
        click.echo(printable(str(text)), err=err)


def show_result(text: object, data: Any) -> None:
    """Print the result of a command: the text, or with ``--json`` the data."""
    show(to_json(data) if wants_json() else text)


def wants_json() -> bool:
    """Return whether the running command has the option ``--json``."""
    return bool(click.get_current_context().meta.get(AS_JSON))


def to_json(value: Any, *, one_line: bool = False) -> str:
    """JSON that every program can read: ASCII only, and null for numbers that JSON does not have."""
    return json.dumps(_plain(value), indent=None if one_line else 2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def printable(text: str) -> str:
    """The text with control characters and halves of characters spelled out, such as ``\\x1b``; line ends stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in _HARMLESS else char.encode("unicode_escape").decode() for char in text
    )


def in_line(text: object) -> str:
    """A name as part of a line: tabs and line ends are spelled out as well."""
    return printable(str(text)).replace("\t", "\\t").replace("\n", "\\n")


def can_print(text: str) -> bool:
    """Return whether the encoding of standard output has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


class PlainFormatter(logging.Formatter):
    """Formats log lines with control characters spelled out."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Within the block, print every warning once as a line on standard error, without the name of a source file."""
    printed: set[str] = set()

    def print_note(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if text not in printed:
            printed.add(text)
            click.echo(f"note: {printable(text)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        if not sys.warnoptions:
            for for_developers in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", for_developers)
        warnings.showwarning = print_note
        yield


def prepare_streams() -> None:
    """Make both outputs escape characters that they cannot encode, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def output_errors_named() -> Iterator[None]:
    """Convert an error in writing standard output to a FileError."""
    try:
        yield
    except BrokenPipeError:  # the reader of our output, such as `head`, has left
        raise
    except OSError as error:
        _discard_output()
        raise FileError(f"cannot be written: {error.strerror or error}", "standard output") from error


def flush_output() -> None:
    """Write what is still buffered, while an error can still be reported."""
    if sys.stdout is not None:
        with output_errors_named():
            sys.stdout.flush()


def _discard_output() -> None:
    """Send standard output nowhere, so that Python does not complain about it again when it exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def explain_error(error: BaseException) -> int:
    """Tell the user what stopped the command, and return the exit status.

    An error of the user or the machine is one line. Any other is our bug, and comes with a traceback.
    """
    cause = error.__cause__ if isinstance(error, click.exceptions.Abort) and error.__cause__ is not None else error
    with contextlib.suppress(OSError, FileError):  # standard error cannot be written either
        if isinstance(cause, KeyboardInterrupt | click.exceptions.Abort):
            show("stopped", err=True)
            return STOPPED
        if isinstance(cause, click.ClickException):
            cause.show()
            return cause.exit_code
        if isinstance(cause, BrokenPipeError):
            _discard_output()
            return 1
        sentence = _sentence_for(cause)
        if sentence is None:
            traceback.print_exception(cause)
            show(_BUG, err=True)
            return OUR_BUG
        logger.debug("traceback:", exc_info=cause)
        show(f"Error: {sentence}", err=True)
    return 1


def _sentence_for(error: BaseException) -> str | None:
    """None for an error that should never happen."""
    if isinstance(error, GraphMetricError):
        return str(error)
    if _is_out_of_memory(error):
        detail = str(error).strip().partition("\n")[0].rstrip(".") or "the system gave no more"
        advice = "take fewer or smaller graphs at a time, fewer --jobs, or a larger machine"
        return f"there is not enough memory ({detail}); {advice}"
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{place}{error.strerror or error}"
    if isinstance(error, UnicodeEncodeError):
        character = error.object[error.start : error.end][:1]
        return f"the character {character!a} cannot be written as {error.encoding}; rename the graph or label"
    if isinstance(error, UnicodeDecodeError):
        return f"bytes {error.object[error.start : error.end][:4]!r} are not text in {error.encoding}"
    return None


def _is_out_of_memory(error: BaseException) -> bool:
    """Also as torch, faiss and the system report it."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_NO_MEMORY.search(str(error))))
