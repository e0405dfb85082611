"""Presets that are trained on the training graphs of a benchmark of real size, as a user with these graphs would do it.

No distances are given: the training graphs and mutations of them are labelled by the exact search, with bounds where
that ends early. Labels are the same for all presets of one seed. Labels, checkpoints and models are kept in the folder
of the benchmarks, so a run that is killed goes on where it was, and a model that is there is not trained again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from graphmetric.datasets import load_dataset
from graphmetric.errors import InvalidArgument
from graphmetric.estimator import GraphDistance
from graphmetric.graphs.collection import GraphCollection, fingerprint, isomorphism_classes
from graphmetric.learned.model_folder import CONFIG
from graphmetric.reproduction.at_size import SETS, SizedSet, deal_parts, load_graphs
from graphmetric.reproduction.experiments import Row
from graphmetric.reproduction.runner import fit_once
from graphmetric.training.supervision import LabelBudget, Supervision, hold_out, make_supervision

logger = logging.getLogger(__name__)

POOLED: Mapping[str, Any] = MappingProxyType(
    {"encoder": {"output_size": 256}, "head": {"kind": "block-norm", "block_width": 16}}
)
"""One wide vector for each graph, and no matching: distances that a vector index can hold."""
_LISTED = (
    Row("small", preset="small", training={"steps": 500}),
    Row("base", preset="base", training={"steps": 500}),
    Row("pooled", preset="base", training={"steps": 800}, **POOLED),
    Row("large", preset="large", training={"steps": 100}),
)
RECIPES: Mapping[str, Row] = MappingProxyType({row.name: row for row in _LISTED})
"""Presets by name, with as many steps as their labels are worth. Labels of large graphs are few."""
_FEWEST = 10
"""Fewer graphs are not worth a training."""


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Which labels the models learn from."""

    pairs: int = 12_000
    """Pairs that are labelled, those for validation included: a minute and a half at 25 nodes."""
    edits: int = 12
    """The most edits of a mutation."""
    clique: int = 32
    """The least graphs of which all pairs are labelled."""


def training_graphs(chosen: str | SizedSet, root: str | None = None) -> GraphCollection:
    """The graphs that a benchmark lets models learn from."""
    learned_from, _ = _split_graphs(chosen, root)
    if len(learned_from) < _FEWEST:
        name = chosen if isinstance(chosen, str) else chosen.name
        raise InvalidArgument(f"{name} has no graphs for training; train on another benchmark, or give a model")
    return learned_from


def measured_graphs(chosen: str | SizedSet, root: str | None = None) -> GraphCollection:
    """All queries of a benchmark and all graphs that they rank, of every part."""
    return _split_graphs(chosen, root)[1]


def _split_graphs(chosen: str | SizedSet, root: str | None) -> tuple[GraphCollection, GraphCollection]:
    chosen = SETS.get(chosen, chosen) if isinstance(chosen, str) else chosen
    if isinstance(chosen, str):
        data = load_dataset(chosen, root=root)
        return data.graphs[data.train], data.graphs
    graphs, _ = load_graphs(chosen, root)
    parts = deal_parts(graphs, chosen)
    measured = (parts.queries, parts.database, parts.val_queries, parts.val_database)
    return graphs[parts.training], graphs[np.concatenate(measured)]


def without_copies(graphs: GraphCollection, of: GraphCollection) -> GraphCollection:
    """The graphs that are not isomorphic to any of the others."""
    classes = isomorphism_classes(of + graphs)
    return graphs[np.flatnonzero(~np.isin(classes[len(of) :], classes[: len(of)]))]


def train_models(
    graphs: GraphCollection,
    names: Sequence[str],
    folder: Path,
    seeds: Sequence[int] = (0,),
    plan: LabelPlan | None = None,
    threads: int = 1,
) -> dict[str, list[Path]]:
    """Train each preset once for each seed; returns the folders of its models."""
    plan = plan or LabelPlan()
    rows = [_row(name) for name in names]
    found: dict[str, list[Path]] = {row.name: [] for row in rows}
    for seed in seeds:
        task = blake2b(f"{fingerprint(graphs)} {plan} {seed}".encode(), digest_size=6).hexdigest()
        supervision: Supervision | None = None
        for row in rows:
            options = row.options(quick=False)
            model = folder / f"{row.name}-{seed}-{blake2b(f'{options} {task}'.encode(), digest_size=6).hexdigest()}"
            found[row.name].append(model)
            if (model / CONFIG).exists():
                continue
            supervision = supervision or _label(graphs, plan, seed, threads, folder / f"labels-{seed}-{task}")
            logger.info("training %s, seed %d", row.name, seed)
            held_out = np.unique(supervision.validation.pairs[:, 1])
            labels = supervision.training.joined(supervision.validation)
            work = model.with_name(f"{model.name}-work")
            estimator = GraphDistance(options, n_jobs=threads, random_state=seed, checkpoint=work)
            fit_once(estimator, model, supervision.graphs, labels, held_out)
    return found


def _row(name: str) -> Row:
    if name not in RECIPES:
        raise InvalidArgument(f"there is no recipe {name!r} for training; there are: {', '.join(RECIPES)}")
    return RECIPES[name]


def _label(graphs: GraphCollection, plan: LabelPlan, seed: int, threads: int, store: Path) -> Supervision:
    """Labels of most graphs and their mutations, and of a tenth of the graphs, which choose the weights, with them."""
    held_out = hold_out(len(graphs), None, 0.1, seed)
    learned_from = graphs[np.setdiff1d(np.arange(len(graphs)), held_out)]
    budget = LabelBudget(plan.pairs, n_jobs=threads, store=store)
    return make_supervision(learned_from, graphs[held_out], budget, plan.edits, seed, plan.clique)
