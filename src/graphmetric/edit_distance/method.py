"""What every way of computing an edit distance has in common, and the methods by name: ``exact``, ``beam:10``, ``hed``.

A method solves pairs of an encoded problem in whole units. The base class does the rest: it chooses units that suit
each pair, keeps pairs whose matrices do not fit into memory away from the method, and turns the answers into costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import in_bytes
from graphmetric._foundation.options import checked_count
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results
from graphmetric.edit_distance.collection_bounds import bound_in_little_memory
from graphmetric.edit_distance.scaling import (
    MEMORY_LIMIT,
    EncodedProblem,
    exceeds_memory,
    node_counts,
    workspace_memory,
)
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument, NotEnoughMemory

Guarantee = Literal["exact", "upper bound", "lower bound", "estimate"]
TimeLimit = float | Literal["auto"] | None
"""Seconds for each pair. None means no limit; the function that takes it says what "auto" means."""
SECONDS = 10.0
"""What a time limit of "auto" means for one pair."""
_ROUNDS = 4
"""A pair whose bounds only rounding keeps apart is solved at most this often, each time with finer units."""

Pairs = NDArray[np.int64]
"""(n, 2): position in the first collection, position in the second."""


class Solutions(NamedTuple):
    """What a method found for some pairs, in whole units of the encoded problem."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    """The costs of the maps; ``NO_LIMIT`` where there are none."""
    expanded: NDArray[np.int64]
    node_map: NDArray[np.int64] | None = None
    """(pairs, nodes of the largest first graph): node of the second graph, -1 for a deleted one."""
    value: NDArray[np.float64] | None = None
    """The method's own answer, where it is not the bound that the method guarantees."""

    @classmethod
    def of(cls, results: Results) -> Solutions:
        """The results of a kernel."""
        return cls(results.lower, results.upper, results.expanded, results.node_map)

    @classmethod
    def without_maps(cls, lower: NDArray[np.int64], value: NDArray[np.float64]) -> Solutions:
        """Lower bounds, and answers of the method's own."""
        return cls(lower, np.full(len(lower), NO_LIMIT), np.zeros(len(lower), dtype=np.int64), value=value)


