"""How much work a fit may put into labels."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from graphmetric.edit_distance import EditCosts, ExactSearch, pairwise_edit_distances
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.supervision.cost import estimate_seconds_per_pair
from graphmetric.supervision.record import Positions
from graphmetric.training import TrainingLabels

NODE_LIMIT = 2_000
"""Search-tree nodes per pair: graphs of ten nodes are solved exactly, and only at 300 nodes a pair takes a second."""
AUTO_PAIRS = 1_000_000
AUTO_SECONDS = 300.0
"""``"auto"`` is a million pairs, or fewer where they would take longer than this by estimate."""
MOST_PAIRS = 10_000_000
"""Of a budget in time: more would not fit into a small machine's memory."""

_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, eq=False)
class LabelBudget:
    """A number of pairs or a time, and how labels are computed."""

    amount: int | str
    """Pairs: at most so many edit distances are computed; those to the empty graph are known for nothing. A time such
    as "90s", "10min" or "2h": CPU time of this process, after which no more labels are begun. "auto": see
    :data:`AUTO_PAIRS`."""
    seconds_per_pair: float | None = None
    """After which a search gives bounds; None: after :data:`NODE_LIMIT` nodes, the same on every machine."""
    n_jobs: int | None = -1
    store: str | os.PathLike[str] | None = None
    """Folder for finished labels, so that a stopped job goes on from them."""
    costs: EditCosts = field(default_factory=EditCosts)

    def __post_init__(self) -> None:
        known = self.amount == "auto" or self.seconds is not None or self._pairs is not None
        if not known or self.seconds == 0 or (self._pairs is not None and self._pairs < 1):
            raise InvalidArgument(
                "label_budget must be a number of pairs, 1 or more, a CPU time such as '90s', '10min' or '2h', "
                f"or 'auto'; got {self.amount!r}"
            )

    @property
    def seconds(self) -> float | None:
        """CPU time after which no more labels are begun; None: the number of pairs is all that counts."""
        found = _TIME.fullmatch(self.amount) if isinstance(self.amount, str) else None
        return None if found is None else float(found[1]) * _UNITS[found[2]]

    @property
    def _pairs(self) -> int | None:
        if isinstance(self.amount, str):
            return int(self.amount) if self.amount.isdecimal() else None
        is_number = isinstance(self.amount, int | np.integer) and not isinstance(self.amount, bool)
        return int(self.amount) if is_number else None

    def pairs_for(self, graphs: GraphCollection) -> int:
        """How many pairs of such graphs the budget pays for; a time pays for what it is estimated to suffice for."""
        if self._pairs is not None:
            return self._pairs
        pairs, seconds = (AUTO_PAIRS, AUTO_SECONDS) if self.seconds is None else (MOST_PAIRS, self.seconds)
        return max(1, min(pairs, int(seconds / estimate_seconds_per_pair(graphs, self.seconds_per_pair))))

    def label(self, graphs: GraphCollection, pairs: Positions, part: str = "all") -> tuple[TrainingLabels, float]:
        """Edit distances, or bounds of them, and the CPU time they took.

        ``part`` names the folder in the store, to which labels are added about once a second. It holds their time,
        too: work that is found there counts as if it had been done now, so that a stopped job with a budget in time
        ends where it would have ended.
        """
        store = None if self.store is None else Path(self.store) / part
        limit = NODE_LIMIT if self.seconds_per_pair is None else None
        method = ExactSearch(time_limit=self.seconds_per_pair, node_limit=limit)
        found = pairwise_edit_distances(
            graphs, pairs=pairs, method=method, costs=self.costs, n_jobs=self.n_jobs, store=store
        )
        return TrainingLabels(pairs, found.lower, found.upper), found.cpu_seconds
