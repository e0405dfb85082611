"""Progress of long jobs: a bar on a terminal or in a notebook, a log line every half minute anywhere else.

With :func:`talkative`, which ``verbose=True`` enters, lines come every few seconds, and where the program has set up no
logging they are written to standard error.
"""

from __future__ import annotations

import html
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol

_LOG_EVERY_SECONDS = 30.0
_TALK_EVERY_SECONDS = 5.0
_DRAW_EVERY_SECONDS = 0.5
_SILENT_SECONDS = 2.0
"""Jobs shorter than this show nothing."""

logger = logging.getLogger(__name__)
_is_talkative: ContextVar[bool] = ContextVar("whether progress is told where nobody listens to the log", default=False)


class Progress(Protocol):
    """What a long job calls after each piece of work; ``note`` says how it goes, such as the loss of a training."""

    def advance(self, amount: int = 1, note: str = "") -> None: ...


@contextmanager
def progress(description: str, total: int | None, unit: str = "") -> Iterator[Progress]:
    """Show how far a job is, how fast, and how long it will still take.

    A job whose ``total`` is None, such as one search, shows how long it has taken and its note.
    """
    if _is_terminal():
        with _bar(description, total, unit) as bar:
            yield bar
    elif (display := _notebook_display()) is not None:
        shown = _NotebookBar(display, _Count(description, total, unit))
        try:
            yield shown
        finally:
            shown.close()
    else:
        yield _LogLines(_Count(description, total, unit))


@contextmanager
def talkative(wanted: bool = True) -> Iterator[None]:
    """Within, progress and what is told by :func:`tell` is seen by people who have set up no logging."""
    before = _is_talkative.set(wanted or _is_talkative.get())
    try:
        yield
    finally:
        _is_talkative.reset(before)


def tell(message: str) -> None:
    """A line for the log; where the program has set up none, and :func:`talkative` is on, for standard error."""
    logger.info("%s", message)
    if _is_talkative.get() and not logging.getLogger().handlers:
        with suppress(OSError, ValueError, AttributeError):  # closed, a pipe that nobody reads, or none at all
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # None, as under pythonw, or closed
        return False


def _notebook_display() -> Any | None:
    """IPython's ``display`` in a notebook; None anywhere else, IPython on a terminal included."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return import_module("IPython.display").display


class _Count:
    """How much of a job is done, in words."""

    def __init__(self, description: str, total: int | None, unit: str) -> None:
        self.description, self.total, self.unit = description, total, unit
        self.started, self.done, self.note = time.monotonic(), 0, ""

    def add(self, amount: int, note: str) -> float:
        """Gives the time."""
        self.done, self.note = self.done + amount, note
        return time.monotonic()

    def __str__(self) -> str:
        elapsed = time.monotonic() - self.started
        note = f", {self.note}" if self.note else ""
        if self.total is None:
            return f"{self.description}: {elapsed:.0f} s{note}"
        rate = self.done / max(elapsed, 1e-9)
        left = (self.total - self.done) / rate if rate else float("inf")
        return (
            f"{self.description}: {self.done} of {self.total} {self.unit}, {rate:.0f} per second, about {left:.0f} s "
            f"left{note}"
        )


class _LogLines:
    def __init__(self, count: _Count) -> None:
        self._count, self._spoken = count, count.started
        self._every = _TALK_EVERY_SECONDS if _is_talkative.get() else _LOG_EVERY_SECONDS

    def advance(self, amount: int = 1, note: str = "") -> None:
        now = self._count.add(amount, note)
        if now - self._spoken >= self._every:
            self._spoken = now
            tell(str(self._count))


class _NotebookBar:
    """A bar in the output of a notebook's cell, which goes when the job ends."""

    def __init__(self, display: Any, count: _Count) -> None:
        self._display, self._count, self._drawn, self._handle = display, count, count.started, None

    def advance(self, amount: int = 1, note: str = "") -> None:
        now = self._count.add(amount, note)
        if now - self._count.started < _SILENT_SECONDS or now - self._drawn < _DRAW_EVERY_SECONDS:
            return
        self._drawn = now
        if self._handle is None:
            self._handle = self._display(self._shown(), raw=True, display_id=True)
        else:
            self._handle.update(self._shown(), raw=True)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def _shown(self) -> dict[str, str]:
        text, total = str(self._count), self._count.total
        bar = "" if total is None else f'<progress value="{self._count.done}" max="{total}"></progress> '
        return {"text/plain": text, "text/html": f"{bar}{html.escape(text)}"}


@contextmanager
def _bar(description: str, total: int | None, unit: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    counted: tuple[ProgressColumn, ...] = (
        BarColumn(), MofNCompleteColumn(), TextColumn(unit), TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    columns = counted if total is not None else (TimeElapsedColumn(),)
    ends = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    display = RichProgress(ends[0], *columns, ends[1], console=Console(stderr=True), transient=True)
    task = display.add_task(description, total=total, rate="", note="")
    started = time.monotonic()

    class Bar:
        def advance(self, amount: int = 1, note: str = "") -> None:
            elapsed = time.monotonic() - started
            done = display.tasks[0].completed + amount
            display.update(task, advance=amount, rate=f"{done / max(elapsed, 1e-9):,.0f}/s", note=note)
            if elapsed > _SILENT_SECONDS and not display.live.is_started:
                display.start()

    try:
        yield Bar()
    finally:
        if display.live.is_started:
            display.stop()
