"""Measuring a trained model on graphs: rankings, errors, axioms, examples."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.edit_distance import normalized_distance
from graphmetric.errors import InvalidArgument
from graphmetric.estimator import GraphDistance
from graphmetric.evaluation import Calibration, Raw, Scores, SizeErrors, calibrate, errors_by_size, score_distances
from graphmetric.evaluation.axioms import MeasuredAxioms
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.conversion import as_graphs
from graphmetric.graphs.datasets import Dataset
from graphmetric.model_report.axiom_findings import AxiomFinding, list_axioms, measure_model_axioms
from graphmetric.model_report.examples import ExampleQuery, choose_examples
from graphmetric.model_report.familiarity import describe_familiarity
from graphmetric.model_report.model_facts import Facts, open_model
from graphmetric.model_report.trial import QUERIES, Trial, plan_trial
from graphmetric.model_report.truth import Floats, TrueDistances, search_distances

LABEL_BUDGET = 50_000
_NEAREST = 10
"""How many nearest graphs are asked for, where there are enough."""
_ENOUGH_CANDIDATES = 20
"""A ranking of fewer says little; see :func:`_drop_thin_queries`."""
_WELL_COVERED = 0.5
"""Share of the pairs that a data set must know for its distances to be used instead of the search."""
_MOST_BINS = 40


@dataclass(frozen=True, slots=True, eq=False)
class ModelEvaluation:
    """Everything that was measured, as arrays and records; :func:`~graphmetric.model_report.write_report` shows it."""

    name: str
    """Of the data."""
    graphs: GraphCollection
    trial: Trial
    predicted: Floats
    """(queries, database), in edits."""
    true: Floats
    """Likewise; NaN where not known, and where a graph would meet itself."""
    truth: str
    """Where the true distances come from, in words."""
    nearest: int
    """The k of the first precision, 10 where there are enough candidates."""
    scores: Scores
    """Ranked on the paper's scale, 1 - exp(-d / mean size)."""
    raw_scores: Scores
    """Ranked in edits; its ``mse`` is in squared edits."""
    error_of_median: float
    """Mean absolute error in edits of always saying the median true distance: what knowing nothing costs."""
    whole: bool
    """Whether all true distances are whole numbers, so that exact hits mean something."""
    measured_axioms: MeasuredAxioms
    axioms: tuple[AxiomFinding, ...]
    calibration: Calibration
    size_errors: SizeErrors
    examples: tuple[ExampleQuery, ...]
    facts: Facts
    """Of the model card."""
    notes: tuple[str, ...]
    """What a reader must know to read the scores right."""
    date: str

    @property
    def pairs(self) -> int:
        """Pairs whose true distance is known."""
        return int((~np.isnan(self.true)).sum())

    def to_dict(self) -> dict[str, Any]:
        """The numbers, without arrays, for JSON."""
        return {
            "data": self.name,
            "date": self.date,
            "queries": len(self.trial.queries),
            "database": len(self.trial.database),
            "pairs": self.pairs,
            "truth": self.truth,
            "scores": dict(zip(("paper", "raw"), self.scores_by_name(), strict=True)),
            "error_of_median": self.error_of_median,
            "axioms": self.measured_axioms.to_dict(),
            "promised_axioms": [axiom.name for axiom in self.axioms if axiom.promised],
            "notes": list(self.notes),
        }

    def scores_by_name(self) -> tuple[dict[str, float], dict[str, float]]:
        """Every score that means something here, on the paper's scale and in edits.

        Precision that is generous to ties of the prediction is left out: learned distances hardly tie.
        """
        paper, raw = (
            {name: value for name, value in scores.to_dict().items() if self._means_something(name)}
            for scores in (self.scores, self.raw_scores)
        )
        return paper, raw

    def _means_something(self, name: str) -> bool:
        return not name.endswith(" generous") and (self.whole or name != "exact hits")


def evaluate_model(
    model: GraphDistance | str | os.PathLike[str],
    graphs: Any,
    *,
    distances: Any = None,
    train: ArrayLike | None = None,
    queries: int | None = None,
    label_budget: int = LABEL_BUDGET,
    seed: int = 0,
    n_jobs: int | None = None,
    name: str | None = None,
) -> ModelEvaluation:
    """How good a model is on these graphs.

    Args:
        model: A fitted model, or the folder of one.
        graphs: A data set, whose test graphs rank its training and validation graphs; or any graphs, of which some,
            drawn at random, rank all others.
        distances: The true ones, in any form that ``GraphDistance.fit`` takes. None: those of the data set where it
            knows most of what is needed, else edit distances at unit costs, searched for.
        train: Positions of the graphs that the model was trained on: the others rank them.
        queries: How many graphs ask. None: all test graphs, or 100 of graphs without a split.
        label_budget: Edit distances, in pairs, to search for where they are not known.
        seed: Of everything that is drawn.
        n_jobs: Threads; -1: one per core. None: as many as the model was told to use.
        name: Of the data, for the report.

    Example:
        >>> from graphmetric import load_dataset
        >>> molecules = load_dataset("molecules").graphs[:60]
        >>> model = GraphDistance("small", max_steps=20, label_budget=200).fit(molecules)
        >>> found = evaluate_model(model, molecules, queries=10)
        >>> found.predicted.shape, found.nearest, found.measured_axioms.is_pseudo_metric
        ((10, 60), 10, True)
    """
    _check_counts(queries, label_budget)
    learned, facts = open_model(model)
    if n_jobs is not None:
        learned = copy(learned).set_params(n_jobs=n_jobs)
    dataset = graphs if isinstance(graphs, Dataset) else None
    collection = as_graphs(graphs) if dataset is None else dataset.graphs
    if len(collection) < 3:
        raise InvalidArgument(f"a ranking needs three graphs or more; got {len(collection)}")
    learned.featurizer_.check_direction(collection)
    plan, rng = plan_trial(len(collection), dataset, train), np.random.default_rng(seed)
    wanted = queries or (len(plan.queries) if plan.split else QUERIES)
    known = _find_known(distances, dataset, plan, len(collection))
    if known is None:
        trial = plan.draw(wanted, rng).within(label_budget, rng)
        true = search_distances(collection, trial.queries, trial.database, learned.n_jobs)
    else:
        trial = known.draw(plan, wanted, rng)
        true = known.between(trial.queries, trial.database)
    trial, true, thin = _drop_thin_queries(trial, true)
    notes = [describe_familiarity(learned, collection, trial), *thin, *_notes_on_truth(learned, trial, true, known)]
    with _warnings_as_notes(notes):
        predicted = learned.pairwise(collection[trial.queries], collection[trial.database]).astype(np.float64)
        measured = measure_model_axioms(learned, collection, seed)
    return _assemble(
        name=name or (dataset.name if dataset is not None else "graphs"),
        graphs=collection,
        trial=trial,
        predicted=predicted,
        true=true,
        truth="edit distances at unit costs, by the exact search" if known is None else known.origin,
        measured_axioms=measured,
        axioms=list_axioms(learned, measured),
        facts=facts,
        notes=tuple(dict.fromkeys(notes)),
    )


