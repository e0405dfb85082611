"""Evaluation of a trained model on your own graphs: rankings, errors, axioms and examples, in one record."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphmetric._foundation.limits import effective_n_jobs
from graphmetric._foundation.options import checked_count
from graphmetric._foundation.random_streams import random_stream
from graphmetric._foundation.versions import installed_versions
from graphmetric.datasets import Dataset
from graphmetric.distance import Axiom
from graphmetric.edit_distance import EditCosts, normalized_distance
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.estimator import GraphDistance
from graphmetric.evaluation import (
    BoundScores,
    Calibration,
    MeasuredAxioms,
    Raw,
    Scores,
    SizeErrors,
    calibrate,
    errors_by_size,
    measure_axioms,
    score_against_bounds,
    score_distances,
)
from graphmetric.evaluation.scores import Floats
from graphmetric.formats.conversion import as_graphs
from graphmetric.graphs.collection import GraphCollection, certificates, isomorphism_classes
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.learned.model_card import CLASS_DIGITS
from graphmetric.learned.model_folder import find_model, read_config
from graphmetric.report.rankings import (
    QUERIES,
    ExampleQuery,
    KnownDistances,
    RankingTask,
    TrueBounds,
    affordable_pairs,
    choose_examples,
    plan_rankings,
    search_bounds,
)

LABEL_BUDGET = 50_000
TIME_LIMIT = 120.0
"""Seconds of the search for true distances."""
_NEAREST = 10
"""Number of nearest graphs to find, if there are enough."""
_ENOUGH_CANDIDATES = 20
"""Minimum length of an informative ranking; see :func:`_drop_sparse_queries`."""
_WELL_COVERED = 0.5
"""Share of the pairs that a data set must know for its distances to be used instead of the search."""
_MOST_BINS = 40
_NEARLY_ALL = 0.95
"""From this share of proven distances on, the scores are those of the proven ones."""
_FEWEST_PAIRS = 500
"""Pairs drawn even if the time is too short for them; fewer would say nothing."""
_AXIOM_SAMPLE = 150
"""Graphs on which the axioms are measured: half a million triangles."""
_TOLERANCE = 1e-5
"""Relative tolerance of the axioms: numbers are in single precision, and copies may be added up in another order."""

Facts = dict[str, dict[str, Any]]
"""Plain values by name, by title of the section."""

AXIOMS: dict[str, tuple[Axiom | None, str, str]] = {
    "non-negativity": (Axiom.NON_NEGATIVE, "d(G, H) ≥ 0", "A distance is never below zero."),
    "identity": (Axiom.ZERO_ON_EQUAL, "d(G, copy of G) = 0", "Renumbering the nodes of a graph changes nothing."),
    "symmetry": (Axiom.SYMMETRIC, "d(G, H) = d(H, G)", "It does not matter which of two graphs comes first."),
    "triangle inequality": (
        Axiom.TRIANGLE_INEQUALITY,
        "d(G, H) ≤ d(G, K) + d(K, H)",
        "A detour is never shorter; searches rely on it to skip graphs.",
    ),
    "separation": (
        None,
        "d(G, H) > 0 unless H is a copy of G",
        "Different graphs are told apart. A distance without this property is called a pseudo-metric.",
    ),
}
"""For each axiom: what a head promises, the formula, and its meaning for someone who meets the word for the first time.

