"""Methods by name, as the command line writes them: ``exact``, ``beam:10``, ``hed``."""

from __future__ import annotations

from dataclasses import fields, replace

from graphmetric.edit_distance.beam import BeamSearch, PublishedBeam
from graphmetric.edit_distance.bipartite import Hungarian, VolgenantJonker
from graphmetric.edit_distance.branch import BranchBound, LocalSearch
from graphmetric.edit_distance.exact import ExactSearch
from graphmetric.edit_distance.hausdorff import Hausdorff, PublishedHausdorff
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


def as_method(method: str | EditDistanceMethod, *, time_limit: float | None = None) -> EditDistanceMethod:
    """The method of this name, with its first parameter after a colon; a method object is returned as it is.

    Example:
        >>> as_method("exact", time_limit=2.0).time_limit
        2.0
    """
    chosen = _parse(method) if isinstance(method, str) else method
    if not isinstance(chosen, EditDistanceMethod):
        raise InvalidArgument(f"method is a {type(method).__name__}; give a name ({_names()}) or a method object")
    if time_limit is None:
        return chosen
    if not isinstance(chosen, ExactSearch):
        raise InvalidArgument(f"a time limit goes with the exact search; {chosen.name} takes none")
    return replace(chosen, time_limit=time_limit)


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
