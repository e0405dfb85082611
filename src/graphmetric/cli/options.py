"""Options and arguments that several commands share. Values out of range are refused before any file is read.

An option that is passed on unchanged is called by the name of the Python parameter, such as ``n_jobs`` for ``--jobs``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.types import FloatParamType, IntParamType

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.output import AS_JSON

if TYPE_CHECKING:
    from graphmetric.edit_distance import EditCosts
    from graphmetric.learned.learned_distance import LearnedDistance

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Checked(FloatParamType):
    """A number that passes a test, which NaN must not do; click's own ranges let it pass."""

    def __init__(
        self, name: str, kind: IntParamType | FloatParamType, is_right: Callable[[Any], bool], problem: str
    ) -> None:
        self.name, self.kind, self.is_right, self.problem = name, kind, is_right, problem

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = self.kind.convert(value, param, ctx)
        if not self.is_right(number):
            self.fail(self.problem.format(value), param, ctx)
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


class _Target(click.Path):
    """A file or folder to write, or - for standard output; refused before any work if it cannot be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = str(super().convert(value, param, ctx))
        if path != "-":
            check_writable(path, folder=self.dir_okay)
        return path


JOBS = _Checked("n", click.INT, bool, "0 threads cannot work: give 1 or more, or -1 for one per core.")
TIME_LIMIT = _TimeLimit()
SECONDS = _Checked("seconds", click.FLOAT, lambda number: number > 0, "{} is not a number of seconds above 0.")
FRACTION = _Checked(
    "fraction", click.FLOAT, lambda number: 0 <= number < 1, "{} is not a fraction of at least 0 and below 1."
)
NOT_NEGATIVE = _Checked("number", click.FLOAT, lambda number: number >= 0, "{} is not a number of at least 0.")
POSITIVE = _Checked("number", click.FLOAT, lambda number: number > 0, "{} is not a number above 0.")
COUNT = click.IntRange(1)
COUNT.name = "n"  # shown in the help as N
FILE = click.Path(dir_okay=False)
FOLDER = click.Path(file_okay=False)
OUT_FILE = _Target(dir_okay=False, allow_dash=True)
OUT_FOLDER = _Target(file_okay=False)


def _note_json(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    context.meta[AS_JSON] = given


json_option = click.option(
    "--json", is_flag=True, expose_value=False, callback=_note_json, help="Print the result as JSON."
)
jobs_option = click.option("--jobs", "n_jobs", type=JOBS, default=-1, help="Number of threads; -1 is one per core.")
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Let the workers of this dask scheduler do the work, such as tcp://host:8786. Needs the extra [cluster].",
)
device_option = click.option(
    "--device", default="cpu", metavar="NAME", help="Where the model encodes graphs: cpu, cuda or mps."
)


def gathered(name: str, make: Callable[..., Any], options: Mapping[str, Decorator]) -> Decorator:
    """Options, by the names of their parameters, that a command gets as one argument: what ``make`` makes of them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_options(*arguments: Any, **parameters: Any) -> Any:
            made = make(**{key: parameters.pop(key) for key in options})
            return command(*arguments, **{name: made}, **parameters)

        decorated: Callable[..., Any] = with_options
        for option in reversed([*options.values()]):
            decorated = option(decorated)
        return decorated

    return decorate


@dataclass(frozen=True, slots=True)
class Encoding:
    """Device or executor that encodes graphs, according to ``--jobs``, ``--device`` and ``--cluster``."""

    n_jobs: int = 1
    device: str = "cpu"
    cluster: str | None = None

    def load(self, model: str) -> LearnedDistance:
        """The model, ready to encode."""
        from graphmetric.learned.learned_distance import LearnedDistance

        return LearnedDistance.load(model, self.n_jobs, self.device)

    def executor(self) -> AbstractContextManager[Any]:
        """The workers of the cluster; None without one."""
        from graphmetric._foundation.executors import dask_client

        return nullcontext() if self.cluster is None else dask_client(self.cluster)


encoding_options = gathered(
    "encoding", Encoding, {"n_jobs": jobs_option, "device": device_option, "cluster": cluster_option}
)

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
    return click.option("--out", type=OUT_FOLDER, help=help, **chosen)


def method_option() -> Decorator:
    """``--method`` of a command that computes edit distances."""
    from graphmetric.edit_distance import method_names

    numbers = (
        "dual:400 sets the steps, refine:20 the effort, beam:10 the width, relaxed:0.01 the tolerance; "
        "relaxed:round_up gives whole edits."
    )
    names = f"How to search: {', '.join(method_names())}. {numbers}"
    return click.option("--method", default="exact", metavar="NAME", help=names)


def time_limit_option(default: str, meaning: str) -> Decorator:
    """``--time-limit`` of a command that searches. Its default value is "auto", which ``default`` describes."""
    shown = f"{meaning} 'none' means no limit."
    return click.option(
        "--time-limit", type=TIME_LIMIT, default="auto", show_default=default, metavar="SECONDS", help=shown
    )


def ignore_option(more: str = "") -> Decorator:
    """``--ignore`` of a command that counts edits, by the name ``costs``: unit costs without it, or None."""
    shown = f"Do not count this attribute, such as edge_labels. Can be repeated.{more}"
    return click.option("--ignore", "costs", multiple=True, metavar="ATTRIBUTE", callback=_read_costs, help=shown)


def limit_option(more: str = "") -> Decorator:
    """``--limit`` of a command that counts edits, by the name ``limits``: the most edits of each kind, or None."""
    shown = f"Allow at most N edits of this kind, such as ring=0 or element=2. Can be repeated.{more}"
    return click.option("--limit", "limits", multiple=True, metavar="KIND=N", callback=_read_limits, help=shown)


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


def _read_costs(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> EditCosts | None:
    from graphmetric.edit_distance import EditCosts

    return EditCosts(ignore=frozenset(given)) if given else None  # type: ignore[arg-type]
