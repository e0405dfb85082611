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

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphmetric.features._kernels.neighbours import Arcs, build_arcs, refine_colours
from graphmetric.features.table import edges_of
from graphmetric.graphs.canonical import Keys, edge_keys, node_keys
from graphmetric.graphs.columns import Columns

UNSEEN = 0
"""The code of a node whose tag itself is unknown."""


@dataclass(frozen=True)
class RoleVocabulary:
    """One dictionary of colors for all graphs."""

    weights: bool
    """Whether edge weights are part of the colors."""
    rounds: tuple[object, ...]
    """The known colors of each round; codes continue from round to round, from 1."""

    @classmethod
    def fit(cls, columns: Columns, arcs: Arcs, *, rounds: int, min_count: int, weights: bool) -> RoleVocabulary:
        """Number the colors that occur ``min_count`` times or more, frequent ones first within their round."""
        kept: list[list[int]] = []
        for row in node_colours(columns, rounds, weights=weights, arcs=arcs):
            colours, counts = np.unique(row, return_counts=True)
            order = np.argsort(-counts, kind="stable")
            kept.append(colours[order[counts[order] >= min_count]].tolist())
        return cls(weights, tuple(kept))

    @property
    def num_codes(self) -> int:
        """Number of codes, with the one for unknown labels."""
        return 1 + sum(len(colours) for colours, _ in self._tables)

    def encode(self, columns: Columns, arcs: Arcs) -> NDArray[np.int32]:
        """Encode every node."""
        codes = np.full(columns.node_ptr[-1], UNSEEN, dtype=np.int32)
        found = node_colours(columns, len(self._tables) - 1, weights=self.weights, arcs=arcs)
        open_rows = np.arange(len(codes))
        for (colours, code), row in zip(reversed(self._tables), found[::-1], strict=True):  # from the deepest round
            if len(colours):
                place = np.minimum(np.searchsorted(colours, row[open_rows]), len(colours) - 1)
                known = colours[place] == row[open_rows]
                codes[open_rows[known]] = code[place[known]]
                open_rows = open_rows[~known]
        return codes

    @cached_property
    def _tables(self) -> list[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The colors of each round, ascending, and their codes."""
        tables, first = [], UNSEEN + 1
        for listed in self.rounds:
            colours = np.array(listed, dtype=np.int64)
            order = np.argsort(colours)
            tables.append((colours[order], (first + order).astype(np.int32)))
            first += len(colours)
        return tables


def node_colours(columns: Columns, rounds: int, *, weights: bool, arcs: Arcs | None = None) -> NDArray[np.int64]:
    """Compute the colors of every round, (rounds + 1, nodes), from labels, directions and perhaps weights."""
    tags = node_keys(replace(columns, node_features=None, node_texts=None, node_images=None))
    labels = np.empty(0, dtype=np.int64)  # which round 0 does not look at
    if rounds:
        labels = _key_numbers(edge_keys(columns if weights else replace(columns, edge_weights=None)))
    arcs = build_arcs(edges_of(columns)) if arcs is None else arcs
    found: NDArray[np.int64] = refine_colours(arcs, _key_numbers(tags), labels, rounds)
    return found


def _key_numbers(keys: Keys) -> NDArray[np.int64]:
    return keys.digest[:, :8].copy().view("<i8")[:, 0].astype(np.int64)[keys.rank]
