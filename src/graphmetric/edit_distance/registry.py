"""Methods by name, as the command line writes them: ``exact``, ``beam:10``, ``hed``."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, replace
from typing import Literal

from graphmetric.edit_distance.assignment_bounds import (
    BranchBound,
    Hausdorff,
    Hungarian,
    LocalSearch,
    PublishedHausdorff,
    VolgenantJonker,
)
from graphmetric.edit_distance.beam import BeamSearch, PublishedBeam
from graphmetric.edit_distance.exact import ExactSearch
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.errors import InvalidArgument

_ALL: tuple[type[EditDistanceMethod], ...] = (
    ExactSearch,
    BeamSearch,
    LocalSearch,
    Hungarian,
    VolgenantJonker,
    PublishedBeam,
    BranchBound,
    Hausdorff,
    PublishedHausdorff,
)
METHODS = {method.name: method for method in _ALL}

TimeLimit = float | Literal["auto"] | None
"""Seconds for each pair; None is no limit, "auto" what the function that takes it says."""


def as_method(
    method: str | EditDistanceMethod, *, time_limit: TimeLimit = "auto", auto: float | None = None
) -> EditDistanceMethod:
    """The method of this name, with its first parameter after a colon; a method object is returned as it is.

    Args:
        method: A name or a method object.
        time_limit: Seconds for each pair, for the exact search only; None for no limit. With "auto" an exact search
            that is asked for by its name gets ``auto`` seconds, and a method object keeps its own limits.
        auto: What "auto" stands for.

    Example:
        >>> as_method("exact", auto=10.0).time_limit
        10.0
        >>> as_method("exact", time_limit=None, auto=10.0).time_limit is None
        True
    """
    chosen = _parse(method) if isinstance(method, str) else method
    if not isinstance(chosen, EditDistanceMethod):
        raise InvalidArgument(f"method is a {type(method).__name__}; give a name ({_names()}) or a method object")
    if not isinstance(chosen, ExactSearch):
        if time_limit not in ("auto", None):
            raise InvalidArgument(f"a time limit goes with the exact search; {chosen.name} takes none")
        return chosen
    if time_limit == "auto":
        by_name_alone = isinstance(method, str) and ":" not in method
        return replace(chosen, time_limit=auto) if by_name_alone else chosen
    return replace(chosen, time_limit=_seconds(time_limit))


def renamed_time_limit(time_limit: TimeLimit, time_limit_per_pair: TimeLimit) -> TimeLimit:
    """The time limit by its name, or by the one that it had before."""
    if time_limit_per_pair == "auto":
        return time_limit
    warnings.warn("time_limit_per_pair is now called time_limit", DeprecationWarning, stacklevel=3)
    return time_limit_per_pair


def _seconds(time_limit: float | str | None) -> float | None:
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is None or time_limit == math.inf:
        return None
    if not is_number or not time_limit >= 0:  # type: ignore[operator]
        raise InvalidArgument(
            f"time_limit is {time_limit!r}; it must be a number of seconds that is not negative, 'auto', "
            "or None for no limit"
        )
    return float(time_limit)


def _parse(text: str) -> EditDistanceMethod:
    name, _, argument = text.partition(":")
    if name not in METHODS:
        raise InvalidArgument(f"there is no method {name!r}; there are {_names()}")
    kind = METHODS[name]
    if not argument:
        return kind()
    parameters = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    try:
        return kind(**{parameters[0]: float(argument) if "." in argument else int(argument)})
    except (IndexError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"method {text!r}: {argument!r} is not a number that {name} takes") from None


def _names() -> str:
    return ", ".join(METHODS)
