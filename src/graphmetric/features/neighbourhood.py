r"""Connection weights :math:`w_i = [w(v_i, v_j)]_{v_j}` of Eq. 3, in canonical order, scaled to the training set."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.columns import Columns, Has

_LARGEST = 100.0
"""Scaled weights are cut here, so that one wild weight cannot overflow the encoder."""


class WeightScale:
    """Edge weights in units of the largest training weight.

    Differs from the paper: w enters Eq. 3 as it is there, which ties the encoder to the unit of measurement. Unweighted
    graphs keep w = 1 exactly.
    """

    def __init__(self, largest: float) -> None:
        self._largest = largest

    @classmethod
    def fit(cls, columns: Columns) -> WeightScale:
        """Take the largest absolute weight."""
        weights = columns.edge_weights
        return cls(1.0 if weights is None or len(weights) == 0 else max(float(np.abs(weights).max()), 1e-300))

    def scale(self, columns: Columns) -> NDArray[np.float64]:
        """One weight per edge, 1 in graphs without weights."""
        if columns.edge_weights is None:
            return np.ones(len(columns.edges))
        with np.errstate(over="ignore"):
            scaled = np.clip(columns.edge_weights / self._largest, -_LARGEST, _LARGEST)
        weighted = np.repeat((columns.flags & Has.EDGE_WEIGHTS) != 0, np.diff(columns.edge_ptr))
        return np.where(weighted, scaled, 1.0)

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"largest": self._largest}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> WeightScale:
        """The scale that :meth:`to_state` described."""
        return cls(float(state["largest"]))


def warn_of_cut_columns(columns: Columns, k_max: int) -> bool:
    """Warn, and say so, if any graph has more nodes than w_i has columns.

    Differs from the paper: there a graph beyond the portal size k_max cannot be encoded at all.
    """
    largest = int(np.diff(columns.node_ptr).max(initial=0))
    if largest <= k_max:
        return False
    warnings.warn(
        f"a graph has {largest} nodes, more than k_max={k_max}: the connection weights w_i of Eq. 3 are cut to their "
        "first k_max columns (all other inputs are complete). Train with graphs of this size, or with "
        "neighbourhood=False, to avoid this; said once.",
        stacklevel=4,
    )
    return True
