"""How accuracy grows with the number of labelled pairs, and what unlabelled pairs are good for.

    python research/benchmarks/label_curve.py --fractions 0 .001 .01 --seeds 3 --out curve.jsonl
    python research/benchmarks/label_curve.py --fractions .1 1 --out curve.jsonl
    python research/benchmarks/label_curve.py --out curve.jsonl --figure docs/images/label_curve.svg

AIDS700nef, 60/20/20 split. A fraction of the pairs of training graphs is labelled, drawn by seed, a smaller fraction
being part of a larger one; the same fraction of the pairs of validation and training graphs chooses the weights, for
all variants alike. Test graphs rank training and validation graphs (protocol A). One line of JSON per run is appended
to ``--out``; runs that are there already are skipped. Variants, all of preset ``small`` with the same steps::

    labels    labelled pairs only, interval loss in edits
    bounds    other training pairs teach too, by a cheap lower and upper bound of their distance
    balanced  as bounds, but labels count as much as all bounds together, by repetition
    beside    fit(..., beside=0.5): labels, and with half of the weight what fit computes by itself
    pretrain  pre-training on all training graphs, then as labels
    masked    labelled pairs only, the paper's loss on the paper's scale (alpha = 0): what alpha is to be held against
    alpha .1, alpha .01  as masked, and unlabelled pairs of a mini-batch are pulled to distance 1 with this weight
    self      no labels given: fit computes its own, which is what the package offers (fraction 0 only)
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.distance import distance_matrix
from graphmetric.evaluation import Raw, score_distances
from graphmetric.features import GraphFeaturizer
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.model import GraphDistanceNetwork
from graphmetric.training import PretrainingOptions, preset, pretrain_encoder, train_model
from graphmetric_research.protocols import Protocol, make_protocol

TITLES = {
    "labels": "labels only",
    "bounds": "labels, and bounds of all other pairs",
    "balanced": "labels with half of the weight, bounds",
    "beside": "labels, and computed ones with half of the weight",
    "pretrain": "pre-training, then labels",
    "masked": "the paper's loss, α = 0",
    "alpha .01": "the paper's loss, α = 0.01",
    "alpha .1": "the paper's loss, α = 0.1",
    "self": "no labels: fit computes its own",
}
WITHOUT_LABELS = ("labels", "pretrain", "bounds", "self")
"""Variants that are something at fraction 0; the first is a network that was not trained."""
ALPHA = {"masked": 0.0, "alpha .01": 0.01, "alpha .1": 0.1}
"""Variants with the paper's loss."""
SAME_AT_ONE = {"bounds": "labels", "balanced": "labels", "alpha .01": "masked", "alpha .1": "masked"}
"""Where all pairs are labelled there is nothing left that these could add."""
LINES = {
    "self": ("#555555", ":"),
    "labels": ("#0072b2", "-"),
    "bounds": ("#009e73", "-"),
    "balanced": ("#cc79a7", "--"),
    "beside": ("#cc79a7", "-"),
    "pretrain": ("#56b4e9", "--"),
    "masked": ("#d55e00", "-"),
    "alpha .01": ("#e69f00", "--"),
    "alpha .1": ("#e69f00", ":"),
}
"""Colour and style."""
PANELS = {"rho": ("rank correlation ρ", 0.68), "p@10": ("precision at 10", 0.36)}
"""Title and least value shown; a large α leads far below, where the other curves would be one."""
PAIRS_OF_BLOCK = 96 * 95 // 2
"""The number of pairs in a mini-batch; repeating labels must not make steps larger."""
NO_LABELS = 8.8
"""Where the figure puts zero on its logarithmic axis."""


class Run(NamedTuple):
    variant: str
    fraction: float
    seed: int

    @property
    def is_defined(self) -> bool:
        if self.fraction == 0:
            return self.variant in WITHOUT_LABELS
        return self.variant != "self" and not (self.fraction == 1 and self.variant in SAME_AT_ONE)


