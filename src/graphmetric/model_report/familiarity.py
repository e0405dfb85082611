"""Whether a model has met the queries in training, as far as that can be told."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.estimator import GraphDistance
from graphmetric.fit_report import CLASS_DIGITS
from graphmetric.graphs.canonical import certificates
from graphmetric.graphs.collection import GraphCollection
from graphmetric.model_report.trial import Trial


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
