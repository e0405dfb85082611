"""Measuring a trained model on graphs: rankings, errors, axioms, examples.

Whether a model has met the queries in training, as far as that can be told.

What the model card says, in sections that a page can show.
"""

from __future__ import annotations

import math
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

from graphmetric.datasets import Dataset
from graphmetric.edit_distance import EditCosts, Labels, normalized_distance
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.estimator import GraphDistance
from graphmetric.evaluation import (
    BoundScores,
    Calibration,
    Raw,
    Scores,
    SizeErrors,
    calibrate,
    errors_by_size,
    installed_versions,
    score_against_bounds,
    score_distances,
)
from graphmetric.evaluation.axioms import MeasuredAxioms
from graphmetric.formats.conversion import as_graphs
from graphmetric.graphs.collection import GraphCollection, certificates
from graphmetric.learned.model_card import CLASS_DIGITS
from graphmetric.learned.model_folder import find_model, read_config
from graphmetric.report.axiom_findings import AxiomFinding, list_axioms, measure_model_axioms
from graphmetric.report.examples import ExampleQuery, choose_examples
from graphmetric.report.truth import (
    QUERIES,
    Floats,
    Trial,
    TrueDistances,
    Truth,
    affordable_pairs,
    plan_trial,
    search_bounds,
)


@dataclass(frozen=True, slots=True)
class Familiarity:
    """How many of the queries the model was trained on."""

    met: int | None
    """Queries that are training graphs, or copies of such; None if that cannot be told."""
    queries: int
    sentence: str
    """For the reader of the scores."""


def find_familiar(model: GraphDistance, graphs: GraphCollection, trial: Trial) -> Familiarity:
    """Compare the queries with the training graphs.

    A model that was just fitted has these at hand. One that was saved knows short certificates of them; of older ones
    only their number is known.
    """
    met, queries = _count_met(model, graphs[trial.queries]), len(trial.queries)
    if met is None:
        return Familiarity(None, queries, _guess(model, trial))
    if met == 0:
        return Familiarity(
            0, queries, "None of the queries is a graph that the model was fitted to, nor a copy of one."
        )
    return Familiarity(
        met,
        queries,
        f"{met:,} of {queries:,} queries are graphs that the model was fitted to, or copies of such: on these the "
        "scores flatter it.",
    )


def _count_met(model: GraphDistance, queries: GraphCollection) -> int | None:
    try:
        if model.graphs_ is not None:
            seen = {text[:CLASS_DIGITS] for text in certificates(model.graphs_)}
        elif (kept := model.report_.get("classes")) is not None:
            seen = set(kept)
        else:
            return None
        return sum(text[:CLASS_DIGITS] in seen for text in certificates(queries))
    except WorkBudgetExceeded:  # graphs that are hard to compare
        return None


def _guess(model: GraphDistance, trial: Trial) -> str:
    learned = int(model.report_["graphs"]["training_graphs"])
    if not trial.split:
        return (
            f"The model was trained on {learned:,} graphs; if the queries are among them, it has seen them and the "
            "scores flatter it."
        )
    if learned > len(trial.database):
        return (
            f"The model was trained on {learned:,} graphs, more than the {len(trial.database):,} that are ranked here: "
            "if they came from this data, it has seen the queries and the scores flatter it."
        )
    return (
        f"The model was trained on {learned:,} graphs. The queries are held out by the split; that they were not among "
        "the training graphs is for whoever trained it to know."
    )


Facts = dict[str, dict[str, Any]]
"""Plain values by name, by title of the section."""


def open_model(model: GraphDistance | str | os.PathLike[str]) -> tuple[GraphDistance, Facts]:
    """A model, or that of a folder or name, and what is to be said of it."""
    if isinstance(model, GraphDistance):
        return model, _facts(model, {"Versions": installed_versions()})
    folder = find_model(model)
    loaded = GraphDistance.load(folder)
    trained_with = read_config(folder)["packages"]
    return loaded, _facts(loaded, {"Trained with": trained_with, "Measured with": installed_versions()})


