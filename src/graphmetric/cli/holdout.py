"""``graphmetric train --holdout``: graphs that training never sees, and how good the model is on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.cli.sources import Reading, open_source
from graphmetric.cli.terminal import say
from graphmetric.errors import GraphMetricError, InvalidArgument
from graphmetric.graphs.canonical import isomorphism_classes
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.splits import hold_out_classes

if TYPE_CHECKING:
    from graphmetric.edit_distance import Labels
    from graphmetric.estimator import GraphDistance

_FEWEST = 3
"""Graphs to learn from, and to be ranked."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """All graphs, those of them that are learned from, and those that measure the model."""

    graphs: GraphCollection
    labels: Labels | None
    """Known distances among them."""
    train: NDArray[np.int64]
    held: NDArray[np.int64]

    @property
    def training(self) -> GraphCollection:
        """The graphs to learn from."""
        return self.graphs[self.train]

    def labels_of_training(self) -> Labels | None:
        """What is known of their distances."""
        return None if self.labels is None else self.labels.among(self.train)


def hold_out(graphs: GraphCollection, labels: Labels | None, given: str, reading: Reading, seed: int) -> HeldOut:
    """Part the graphs by ``--holdout``: a fraction of them, or a file; no class of isomorphic graphs is in both parts.

    Graphs to learn from that are copies of a graph of the file are left out.
    """
    fraction = _as_fraction(given)
    if fraction is not None:
        held = hold_out_classes(isomorphism_classes(graphs), fraction, seed)
        train = np.setdiff1d(np.arange(len(graphs)), held)
    else:
        count, others = len(graphs), open_source(given, reading).graphs
        graphs = GraphCollection([*graphs, *others])
        held = np.arange(count, len(graphs))
        classes = isomorphism_classes(graphs)
        train = np.flatnonzero(~np.isin(classes[:count], classes[count:]))
        if copies := count - len(train):
            say(f"note: {copies:,} graphs are copies of held-out graphs and are not learned from", err=True)
    if not len(held) or len(train) < _FEWEST:
        raise InvalidArgument(
            f"--holdout {given} leaves {len(train)} graphs to learn from and {len(held)} to measure on; "
            f"{_FEWEST} and 1 are needed at least, and isomorphic graphs stay together"
        )
    return HeldOut(graphs, labels, train, held)


def measure_held_out(model: GraphDistance, trial: HeldOut, n_jobs: int, seed: int) -> bool:
    """Let the held-out graphs rank the training graphs and note the scores in the model's report.

    Returns whether that could be done. What cannot be measured is told, and the model is kept.
    """
    from graphmetric.model_report import evaluate_model

    try:
        found = evaluate_model(
            model, trial.graphs, distances=trial.labels, train=trial.train, n_jobs=n_jobs, seed=seed, name="held-out"
        )
    except GraphMetricError as error:
        say(f"note: the held-out graphs could not be measured: {error}", err=True)
        return False
    _, scores = found.scores_by_name()
    named = {"rank correlation": "rho", "tau": "tau", "mean absolute error in edits": "mae"}
    named |= {f"share of the {name[2:]} nearest found": name for name in scores if name[2:].isdecimal()}
    model.report_["held_out"] = {
        "graphs": len(trial.held),
        "queries": len(found.trial.queries),
        "ranked_training_graphs": len(found.trial.database),
        "pairs": found.pairs,
        "true_distances": found.truth,
        **{title.replace(" ", "_"): scores[name] for title, name in named.items() if name in scores},
    }
    return True


def describe_held_out(report: dict[str, Any]) -> str:
    """One line of the scores."""
    error, correlation = (report.get(name) for name in ("mean_absolute_error_in_edits", "rank_correlation"))
    shown = [f"mean error {error:.2f} edits"] if error is not None else []
    shown += [f"rank correlation {correlation:.3f}"] if correlation is not None else []
    return f"{report['graphs']:,} graphs, " + ", ".join([*shown, f"by {report['pairs']:,} pairs"])


def _as_fraction(given: str) -> float | None:
    """The number, or None for the name of a file."""
    try:
        number = float(given)
    except ValueError:
        return None
    if Path(given).exists():
        return None
    if not 0 < number < 1 or math.isnan(number):
        raise InvalidArgument(f"--holdout takes a fraction above 0 and below 1, or a file of graphs; got {given}")
    return number
