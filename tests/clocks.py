"""Clocks for tests, so that no verdict depends on how quick the machine is.

All time limits are counted by one clock, :data:`graphmetric._foundation.limits.working_clock`. Here it gets the seconds
of a counter, which make a limit of so many seconds a limit of so many readings.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from graphmetric._foundation.limits import working_clock

NOT_FOR_EVER = 600.0
"""Seconds to wait for something that takes a fraction of one and, if it fails, would never come or take hours."""


def interrupt(work: Callable[[], object]) -> None:
    """Do the work and press Ctrl-C a moment after it began; raises KeyboardInterrupt, whenever that moment comes."""
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    work()
    threading.Event().wait(NOT_FOR_EVER)  # the work was quicker


class CountedSeconds:
    """Seconds that pass only when the clock is read: ``step`` of them each time."""

    def __init__(self, step: float) -> None:
        self.step, self.readings, self._start = step, 0, math.ceil(working_clock.source())

    def __call__(self) -> float:
        self.readings += 1
        return self._start + self.readings * self.step


@contextmanager
def counted_seconds(step: float) -> Iterator[CountedSeconds]:
    """Let every reading of the clock of time limits take ``step`` seconds, and nothing else any.

    0 lets no limit pass ever. Where threads wait for each other one of them may read the clock as often as it likes: a
    test then asks for what holds after any number of readings.
    """
    seconds = CountedSeconds(step)
    with mock.patch.object(working_clock, "source", seconds):
        yield seconds