class Answers(NamedTuple):
    """What a method found for some pairs, in costs."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """Infinite where no map without forbidden edits was found."""
    value: NDArray[np.float64]
    expanded: NDArray[np.int64]
    node_map: NDArray[np.int64] | None
    """As in :class:`Solutions`; meaningless where ``upper`` is infinite."""
    rounded: NDArray[np.bool_]
    """Where equal bounds are equal only within a tolerance; see :mod:`graphmetric.edit_distance.scaling`."""


class EditDistanceMethod(ABC):
    """Base of all methods; a subclass is a frozen dataclass of its parameters and calls its kernel."""

    name: ClassVar[str]
    """Its name on the command line."""
    guarantee: ClassVar[Guarantee]
    """How its answer compares with the true distance."""
    symmetric: ClassVar[bool] = True
    """Whether d(G, H) and d(H, G) are equal whenever the costs are symmetric."""
    invariant: ClassVar[bool] = False
    """Whether isomorphic graphs have the same answers, although the method is not exact."""
    own_answer: ClassVar[bool] = False
    """Whether its answer is a number of its own, although the method guarantees a bound."""
    replaceable: ClassVar[bool] = True
    """Whether cheaper bounds may stand in for the method where its matrices do not fit into memory."""

    @abstractmethod
    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        """Solve the pairs in units. A method that can be stopped ends early when the watch says so."""

    def solve(self, problem: EncodedProblem, pairs: Pairs) -> Solutions:
        """Solve the pairs in units, in a thread of its own, so that Ctrl-C works."""
        return in_thread(lambda watch: self.solve_watched(problem, pairs, watch))

    def is_quick(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.bool_]:
        """Which pairs usually take milliseconds, so that many can be solved in one batch."""
        return np.ones(len(pairs), dtype=np.bool_)

    def quick_try(self) -> EditDistanceMethod | None:
        """A method that gives up soon, tried first on quick pairs; the pairs it leaves open are solved singly."""
        return None

    def converged(self, expanded: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Which pairs became as precise as asked, by the steps they took; None for methods without a precision."""
        return None

    def explain(self, problem: EncodedProblem, pair: Pairs, found: Answers, watch: Watch) -> str | None:
        """Why the answer to one pair is not proven, where the method's name does not say it, such as a time limit."""
        if found.lower[0] == found.upper[0] or problem.is_small or not exceeds_memory(self.memory(problem, pair))[0]:
            return None
        return "the graphs are too large for its matrices: bounds by label counts, degrees and neighbourhoods"

    def bounds(self, problem: EncodedProblem, pairs: Pairs) -> Answers:
        """Solve the pairs in costs, in a thread of its own, so that Ctrl-C works."""
        return in_thread(lambda watch: self.bounds_watched(problem, pairs, watch))

    def bounds_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Answers:
        """Solve the pairs in costs. The bounds hold whatever was rounded, and each pair has units that suit it.

        A pair whose bounds only rounding keeps apart is solved again below the cost of the map found so far.
        """
        best: Answers | None = None
        todo, known = np.arange(len(pairs)), None
        for _ in range(_ROUNDS):
            best, again = self._round(problem, pairs, todo, known, best, watch)
            if len(again) == 0 or watch.is_over:
                break
            todo, known = again, best.upper[again]
        assert best is not None
        own_answer = self.own_answer or (self.guarantee == "lower bound" and best.node_map is None)
        if self.guarantee == "estimate" or own_answer:
            return best
        return best._replace(value=(best.lower if self.guarantee == "lower bound" else best.upper).copy())

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        """The least number of bytes that the method needs for each pair."""
        return workspace_memory(problem, pairs, root_only=True)

    def _solve_in_memory(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        """Solve the pairs that fit into memory; the others get bounds that need little of it."""
        large = np.zeros(len(pairs), dtype=bool) if problem.is_small else exceeds_memory(self.memory(problem, pairs))
        if not large.any():
            try:
                return self.solve_watched(problem, pairs, watch)
            except NotEnoughMemory:
                raise
            except MemoryError:  # there is less than it seemed, or room for all pairs takes more than room for each
                large = np.arange(len(pairs)) >= len(pairs) // 2
                if len(pairs) > 1:
                    halves = (self._solve_in_memory(problem, pairs[half], watch) for half in (large, ~large))
                    return merged(large, *halves)
        if not self.replaceable:
            raise NotEnoughMemory(describe_need(self, problem, pairs[large]))
        results = room_for(problem, pairs[large])
        bound_in_little_memory(problem, pairs[large], results)
        bounds = Solutions.of(results)
        return bounds if large.all() else merged(large, bounds, self._solve_in_memory(problem, pairs[~large], watch))

    def _round(
        self,
        problem: EncodedProblem,
        pairs: Pairs,
        todo: NDArray[np.intp],
        known: NDArray[np.float64] | None,
        best: Answers | None,
        watch: Watch,
    ) -> tuple[Answers, NDArray[np.intp]]:
        """Solve some of the pairs; returns the best answers for all, and the pairs that finer units would help."""
        again = []
        for rows, scaled in problem.split(pairs[todo], known):
            places = todo[rows]
            watch.scale, watch.ceiling = scaled.scale, scaled.ceiling
            found = self._solve_in_memory(scaled, pairs[places], watch)
            new = _in_costs(scaled, pairs[places], found)
            if best is None and len(places) == len(pairs):
                best = new
            else:
                best = _no_answers(problem, pairs, new) if best is None else best
                _take_better(best, places, new)
            if scaled.rounded and found.node_map is not None:
                searched = (found.expanded == 0) | (found.lower == found.upper)
                apart = searched & (best.lower[places] < best.upper[places]) & np.isfinite(best.upper[places])
                finer = 4 * scaled.scale <= problem.finest_scale(pairs[places], best.upper[places])
                again.append(places[apart & finer])
        assert best is not None
        return best, np.concatenate([todo[:0], *again])


def _in_costs(problem: EncodedProblem, pairs: Pairs, found: Solutions) -> Answers:
    lower, upper, rounded = problem.in_costs(pairs, found.lower, found.upper, found.node_map)
    value = upper.copy() if found.value is None else np.where(np.isinf(lower), np.inf, found.value / problem.scale)
    return Answers(lower, upper, value, found.expanded, found.node_map, rounded)


def _no_answers(problem: EncodedProblem, pairs: Pairs, example: Answers) -> Answers:
    lower, upper, value = np.zeros(len(pairs)), np.full(len(pairs), np.inf), np.zeros(len(pairs))
    maps = None if example.node_map is None else room_for(problem, pairs).node_map
    return Answers(lower, upper, value, np.zeros(len(pairs), np.int64), maps, np.zeros(len(pairs), dtype=bool))


def _take_better(best: Answers, places: NDArray[np.intp], new: Answers) -> None:
    """Merge new answers to the pairs at some places into the best ones."""
    better = new.upper < best.upper[places]
    if new.node_map is not None:
        assert best.node_map is not None
        best.node_map[places[better], : new.node_map.shape[1]] = new.node_map[better]
    lower = np.maximum(new.lower, best.lower[places])
    best.upper[places] = np.minimum(new.upper, best.upper[places])
    best.lower[places] = np.minimum(lower, best.upper[places])
    best.value[places] = new.value
    best.expanded[places] += new.expanded
    best.rounded[places] = new.rounded


METHODS: dict[str, type[EditDistanceMethod]] = {}
"""The methods of this package by name; see :func:`method_names` for those of all installed packages."""
ENTRY_POINTS = "graphmetric.edit_distance_methods"
"""The group of entry points by which a package brings further methods, each under its own name."""
_PROVIDERS = dict.fromkeys(("hungarian", "vj", "published-beam", "published-hed"), "graphmetric-research")
"""The distributions that bring well-known methods."""


def register(*methods: type[EditDistanceMethod]) -> None:
    """Make methods of this package known by their names."""
    METHODS.update({method.name: method for method in methods})


def method_names() -> list[str]:
    """The names of all methods: those of this package, then those that installed packages declare."""
    return [*METHODS, *sorted(_declared().keys() - METHODS)]


def find_method(name: str) -> type[EditDistanceMethod]:
    """Return the method of this name. It does not depend on what has been imported."""
    if name in METHODS:
        return METHODS[name]
    declared = _declared().get(name)
    if declared is None and name in _PROVIDERS:
        provider = _PROVIDERS[name]
        raise InvalidArgument(
            f"no installed package has the method {name!r}, which comes with {provider}: install {provider}, or "
            f"choose from {', '.join(method_names())}"
        )
    if declared is None:
        raise InvalidArgument(f"unknown method {name!r}; choose from {', '.join(method_names())}")
    package = "a package" if declared.dist is None else declared.dist.name
    try:
        method = declared.load()
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(f"the method {name!r} of {package} cannot be loaded: {error}") from error
    if not (isinstance(method, type) and issubclass(method, EditDistanceMethod) and method.name == name):
        raise InvalidArgument(f"{package} declares the method {name!r}, but {declared.value} is not one of that name")
    return method


def _declared() -> dict[str, EntryPoint]:
    return {declared.name: declared for declared in entry_points(group=ENTRY_POINTS)}


def as_method(
    method: str | EditDistanceMethod, *, time_limit: TimeLimit = "auto", auto: float | None = None
) -> EditDistanceMethod:
    """The method of this name; after a colon comes its first parameter, or the name of one that is to be switched on.

    A method object is returned as it is.

    Args:
        method: A name or a method object.
        time_limit: Seconds for each pair, for methods that take a limit; None for no limit. With "auto" a method
            that is asked for by its name gets ``auto`` seconds, and a method object keeps its own limits.
        auto: What "auto" stands for.

    Example:
        >>> as_method("exact", auto=10.0).time_limit
        10.0
        >>> as_method("exact", time_limit=None, auto=10.0).time_limit is None
        True
    """
    chosen: Any = _parse(method) if isinstance(method, str) else method
    if not isinstance(chosen, EditDistanceMethod):
        raise InvalidArgument(
            f"method is of type {type(method).__name__}; give a name ({', '.join(method_names())}) or a method object"
        )
    if not hasattr(chosen, "time_limit"):
        if time_limit not in ("auto", None):
            raise InvalidArgument(f"a time limit goes with the exact search and with relaxed; {chosen.name} takes none")
        return chosen
    if time_limit == "auto":
        is_open = isinstance(method, str) and chosen.time_limit is None
        return replace(chosen, time_limit=auto) if is_open else chosen  # type: ignore[type-var]
    return replace(chosen, time_limit=_seconds(time_limit))  # type: ignore[type-var]


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
    kind = find_method(name)
    if not argument:
        return kind()
    parameters = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if argument in parameters and getattr(kind(), argument) is False:
        return kind(**{argument: True})
    try:
        return kind(**{parameters[0]: _number(argument)})
    except (IndexError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"method {text!r}: {argument!r} is not a number that {name} takes") from None


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


Rows = TypeVar("Rows", Solutions, Answers)


def taken(found: Rows, places: Any) -> Rows:
    """The rows at some places."""
    columns: Any = (None if column is None else column[places] for column in found)
    return type(found)(*columns)


def joined(parts: list[Rows]) -> Rows:
    """The rows of several parts, one part after another."""

    def join(columns: tuple[NDArray[Any] | None, ...]) -> Any:
        arrays = [column for column in columns if column is not None]
        if not arrays:
            return None
        if arrays[0].ndim == 2:
            width = max(array.shape[1] for array in arrays)
            arrays = [np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in arrays]
        return np.concatenate(arrays)

    return parts[0] if len(parts) == 1 else type(parts[0])(*(join(columns) for columns in zip(*parts, strict=True)))


def merged(chosen: NDArray[np.bool_], inside: Solutions, outside: Solutions) -> Solutions:
    """Solutions of the chosen pairs and of the others, put back in the order of the pairs."""
    order = np.concatenate([np.flatnonzero(chosen), np.flatnonzero(~chosen)])
    return taken(joined([inside, outside]), np.argsort(order))


def one_by_one(pairs: Pairs, watch: Watch, time_limit: float | None, solve: Callable[[Pairs], Rows]) -> Rows:
    """Solve every pair on its own, within the time limit; after a stop, no more than the pair at hand."""
    parts = list[Rows]()
    while len(parts) < len(pairs) and not (parts and watch.stopped):
        with watch.limited(time_limit):
            parts.append(solve(pairs[len(parts) : len(parts) + 1]))
    return joined(parts)


def set_count(method: EditDistanceMethod, name: str, least: int = 0) -> None:
    """Make a parameter of a new method an ``int``: kernels are compiled anew for every other type of number."""
    object.__setattr__(method, name, checked_count(getattr(method, name), name, least))


def room_for(problem: EncodedProblem, pairs: Pairs) -> Results:
    """Room for the results of a kernel, with no node mapped."""
    lower, upper, expanded, finished = np.zeros((4, len(pairs)), dtype=np.int64)
    maps = np.full((len(pairs), int(node_counts(problem, pairs)[0].max(initial=0))), -1, dtype=np.int64)
    return Results(lower, upper, expanded, finished, maps)


def describe_need(method: EditDistanceMethod, problem: EncodedProblem, pairs: Pairs) -> str:
    """Why pairs do not fit into memory."""
    needed = method.memory(problem, pairs)
    k = int(np.argmax(needed))
    nodes = " and ".join(f"{int(count[k]):,}" for count in node_counts(problem, pairs))
    return (
        f"method {method.name!r} needs about {in_bytes(float(needed[k]))} of memory for two graphs of {nodes} nodes, "
        f"more than the {in_bytes(MEMORY_LIMIT)} that one pair may take or than there is; method 'exact' gives bounds"
    )
