"""The costs of edits."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.graphs.labels import label_from_json, label_key, label_to_json

PairCost = float | Mapping[tuple[Hashable, Hashable], float]
"""One cost for any two unequal labels, or a table of costs by (from, to); (to, from) is looked up as well."""
LabelCost = float | Mapping[Hashable, float]
"""One cost for all, or a table of costs by label."""
Ignorable = Literal["node_labels", "node_features", "node_texts", "node_images", "edge_labels", "edge_weights"]

SMALLEST_COST, LARGEST_COST = 1e-280, 1e280
"""Costs between these, both excluded, can be added and divided without leaving the range of doubles."""
_DISTANCES = ("euclidean", "manhattan")
_EXACT = 1e15
"""Whole costs below this are shown without a decimal point."""
_PRICES = ("node_substitute", "node_delete", "node_insert", "edge_substitute", "edge_delete", "edge_insert")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCosts:
    """The price list of an edit distance. The default, one for every edit, makes it a metric.

    Every attribute a graph has counts. Two nodes whose tags, features, texts or images differ are unequal, and so are
    two edges whose tags or weights differ, unless a distance for the numbers is given or the attribute is ignored
    by name.

    A cost of ``inf`` forbids an edit. Where no edits that are allowed turn one graph into the other, their distance is
    infinite.

    Example:
        >>> EditCosts().is_unit
        True
        >>> EditCosts(node_substitute={("C", "N"): 0.5, ("C", "O"): 0.7, ("N", "O"): 0.4}, edge_substitute=2)
        EditCosts(node_substitute={('C', 'N'): 0.5, ('C', 'O'): 0.7, ('N', 'O'): 0.4}, edge_substitute=2)
    """

    node_substitute: PairCost = 1.0
    """Turning a node into one with another label."""
    node_delete: LabelCost = 1.0
    """Deleting a node; its edges are deleted, and paid for, as well."""
    node_insert: LabelCost = 1.0
    """Inserting a node."""
    edge_substitute: PairCost = 1.0
    """Turning an edge into one with another label."""
    edge_delete: LabelCost = 1.0
    """Deleting an edge."""
    edge_insert: LabelCost = 1.0
    """Inserting an edge."""
    feature_distance: Literal["euclidean", "manhattan"] | None = None
    """Adds this distance between the feature vectors to a substitution, instead of making nodes unequal."""
    feature_scale: float = 1.0
    """What a feature distance of one costs."""
    weight_scale: float | None = None
    """Adds this times the difference of weights to an edge substitution, instead of making edges unequal."""
    ignore: frozenset[Ignorable] = field(default_factory=frozenset)
    """Attributes that do not count, such as ``{"edge_labels"}``."""

    def __post_init__(self) -> None:
        allowed = set(Ignorable.__args__)  # type: ignore[attr-defined]
        if not isinstance(self.ignore, Collection) or isinstance(self.ignore, str | bytes):
            raise InvalidArgument(
                f"ignore must be a set or list of names; got {self.ignore!r}. Names are {', '.join(sorted(allowed))}"
            )
        object.__setattr__(self, "ignore", frozenset(self.ignore))
        if unknown := self.ignore - allowed:
            raise InvalidArgument(f"ignore names {sorted(unknown)}; it takes any of {sorted(allowed)}")
        if self.feature_distance not in (None, *_DISTANCES):
            raise InvalidArgument(
                f"feature_distance is {self.feature_distance!r}; it takes one of {_DISTANCES} or None"
            )
        for name in _PRICES:
            _check_prices(name, getattr(self, name))
            object.__setattr__(self, name, _canonical(getattr(self, name)))
        for name in ("feature_scale", "weight_scale"):
            given = getattr(self, name)
            if given is None and name == "weight_scale":
                continue
            if not _is_number(given) or not 0 <= given < math.inf:
                raise InvalidArgument(f"{name} is {given!r}; it must be a finite number that is not negative")
            object.__setattr__(self, name, _canonical(given))

    def __repr__(self) -> str:
        changed = (
            f for f in fields(self) if getattr(self, f.name) != f.default and getattr(self, f.name) != frozenset()
        )
        return f"EditCosts({', '.join(f'{f.name}={_shown(getattr(self, f.name))}' for f in changed)})"

    @property
    def is_unit(self) -> bool:
        """Whether every edit costs one; ignoring attributes is allowed."""
        return self == EditCosts(ignore=self.ignore)

    @property
    def not_compared(self) -> frozenset[str]:
        """Attributes that are not compared for equality: ignored ones, and numbers with a distance."""
        distances = {"node_features": self.feature_distance, "edge_weights": self.weight_scale}
        return frozenset(self.ignore) | {name for name, distance in distances.items() if distance is not None}

    @property
    def is_symmetric(self) -> bool:
        """Whether the distance is the same in both directions."""
        tables = (prices for prices in (self.node_substitute, self.edge_substitute) if isinstance(prices, Mapping))
        both_ways = all(table.get((b, a), price) == price for table in tables for (a, b), price in table.items())
        return both_ways and self.node_delete == self.node_insert and self.edge_delete == self.edge_insert

    @property
    def is_finite(self) -> bool:
        """Whether no edit is forbidden."""
        given = (getattr(self, name) for name in _PRICES)
        return all(math.isfinite(p) for prices in given for p in _each(prices))

    def __str__(self) -> str:
        if self == EditCosts():
            return "unit costs"
        return f"unit costs without {', '.join(sorted(self.ignore))}" if self.is_unit else repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = {name: _plain_prices(getattr(self, name)) for name in _PRICES}
        plain |= {name: getattr(self, name) for name in ("feature_distance", "feature_scale", "weight_scale")}
        return plain | {"ignore": sorted(self.ignore)}

    @classmethod
    def from_dict(cls, data: Any) -> EditCosts:
        """The costs that :meth:`to_dict` described."""
        try:
            prices = {name: _read_prices(data[name], pairs=name.endswith("substitute")) for name in _PRICES}
            rest = {name: data[name] for name in ("feature_distance", "feature_scale", "weight_scale")}
            return cls(**prices, **rest, ignore=frozenset(data["ignore"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(f"these are not costs of edits: {error!r}") from None

    def node_substitution(self, labels: list[Hashable], others: list[Hashable]) -> NDArray[np.float64]:
        """Costs of turning each label into each other label."""
        return _substitution_table("node_substitute", self.node_substitute, labels, others)

    def edge_substitution(self, labels: list[Hashable], others: list[Hashable]) -> NDArray[np.float64]:
        """Costs of turning each edge label into each other edge label."""
        return _substitution_table("edge_substitute", self.edge_substitute, labels, others)

    def priced(self, name: str, labels: list[Hashable]) -> NDArray[np.float64]:
        """Costs of ``node_delete``, ``node_insert``, ``edge_delete`` or ``edge_insert`` by label."""
        table = getattr(self, name)
        if not isinstance(table, Mapping):
            return np.full(len(labels), float(table))
        if missing := [label for label in labels if label not in table]:
            raise InvalidArgument(f"{name} has no cost for label {missing[0]!r}; it has {_some(table)}")
        return np.array([table[label] for label in labels], dtype=np.float64)

    def node_metric_problem(self, labels: list[Hashable]) -> str | None:
        """Why these costs do not give a metric over nodes of these labels; None if they do."""
        return self._metric_problem("node", self.node_substitution(labels, labels), labels)

    def edge_metric_problem(self, labels: list[Hashable]) -> str | None:
        """Why these costs do not give a metric over edges of these labels; None if they do."""
        return self._metric_problem("edge", self.edge_substitution(labels, labels), labels)

    def _metric_problem(self, what: str, substitute: NDArray[np.float64], labels: list[Hashable]) -> str | None:
        """Check the four axioms over the labels and the empty label, which deletion and insertion lead to and from."""
        delete, insert = self.priced(f"{what}_delete", labels), self.priced(f"{what}_insert", labels)
        full = np.block([[substitute, delete[:, None]], [insert[None, :], np.zeros((1, 1))]])
        if not np.array_equal(full, full.T):
            return f"{what} costs are not symmetric"
        if (full[~np.eye(len(full), dtype=bool)] <= 0).any():
            return f"some {what} edits cost nothing"
        through = (full[:, :, None] + full[None, :, :]).min(axis=1)
        if (full > through * (1 + 1e-12)).any():
            return f"a {what} edit costs more than two edits that do the same"
        return None


def as_costs(given: EditCosts | None) -> EditCosts:
    """Return the costs that a caller gave; None means unit costs."""
    if given is None:
        return EditCosts()
    if not isinstance(given, EditCosts):
        raise InvalidArgument(f"costs must be graphmetric.EditCosts or None; got {given!r}")
    return given


def _shown(value: Any) -> str:
    """The text of a value, the same for equal costs: stores recognize their costs by it."""
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{label!r}: {_shown(price)}' for label, price in value.items())}}}"
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() and value < _EXACT else repr(value)


def _canonical(prices: Any) -> Any:
    """Prices as floats, and tables in an order that does not depend on how they were given; -0.0 becomes 0.0."""
    if not isinstance(prices, Mapping):
        return float(prices) + 0.0
    labels = list(prices)
    with suppress(InvalidGraph):  # labels without a lasting form are not stored either
        labels.sort(key=label_key)
    return {label: float(prices[label]) + 0.0 for label in labels}


def _each(prices: PairCost | LabelCost) -> Iterable[float]:
    return prices.values() if isinstance(prices, Mapping) else [prices]


def _plain_prices(prices: PairCost | LabelCost) -> Any:
    """Prices without infinity and without keys that are not texts, which JSON does not have."""
    if isinstance(prices, Mapping):
        return [[label_to_json(label), _plain_prices(price)] for label, price in prices.items()]
    return float(prices) if math.isfinite(prices) else "inf"


def _read_prices(plain: Any, pairs: bool) -> Any:
    if not isinstance(plain, list):
        return float(plain)
    table = {label_from_json(label): float(price) for label, price in plain}
    if pairs and not all(isinstance(label, tuple) and len(label) == 2 for label in table):
        raise ValueError("a table of substitutions has pairs of labels")
    return table


def _check_prices(name: str, prices: Any) -> None:
    entries = prices.items() if isinstance(prices, Mapping) else [(None, prices)]
    for label, price in entries:
        where = name if label is None else f"{name}[{label!r}]"
        if not _is_number(price) or not price >= 0:
            raise InvalidArgument(
                f"{where} is {price!r}; a cost is a number that is not negative, or inf to forbid the edit"
            )
        if 0 < price <= SMALLEST_COST:
            raise InvalidArgument(f"{where} is {price!r}; a cost is 0 or above {SMALLEST_COST:g}: rescale all costs")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _substitution_table(
    name: str, prices: PairCost, labels: list[Hashable], others: list[Hashable]
) -> NDArray[np.float64]:
    table = np.empty((len(labels), len(others)))
    for i, a in enumerate(labels):
        for j, b in enumerate(others):
            table[i, j] = 0.0 if a == b else _pair_price(name, prices, a, b)
    return table


def _pair_price(name: str, prices: PairCost, a: Hashable, b: Hashable) -> float:
    if not isinstance(prices, Mapping):
        return float(prices)
    price = prices.get((a, b), prices.get((b, a)))
    if price is None:
        raise InvalidArgument(f"{name} has no cost for {a!r} to {b!r}; it has {_some(prices)}")
    return float(price)


def _some(table: Mapping[Any, float], most: int = 5) -> str:
    keys = ", ".join(repr(key) for key in list(table)[:most])
    return keys + (", ..." if len(table) > most else "")
