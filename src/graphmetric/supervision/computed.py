"""Labels of our own: edit distances by exact search, and bounds of them where that takes too long."""

from __future__ import annotations

import logging

import numpy as np

from graphmetric.edit_distance import ExactSearch, pairwise_edit_distances
from graphmetric.edit_distance.pair_choice import choose_pairs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.supervision.budget import LabelBudget
from graphmetric.supervision.pool import SMALLEST_CLIQUE, TrainingPool, draw_pool
from graphmetric.supervision.record import Positions, Supervision
from graphmetric.training import TrainingLabels

logger = logging.getLogger(__name__)

VALIDATION_SHARE = 0.1
"""Of the budget."""
SCORED_PAIRS = 50_000
"""Enough to score a model by; a larger budget is for training."""
_ROUNDS = 20
"""Looks at the clock while labels are computed within a time."""


def make_supervision(
    training: GraphCollection,
    validation: GraphCollection,
    budget: LabelBudget,
    edits: int,
    seed: int,
    smallest_clique: int = SMALLEST_CLIQUE,
) -> Supervision:
    """Labels of cliques of training graphs and their mutations, and of validation graphs with training graphs.

    What is trained on does not depend on the validation graphs, beyond their number.
    """
    rng = np.random.default_rng(seed)
    pairs = budget.pairs_for(training)
    held_back = min(int(VALIDATION_SHARE * pairs), len(training) * len(validation))
    pool = draw_pool(training, pairs - held_back, edits, rng, smallest_clique)
    labels, seconds = _label_pool(pool, budget)
    across = _pairs_between(len(pool.drawn), len(validation), held_back, rng)
    used, places = np.unique(across[:, 1], return_inverse=True)
    graphs = pool.graphs + validation[used]
    choosing, more = budget.label(graphs, np.column_stack([across[:, 0], len(pool.graphs) + places]), "validation")
    _tell(labels, choosing)
    mutations = np.arange(len(pool.origins)) + len(pool.drawn)
    return Supervision(
        graphs, labels, choosing, f"computed: edit distances at {budget.costs}",
        mutated=int(np.isin(mutations, labels.graphs).sum()), cpu_seconds=seconds + more,
    )  # fmt: skip


def _tell(*parts: TrainingLabels) -> None:
    """Say how many labels are distances and how many only bounds of them, since that decides how well they teach."""
    pairs, exact = sum(map(len, parts)), sum(int((labels.lower == labels.upper).sum()) for labels in parts)
    logger.info("%s labels: %s exact distances, %s only bounds", f"{pairs:,}", f"{exact:,}", f"{pairs - exact:,}")


def label_some_pairs(graphs: GraphCollection, budget: LabelBudget, seed: int) -> TrainingLabels:
    """All pairs, or as many at random as the budget allows, :data:`SCORED_PAIRS` at most."""
    possible, wanted = len(graphs) * (len(graphs) - 1) // 2, min(SCORED_PAIRS, budget.pairs_for(graphs))
    choice = "all" if possible <= wanted else f"random:{wanted}"
    return budget.label(graphs, choose_pairs(graphs, choice, random_state=seed))[0]


def _label_pool(pool: TrainingPool, budget: LabelBudget) -> tuple[TrainingLabels, float]:
    """All pairs of the cliques, or as many as can be had in the time for training, and their CPU time."""
    pairs, known = pool.pairs(), pool.label_empty_graphs(budget.costs)
    if budget.seconds is not None:
        _compile_search(pool.graphs)
    rounds = np.array_split(pairs, 1 if budget.seconds is None else _ROUNDS)
    allowed = np.inf if budget.seconds is None else (1 - VALIDATION_SHARE) * budget.seconds
    labels, seconds = TrainingLabels.exact([], []), 0.0
    for k, part in enumerate(rounds):
        if seconds >= allowed:
            known = known.take(np.flatnonzero(np.isin(known.pairs[:, 0], labels.graphs)))
            break
        found, more = budget.label(pool.graphs, part, f"training-{k:02d}")
        labels, seconds = labels.joined(found), seconds + more
    return labels.joined(known), seconds


def _compile_search(graphs: GraphCollection) -> None:
    """Search once, so that compilation, which comes with the first search after an installation, is not counted."""
    largest = np.argsort(graphs.sizes, kind="stable")[-2:]
    pairwise_edit_distances(graphs[largest], pairs=[(0, 1)], method=ExactSearch(node_limit=1))


def _pairs_between(rows: int, columns: int, wanted: int, rng: np.random.Generator) -> Positions:
    """Different cells of a table, drawn at random."""
    chosen = np.sort(rng.choice(rows * columns, min(wanted, rows * columns), replace=False))
    return np.column_stack(np.divmod(chosen, max(1, columns)))