@dataclass(frozen=True)
class Task:
    """The benchmark. Positions in labels are those of ``seen``: training graphs, then validation graphs."""

    graphs: gm.GraphCollection
    distances: NDArray[np.float64]
    protocol: Protocol

    @classmethod
    def load(cls, root: str) -> Task:
        data = gm.load_dataset("AIDS700nef", root=root)
        return cls(data.graphs, data.distances, make_protocol("A", *data.split))

    @property
    def seen(self) -> gm.GraphCollection:
        return self.graphs[self.protocol.seen]

    def training_pairs(self) -> NDArray[np.int64]:
        return np.column_stack(np.triu_indices(len(self.protocol.train), k=1))

    def validation_pairs(self) -> NDArray[np.int64]:
        first, second = np.indices((len(self.protocol.val), len(self.protocol.train))).reshape(2, -1)
        return np.column_stack([first + len(self.protocol.train), second])

    @property
    def validation_positions(self) -> NDArray[np.int64]:
        return np.arange(len(self.protocol.train), len(self.protocol.seen))

    def label(self, pairs: NDArray[np.int64]) -> PairBounds:
        where = self.protocol.seen[pairs]
        return PairBounds.from_distances(pairs, self.distances[where[:, 0], where[:, 1]])

    def bound(self, pairs: NDArray[np.int64]) -> PairBounds:
        """The branch bound, and the cost of the map that one descent of a local search finds."""
        found = gm.pairwise_edit_distances(self.seen, pairs=pairs, method="local:0")
        return PairBounds(pairs, found.lower, found.upper)

    def score(self, learned: LearnedDistance) -> dict[str, float]:
        """Score test graphs against training and validation graphs, on the paper's scale."""
        sides = self.graphs[self.protocol.queries], self.graphs[self.protocol.database]
        raw = Raw(distance_matrix(learned.compare(*sides, "raw")), self.protocol.test_distances(self.distances))
        return score_distances(*(gm.normalized_distance(found, *sides) for found in raw), raw=raw).to_dict()


