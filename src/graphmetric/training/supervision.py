"""Training labels: distances given by the user, or edit distances computed within a budget.

Without distances, a fit labels graphs itself. The budget limits the number of pairs. A pool of training graphs
and mutations of them is drawn for that many pairs. Small graphs are labeled by exact search. Sparse graphs of more
than a dozen nodes get bounds from a few primal-dual steps instead, which takes a tenth of the time: on molecules of 25
atoms they lie one edit apart, and ten such labels are worth more than one distance. All other pairs are searched,
and get bounds if that takes too long.

Labels come in *groups*: sets of graphs with all pairs labeled. A mini-batch encodes each graph once for all
its pairs, so n graphs of a group serve n(n-1)/2 pairs, while n graphs whose labels are scattered among many serve few.
Every group also has mutations of its training graphs, for two reasons: a model overfits a small collection before
the budget is spent, and graphs of a large one are hardly ever near each other, while near pairs decide the top of a
ranking. And every group has an empty graph of its own, to which all distances are known without a search. No two
graphs of a group are isomorphic: a copy would cost labels that are already known, and time in every mini-batch.

A distance that is already trained may be the *teacher* of another one. It measures a pair in a few microseconds, so
groups are large, and a model that would overfit its few computed labels meets new pairs all the time. Pairs for
validation are labeled by edit distances nevertheless.

Given labels may have computed ones *beside* them: of all training graphs, with or without a label, and their mutations.
Graphs without any label also take part in pre-training, and in the term of the unlabeled pairs of the paper's loss.
"""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.random_streams import random_stream
from graphmetric.edit_distance import EditCosts, ExactSearch, QuickInterval, pairwise_edit_distances
from graphmetric.edit_distance.label_store import choose_pairs
from graphmetric.edit_distance.methods import LARGEST_EASY
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.columns import GraphFlags
from graphmetric.graphs.edits import MutableGraph, Mutation, mutate
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn
from graphmetric.graphs.pair_bounds import PairBounds, as_distances

