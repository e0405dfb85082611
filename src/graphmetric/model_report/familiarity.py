"""Whether a model has met the queries in training, as far as that can be told."""

from __future__ import annotations

import numpy as np

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.estimator import GraphDistance
from graphmetric.graphs.canonical import isomorphism_classes
from graphmetric.graphs.collection import GraphCollection
from graphmetric.model_report.trial import Trial


def describe_familiarity(model: GraphDistance, graphs: GraphCollection, trial: Trial) -> str:
    """One sentence for the reader of the scores.

    A model that was just fitted has its graphs at hand; of one that was loaded only their number is known.
    """
    if model.graphs_ is not None:
        return _compare(model.graphs_, graphs[trial.queries])
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


def _compare(seen: GraphCollection, queries: GraphCollection) -> str:
    try:
        classes = isomorphism_classes(seen + queries)
    except WorkBudgetExceeded:
        return "Whether the model has seen the queries in training could not be found out: they are hard to compare."
    met = int(np.isin(classes[len(seen) :], classes[: len(seen)]).sum())
    if met == 0:
        return "None of the queries is a graph that the model was fitted to, nor a copy of one."
    return (
        f"{met:,} of {len(queries):,} queries are graphs that the model was fitted to, or copies of such: on these the "
        "scores flatter it."
    )
