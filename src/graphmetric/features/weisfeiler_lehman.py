r"""Weisfeiler-Lehman roles: the codes WL(v_i) that Eq. 2 embeds.

Differs from the paper: its codes are those of the authors' earlier code, one round of refinement numbered within each
graph, so that code 3 means something else in every graph. Here a colour means the same everywhere,

.. math:: c_0(v) = h(\text{tag}), \quad c_{t+1}(v) = h\big(c_t(v), \{(\text{direction}, \text{edge}, c_t(u))\}\big),

with u over the neighbours of v, "edge" its label and weight where present, and h a 64-bit hash that is the same on
every machine (among ten million colours, one chance collision in 400,000 sets). Colours are numbered from the training
set. A node has the code of its deepest round whose colour is known: an unseen surrounding backs off to a smaller one,
in the end to the tag, and an unseen tag to code 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.features._kernels.colours import CodeTable, build_table, read_codes, refine_colours
from graphmetric.features._kernels.neighbours import Arcs
from graphmetric.graphs.canonical import Keys, edge_keys, node_keys
from graphmetric.graphs.columns import Columns

UNSEEN = 0
"""The code of a node whose very tag is unknown."""


class RoleVocabulary:
    """One dictionary of colours for all graphs, a table per round."""

    def __init__(self, rounds: Sequence[Sequence[int] | NDArray[np.int64]], *, weights: bool) -> None:
        """``rounds[t]`` lists the known colours of round t; their codes count on from round to round, from 1."""
        self._weights = weights
        self._rounds = [np.array(colours, dtype=np.int64) for colours in rounds]
        self._tables = _number_colours(self._rounds)

    @classmethod
    def fit(cls, columns: Columns, arcs: Arcs, *, rounds: int, min_count: int, weights: bool) -> RoleVocabulary:
        """Number the colours that occur ``min_count`` times or more, frequent ones first within their round."""
        found = [np.unique(row, return_counts=True) for row in _colours(columns, arcs, rounds, weights)]
        frequent = [(colours[counts >= min_count], counts[counts >= min_count]) for colours, counts in found]
        return cls([colours[np.argsort(-counts, kind="stable")] for colours, counts in frequent], weights=weights)

    @property
    def num_codes(self) -> int:
        """Codes in use, the unseen one included."""
        return 1 + sum(len(colours) for colours in self._rounds)

    def encode(self, columns: Columns, arcs: Arcs) -> NDArray[np.int32]:
        """The code of every node."""
        codes = np.full(columns.node_ptr[-1], UNSEEN, dtype=np.int32)
        colours = _colours(columns, arcs, len(self._tables) - 1, self._weights)
        for table, row in zip(self._tables, colours, strict=True):
            read_codes(table, row, codes)
        return codes

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"weights": self._weights, "rounds": [colours.tolist() for colours in self._rounds]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RoleVocabulary:
        """The vocabulary that :meth:`to_state` described."""
        return cls(state["rounds"], weights=bool(state["weights"]))


def _colours(columns: Columns, arcs: Arcs, rounds: int, weights: bool) -> NDArray[np.int64]:
    tags = node_keys(replace(columns, node_features=None, node_texts=None, node_images=None))
    edges = edge_keys(columns if weights else replace(columns, edge_weights=None))
    found: NDArray[np.int64] = refine_colours(arcs, _key_numbers(tags), _key_numbers(edges), rounds)
    return found


def _key_numbers(keys: Keys) -> NDArray[np.int64]:
    return keys.digest[:, :8].copy().view("<i8")[:, 0].astype(np.int64)[keys.rank]


def _number_colours(rounds: Sequence[NDArray[np.int64]]) -> list[CodeTable]:
    tables, first = [], UNSEEN + 1
    for colours in rounds:
        codes = np.arange(first, first + len(colours), dtype=np.int32)
        slots = 1 << int(2 * len(colours) + 1).bit_length()  # at most half full: few collisions
        tables.append(build_table(colours, codes, slots))
        first += len(colours)
    return tables