def _facts(model: GraphDistance, versions: Facts) -> Facts:
    report = model.report_
    preset = model.preset if isinstance(model.preset, str) else "own options"
    return {
        "Distance": {
            "kind": model.model_.options.head.kind,
            "preset": preset,
            "strict": bool(model.strict),
            "numbers_learned": sum(parameter.numel() for parameter in model.model_.parameters()),
            "seed": model.random_state if isinstance(model.random_state, int) else "not fixed",
        },
        "Training graphs": report["graphs"],
        "Training labels": report["labels"],
        "Training": report["training"],
        "Validation while training": report["validation"] or {"exact_pairs": 0},
        **versions,
    }


LABEL_BUDGET = 50_000
TIME_LIMIT = 120.0
"""Seconds of the search for true distances."""
_NEAREST = 10
"""How many nearest graphs are asked for, where there are enough."""
_ENOUGH_CANDIDATES = 20
"""A ranking of fewer says little; see :func:`_drop_thin_queries`."""
_WELL_COVERED = 0.5
"""Share of the pairs that a data set must know for its distances to be used instead of the search."""
_MOST_BINS = 40
_NEARLY_ALL = 0.95
"""Share of proven distances from which on the scores are those of the proven ones."""
_FEWEST_PAIRS = 500
"""Drawn even if the time is too short for them; fewer would say nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelEvaluation:
    """Everything that was measured, as arrays and records; :func:`~graphmetric.report.write_report` shows it."""

    name: str
    """Of the data."""
    graphs: GraphCollection
    trial: Trial
    predicted: Floats
    """(queries, database), in edits."""
    bounds: Truth
    """Of the true distances, likewise."""
    truth: str
    """Where the true distances come from, in words."""
    nearest: int
    """The k of the first precision, 10 where there are enough candidates."""
    scores: Scores | None
    """Ranked on the paper's scale, 1 - exp(-d / mean size); None where too few distances are proven to rank by."""
    raw_scores: Scores | None
    """Ranked in edits; its ``mse`` is in squared edits. None likewise."""
    bound_scores: BoundScores
    """In edits, against the bounds of all pairs, whether proven or not."""
    size_scores: Scores | None
    """What the difference of the numbers of nodes and edges alone would score, in edits: a model must beat it."""
    size_bound_scores: BoundScores
    """Likewise against the bounds."""
    error_of_median: float
    """Mean absolute error in edits of always saying the median true distance: what knowing nothing costs."""
    whole: bool
    """Whether all true distances are whole numbers, so that exact hits mean something."""
    measured_axioms: MeasuredAxioms
    axioms: tuple[AxiomFinding, ...]
    calibration: Calibration
    size_errors: SizeErrors
    examples: tuple[ExampleQuery, ...]
    familiarity: Familiarity
    """Whether the model was trained on the queries."""
    facts: Facts
    """Of the model card."""
    notes: tuple[str, ...]
    """What a reader must know to read the scores right."""
    date: str

    @property
    def true(self) -> Floats:
        """The true distances, (queries, database), in edits; NaN where not proven, and where a graph meets itself."""
        return self.bounds.exact

    @property
    def pairs(self) -> int:
        """Pairs that are measured: whose true distance is known, or has bounds if the scores are against bounds."""
        return int((~np.isnan(self.true)).sum()) if self.scores is not None else self.bound_scores.pairs

    @property
    def proven(self) -> float:
        """The share of the pairs with bounds whose distance is proven."""
        return self.bounds.proven

    def to_dict(self) -> dict[str, Any]:
        """The numbers, without arrays, for JSON."""
        return {
            "data": self.name,
            "date": self.date,
            "queries": len(self.trial.queries),
            "database": len(self.trial.database),
            "pairs": self.pairs,
            "proven": self.proven,
            "queries_trained_on": self.familiarity.met,
            "truth": self.truth,
            "scores": dict(zip(("paper", "raw"), self.scores_by_name(), strict=True)),
            "scores_against_bounds": self.bound_scores.to_dict(),
            "size_alone": {} if self.size_scores is None else self._select(self.size_scores),
            "size_alone_against_bounds": self.size_bound_scores.to_dict(),
            "error_of_median": self.error_of_median,
            "axioms": self.measured_axioms.to_dict(),
            "promised_axioms": [axiom.name for axiom in self.axioms if axiom.promised],
            "notes": list(self.notes),
        }

    def scores_by_name(self) -> tuple[dict[str, float], dict[str, float]]:
        """Every score that means something here, on the paper's scale and in edits; none where few are proven.

        Precision that is generous to ties of the prediction is left out: learned distances hardly tie.
        """
        if self.scores is None or self.raw_scores is None:
            return {}, {}
        return self._select(self.scores), self._select(self.raw_scores)

    def _select(self, scores: Scores) -> dict[str, float]:
        return {name: value for name, value in scores.to_dict().items() if self._means_something(name)}

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
    time_limit: float | None = TIME_LIMIT,
    costs: EditCosts | None = None,
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
            knows most of what is needed, else edit distances at the costs that the model was trained for, searched for.
        train: Positions of the graphs that the model was trained on: the others rank them.
        queries: How many graphs ask. None: all test graphs, or 100 of graphs without a split.
        label_budget: Edit distances, in pairs, to search for where they are not known.
        time_limit: Seconds of that search; None: as long as it takes. Of large graphs, fewer pairs are drawn, and what
            is not proven by then is measured against bounds: see :mod:`graphmetric.evaluation.bounds`.
        costs: Of the edits; by default those that the model was trained for, and anything else is refused.
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
    _check_counts(queries, label_budget, time_limit)
    learned, facts = open_model(model)
    costs = _costs_of(learned, costs)
    if isinstance(distances, Labels):
        distances.check_costs(costs)
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
    limit = math.inf if time_limit is None else time_limit
    if known is None:
        budget = min(label_budget, max(_FEWEST_PAIRS, affordable_pairs(collection.sizes, limit)))
        trial = plan.draw(wanted, rng).within(budget, rng)
        bounds = search_bounds(collection, trial, costs=costs, n_jobs=learned.n_jobs, time_limit=limit, rng=rng)
    else:
        trial = known.draw(plan, wanted, rng)
        bounds = known.between(trial.queries, trial.database)
    trial, bounds, thin = _drop_thin_queries(trial, bounds, known is None)
    familiarity = find_familiar(learned, collection, trial)
    notes = [familiarity.sentence, *thin, *_notes_on_truth(learned, trial, bounds, known)]
    with _warnings_as_notes(notes):
        predicted = learned.pairwise(collection[trial.queries], collection[trial.database]).astype(np.float64)
        measured = measure_model_axioms(learned, collection, seed)
    return _assemble(
        name=name or (dataset.name if dataset is not None else "graphs"),
        graphs=collection,
        trial=trial,
        predicted=predicted,
        bounds=bounds,
        truth=f"edit distances at {costs}, by the exact search" if known is None else known.origin,
        measured_axioms=measured,
        axioms=list_axioms(learned, measured),
        facts=facts,
        familiarity=familiarity,
        notes=tuple(dict.fromkeys(notes)),
    )


