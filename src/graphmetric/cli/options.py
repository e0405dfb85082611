"""Types of options that several commands have: what is out of range is told before anything is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.types import FloatParamType, IntParamType

if TYPE_CHECKING:
    from graphmetric.edit_distance import EditCosts


class _Jobs(IntParamType):
    """A number of threads."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number == 0:
            self.fail("0 threads cannot work: give 1 or more, or -1 for one per core.", param, ctx)
        return number


class _Number(FloatParamType):
    """A number in a range; never NaN, and infinity only where the range has no end."""

    def __init__(self, allowed: str, least: float, most: float = math.inf, least_open: bool = False) -> None:
        self.allowed, self.least, self.most, self.least_open = allowed, least, most, least_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not self.least <= number <= self.most or (self.least_open and number == self.least):
            self.fail(f"{value} is not {self.allowed}.", param, ctx)
        return number


class _TimeLimit(FloatParamType):
    """Seconds, or ``none`` for no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value).strip().lower()
        if text in ("auto", "none"):
            return "auto" if text == "auto" else None
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not seconds >= 0:
            self.fail(f"{value} is not a number of seconds, 0 or more, nor 'none' for no limit.", param, ctx)
        return seconds


def time_limit_option(default: str, meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--time-limit`` of a command that searches. Left out it is "auto"; ``default`` says what that stands for."""
    shown = f"{meaning} 'none': no limit.  [default: {default}]"
    return click.option("--time-limit", type=TIME_LIMIT, default="auto", metavar="SECONDS", help=shown)


def ignore_option(what: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--ignore`` of a command that counts edits; :func:`costs_of` makes costs of it."""
    said = f"An attribute that does not count, such as edge_labels. Repeatable.{what}"
    return click.option("--ignore", multiple=True, metavar="ATTRIBUTE", help=said)


def costs_of(ignore: tuple[str, ...]) -> EditCosts | None:
    """Unit costs without what is ignored; None if nothing is."""
    from graphmetric.edit_distance import EditCosts

    return EditCosts(ignore=frozenset(ignore)) if ignore else None  # type: ignore[arg-type]


JOBS = _Jobs()
TIME_LIMIT = _TimeLimit()
SEED = click.IntRange(0, 2**32 - 1)
SECONDS = _Number("a number of seconds above 0", 0.0, least_open=True)
FRACTION = _Number("a fraction of at least 0 and below 1", 0.0, math.nextafter(1.0, 0.0))
NOT_NEGATIVE = _Number("a number of at least 0", 0.0)
POSITIVE = _Number("a number above 0", 0.0, least_open=True)
