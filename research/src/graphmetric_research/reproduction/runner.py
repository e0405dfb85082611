"""Runs the missing parts of an experiment, writes a record of each, and makes the tables; trains presets at size.

The presets of benchmarks of real size are trained as a user with these graphs would do it. No distances are given: the
training graphs and mutations of them are labelled as a fit does it. Labels are the same for all presets of one seed.
Labels, checkpoints and models are kept, so a run that is killed goes on where it was, and a model that is there is not
trained again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from shutil import rmtree
from types import MappingProxyType
from typing import Any

import numpy as np

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric._foundation.progress import progress
from graphmetric.datasets import load_dataset
from graphmetric.edit_distance import normalized_distance
from graphmetric.errors import InvalidArgument
from graphmetric.estimator import GraphDistance
from graphmetric.graphs.collection import GraphCollection, fingerprint, isomorphism_classes
from graphmetric.learned.model_folder import CONFIG
from graphmetric.training.supervision import LabelBudget, Supervision, hold_out, make_supervision
from graphmetric_research.baselines import TrainingTask
from graphmetric_research.reproduction.at_size import SETS, SizedSet, deal_parts, load_graphs
from graphmetric_research.reproduction.benchmark import (
    Benchmark,
    Floats,
    Prediction,
    load_benchmark,
    repair_prediction,
    score_repaired,
)
from graphmetric_research.reproduction.experiments import Experiment, OwnModel, Row
from graphmetric_research.run_record import RunRecord, make_tables, read_record, write_tables

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How an experiment is run."""

    out: Path
    """Folder for records, predictions and tables; runs whose records are there are not repeated."""
    seeds: tuple[int, ...] = (0, 1, 2)
    quick: bool = False
    """Whether to do only a tenth of every training, with one seed."""
    limit: int | None = None
    """Number of graphs of each data set; None means all."""
    root: str | None = None
    """Folder of the public data sets."""
    threads: int = 1
    only: tuple[str, ...] = ()
    """Only rows whose names contain one of these words are run, all rows if there are none; a whole name chooses that
    row alone."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """One training: one row on one data set with one seed."""

    row: Row
    dataset: str
    seed: int


def run_experiment(experiment: Experiment, options: RunOptions) -> list[RunRecord]:
    """Run every chosen row that has no record yet, then write the tables of all rows that have one; resumable.

    Rows that ``only`` leaves out are in the tables and in the result if an earlier call has run them.
    """
    chosen = list(_units(experiment, _chosen_rows(experiment, options.only), options))
    with progress(experiment.name, len(chosen), "runs") as bar:
        load = lru_cache(maxsize=1)(partial(load_for, experiment, options))  # units are in the order of the data sets
        for unit in chosen:
            _run(unit, experiment, options, load)
            bar.advance(1, note=f"{unit.row.name}, {unit.dataset}")
    paths = [
        path
        for unit in _units(experiment, experiment.rows, options)
        for path in _record_paths(unit, experiment, options).values()
    ]
    records = [read_record(path) for path in paths if path.exists()]
    write_tables(options.out / experiment.name, make_tables(records, metrics=experiment.metrics))
    return records


def _units(experiment: Experiment, rows: Sequence[Row], options: RunOptions) -> Iterator[_Unit]:
    for dataset, row in product(experiment.datasets, rows):
        for seed in options.seeds[: 1 if options.quick or not row.learns else None]:
            yield _Unit(row, dataset, seed)


def _chosen_rows(experiment: Experiment, words: Sequence[str]) -> list[Row]:
    whole = {row.name for row in experiment.rows}
    rows = [
        row
        for row in experiment.rows
        if not words or any(word == row.name if word in whole else word.lower() in row.name.lower() for word in words)
    ]
    if not rows:
        names = ", ".join(row.name for row in experiment.rows)
        raise InvalidArgument(f"no row of {experiment.name} has {' or '.join(words)} in its name; its rows: {names}")
    return rows


def load_for(experiment: Experiment, options: RunOptions, dataset: str) -> Benchmark:
    """A data set with the truth and the split of an experiment."""
    return load_benchmark(
        dataset,
        truth=experiment.truth_of(dataset),
        split=experiment.split,
        limit=options.limit,
        root=options.root,
        store=options.out / "truth",
    )


def _run(unit: _Unit, experiment: Experiment, options: RunOptions, load: Callable[[str], Benchmark]) -> None:
    """Train once, and score by every protocol and repair that has no record."""
    missing = {key: path for key, path in _record_paths(unit, experiment, options).items() if not path.exists()}
    if not missing:
        return
    logger.info("%s: %s on %s, seed %d", experiment.name, unit.row.name, unit.dataset, unit.seed)
    benchmark = load(unit.dataset)
    prediction = _predict_or_read(unit, experiment, benchmark, options)
    for repair, variants in groupby(missing, key=itemgetter(0)):
        repaired = repair_prediction(prediction, benchmark, repair)
        for variant in variants:
            _write(missing[variant], score_repaired(repaired, benchmark, variant[1]))


def _predict_or_read(unit: _Unit, experiment: Experiment, benchmark: Benchmark, options: RunOptions) -> Prediction:
    path = options.out / "predictions" / f"{_key(unit, experiment, options)}.npz"
    configuration = unit.row.configuration(unit.dataset, quick=options.quick)
    if not path.exists():
        clocks = time.process_time(), time.perf_counter()
        matrix = _train_and_predict(unit, benchmark, options, options.out / "models" / path.stem)
        spent = time.process_time() - clocks[0], time.perf_counter() - clocks[1]
        make_folder(path.parent)
        with atomic_write(path) as file:
            np.savez_compressed(file, matrix=matrix.astype(np.float32), seconds=np.array(spent))
    with np.load(path, allow_pickle=False) as kept:
        matrix, spent = kept["matrix"].astype(np.float64), kept["seconds"].tolist()
    return Prediction(unit.row.name, matrix, configuration, unit.seed, *spent)


def _train_and_predict(unit: _Unit, benchmark: Benchmark, options: RunOptions, model: Path) -> Floats:
    """Distances on the paper's scale, all graphs by all graphs; a slow method does only the rows of the test graphs.

    A model of our own is kept in the folder ``model``, its unfinished work beside it until then.
    """
    method = unit.row.build(unit.dataset, quick=options.quick)
    protocol, graphs = benchmark.protocol(benchmark.protocol_names[0]), benchmark.graphs
    task = TrainingTask.of_protocol(protocol, graphs, benchmark.distances, unit.seed, options.threads)
    if isinstance(method, OwnModel):
        work = model.with_name(f"{model.name}-work")
        method.fit(replace(task, folder=work)).estimator.save(model)
        rmtree(work, ignore_errors=True)
    else:
        method.fit(task)
    queries = benchmark.test if unit.row.slow else np.arange(len(graphs))
    found = method.predict(graphs[queries], graphs)
    if method.scale == "raw":
        found = normalized_distance(found, graphs[queries], graphs)
    matrix = np.full(benchmark.distances.shape, np.nan)
    matrix[queries] = found
    return matrix


def _write(path: Path, record: RunRecord) -> None:
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(record.to_json().encode())


def _record_paths(unit: _Unit, experiment: Experiment, options: RunOptions) -> dict[tuple[str, str], Path]:
    """The files of the records, by repair and protocol; a slow row is not repaired."""
    folder, key = options.out / experiment.name / "records", _key(unit, experiment, options)
    repairs, protocols = ("none",) if unit.row.slow else experiment.repairs, experiment.protocols_of(unit.dataset)
    return {
        (repair, protocol): folder / f"{key}-{_words(f'{protocol}-{repair}')}.json"
        for repair, protocol in product(repairs, protocols)
    }


def _key(unit: _Unit, experiment: Experiment, options: RunOptions) -> str:
    """A name of a training that holds everything it depends on, so that a changed preset is run again."""
    data = f"{experiment.split} {experiment.truth_of(unit.dataset)} {options.limit}"
    settings = f"{unit.row.configuration(unit.dataset, quick=options.quick)} {data}"
    digest = blake2b(settings.encode(), digest_size=6).hexdigest()
    return f"{unit.dataset}-{_words(unit.row.name)}-{unit.seed}-{digest}"


def _words(text: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text).split())


_POOLED: Mapping[str, Any] = MappingProxyType(
    {
        "encoder": {"layers": 3, "hidden_size": 128, "output_size": 512, "context": False},
        "head": {"kind": "block-norm", "block_width": 8},
        "training": {"steps": 3600, "learning_rate": 3e-3, "near_halving": 0.25},
    }
)
"""One wide vector for each graph, and no matching: distances that a vector index can hold."""
_LISTED = (
    Row("small", preset="small", training={"steps": 1500}),
    Row("base", preset="base", training={"steps": 1500}),
    Row("pooled", preset="base", **_POOLED),
)
RECIPES: Mapping[str, Row] = MappingProxyType({row.name: row for row in _LISTED})
"""Presets by name, with as many steps as their labels are worth."""
TEACHERS: Mapping[str, str] = MappingProxyType({"pooled": "small"})
"""Recipes that learn from the distances of another one: vectors learn the labels of a few pairs by heart."""
_FEWEST = 10
"""Fewer graphs are not worth a training."""


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Which labels the models learn from."""

    pairs: int = 120_000
    """Pairs that are labelled, those for validation included: two minutes at 25 nodes."""
    edits: int = 12
    """The most edits of a mutation."""
    clique: int = 32
    """The least graphs of which all pairs are labelled."""