No head promises separation; a strict model does.
"""


@dataclass(frozen=True, slots=True)
class AxiomResult:
    """One axiom: whether the model promises it, and whether it holds on the graphs that were measured."""

    name: str
    holds: bool
    measured: str
    """The measurement in words."""
    promised: bool
    """Whether it holds by construction, for all graphs and weights."""
    within: str = ""
    """Tolerance of the guarantee, such as " within 0.04 edits"; empty: exact, up to rounding."""

    @property
    def promise(self) -> str:
        """The guarantee, as text."""
        return f"by construction{self.within}" if self.promised else "not promised"


@dataclass(frozen=True, slots=True, eq=False)
class ModelEvaluation:
    """Everything that was measured, as arrays and records; :func:`~graphmetric.report.write_report` shows it."""

    name: str
    """Name of the data."""
    graphs: GraphCollection
    task: RankingTask
    predicted: Floats
    """(queries, database), in edits."""
    bounds: TrueBounds
    """Bounds of the true distances, in edits."""
    truth_source: str
    """Origin of the true distances, as text."""
    nearest: int
    """The k of the first precision: 10 where there are enough candidates."""
    scores: Scores | None
    """Ranked on the paper's scale, 1 - exp(-d / mean size); None where too few distances are proven to rank by."""
    raw_scores: Scores | None
    """Ranked in edits; its ``mse`` is in squared edits. None where ``scores`` is."""
    bound_scores: BoundScores
    """In edits, against the bounds of all pairs, whether proven or not."""
    size_scores: Scores | None
    """Scores of the difference of the numbers of nodes and edges alone, in edits: a model must beat it."""
    size_bound_scores: BoundScores
    """Scores of that difference against the bounds."""
    error_of_median: float
    """Mean absolute error in edits of always predicting the median true distance: an uninformed baseline."""
    whole: bool
    """Whether all true distances are integers, so that exact hits are meaningful."""
    measured_axioms: MeasuredAxioms
    axioms: tuple[AxiomResult, ...]
    calibration: Calibration
    size_errors: SizeErrors
    examples: tuple[ExampleQuery, ...]
    queries_trained_on: int | None
    """Number of queries that are training graphs or isomorphic to one; None if that is not known."""
    facts: Facts
    """Content of the model card."""
    notes: tuple[str, ...]
    """Caveats for the interpretation of the scores."""
    date: str

    @property
    def true(self) -> Floats:
        """The true distances, (queries, database), in edits; NaN where not proven, and where a graph meets itself."""
        return self.bounds.exact

    @property
    def pairs(self) -> int:
        """The number of pairs that the scores are about: with a proven distance, or else with bounds."""
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
            "queries": len(self.task.queries),
            "database": len(self.task.database),
            "pairs": self.pairs,
            "proven": self.proven,
            "queries_trained_on": self.queries_trained_on,
            "truth": self.truth_source,
            "scores": dict(zip(("paper", "raw"), self.scores_by_name(), strict=True)),
            "scores_against_bounds": self.bound_scores.to_dict(),
            "size_alone": self.select(self.size_scores),
            "size_alone_against_bounds": self.size_bound_scores.to_dict(),
            "error_of_median": self.error_of_median,
            "axioms": self.measured_axioms.to_dict(),
            "promised_axioms": [axiom.name for axiom in self.axioms if axiom.promised],
            "notes": list(self.notes),
        }

    def scores_by_name(self) -> tuple[dict[str, float], dict[str, float]]:
        """The meaningful scores on the paper's scale and in edits; both are empty where few distances are proven."""
        return self.select(self.scores), self.select(self.raw_scores)

    def select(self, scores: Scores | None) -> dict[str, float]:
        """The scores that mean something here, by name.

        Precision that is generous to ties of the prediction is left out: learned distances hardly tie.
        """
        found = {} if scores is None else scores.to_dict()
        dropped = () if self.whole else ("exact hits",)
        return {name: value for name, value in found.items() if not name.endswith(" generous") and name not in dropped}


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
    device: str | None = None,
    name: str | None = None,
) -> ModelEvaluation:
    """Measure how good a model is on these graphs.

    Args:
        model: A fitted model, or the folder of one.
        graphs: A data set, whose test graphs rank its training and validation graphs; or any graphs, some of which,
            drawn at random, rank all others.
        distances: The true ones, in any form that ``GraphDistance.fit`` takes. None: those of the data set where it
            knows most of what is needed, else edit distances at the costs that the model was trained for, searched for.
        train: Positions of the graphs that the model was trained on: the others rank them.
        queries: The number of queries. None: all test graphs, or 100 of graphs without a split.
        label_budget: The number of pairs whose edit distance is searched for where it is not known.
        time_limit: Seconds of that search; None: as long as it takes. For large graphs, fewer pairs are drawn, and the
            model is measured against bounds where nothing is proven by then: see
            :mod:`graphmetric.evaluation.scores`.
        costs: Costs of the edits; by default those that the model was trained for, and any others are refused.
        seed: Seed of everything that is drawn.
        n_jobs: Threads; -1: one per core. None: as many as the model uses.
        device: Where a model that is read from a folder encodes, such as "cuda"; any other stays where it is.
        name: What the report calls the data.

    Example:
        >>> from graphmetric import load_dataset
        >>> molecules = load_dataset("molecules").graphs[:60]
        >>> model = GraphDistance("small", max_steps=20, label_budget=200).fit(molecules)
        >>> found = evaluate_model(model, molecules, queries=10)
        >>> found.predicted.shape, found.nearest, found.measured_axioms.is_pseudo_metric
        ((10, 60), 10, True)
    """
    _check_counts(queries, label_budget, time_limit)
    learned, facts = _open_model(model, device)
    costs = _costs_of(learned, costs)
    if isinstance(distances, PairBounds):
        distances.check_costs(costs)
    if n_jobs is not None:
        learned = copy(learned).set_params(n_jobs=n_jobs)
    dataset = graphs if isinstance(graphs, Dataset) else None
    collection = as_graphs(graphs) if dataset is None else dataset.graphs
    if len(collection) < 3:
        raise InvalidArgument(f"a ranking needs three graphs or more; got {len(collection)}")
    learned.featurizer_.check_direction(collection)
    plan = plan_rankings(len(collection), dataset, train)
    rng = random_stream(seed, "evaluated rankings")
    wanted = queries or (len(plan.queries) if plan.split else QUERIES)
    known = _find_known(distances, dataset, plan, len(collection))
    if known is None:
        budget = min(label_budget, max(_FEWEST_PAIRS, affordable_pairs(collection.sizes, time_limit)))
        task = plan.draw(wanted, rng).within(budget, rng)
        bounds = search_bounds(collection, task, costs=costs, n_jobs=learned.n_jobs, time_limit=time_limit, rng=rng)
        truth_source = f"edit distances at {costs}, by the exact search"
    else:
        task = known.draw(plan, wanted, rng)
        bounds = known.between(task.queries, task.database)
        truth_source = known.origin
    task, bounds, thin = _drop_sparse_queries(task, bounds, known is None)
    seen = _count_queries_trained_on(learned, collection[task.queries])
    notes = [_describe_seen(learned, task, seen), *thin, *_notes_on_truth(learned, task, bounds, known is None)]
    unfamiliar = learned.learned_.describe_unfamiliar(collection)
    with _warnings_as_notes(notes):
        for sentence in unfamiliar:  # whether or not the model has warned of it before
            warnings.warn(sentence, stacklevel=2)
        predicted = learned.pairwise(collection[task.queries], collection[task.database]).astype(np.float64)
        measured = _measure_model_axioms(learned, collection, seed)
        axioms = tuple(_compare_with_promises(learned, measured))
        _warn_of_broken_promises(axioms)
    return ModelEvaluation(
        name=name or (dataset.name if dataset is not None else "graphs"),
        graphs=collection,
        task=task,
        predicted=predicted,
        bounds=bounds,
        truth_source=truth_source,
        measured_axioms=measured,
        axioms=axioms,
        facts=facts,
        queries_trained_on=seen,
        notes=tuple(dict.fromkeys(notes)),
        date=datetime.now().astimezone().isoformat(timespec="seconds"),
        **_score(collection, task, predicted, bounds),
    )