logger = logging.getLogger(__name__)
NODE_LIMIT = 2_000
"""Search-tree nodes for each pair: graphs of ten nodes are solved exactly, and a pair takes a second at 300 nodes."""
AUTO_PAIRS = 1_000_000
AUTO_SECONDS = 300.0
"""``"auto"`` is a million pairs, or fewer if they would take longer than this by estimate."""
MOST_PAIRS = 10_000_000
"""Maximum number of pairs of a budget in time: more would not fit into a small machine's memory."""
SMALLEST_GROUP = 50
"""Graphs of a group, if the budget suffices for one: half a mini-batch. If labels cost much, more graphs are better
than more pairs of each: on molecules of 25 atoms, 23 groups of 40 gave a better model than one group of 190."""
LARGEST_GROUP = 1_600
TEACHER_PAIRS, SMALLEST_TEACHER_GROUP = 2_500_000, 400
"""Pairs that a teacher labels: a minute or two at 25 nodes."""
MOST_MUTATIONS = 10
"""Mutations of one training graph; duplicates of it do not count."""
VALIDATION_SHARE = 0.1
"""Fraction of the budget for validation pairs."""
SCORED_PAIRS = 50_000
"""Enough pairs to score a model by; a larger budget is for training."""
_STEPS = 100
"""Primal-dual steps of a label that is an interval: a millisecond and .9 edits at 25 atoms, four and 4 at 50."""
_LARGEST_BOUNDED, _LARGEST_DEGREE = 64, 3.0
"""Maximum number of nodes, and of the mean degree, of graphs with intervals as labels; beyond, these would be wide."""
_ROUNDS = 20
"""Number of time checks while labels are computed within a time."""
_MOST_HELD_OUT = 500
"""Maximum number of graphs that a fraction holds out for validation; more would cost labels without benefit."""
_LABELS = 8
"""Nodes, or edges, of the collection from whose labels one mutation chooses: frequent labels stay frequent."""
_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
Positions = NDArray[np.int64]
Teacher = Callable[[GraphCollection], NDArray[np.float32]]
"""Computes all distances of a collection."""


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """Graphs, and labels that refer to them by position."""

    graphs: GraphCollection
    """The graphs that occur in labels."""
    training: PairBounds
    validation: PairBounds
    """Pairs with at least one graph that was held out."""
    origin: str
    """Source of the labels, as a phrase."""
    unlabeled: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Training graphs that occur in no label."""
    beside: PairBounds | None = None
    """Computed labels beside the given ones."""
    mutated: int = 0
    """Number of graphs in training pairs that are mutations of training graphs."""
    cpu_seconds: float = 0.0
    """CPU time of the labels."""


def hold_out(
    count: int, val: ArrayLike | None, fraction: float, seed: int, labels: PairBounds | None = None
) -> Positions:
    """Return the positions of the validation graphs, ascending: the given ones, or a fraction sampled by seed.

    With ``labels`` the fraction is one of the labeled graphs, sampled so that labeled pairs remain for
    training.
    """
    if val is None:
        if not 0 <= fraction < 1:
            raise InvalidArgument(f"validation_fraction must be in [0, 1); got {fraction}")
        candidates = np.arange(count) if labels is None else labels.graphs
        order = random_stream(seed, "held-out graphs").permutation(candidates)
        wanted = min(round(fraction * len(order)), _MOST_HELD_OUT, max(0, len(order) - 2))
        return np.sort(order[:wanted] if labels is None else _spare_pairs(labels, order, wanted, fraction))
    chosen = np.unique(np.asarray(val))
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen[0] < 0 or chosen[-1] >= count):
        raise InvalidArgument(f"val must hold positions of graphs, 0..{count - 1}; got {val!r}")
    if len(chosen) >= count:
        raise InvalidArgument(f"val holds out all of the {count} graphs; nothing is left to train on")
    return chosen.astype(np.int64)


def _spare_pairs(labels: PairBounds, order: Positions, wanted: int, fraction: float) -> Positions:
    """Select the first graphs of an order that leave at least half as many training pairs as a random choice does."""
    least = max(1.0, (1 - fraction) ** 2 / 2 * len(labels))
    ends = np.searchsorted(labels.graphs, labels.pairs.T).ravel()
    rows = np.argsort(ends, kind="stable") % len(labels)
    first = np.searchsorted(np.sort(ends), np.arange(len(labels.graphs) + 1))
    trains = np.ones(len(labels), dtype=bool)
    remaining = len(labels)
    chosen: list[int] = []
    for position, graph in zip(order.tolist(), np.searchsorted(labels.graphs, order).tolist(), strict=True):
        own = rows[first[graph] : first[graph + 1]]  # labels of this graph
        lost = int(trains[own].sum())
        if len(chosen) < wanted and remaining - lost >= least:
            trains[own] = False
            remaining -= lost
            chosen.append(position)
    return np.array(chosen, dtype=np.int64)


class Computed(NamedTuple):
    """Labels of pairs of a collection followed by some more graphs, computed beside given ones."""

    graphs: GraphCollection
    """Mutations of graphs of the collection, and empty graphs."""
    labels: PairBounds
    mutated: int
    """Number of graphs that are mutations."""
    cpu_seconds: float


def compute_beside(
    graphs: GraphCollection, training: Positions, budget: LabelBudget, edits: int, seed: int
) -> Computed:
    """Label groups of training graphs, given by position, and mutations of them, as a fit without labels does."""
    own = graphs[training]
    pool = sample_pool(own, budget.pairs_for(own), edits, random_stream(seed, "graphs to label"))
    labels, seconds = _label_pool(pool, budget)
    _log_labels(labels)
    made = len(pool.graphs) - len(pool.drawn)
    place = np.concatenate([training[pool.drawn], len(graphs) + np.arange(made)])
    moved = PairBounds(np.sort(place[labels.pairs], axis=1), labels.lower, labels.upper)
    return Computed(pool.graphs[len(pool.drawn) :], moved, len(pool.origins), seconds)


def read_supervision(
    graphs: GraphCollection,
    labels: PairBounds,
    held_out: Positions,
    *,
    keep_unlabeled: bool = False,
    computed: Computed | None = None,
) -> Supervision:
    """Split the user's distances into training and validation pairs; see :func:`read_distances`.

    A pair with any graph that is held out is for validation only. Graphs that occur in no label are dropped, or become
    ``unlabeled``. Computed labels of pairs with a given one are omitted.
    """
    validates = np.asarray(np.isin(labels.pairs, held_out).any(axis=1))
    if validates.all():
        raise InvalidArgument(
            f"there is nothing to train on: of {len(labels)} known pairs none is between two of the "
            f"{len(graphs) - len(held_out)} training graphs ({len(held_out)} are held out for validation)"
        )
    used, beside, more = labels.graphs, None, GraphCollection([])
    if computed is not None:
        more, beside = computed.graphs, _without_pairs(computed.labels, labels)
        used = np.union1d(used, beside.graphs)
    unlabeled = np.zeros(0, dtype=np.int64)
    if keep_unlabeled:
        unlabeled = np.setdiff1d(np.arange(len(graphs)), np.union1d(used, held_out))
        used = np.union1d(used, unlabeled)
    moved = labels.subset(used)
    return Supervision(
        (graphs + more)[used],
        moved.take(~validates),
        moved.take(validates),
        "given",
        unlabeled=np.searchsorted(used, unlabeled),
        beside=None if beside is None else beside.subset(used),
        mutated=0 if computed is None else computed.mutated,
        cpu_seconds=0.0 if computed is None else computed.cpu_seconds,
    )


def _without_pairs(labels: PairBounds, known: PairBounds) -> PairBounds:
    """Drop the labels of known pairs."""
    count = 1 + max(int(labels.pairs.max(initial=0)), int(known.pairs.max(initial=0)))
    own, other = (part.pairs.min(axis=1) * count + part.pairs.max(axis=1) for part in (labels, known))
    return labels.take(~np.isin(own, other))


def read_distances(distances: Any, count: int) -> PairBounds:
    """Read labels from a square matrix (NaN: unknown), from pairs with bounds, or from a tuple (pairs, values)."""
    if isinstance(distances, PairBounds):
        labels = distances
    elif isinstance(distances, tuple) and len(distances) == 2:
        labels = PairBounds.from_distances(*distances)
    else:
        matrix = as_distances(distances)
        if matrix.shape != (count, count):
            raise InvalidArgument(
                f"distances of {count} graphs are a matrix of shape ({count}, {count}), labels, or a tuple (pairs, "
                f"values); got shape {matrix.shape}. (Cross-validation in scikit-learn cuts only the rows of a matrix: "
                "leave distances out there, and each fold computes its own)"
            )
        labels = PairBounds.from_matrix(matrix)
    labels.check_finite()
    if len(labels) and not (labels.pairs.min() >= 0 and labels.pairs.max() < count):
        raise InvalidArgument(
            f"distances name graphs {labels.pairs.min()}..{labels.pairs.max()}; graphs are numbered 0..{count - 1}"
        )
    return labels


def make_supervision(
    training: GraphCollection,
    validation: GraphCollection,
    budget: LabelBudget,
    edits: int,
    seed: int,
    smallest_group: int = SMALLEST_GROUP,
    teacher: Teacher | None = None,
    keep_unlabeled: bool = False,
) -> Supervision:
    """Label groups of training graphs and their mutations, and validation graphs with training graphs.

    The training labels depend on the number of validation graphs, but not on the graphs themselves. With a teacher they
    are its distances, and the budget is for the validation pairs. With ``keep_unlabeled``, training graphs that the
    budget does not reach are included, without labels.
    """
    rng = random_stream(seed, "graphs to label")
    pairs = budget.pairs_for(training)
    held_back = min(int(VALIDATION_SHARE * pairs), len(training) * len(validation))
    if teacher is None:
        pool = sample_pool(training, pairs - held_back, edits, rng, smallest_group)
        labels, seconds = _label_pool(pool, budget)
    else:
        pool = sample_pool(training, TEACHER_PAIRS, edits, rng, SMALLEST_TEACHER_GROUP)
        labels, seconds = _label_with_teacher(pool, teacher, budget.costs)
    across = _pairs_between(len(pool.drawn), len(validation), held_back, rng)
    used, places = np.unique(across[:, 1], return_inverse=True)
    spare = np.setdiff1d(np.arange(len(training) if keep_unlabeled else 0), pool.drawn)
    graphs = pool.graphs + validation[used] + training[spare]
    choosing, more = budget.label(graphs, np.column_stack([across[:, 0], len(pool.graphs) + places]), "validation")
    _log_labels(*([labels] if teacher is None else []), choosing)
    mutations = np.arange(len(pool.origins)) + len(pool.drawn)
    source = "computed" if teacher is None else "measured by a teacher; for validation"
    return Supervision(
        graphs, labels, choosing, f"{source}: edit distances at {budget.costs}",
        mutated=int(np.isin(mutations, labels.graphs).sum()), cpu_seconds=seconds + more,
        unlabeled=np.arange(len(graphs) - len(spare), len(graphs)),
    )  # fmt: skip


def label_some_pairs(graphs: GraphCollection, budget: LabelBudget, seed: int) -> PairBounds:
    """Label all pairs, or as many random ones as the budget allows, at most :data:`SCORED_PAIRS`."""
    possible, wanted = len(graphs) * (len(graphs) - 1) // 2, min(SCORED_PAIRS, budget.pairs_for(graphs))
    choice = "all" if possible <= wanted else f"random:{wanted}"
    return budget.label(graphs, choose_pairs(graphs, choice, random_state=seed))[0]


def _label_pool(pool: TrainingPool, budget: LabelBudget) -> tuple[PairBounds, float]:
    """Label all pairs of the groups, or as many as fit into the time for training; returns their CPU time as well."""
    pairs, known = pool.pairs(), pool.label_empty_graphs(budget.costs)
    if budget.seconds is not None:
        _compile_search(pool.graphs)
    rounds = np.array_split(pairs, 1 if budget.seconds is None else _ROUNDS)
    allowed = np.inf if budget.seconds is None else (1 - VALIDATION_SHARE) * budget.seconds
    labels, seconds = PairBounds.from_distances([], []), 0.0
    for k, part in enumerate(rounds):
        if seconds >= allowed:
            known = known.take(np.isin(known.pairs[:, 0], labels.graphs))
            break
        found, more = budget.label(pool.graphs, part, f"training-{k:02d}")
        found = pool.bound_by_edits(found) if budget.costs.is_unit else found
        labels, seconds = labels.concatenate(found), seconds + more
    return labels.concatenate(known), seconds


def _label_with_teacher(pool: TrainingPool, teacher: Teacher, costs: EditCosts) -> tuple[PairBounds, float]:
    """Label all pairs of the groups by the teacher; returns its CPU time as well."""
    started, labels = time.process_time(), []
    for group in pool.groups:
        matrix = teacher(pool.graphs[group])
        one, other = np.tril_indices(len(group), k=-1)
        pairs = np.sort(np.column_stack([group[one], group[other]]), axis=1)
        labels.append(PairBounds.from_distances(pairs, matrix[one, other]))
    return pool.label_empty_graphs(costs).concatenate(*labels), time.process_time() - started


def _compile_search(graphs: GraphCollection) -> None:
    """Search once, so that the compilation at the first search after an installation is not counted."""
    largest = np.argsort(graphs.sizes, kind="stable")[-2:]
    for method in (ExactSearch(node_limit=1), QuickInterval(1)):
        pairwise_edit_distances(graphs[largest], pairs=[(0, 1)], method=method)


def _pairs_between(rows: int, columns: int, wanted: int, rng: np.random.Generator) -> Positions:
    """Sample different cells of a table."""
    chosen = np.sort(rng.choice(rows * columns, min(wanted, rows * columns), replace=False))
    return np.column_stack(np.divmod(chosen, max(1, columns)))


def _log_labels(*parts: PairBounds) -> None:
    """Log how many labels are distances and how many only bounds, since that decides how much they help."""
    pairs, exact = sum(map(len, parts)), sum(int(labels.exact.sum()) for labels in parts)
    logger.info("%s labels: %s exact distances, %s only bounds", f"{pairs:,}", f"{exact:,}", f"{pairs - exact:,}")


@dataclass(frozen=True, slots=True, eq=False)
class LabelBudget:
    """Budget of a fit for labels, and parameters of their computation."""

    amount: int | str
    """A number: maximum number of edit distances; those to empty graphs are free. A time such as "90s", "10min"
    or "2h": CPU time of this process, after which no more labels are started. "auto": see :data:`AUTO_PAIRS`."""
    seconds_per_pair: float | None = None
    """Seconds after which a search gives bounds; None: :data:`NODE_LIMIT` nodes instead, the same on every machine."""
    n_jobs: int | None = -1
    store: str | os.PathLike[str] | None = None
    """Folder for finished labels, from which a stopped job continues."""
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
        """CPU time after which no more labels are started; None if the budget is a number of pairs."""
        found = _TIME.fullmatch(self.amount) if isinstance(self.amount, str) else None
        return None if found is None else float(found[1]) * _UNITS[found[2]]

    @property
    def _pairs(self) -> int | None:
        if isinstance(self.amount, str):
            return int(self.amount) if self.amount.isdecimal() else None
        is_number = isinstance(self.amount, int | np.integer) and not isinstance(self.amount, bool)
        return int(self.amount) if is_number else None

    def pairs_for(self, graphs: GraphCollection) -> int:
        """Return the number of pairs of these graphs within the budget; an estimate if the budget is a time."""
        if self._pairs is not None:
            return self._pairs
        pairs, seconds = (AUTO_PAIRS, AUTO_SECONDS) if self.seconds is None else (MOST_PAIRS, self.seconds)
        return max(1, min(pairs, int(seconds / estimate_seconds_per_pair(graphs, self.seconds_per_pair))))

    def label(self, graphs: GraphCollection, pairs: Positions, part: str = "all") -> tuple[PairBounds, float]:
        """Compute edit distances, or bounds of them; returns their CPU time as well.

        ``part`` names the folder in the store, to which labels are added about once a second. It also holds their
        time: work found there counts as if it had been done now, so that a stopped job with a budget in time ends
        where it would have ended.
        """
        limit = NODE_LIMIT if self.seconds_per_pair is None else None
        search = ExactSearch(time_limit=self.seconds_per_pair, node_limit=limit)
        by_interval = _suits_intervals(graphs)[pairs].all(axis=1) & (self.seconds_per_pair is None)
        lower, upper, seconds = np.empty(len(pairs)), np.empty(len(pairs)), 0.0
        for name, method, chosen in (
            (part, search, ~by_interval),
            (f"{part}-intervals", QuickInterval(_STEPS), by_interval),
        ):
            if chosen.any():
                store = None if self.store is None else Path(self.store) / name
                found = pairwise_edit_distances(
                    graphs, pairs=pairs[chosen], method=method, costs=self.costs, n_jobs=self.n_jobs, store=store
                )
                lower[chosen], upper[chosen], seconds = found.lower, found.upper, seconds + found.cpu_seconds
        return PairBounds(pairs, lower, upper), seconds


def _suits_intervals(graphs: GraphCollection) -> NDArray[np.bool_]:
    """Mark the graphs that get intervals as labels."""
    nodes, edges = graphs.sizes, graphs.edge_counts
    return (nodes > LARGEST_EASY) & (nodes <= _LARGEST_BOUNDED) & (2 * edges <= _LARGEST_DEGREE * nodes)


def estimate_seconds_per_pair(graphs: GraphCollection, most: float | None = None) -> float:
    """Estimate the mean CPU time of a label over all pairs of the graphs; no search takes longer than ``most`` seconds.

    The rule ignores the machine and the clock, so that a budget means the same pairs everywhere and the same seed
    gives the same model. Measured on one core: sparse random graphs of 10, 12, 100, 200, 300 and 600 nodes
    took .05, .15, 80, 330, 690 and 4,300 milliseconds a pair, and those with three times as many edges
    about as long; these took 2.5, 8 and 40 at 16, 25 and 50 nodes. Intervals took 1, 1.5 and 5 milliseconds there. For
    these the rule is right within a factor of two. It is six times too high for the graphs of LINUX, which has many
    copies.

    A pair costs what its smaller graph costs with another of its size: the search has one level for each node of that.
    """
    nodes = graphs.sizes.astype(np.float64)
    degree = np.maximum(2 * graphs.edge_counts / np.maximum(nodes, 1), 2)  # dense graphs are harder
    to_the_end = 0.5 * 1.6 ** np.minimum(nodes, 50) * (degree / 2) ** 2
    to_the_end = np.where(nodes > LARGEST_EASY, np.maximum(to_the_end, 1_400), to_the_end)
    to_the_limit = 10 * nodes**2 + 0.012 * nodes**3
    searched = np.minimum(to_the_end, to_the_limit)
    each = np.where(_suits_intervals(graphs) & (most is None), 500 + 1.8 * nodes**2, searched)
    each = 1e-6 * np.maximum(each, 1)
    order, count = np.argsort(graphs.sizes, kind="stable"), len(graphs)
    smaller_in = 2 * (count - np.arange(count)) - 1  # of the count * count ordered pairs
    return float(np.minimum(each, np.inf if most is None else most)[order] @ smaller_in) / count**2


@dataclass(frozen=True, slots=True, eq=False)
class TrainingPool:
    """Training graphs, mutations of them, and as many empty graphs as there are groups, in this order."""

    graphs: GraphCollection
    drawn: Positions
    """Positions of the sampled training graphs in their collection."""
    origins: Positions
    """Position in ``graphs`` of the origin of each mutation."""
    edits: Positions
    """Number of edits of each mutation."""
    groups: tuple[Positions, ...]
    """Positions in ``graphs`` of the members of each group without its empty graph, in random order."""

    def pairs(self) -> Positions:
        """List all pairs to label. Each member follows with all before it, so that any prefix of the list is dense."""
        parts = [group[np.column_stack(np.tril_indices(len(group), k=-1))] for group in self.groups]
        return np.sort(np.concatenate(parts), axis=1)

    def bound_by_edits(self, labels: PairBounds) -> PairBounds:
        """Bound the labels from above by the edits that made the mutations, at unit costs.

        They lead back from a mutation to its origin, and from there to its other mutations. This helps if graphs are
        so large that a search finds no better node map.
        """
        own, made = len(self.drawn), len(self.origins)
        origin, away = np.arange(len(self.graphs)), np.zeros(len(self.graphs))
        origin[own : own + made], away[own : own + made] = self.origins, self.edits
        one, other = labels.pairs.T
        known = np.where(origin[one] == origin[other], away[one] + away[other], np.inf)
        return PairBounds(labels.pairs, labels.lower, np.minimum(labels.upper, known))

    def label_empty_graphs(self, costs: EditCosts | None = None) -> PairBounds:
        """Label each member with its distance to the empty graph of its group: \\|V\\| + \\|E\\| at unit costs."""
        anchors = np.arange(len(self.graphs) - len(self.groups), len(self.graphs))
        members = np.concatenate(self.groups)
        pairs = np.column_stack([members, np.repeat(anchors, [len(group) for group in self.groups])])
        if costs is None or costs.is_unit:
            return PairBounds.from_distances(pairs, (self.graphs.sizes + self.graphs.edge_counts)[members])
        found = pairwise_edit_distances(self.graphs, pairs=pairs, costs=costs)
        return PairBounds(pairs, found.lower, found.upper)


def sample_pool(
    training: GraphCollection,
    pairs: int,
    edits: int,
    rng: np.random.Generator,
    smallest_group: int = SMALLEST_GROUP,
) -> TrainingPool:
    """Sample graphs for at most ``pairs`` labeled pairs; mutations have up to ``edits`` edits (0: no mutations).

    Only training graphs are sampled, so nothing else can leak into training.
    """
    if isinstance(edits, bool) or not isinstance(edits, int | np.integer) or edits < 0:
        raise InvalidArgument(f"mutation_edits must be a number of edits, 0 or more (0: no mutations); got {edits!r}")
    distinct = find_distinct(training)
    count, size = plan_groups(len(distinct), pairs, mutations=edits > 0, smallest=smallest_group)
    drawn = rng.permutation(distinct)[: count * (size - size // 3 if edits else size)]
    chosen, mutator = training[drawn], Mutator(training, edits)
    made: list[tuple[int, Mutation]] = []
    groups = []
    for own in np.array_split(np.arange(len(drawn)), min(count, len(drawn))):
        first = len(made)
        made += _mutate_evenly(chosen, own, size - len(own), mutator, rng)
        groups.append(rng.permutation(np.concatenate([own, len(drawn) + np.arange(first, len(made))])))
    mutations = GraphCollection(mutation.graph for _, mutation in made)
    empty = GraphCollection([Graph(0, directed=training[0].directed)] * len(groups))
    origins = np.array([origin for origin, _ in made], dtype=np.int64)
    numbers = np.array([len(mutation.edits) for _, mutation in made], dtype=np.int64)
    return TrainingPool(chosen + mutations + empty, drawn, origins, numbers, tuple(groups))


def _mutate_evenly(
    graphs: GraphCollection, own: Positions, wanted: int, mutator: Mutator, rng: np.random.Generator
) -> list[tuple[int, Mutation]]:
    """Mutate graphs equally often; fewer than ``wanted`` if limits, unmutable graphs or duplicates leave fewer."""
    number = min(wanted, MOST_MUTATIONS * len(own)) if mutator.edits else 0
    origins = np.resize(rng.permutation(own), number).tolist()
    found = ((origin, mutator.mutate(graphs[origin], rng)) for origin in origins)
    made = [(origin, mutation) for origin, mutation in found if mutation is not None]
    kept = find_distinct(graphs[own] + GraphCollection(mutation.graph for _, mutation in made))
    return [made[k - len(own)] for k in kept.tolist() if k >= len(own)]


def find_distinct(graphs: GraphCollection) -> Positions:
    """Return ascending positions of the first graph of every isomorphism class, or of all if classes take too long."""
    try:
        return np.unique(isomorphism_classes(graphs), return_index=True)[1]
    except WorkBudgetExceeded:
        return np.arange(len(graphs))


def plan_groups(graphs: int, pairs: int, *, mutations: bool, smallest: int = SMALLEST_GROUP) -> tuple[int, int]:
    """Choose the number of groups for a number of pairs, and the number of graphs in each.

    Groups are as large as possible while every training graph is in one and a third of each are mutations. They have
    from ``smallest`` to :data:`LARGEST_GROUP` graphs; a budget too small for that gives one smaller group.
    """
    wanted, available = (3 * graphs // 2, (1 + MOST_MUTATIONS) * graphs) if mutations else (graphs, graphs)
    to_see_all = 2 * pairs // max(1, wanted) + 1
    size = min(max(to_see_all, smallest), LARGEST_GROUP, _largest_group(pairs), available)
    count = max(1, min(2 * pairs // max(1, size * (size - 1)), -(-available // size)))
    return count, min(_largest_group(pairs // count), LARGEST_GROUP, -(-available // count))


def _largest_group(pairs: int) -> int:
    """Return the maximum number of graphs with at most this number of pairs."""
    return (1 + math.isqrt(1 + 8 * pairs)) // 2


class Mutator:
    """Random graphs that are one to ``edits`` edits away from a given one and resemble those of a collection.

    Labels are drawn from the collection, the frequent ones more often. No mutation has more nodes than the largest of
    its graphs, and mutations of connected graphs are connected.
    """

    def __init__(self, graphs: GraphCollection, edits: int) -> None:
        self.edits = edits
        self._most_nodes = int(graphs.sizes.max())
        columns = graphs.columns
        self._node_labels = _used(columns.node_labels, np.repeat(graphs.flags & GraphFlags.NODE_LABELS, graphs.sizes))
        self._edge_labels = _used(
            columns.edge_labels, np.repeat(graphs.flags & GraphFlags.EDGE_LABELS, graphs.edge_counts)
        )

    def mutate(self, origin: Graph, rng: np.random.Generator) -> Mutation | None:
        """Make a mutation; None if the graph has none, such as a single node without labels."""
        found = mutate(
            origin,
            int(rng.integers(1, self.edits + 1)),
            random_state=rng,
            node_labels=None if origin.column("node_labels") is None else _sample_labels(self._node_labels, rng),
            edge_labels=None if origin.column("edge_labels") is None else _sample_labels(self._edge_labels, rng),
            connected=MutableGraph(origin).is_connected(),
            min_nodes=min(1, self._most_nodes),
            max_nodes=self._most_nodes,
        )
        return found if found.edits else None


def _used(column: LabelColumn | None, present: np.ndarray) -> tuple[Sequence[Hashable], np.ndarray]:
    """Return the vocabulary, and the codes of the rows that hold labels."""
    if column is None:
        return (), np.empty(0, dtype=np.int64)
    return column.vocabulary, column.codes[present > 0]


def _sample_labels(used: tuple[Sequence[Hashable], np.ndarray], rng: np.random.Generator) -> Sequence[Hashable]:
    vocabulary, codes = used
    return [vocabulary[code] for code in rng.choice(codes, _LABELS).tolist()] if len(codes) else ()
