"""A time limit that work in slices keeps to.

Kernels run for a fraction of a second at a time and the clock is read in between: that keeps a limit to a tenth of a
second, and lets Ctrl-C through.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field


class OutOfTime(Exception):
    """The deadline has passed; whoever set it turns this into an answer or an error."""


@dataclass(slots=True)
class Deadline:
    """A moment on the clock of ``time.perf_counter``; never, by default."""

    moment: float = math.inf
    stopped: bool = field(default=False, init=False)
    """Set when other threads are to end their work as soon as they can."""

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None: never."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def exists(self) -> bool:
        return self.moment < math.inf

    @property
    def left(self) -> float:
        """Seconds until then."""
        return self.moment - time.perf_counter()

    def check(self, ahead: float = 0.0) -> None:
        """Raise unless there is time for work that takes ``ahead`` seconds."""
        if self.stopped or (self.exists and self.left <= ahead):
            raise OutOfTime

    def sooner(self, seconds: float) -> Deadline:
        """A deadline that leaves so many seconds for what comes after it."""
        return Deadline(self.moment - seconds)