def training_graphs(chosen: str | SizedSet, root: str | None = None) -> GraphCollection:
    """The graphs that a benchmark lets models learn from."""
    training, _ = _split_graphs(chosen, root)
    if len(training) < _FEWEST:
        name = chosen if isinstance(chosen, str) else chosen.name
        raise InvalidArgument(f"{name} has no graphs for training; train on another benchmark, or give a model")
    return training


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
    found: dict[str, list[Path]] = {name: [] for name in names}
    for seed in seeds:
        task = blake2b(f"{fingerprint(graphs)} {plan} {seed}".encode(), digest_size=6).hexdigest()
        store = folder / f"labels-{seed}-{task}"
        label = lru_cache(maxsize=1)(partial(_label, graphs, plan, seed, threads, store))
        for name in names:
            found[name].append(_train_model(name, task, label, folder, seed, threads))
    return found


def _train_model(
    name: str, task: str, label: Callable[..., Supervision], folder: Path, seed: int, threads: int
) -> Path:
    """Train one preset, after its teacher if it has one; returns the folder of the model."""
    options = _row(name).options()
    teacher = TEACHERS.get(name)
    taught_by = None if teacher is None else _train_model(teacher, task, label, folder, seed, threads)
    settings = f"{options} {task}{'' if taught_by is None else f' {taught_by.name}'}"
    model = folder / f"{name}-{seed}-{blake2b(settings.encode(), digest_size=6).hexdigest()}"
    if (model / CONFIG).exists():
        return model
    supervision = label(taught_by)
    logger.info("training %s, seed %d", name, seed)
    held_out = np.unique(supervision.validation.pairs[:, 1])
    labels = supervision.training.concatenate(supervision.validation)
    work = model.with_name(f"{model.name}-work")
    estimator = GraphDistance(options, n_jobs=threads, random_state=seed, checkpoint=work)
    estimator.fit(supervision.graphs, labels, held_out)
    estimator.report_["labels"] |= {
        "origin": supervision.origin,
        "mutated_graphs_in_training_pairs": supervision.mutated,
        "cpu_seconds": round(supervision.cpu_seconds, 1),
    }
    estimator.save(model)
    return model


def _row(name: str) -> Row:
    if name not in RECIPES:
        raise InvalidArgument(f"there is no recipe {name!r} for training; there are: {', '.join(RECIPES)}")
    return RECIPES[name]


def _label(
    graphs: GraphCollection, plan: LabelPlan, seed: int, threads: int, store: Path, taught_by: Path | None = None
) -> Supervision:
    """Labels of most graphs and their mutations, and of a tenth of the graphs, which choose the weights, with them."""
    held_out = hold_out(len(graphs), None, 0.1, seed)
    training = graphs[np.setdiff1d(np.arange(len(graphs)), held_out)]
    teacher = None
    if taught_by is not None:
        store = store.with_name(f"{store.name}-taught")
        teacher = GraphDistance.load(taught_by).set_params(n_jobs=threads).pairwise
    budget = LabelBudget(plan.pairs, n_jobs=threads, store=store)
    return make_supervision(training, graphs[held_out], budget, plan.edits, seed, plan.clique, teacher)