def _assemble(
    *, graphs: GraphCollection, trial: Trial, predicted: Floats, true: Floats, **rest: Any
) -> ModelEvaluation:
    """The scores and arrays that follow from predicted and true distances."""
    sizes, other_sizes = graphs.sizes[trial.queries], graphs.sizes[trial.database]
    scaled = [normalized_distance(distances, sizes, other_sizes) for distances in (predicted, true)]
    facts = true[~np.isnan(true)]
    fewest = int((~np.isnan(true)).sum(axis=1).min())
    k = min(_NEAREST, max(1, fewest // 2))
    ks = [k, 2 * k] if 2 * k < fewest else [k]
    raw = Raw(predicted, true)
    return ModelEvaluation(
        graphs=graphs,
        trial=trial,
        predicted=predicted,
        true=true,
        nearest=k,
        scores=score_distances(*scaled, raw=raw, ks=ks),
        raw_scores=score_distances(predicted, true, raw=raw, ks=ks),
        error_of_median=float(np.abs(facts - np.median(facts)).mean()),
        whole=bool((facts == np.rint(facts)).all()),
        calibration=calibrate(predicted, true, bins=None if len(np.unique(facts)) <= _MOST_BINS else _MOST_BINS),
        size_errors=errors_by_size(predicted, true, sizes, other_sizes),
        examples=choose_examples(trial, predicted, true, k),
        date=datetime.now().astimezone().isoformat(timespec="seconds"),
        **rest,
    )


def _find_known(distances: Any, dataset: Dataset | None, plan: Trial, count: int) -> TrueDistances | None:
    """The distances that the user gave or, if it knows most of those that are asked for, those of the data set."""
    if distances is not None:
        return TrueDistances.given(distances, count)
    if dataset is None or not len(plan.database):
        return None
    known = TrueDistances.of_dataset(dataset)
    covered = known.partners(plan.database)[plan.queries].mean() / len(plan.database)
    return known if covered >= _WELL_COVERED else None


def _drop_thin_queries(trial: Trial, true: Floats) -> tuple[Trial, Floats, list[str]]:
    """Leave out queries with few known distances: any answer would look right among them."""
    candidates = (~np.isnan(true)).sum(axis=1)
    enough = max(2, min(_ENOUGH_CANDIDATES, int(np.median(candidates)))) if len(candidates) else 2
    kept = candidates >= enough
    if not kept.any():
        raise InvalidArgument(
            "no query has two or more known distances to the graphs that it ranks; give more distances, or none to "
            "have them searched for"
        )
    dropped = int((~kept).sum())
    said = [f"{dropped:,} queries with fewer than {enough} known distances are left out."] if dropped else []
    return trial.with_queries(trial.queries[kept]), true[kept], said


def _notes_on_truth(model: GraphDistance, trial: Trial, true: Floats, known: TrueDistances | None) -> Iterator[str]:
    unknown = float(np.isnan(true[trial.queries[:, None] != trial.database]).mean())
    if known is not None and unknown > 0:
        yield f"Of the distances to the graphs that are ranked {1 - unknown:.1%} are known; the others are left out."
    if known is None and unknown > 0:
        yield (
            f"For {unknown:.1%} of the pairs the exact search did not finish; they are left out. Those are mostly the "
            "large graphs, so the scores speak for the smaller ones."
        )
    if known is None and model.report_["labels"]["origin"] == "given":
        yield (
            "The model was trained on distances that were given to it, and is measured here against edit distances at "
            "unit costs. If it was meant to learn others, pass those."
        )


@contextmanager
def _warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Add what is warned of within, such as labels that the model has never seen; warn of it again, once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    found = list(dict.fromkeys(str(warning.message) for warning in caught))
    notes += found
    for message in found:
        warnings.warn(message, stacklevel=4)


def _check_counts(queries: int | None, label_budget: int) -> None:
    for name, value in (("queries", queries), ("label_budget", label_budget)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidArgument(f"{name} must be a whole number, 1 or more; got {value!r}")
