"""Progress of long jobs: a bar on a terminal, a log line every half minute anywhere else."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_LOG_EVERY_SECONDS = 30.0
_SILENT_SECONDS = 2.0
"""Jobs shorter than this show nothing."""

logger = logging.getLogger(__name__)


class Progress(Protocol):
    """What a long job calls after each piece of work; ``note`` says how it goes, such as the loss of a training."""

    def advance(self, amount: int = 1, note: str = "") -> None: ...


@contextmanager
def progress(description: str, total: int | None, unit: str = "") -> Iterator[Progress]:
    """Show how far a job is, how fast, and how long it will still take.

    A job whose ``total`` is None, such as one search, shows how long it has taken and its note.
    """
    if sys.stderr.isatty():
        with _bar(description, total, unit) as bar:
            yield bar
    else:
        yield _LogLines(description, total, unit)


class _LogLines:
    def __init__(self, description: str, total: int | None, unit: str) -> None:
        self._description, self._total, self._unit = description, total, unit
        self._started = self._spoken = time.monotonic()
        self._done = 0

    def advance(self, amount: int = 1, note: str = "") -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._spoken < _LOG_EVERY_SECONDS:
            return
        self._spoken = now
        if self._total is None:
            logger.info("%s: %.0f s%s", self._description, now - self._started, f", {note}" if note else "")
            return
        rate = self._done / (now - self._started)
        left = (self._total - self._done) / rate if rate else float("inf")
        logger.info(
            "%s: %d of %d %s, %.0f per second, about %.0f s left%s",
            self._description, self._done, self._total, self._unit, rate, left, f", {note}" if note else "",
        )  # fmt: skip


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