def part(pairs: NDArray[np.int64], fraction: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A fraction of the pairs and the rest; fractions of one seed lie within each other."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    count = round(fraction * len(pairs))
    return pairs[order[:count]], pairs[order[count:]]


def train(run: Run, task: Task, steps: int) -> tuple[LearnedDistance, dict[str, Any]]:
    """Train one variant; what it was taught goes into the record."""
    model_options, options = preset("small")
    options = replace(options, steps=steps)
    if run.variant in ALPHA:
        options = replace(options, loss="masked", alpha=ALPHA[run.variant])
    if run.variant == "self":
        return label_itself(task, gm.GraphDistance((model_options, options), random_state=run.seed, n_jobs=1))
    labelled, unlabelled = part(task.training_pairs(), run.fraction, run.seed)
    labels = task.label(labelled)
    validation = task.label(part(task.validation_pairs(), run.fraction, run.seed)[0])
    taught = {"labels": len(labels), "validation labels": len(validation)}
    if run.variant == "beside":
        estimator = gm.GraphDistance((model_options, options), random_state=run.seed, n_jobs=1)
        estimator.fit(task.seen, labels.concatenate(validation), val=task.validation_positions, beside=0.5)
        taught["bounds"] = estimator.report_["labels"]["computed_pairs_beside"]
        return estimator.learned_, taught | {"best step": estimator.report_["training"]["best_step"]}
    if run.variant in ("bounds", "balanced"):
        times = len(unlabelled) // len(labels) if run.variant == "balanced" else 1
        repeated = labels.take(np.tile(np.arange(len(labels)), times))
        labels = repeated.concatenate(task.bound(unlabelled))
        options = replace(options, pairs_per_step=PAIRS_OF_BLOCK)
        taught["bounds"] = len(unlabelled)

    training_graphs = task.graphs[task.protocol.train]
    featurizer = GraphFeaturizer(model_options.features).fit(training_graphs)
    model, table = (
        GraphDistanceNetwork.build(featurizer.schema, model_options, run.seed),
        featurizer.transform(task.seen),
    )
    if run.variant == "pretrain":
        pretrain_encoder(
            model.encoder, table, PretrainingOptions(), graphs=np.arange(len(training_graphs)), seed=run.seed
        )
    if len(labels):
        result = train_model(model, table, labels, options, validation=validation, seed=run.seed, threads=1)
        taught["best step"] = result.best_step
    return LearnedDistance(model.eval(), featurizer, strict=False, threads=1), taught


def label_itself(task: Task, estimator: gm.GraphDistance) -> tuple[LearnedDistance, dict[str, Any]]:
    """What ``fit`` does without labels: exact distances of training graphs and mutations, by its own engine."""
    estimator.fit(task.seen, val=task.validation_positions)
    learned = LearnedDistance(estimator.model_, estimator.featurizer_, strict=False, threads=1)
    return learned, {"labels": 0, "validation labels": 0, "best step": estimator.report_["training"]["best_step"]}


def measure(run: Run, task: Task, steps: int) -> dict[str, Any]:
    started = time.process_time()
    learned, taught = train(run, task, steps)
    seconds = time.process_time() - started
    return {**run._asdict(), "steps": steps, **taught, **task.score(learned), "seconds": seconds}


def read_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def points_of(records: list[dict[str, Any]], variant: str, score: str) -> NDArray[np.float64]:
    """(fractions, 4): labelled pairs, mean score over seeds, lowest, highest."""
    found: dict[int, list[float]] = {}
    for record in records:
        taken_over = record["fraction"] == 1 and record["variant"] == SAME_AT_ONE.get(variant)
        if record["variant"] == variant or taken_over:
            found.setdefault(record["labels"], []).append(record[score])
    rows = [(labels or NO_LABELS, np.mean(values), min(values), max(values)) for labels, values in found.items()]
    return np.array(sorted(rows)).reshape(-1, 4)


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Both scores against the labelled pairs; bars reach from the lowest to the highest seed."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "label curve", "font.size": 9})
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, (score, (title, bottom)) in zip(panels, PANELS.items(), strict=True):
        for variant, (color, style) in LINES.items():
            draw_curve(panel, points_of(records, variant, score), color, style, TITLES[variant])
        mark_label_counts(panel, sorted({record["labels"] for record in records} - {0}))
        panel.set_title(title, loc="left")
        panel.set_ylim(bottom=bottom)
        panel.set_xlabel("labelled pairs of training graphs")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#e5e5e5")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def draw_curve(panel: Any, points: NDArray[np.float64], color: str, style: str, title: str) -> None:
    """A line; a single point without labels is a level that all others may be held against."""
    if not len(points):
        return
    labels, mean, low, high = points.T
    if len(points) == 1 and labels[0] == NO_LABELS:
        panel.axhline(mean[0], color=color, ls=style, lw=1.2, label=title)
        return
    bars = np.stack([mean - low, high - mean])
    panel.errorbar(labels, mean, bars, color=color, ls=style, lw=1.6, marker="o", ms=4, capsize=2.5, label=title)


def mark_label_counts(panel: Any, counts: list[int]) -> None:
    total = max(counts)
    panel.set_xscale("log")
    names = ["none", *(f"{count:,}\n({100 * count / total:.2g} %)" for count in counts[:-1]), f"{total:,}\n(100 %)"]
    panel.set_xticks([NO_LABELS, *counts], names)
    panel.minorticks_off()


def runs_of(given: argparse.Namespace) -> Iterator[Run]:
    for seed in range(given.seeds):
        for fraction in given.fractions:
            yield from (Run(variant, fraction, seed) for variant in given.variants)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--fractions", nargs="+", type=float, default=[0, 0.001, 0.01, 0.1, 1])
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("label_curve.jsonl"))
    parser.add_argument("--figure", type=Path, help="draw what --out holds into this file, and run nothing")
    given = parser.parse_args()
    if given.figure:
        draw(read_records(given.out), given.figure)
        return
    task = Task.load(given.data)
    finished = {Run(*(record[name] for name in Run._fields)) for record in read_records(given.out)}
    for run in runs_of(given):
        if run.is_defined and run not in finished:
            record = measure(run, task, given.steps)
            with given.out.open("a") as lines:
                lines.write(json.dumps(record) + "\n")
            shown = "  ".join(f"{name} {record[name]:.3f}" for name in ("rho", "tau", "p@10"))
            print(f"{run}: {shown}  MSE {1e3 * record['mse']:.2f}e-3  {record['seconds']:.0f} s CPU", flush=True)


if __name__ == "__main__":
    main()
