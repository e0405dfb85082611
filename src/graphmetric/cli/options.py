"""Options and arguments that several commands share. Values out of range are refused before any file is read.

An option that is passed on unchanged is called by the name of the Python parameter, such as ``n_jobs`` for ``--jobs``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any

import click
from click.types import FloatParamType, IntParamType

if TYPE_CHECKING:
    from graphmetric.edit_distance import EditCosts

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Jobs(IntParamType):
    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number == 0:
            self.fail("0 threads cannot work: give 1 or more, or -1 for one per core.", param, ctx)
        return number


class _Number(FloatParamType):
    """A number of at least 0, or above 0 if ``open``; never NaN, which click's own range lets pass."""

    def __init__(self, name: str, allowed: str, *, most: float = math.inf, open: bool = False) -> None:
        self.name, self.allowed, self.most, self.open = name, allowed, most, open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not 0 <= number <= self.most or (self.open and number == 0):
            self.fail(f"{value} is not {self.allowed}.", param, ctx)
        return number


class _TimeLimit(FloatParamType):
    """A number of seconds, ``none`` for no limit, or ``auto``."""

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


class RenamedOption(click.Option):
    """An option that can still be called by its earlier names; the help shows the first name only."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        shown = copy(self)
        shown.opts = self.opts[:1]
        return click.Option.get_help_record(shown, ctx)


JOBS = _Jobs()
TIME_LIMIT = _TimeLimit()
SECONDS = _Number("seconds", "a number of seconds above 0", open=True)
FRACTION = _Number("fraction", "a fraction of at least 0 and below 1", most=math.nextafter(1.0, 0.0))
NOT_NEGATIVE = _Number("number", "a number of at least 0")
POSITIVE = _Number("number", "a number above 0", open=True)
COUNT = click.IntRange(1)
COUNT.name = "n"  # shown in the help as N
FILE = click.Path(dir_okay=False)
FOLDER = click.Path(file_okay=False)

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
jobs_option = click.option("--jobs", "n_jobs", type=JOBS, default=-1, help="Number of threads; -1 is one per core.")
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Let the workers of this dask scheduler do the work, such as tcp://host:8786. Needs the extra [cluster].",
)


device_option = click.option(
    "--device", default="cpu", metavar="NAME", help="Where the model encodes graphs: cpu, cuda or mps."
)


def workers_at(cluster: str | None) -> AbstractContextManager[Any]:
    """The executor that ``--cluster`` names; None without one."""
    from graphmetric._foundation.executors import cluster_at

    return nullcontext() if cluster is None else cluster_at(cluster)


model_argument = click.argument("model", type=FOLDER)
smiles_option = click.option("--smiles", is_flag=True, help="The graphs are given as SMILES, not as files.")
edge_labels_option = click.option(
    "--edge-labels/--no-edge-labels",
    default=None,
    help="Keep or drop the edge labels of a data set. By default they are kept if its distances count them.",
)
view_option = click.option(
    "--view",
    type=click.Choice(["raw", "steinhaus", "paper"]),
    default="raw",
    help="Scale of the distances: edits, or one of two scales from 0 to 1.",
)


def seed_option(name: str, purpose: str = "all random choices") -> Decorator:
    """``--seed``; ``name`` is that of the Python parameter."""
    kind = click.IntRange(0, 2**32 - 1)
    shown = f"Seed of {purpose}."
    return click.option("--seed", name, type=kind, default=0, metavar="N", help=shown)


def out_folder_option(help: str, default: str | None = None) -> Decorator:
    """``--out`` of a command that writes a folder; required unless it has a default."""
    chosen: dict[str, Any] = {"required": True} if default is None else {"default": default}
    return click.option("--out", type=FOLDER, help=help, **chosen)


def method_option() -> Decorator:
    """``--method`` of a command that computes edit distances."""
    from graphmetric.baselines import published as _published  # noqa: F401 (it registers its methods)
    from graphmetric.edit_distance.method import METHODS

    numbers = "dual:400 sets the steps, refine:20 the effort, beam:10 the width, relaxed:0.01 the tolerance."
    names = f"How to search: {', '.join(METHODS)}. {numbers}"
    return click.option("--method", default="exact", metavar="NAME", help=names)


def time_limit_option(default: str, meaning: str) -> Decorator:
    """``--time-limit`` of a command that searches. Its default value is "auto"; ``default`` says what that means."""
    shown = f"{meaning} 'none' means no limit."
    return click.option(
        "--time-limit", type=TIME_LIMIT, default="auto", show_default=default, metavar="SECONDS", help=shown
    )


def ignore_option(more: str = "") -> Decorator:
    """``--ignore`` of a command that counts edits; :func:`costs_of` makes costs of it."""
    shown = f"Do not count this attribute, such as edge_labels. Can be repeated.{more}"
    return click.option("--ignore", multiple=True, metavar="ATTRIBUTE", help=shown)


def limit_option(more: str = "") -> Decorator:
    """``--limit`` of a command that counts edits, by the name ``edit_limits``: the most edits of each kind, or None."""
    shown = f"Allow at most N edits of this kind, such as ring=0 or element=2. Can be repeated.{more}"
    return click.option("--limit", "edit_limits", multiple=True, metavar="KIND=N", callback=_read_limits, help=shown)


def _read_limits(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, int] | None:
    from graphmetric.edit_distance.limited import check_limits
    from graphmetric.errors import InvalidArgument

    limits = dict[str, int]()
    for text in given:
        kind, _, number = text.partition("=")
        if not number.strip().isdecimal():
            raise click.BadParameter(f"{text} is not a kind of edits with a number, such as ring=0.", ctx, param)
        limits[kind.strip()] = int(number)
    try:
        return check_limits(limits) or None
    except InvalidArgument as error:
        raise click.BadParameter(str(error), ctx, param) from None


def costs_of(ignore: tuple[str, ...]) -> EditCosts | None:
    """Unit costs that ignore these attributes; None if there are none."""
    from graphmetric.edit_distance import EditCosts

    return EditCosts(ignore=frozenset(ignore)) if ignore else None  # type: ignore[arg-type]