def _score(graphs: GraphCollection, task: RankingTask, predicted: Floats, bounds: TrueBounds) -> dict[str, Any]:
    """The fields of an evaluation that follow from the predicted distances and the bounds of the true ones."""
    sizes, other_sizes = graphs.sizes[task.queries], graphs.sizes[task.database]
    true, ranked = bounds.exact, _are_ranked(bounds)
    fewest = int((~np.isnan(true) if ranked else bounds.known).sum(axis=1).min())
    k = min(_NEAREST, max(1, fewest // 2))
    ks = [k, 2 * k] if 2 * k < fewest else [k]
    middle = true if ranked else (bounds.lower + bounds.upper) / 2
    possible = true if ranked else np.clip(predicted, bounds.lower, bounds.upper)
    values = middle[~np.isnan(middle)]
    edges = np.array([graph.num_edges for graph in graphs])
    nodes_apart, edges_apart = (np.abs(n[task.queries][:, None] - n[task.database]) for n in (graphs.sizes, edges))
    size_alone = (nodes_apart + edges_apart).astype(np.float64)

    def score(distances: Floats, *, scaled: bool = False) -> Scores | None:
        if not ranked:
            return None
        if not scaled:
            return score_distances(distances, true, scale="raw", ks=ks)
        pair = [normalized_distance(d, sizes, other_sizes) for d in (distances, true)]
        return score_distances(*pair, raw=Raw(distances, true), ks=ks)

    return {
        "nearest": k,
        "scores": score(predicted, scaled=True),
        "raw_scores": score(predicted),
        "bound_scores": score_against_bounds(predicted, bounds.lower, bounds.upper, ks=ks),
        "size_scores": score(size_alone),
        "size_bound_scores": score_against_bounds(size_alone, bounds.lower, bounds.upper, ks=ks),
        "error_of_median": float(np.abs(values - np.median(values)).mean()),
        "whole": ranked and bool((values == np.rint(values)).all()),
        "calibration": calibrate(predicted, middle, bins=None if len(np.unique(values)) <= _MOST_BINS else _MOST_BINS),
        "size_errors": errors_by_size(predicted, possible, sizes, other_sizes),
        "examples": choose_examples(task, predicted, bounds.lower, bounds.upper, k),
    }


def _are_ranked(bounds: TrueBounds) -> bool:
    """Return whether enough distances are proven that their scores represent all."""
    return bounds.proven >= _NEARLY_ALL and bool(((~np.isnan(bounds.exact)).sum(axis=1) >= 2).all())


def _measure_model_axioms(model: GraphDistance, graphs: GraphCollection, seed: int) -> MeasuredAxioms:
    """Measure the axioms on distances of some graphs to copies of all of them with their nodes in another order.

    Every entry is computed on its own, so that symmetry is measured, too.
    """
    rng = random_stream(seed, "evaluated axioms")
    sample = graphs[np.sort(rng.permutation(len(graphs))[:_AXIOM_SAMPLE])]
    copies = GraphCollection(graph.relabeled(rng.permutation(graph.num_nodes)) for graph in sample)
    try:
        classes = isomorphism_classes(sample)
    except WorkBudgetExceeded:
        classes = None
    distances = model.pairwise(sample, copies)
    return measure_axioms(distances, classes=classes, tolerance=_TOLERANCE, n_jobs=effective_n_jobs(model.n_jobs))


def _compare_with_promises(model: GraphDistance, measured: MeasuredAxioms) -> Iterator[AxiomResult]:
    """Every axiom with what the model's head promises about it; separation is promised by a strict model."""
    head, strict = model.model_.head, bool(model.strict)
    two_sides = 0.0 if strict else 2 * head.tolerance  # both may be answered too short; see DistanceHead.epsilon
    for name, holds, words in measured.check(head.tolerance, two_sides):
        axiom = AXIOMS[name][0]
        within = head.within if axiom is Axiom.TRIANGLE_INEQUALITY and not strict else ""
        yield AxiomResult(name, holds, words, strict if axiom is None else axiom in head.axioms, within)


def _warn_of_broken_promises(axioms: Iterable[AxiomResult]) -> None:
    for axiom in axioms:
        if axiom.promised and not axiom.holds:
            warnings.warn(
                f"the model promises the axiom {axiom.name!r}, which does not hold on these graphs ({axiom.measured}): "
                "its head declares too much",
                stacklevel=2,
            )


def _open_model(model: GraphDistance | str | os.PathLike[str], device: str | None) -> tuple[GraphDistance, Facts]:
    """The model, loaded if a folder or name is given, and what its card says."""
    if isinstance(model, GraphDistance):
        return model, _facts(model) | {"Versions": installed_versions()}
    folder = find_model(model)
    loaded = GraphDistance.load(folder, device or "cpu")
    trained_with = read_config(folder)["packages"]
    return loaded, _facts(loaded) | {"Trained with": trained_with, "Measured with": installed_versions()}


def _facts(model: GraphDistance) -> Facts:
    report = model.report_
    return {
        "Distance": {
            "kind": model.model_.options.head.kind,
            "preset": model.preset if isinstance(model.preset, str) else "own options",
            "strict": bool(model.strict),
            "numbers_learned": sum(parameter.numel() for parameter in model.model_.parameters()),
            "seed": model.random_state if isinstance(model.random_state, int) else "not fixed",
        },
        "Training graphs": report["graphs"],
        "Training labels": report["labels"],
        "Training": report["training"],
        "Validation while training": report["validation"] or {"exact_pairs": 0},
    }


def _find_known(distances: Any, dataset: Dataset | None, plan: RankingTask, count: int) -> KnownDistances | None:
    """The distances that the user gave; otherwise those of the data set, if it knows most of what is needed."""
    if distances is not None:
        return KnownDistances.given(distances, count)
    if dataset is None or not len(plan.database):
        return None
    known = KnownDistances.of_dataset(dataset)
    covered = known.partners(plan.database)[plan.queries].mean() / len(plan.database)
    return known if covered >= _WELL_COVERED else None


def _drop_sparse_queries(
    task: RankingTask, bounds: TrueBounds, searched: bool
) -> tuple[RankingTask, TrueBounds, list[str]]:
    """Leave out queries with few known distances: any answer would look right among them."""
    candidates = bounds.known.sum(axis=1)
    enough = max(2, min(_ENOUGH_CANDIDATES, int(np.median(candidates)))) if len(candidates) else 2
    kept = candidates >= enough
    if not kept.any():
        raise InvalidArgument(
            "the time limit was too short for bounds of any distances; give more seconds"
            if searched
            else "no query has two or more known distances to the graphs that it ranks; give more distances, or none "
            "to have them searched for"
        )
    dropped = int((~kept).sum())
    said = [f"{dropped:,} queries with fewer than {enough} known distances are left out."] if dropped else []
    return replace(task, queries=task.queries[kept]), bounds.take(kept), said


def _count_queries_trained_on(model: GraphDistance, queries: GraphCollection) -> int | None:
    """Compare the queries with the training graphs.

    A model that was just fitted holds these. One that was saved has short certificates of them; an older one only
    their number.
    """
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


def _describe_seen(model: GraphDistance, task: RankingTask, seen: int | None) -> str:
    """Describe whether the model was trained on the queries."""
    learned = int(model.report_["graphs"]["training_graphs"])
    ranked = len(task.database)
    if seen == 0:
        return "None of the queries is a graph that the model was fitted to, nor a copy of one."
    if seen is not None:
        which = f"{seen:,} of {len(task.queries):,} queries are graphs that the model was fitted to, or copies of them"
        return f"{which}: on these, the scores flatter it."
    trained = f"The model was trained on {learned:,} graphs"
    if not task.split:
        return f"{trained}; if the queries are among them, it has seen them and the scores flatter it."
    if learned > ranked:
        doubt = "if they came from this data, it has seen the queries and the scores flatter it"
        return f"{trained}, more than the {ranked:,} that are ranked here: {doubt}."
    doubt = "only whoever trained the model knows that they were not among its training graphs"
    return f"{trained}. The split holds the queries out, but {doubt}."


def _notes_on_truth(model: GraphDistance, task: RankingTask, bounds: TrueBounds, searched: bool) -> Iterator[str]:
    others = task.queries[:, None] != task.database
    with_bounds = float(bounds.known[others].mean())
    if with_bounds < 1:
        where = "have bounds within the time limit" if searched else "are known"
        yield f"{with_bounds:.1%} of the distances to the graphs that are ranked {where}; the others are left out."
    if not _are_ranked(bounds):
        yield (
            f"{bounds.proven:.1%} of the true distances are proven; for the others, lower and upper bounds are known. "
            "So scores are given against bounds: errors count only outside of them, and the order of two graphs only "
            "where the bounds decide it."
        )
    elif bounds.proven < 1:
        yield (
            f"For {1 - bounds.proven:.1%} of the pairs the exact search did not finish; they are left out. These are "
            "mostly the large graphs, so the scores speak for the smaller ones."
        )
    if searched and model.report_["labels"]["origin"] == "given":
        yield (
            "The model was trained on distances that were given to it, and is measured here against edit distances at "
            f"{model.costs or EditCosts()}. If it was meant to learn other distances, pass those."
        )


@contextmanager
def _warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Note warnings, such as those about labels that the model has never seen, and issue each of them once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    found = list(dict.fromkeys(str(warning.message) for warning in caught))
    notes += found
    for message in found:
        warnings.warn(message, stacklevel=4)


def _costs_of(model: GraphDistance, costs: EditCosts | None) -> EditCosts:
    """The costs that the model was trained for; raises InvalidArgument where others are asked for."""
    own = model.costs or EditCosts()
    if costs is not None and costs != own:
        raise InvalidArgument(
            f"the model was trained for edit distances at {own}, so it cannot be measured against those at {costs}: "
            "leave out the costs, or train a model with them"
        )
    return own


def _check_counts(queries: int | None, label_budget: int, time_limit: float | None) -> None:
    for name, value in (("queries", queries), ("label_budget", label_budget)):
        if value is not None:
            checked_count(value, name)
    if time_limit is not None and not time_limit > 0:
        raise InvalidArgument(f"time_limit must be a number of seconds above 0, or None; got {time_limit!r}")
