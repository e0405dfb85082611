"""Progress of jobs of more than two seconds: a bar on a terminal or in a notebook, lines anywhere else.

A line comes after two seconds and then every half minute, or every few seconds within ``verbose_progress(True)``. Lines
are logged at the level INFO; in a program that has set up no logging they go to standard error. A program silences them
by ``logging.getLogger("graphmetric").setLevel("WARNING")``, and a block by ``verbose_progress(False)``.
"""

from __future__ import annotations

import html
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from importlib import import_module
from typing import Any

_LINE_EVERY_SECONDS = 30.0
_VERBOSE_EVERY_SECONDS = 5.0
_DRAW_EVERY_SECONDS = 0.5
_TICK_SECONDS = 0.5
_SILENT_SECONDS = 2.0
"""A job that is shorter than this shows nothing."""

logger = logging.getLogger(__name__)
_verbosity: ContextVar[bool | None] = ContextVar("_verbosity", default=None)
"""True: many lines; False: nothing; None: few lines."""


@contextmanager
def progress(description: str, total: int | None, unit: str = "") -> Iterator[Progress]:
    """Show how far a job is, how fast it goes, and how long it will still take.

    A job whose ``total`` is None, such as one search, shows how long it has taken and its note.
    """
    display = _kind_of_display()(description, total, unit)
    try:
        yield display
    finally:
        display.close()


@contextmanager
def lasting(description: str) -> Iterator[None]:
    """Show how long a job has taken that cannot say how far it is, such as one call of another library."""
    done = threading.Event()
    with progress(description, None) as display:

        def tick() -> None:
            while not done.wait(_TICK_SECONDS):
                display.advance(0)

        ticking = threading.Thread(target=copy_context().run, args=(tick,), daemon=True)
        ticking.start()
        try:
            yield
        finally:
            done.set()
            ticking.join()


@contextmanager
def verbose_progress(verbose: bool | None) -> Iterator[None]:
    """Show many lines within the block, or with False nothing at all; None changes nothing."""
    before = _verbosity.set(_verbosity.get() if verbose is None else verbose)
    try:
        yield
    finally:
        _verbosity.reset(before)


def announce(message: str) -> None:
    """Log a message, or write it to standard error if no logging is set up."""
    if _is_silenced():
        return
    logger.info("%s", message)
    if not _is_logged():
        with suppress(OSError, ValueError, AttributeError):  # closed, a pipe without a reader, or None
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # None, as under pythonw, or closed
        return False


def _is_silenced() -> bool:
    """Return whether progress is disabled, by ``verbose=False`` or by the level of our loggers."""
    return _verbosity.get() is False or logging.getLogger("graphmetric").level > logging.INFO


def _is_logged() -> bool:
    """Return whether the program has set up logging, for everything or for us."""
    handlers = logging.getLogger().handlers + logging.getLogger("graphmetric").handlers
    return any(not isinstance(handler, logging.NullHandler) for handler in handlers)


def _kind_of_display() -> type[Progress]:
    if _is_silenced():
        return _Hidden
    return _TerminalBar if is_terminal() else _NotebookBar if _is_notebook() else _Lines


def _is_notebook() -> bool:
    """Return whether this runs in a notebook; IPython in a terminal is none."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"


class Progress:
    """Counts the work that is done and shows it now and then."""

    def __init__(self, description: str, total: int | None, unit: str) -> None:
        self.description, self.total, self.unit = description, total, unit
        self.done, self.note = 0, ""
        self.started = self.last_shown = time.monotonic()

    def advance(self, amount: int = 1, note: str | Callable[[], str] = "") -> None:
        """Count a piece of work that is done, and show it if that is due.

        ``note`` describes how the job goes, such as the loss of a training run. A function that makes it is called only
        if it is shown.
        """
        self.done += amount
        now = time.monotonic()
        if self.is_due(now - self.started, now - self.last_shown):
            self.last_shown = now
            self.note = note() if callable(note) else note
            self.show()

    def is_due(self, elapsed: float, since_shown: float) -> bool:
        return elapsed >= _SILENT_SECONDS and since_shown >= _DRAW_EVERY_SECONDS

    def show(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Remove the display at the end of the job."""

    @property
    def rate(self) -> float:
        """Units per second so far."""
        return self.done / max(time.monotonic() - self.started, 1e-9)

    def __str__(self) -> str:
        note = f", {self.note}" if self.note else ""
        if self.total is None:
            return f"{self.description}: {time.monotonic() - self.started:.0f} s{note}"
        rate = self.rate
        left = (self.total - self.done) / rate if rate else float("inf")
        counted = f"{self.done} of {self.total} {self.unit}, {rate:.0f} per second, about {left:.0f} s left"
        return f"{self.description}: {counted}{note}"


class _Hidden(Progress):
    def is_due(self, elapsed: float, since_shown: float) -> bool:
        return False


class _Lines(Progress):
    def is_due(self, elapsed: float, since_shown: float) -> bool:
        if self.last_shown == self.started:
            return elapsed >= _SILENT_SECONDS
        return since_shown >= (_VERBOSE_EVERY_SECONDS if _verbosity.get() else _LINE_EVERY_SECONDS)

    def show(self) -> None:
        announce(str(self))


class _NotebookBar(Progress):
    """A bar in the output of a notebook's cell."""

    _handle: Any = None

    def show(self) -> None:
        bar = "" if self.total is None else f'<progress value="{self.done}" max="{self.total}"></progress> '
        shown = {"text/plain": str(self), "text/html": f"{bar}{html.escape(str(self))}"}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


class _TerminalBar(Progress):
    """A bar of rich, which draws itself ten times a second from what it was last told."""

    def __init__(self, *job: Any) -> None:
        from rich import progress as rich
        from rich.console import Console

        super().__init__(*job)
        columns: tuple[rich.ProgressColumn, ...] = (rich.TimeElapsedColumn(),)
        if self.total is not None:
            counts = rich.MofNCompleteColumn(), rich.TextColumn(self.unit), rich.TextColumn("{task.fields[rate]}")
            columns = (rich.BarColumn(), *counts, rich.TimeRemainingColumn())
        ends = rich.TextColumn("{task.description}"), rich.TextColumn("{task.fields[note]}")
        self._bar = rich.Progress(ends[0], *columns, ends[1], console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self.description, total=self.total, rate="", note="")

    def show(self) -> None:
        self._bar.update(self._task, completed=self.done, rate=f"{self.rate:,.0f}/s", note=self.note)
        if not self._bar.live.is_started:
            self._bar.start()

    def close(self) -> None:
        if self._bar.live.is_started:
            self._bar.stop()