def _assemble(
    *, graphs: GraphCollection, trial: Trial, predicted: Floats, bounds: Truth, **rest: Any
) -> ModelEvaluation:
    """The scores and arrays that follow from predicted distances and the bounds of the true ones."""
    sizes, other_sizes = graphs.sizes[trial.queries], graphs.sizes[trial.database]
    true = bounds.exact
    ranked = _are_ranked(bounds)
    candidates = (~np.isnan(true) if ranked else bounds.known).sum(axis=1)
    fewest = int(candidates.min())
    k = min(_NEAREST, max(1, fewest // 2))
    ks = [k, 2 * k] if 2 * k < fewest else [k]
    middle = true if ranked else (bounds.lower + bounds.upper) / 2
    possible = true if ranked else np.clip(predicted, bounds.lower, bounds.upper)
    facts = middle[~np.isnan(middle)]
    size_alone = _compare_sizes(graphs, trial)

    def score(distances: Floats) -> Scores | None:
        return score_distances(distances, true, raw=Raw(distances, true), ks=ks) if ranked else None

    return ModelEvaluation(
        graphs=graphs,
        trial=trial,
        predicted=predicted,
        bounds=bounds,
        nearest=k,
        scores=_score_scaled(predicted, true, sizes, other_sizes, ks) if ranked else None,
        raw_scores=score(predicted),
        bound_scores=score_against_bounds(predicted, bounds.lower, bounds.upper, ks=ks),
        size_scores=score(size_alone),
        size_bound_scores=score_against_bounds(size_alone, bounds.lower, bounds.upper, ks=ks),
        error_of_median=float(np.abs(facts - np.median(facts)).mean()),
        whole=ranked and bool((facts == np.rint(facts)).all()),
        calibration=calibrate(predicted, middle, bins=None if len(np.unique(facts)) <= _MOST_BINS else _MOST_BINS),
        size_errors=errors_by_size(predicted, possible, sizes, other_sizes),
        examples=choose_examples(trial, predicted, bounds, k),
        date=datetime.now().astimezone().isoformat(timespec="seconds"),
        **rest,
    )


def _are_ranked(bounds: Truth) -> bool:
    """Whether so much is proven that scores of the proven distances alone speak for all."""
    return bounds.proven >= _NEARLY_ALL and bool(((~np.isnan(bounds.exact)).sum(axis=1) >= 2).all())


def _score_scaled(predicted: Floats, true: Floats, sizes: Any, other_sizes: Any, ks: list[int]) -> Scores:
    scaled = [normalized_distance(distances, sizes, other_sizes) for distances in (predicted, true)]
    return score_distances(*scaled, raw=Raw(predicted, true), ks=ks)


def _compare_sizes(graphs: GraphCollection, trial: Trial) -> Floats:
    """The difference of the numbers of nodes plus that of the numbers of edges: what sizes alone tell."""
    edges = np.array([graph.num_edges for graph in graphs])
    return np.asarray(
        sum(
            np.abs(counts[trial.queries][:, None].astype(np.float64) - counts[trial.database])
            for counts in (graphs.sizes, edges)
        )
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


def _drop_thin_queries(trial: Trial, bounds: Truth, searched: bool) -> tuple[Trial, Truth, list[str]]:
    """Leave out queries with few known distances: any answer would look right among them."""
    candidates = bounds.known.sum(axis=1)
    enough = max(2, min(_ENOUGH_CANDIDATES, int(np.median(candidates)))) if len(candidates) else 2
    kept = candidates >= enough
    if not kept.any():
        if searched:
            raise InvalidArgument("the time limit was too short for bounds of any distances; give more seconds")
        raise InvalidArgument(
            "no query has two or more known distances to the graphs that it ranks; give more distances, or none to "
            "have them searched for"
        )
    dropped = int((~kept).sum())
    said = [f"{dropped:,} queries with fewer than {enough} known distances are left out."] if dropped else []
    return trial.with_queries(trial.queries[kept]), bounds.take(kept), said


def _notes_on_truth(model: GraphDistance, trial: Trial, bounds: Truth, known: TrueDistances | None) -> Iterator[str]:
    others = trial.queries[:, None] != trial.database
    with_bounds = float(bounds.known[others].mean())
    if with_bounds < 1:
        where = "are known" if known is not None else "have bounds within the time limit"
        yield f"Of the distances to the graphs that are ranked {with_bounds:.1%} {where}; the others are left out."
    if not _are_ranked(bounds):
        yield (
            f"{bounds.proven:.1%} of the true distances are proven; of the others, lower and upper bounds are known. "
            "So scores are given against bounds: errors count only outside of them, and the order of two graphs only "
            "where the bounds decide it."
        )
    elif bounds.proven < 1:
        yield (
            f"For {1 - bounds.proven:.1%} of the pairs the exact search did not finish; they are left out. Those are "
            "mostly the large graphs, so the scores speak for the smaller ones."
        )
    if known is None and model.report_["labels"]["origin"] == "given":
        yield (
            "The model was trained on distances that were given to it, and is measured here against edit distances at "
            f"{model.costs or EditCosts()}. If it was meant to learn others, pass those."
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


def _costs_of(model: GraphDistance, costs: EditCosts | None) -> EditCosts:
    """The costs that the model was trained for; raises where others are asked for."""
    own = model.costs or EditCosts()
    if costs is not None and costs != own:
        raise InvalidArgument(
            f"the model was trained for edit distances at {own}, so it cannot be measured against those at {costs}: "
            "leave out the costs, or train a model with them"
        )
    return own


def _check_counts(queries: int | None, label_budget: int, time_limit: float | None) -> None:
    for name, value in (("queries", queries), ("label_budget", label_budget)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidArgument(f"{name} must be a whole number, 1 or more; got {value!r}")
    if time_limit is not None and not time_limit > 0:
        raise InvalidArgument(f"time_limit must be a number of seconds above 0, or None; got {time_limit!r}")
