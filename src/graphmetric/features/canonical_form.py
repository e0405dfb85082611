"""The graphs of a collection, each with its nodes in canonical order."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs._kernels.canonicalise import relabel_edges
from graphmetric.graphs.canonical import search_orders
from graphmetric.graphs.columns import EDGE_COLUMNS, NODE_COLUMNS, Columns
from graphmetric.graphs.labels import LabelColumn


class CanonicalForm(NamedTuple):
    """Graphs with their nodes in canonical order, and how they got there."""

    columns: Columns
    order: NDArray[np.int64]
    """One per node row: the number the node had in its graph as it was given."""


def put_in_canonical_order(columns: Columns, budget: int) -> CanonicalForm:
    """Renumber the nodes of every graph so that isomorphic graphs become equal.

    Differs from the paper: "an artificial fixed node order" makes w_i of Eq. 3 independent of the numbering only if
    the order is canonical, so it is. Very regular graphs that exceed the budget keep the order they came in, with
    one warning: their embedding then depends on it through w_i.
    """
    search = search_orders(columns, budget)
    outcome, order = search.outcome, search.outcome.order
    unsolved = np.flatnonzero(~outcome.solved)
    if len(unsolved):
        _warn_of_given_order(unsolved, budget)
        order = np.where(np.repeat(~outcome.solved, np.diff(columns.node_ptr)), _local_numbers(columns), order)
    ends, source = relabel_edges(search.packed, order)
    rows = order + np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))
    moved = {name: _take(getattr(columns, name), rows) for name in NODE_COLUMNS}
    moved |= {name: _take(getattr(columns, name), source) for name in EDGE_COLUMNS}
    return CanonicalForm(replace(columns, edges=ends, ids=None, metadata=None, **moved), order)


def keep_given_order(columns: Columns) -> CanonicalForm:
    """The graphs as they are."""
    return CanonicalForm(columns, _local_numbers(columns))


def _local_numbers(columns: Columns) -> NDArray[np.int64]:
    return np.arange(columns.node_ptr[-1]) - np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))


def _take(column: Any, rows: NDArray[np.int64]) -> Any:
    if column is None:
        return None
    return column.take(rows) if isinstance(column, LabelColumn) else column[rows]


def _warn_of_given_order(unsolved: NDArray[np.int64], budget: int) -> None:
    warnings.warn(
        f"{len(unsolved)} very regular graph(s), the first at position {unsolved[0]}, have no canonical order within "
        f"canonical_budget={budget} steps; their nodes stay in the given order, on which their embedding may then "
        "depend. Raise FeatureOptions.canonical_budget to avoid this.",
        stacklevel=5,
    )
