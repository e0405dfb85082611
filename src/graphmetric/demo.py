"""The steps of ``graphmetric demo``: the whole method on the embedded molecules, explained step by step.

The folder of a demo::

    demo.json               the options of the demo, which mark the folder as its own
    labels/                 exact edit distances
    model/, paper-model/    trained models
    report.html             how good the model is
    matrix.csv              distances of the paper's model
    matrix-repaired.csv     the nearest metric to them
    index/                  for searching
    nearest.svg, nearest-proven.svg, edits.svg

Labels and models of a demo that was stopped are used again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import make_folder, write_file
from graphmetric._foundation.options import parse_json, to_plain
from graphmetric.datasets import Dataset, load_dataset
from graphmetric.datasets.dataset import take_first
from graphmetric.edit_distance import graph_edit_distance, label_graphs
from graphmetric.errors import FileError
from graphmetric.estimator import GraphDistance, fit_once
from graphmetric.formats.distance_matrices import write_matrix
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.learned.model_folder import CHECKPOINT
from graphmetric.metric_repair import triangle_violations
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from graphmetric.report import ModelEvaluation, evaluate_model, write_report
from graphmetric.search import GraphIndex
from graphmetric.search.gallery import draw_hits
from graphmetric.training import PretrainingOptions, preset

STEPS = 7
_OPTIONS_FILE = "demo.json"
_SINGLE_PRECISION = 1e-5
"""Relative rounding error of learned distances."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Sizes of the steps of the demo. The defaults take about two minutes on two cores, with compilation."""

    graphs: int | None = None
    """Number of molecules, in the proportions of the split; None means all."""
    pretraining_epochs: int = 3
    steps: int = 700
    """Training steps of the model, which has the preset small."""
    paper_epochs: int = 10
    """Training epochs of the paper's own model, whose distances are repaired; far too few for it to be good."""
    matrix: int = 150
    """Number of unseen molecules whose distance matrix is repaired."""
    neighbours: int = 10


QUICK = DemoOptions(graphs=90, pretraining_epochs=1, steps=20, paper_epochs=1, matrix=15, neighbours=5)
"""Takes seconds and hardly trains the model: to see that everything works."""


def load_molecules(count: int | None = None) -> Dataset:
    """The embedded molecules, or about ``count`` of them.

    No two of them are isomorphic, so that a copy of an unseen molecule has not been seen either.
    """
    return take_first(load_dataset("molecules").leak_free(), count)


def run_demo(out: Path, options: DemoOptions, say: Callable[[str], object], n_jobs: int | None = -1) -> ModelEvaluation:
    """Label, pre-train, train, repair, evaluate and search, and explain each step in lines of text."""
    claim_folder(out, options)
    demo = _Demo(out, options, say, n_jobs)
    say("How different are two molecules? Count the edits of atoms and bonds that turn one into the other.")
    say("Finding the smallest number of edits is slow for large graphs, so a network learns it from examples.")
    say(f"All results go to {out}. The first run also compiles the searches, which takes about a minute.")
    demo.read()
    labels = demo.label()
    demo.pretrain(labels)
    model = demo.train(labels)
    demo.repair(model, labels)
    found = demo.evaluate(model, labels)
    demo.search(model)
    demo.summarise(found)
    return found


def claim_folder(path: Path, options: DemoOptions) -> None:
    """Accept a new or empty folder, or one of a demo with the same options; raise FileError for any other.

    So nothing of the user's is mixed up with the results.
    """
    description = {"what": "graphmetric demo", "options": to_plain(options)}
    mark = path / _OPTIONS_FILE
    if path.exists() and not path.is_dir():
        raise FileError("is a file; the demo writes a folder", path)
    if mark.exists():
        try:
            found = parse_json(mark.read_bytes())
        except (OSError, ValueError) as error:
            raise FileError(f"cannot be read: {error}; remove the folder or choose another with --out", mark) from None
        if found != description:
            raise FileError("holds a demo with other options; remove it or choose another folder with --out", path)
    elif path.exists() and any(path.iterdir()):
        raise FileError("holds other things than a demo; choose another folder with --out", path)
    make_folder(path)
    write_file(mark, json.dumps(description, indent=2))


def square_matrix(labels: PairBounds, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The distances among some graphs, given by ascending positions, all of whose pairs are labeled."""
    return labels.subset(chosen).to_matrices(len(chosen))[1]


class _Demo:
    """The steps of a demo. Each does its work and says what came out."""

    def __init__(self, out: Path, options: DemoOptions, say: Callable[[str], object], n_jobs: int | None) -> None:
        self.out, self.options, self.say, self.n_jobs = out, options, say, n_jobs
        self.step_number = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print the title at once, so that a long step is not a riddle, and at the end how long it took."""
        self.step_number += 1
        self.say(f"\n[{self.step_number}/{STEPS}] {title}")
        started = time.perf_counter()
        yield
        self.tell(f"({time.perf_counter() - started:.0f} s)")

    def tell(self, *lines: str) -> None:
        for line in lines:
            self.say(f"      {line}")

    def read(self) -> None:
        with self.step("Read the molecules"):
            data = self.data = load_molecules(self.options.graphs)
            self.seen = np.sort(np.concatenate([data.train, data.val]))
            sizes = data.graphs.sizes
            self.tell(
                f"There are {len(data.graphs):,} molecules of {sizes.min()} to {sizes.max()} atoms, no two the same:",
                f"{len(data.train):,} to learn from, {len(data.val):,} to choose the best weights, and "
                f"{len(data.test):,} that the network never sees.",
            )

    def label(self) -> PairBounds:
        """Compute all exact edit distances; the models do not get those of unseen molecules."""
        with self.step("Label: search for the exact edit distance of every pair"):
            labels = label_graphs(self.data.graphs, self.out / "labels", pairs="all", n_jobs=self.n_jobs)
            known = len(labels.subset(self.seen).pairs)
            self.tell(
                f"{len(labels.pairs):,} pairs, {labels.exact.mean():.1%} proven exact, {labels.upper.mean():.1f} edits "
                "on average.",
                f"{known:,} of them are for learning; those of unseen molecules only judge the result.",
            )
        return labels

    def pretrain(self, labels: PairBounds) -> None:
        """Show what a distance is worth before any training, and after pre-training alone."""
        with self.step("Pre-train: learn to recover hidden atoms and bonds, without labels"):
            epochs = self.options.pretraining_epochs
            before, after = (self._small(count, steps=0).fit(*self._learning_data(labels)) for count in (0, epochs))
            self.tell(
                f"untrained    {_agreement(before)}",
                f"pre-trained  {_agreement(after)}, after {_count(epochs, 'pass', 'passes')}",
            )
            if _correlation(after) <= _correlation(before):
                self.tell("By itself it does not help: it teaches atoms and bonds, not distances. Training does that.")

    def train(self, labels: PairBounds) -> GraphDistance:
        with self.step("Train on the labels"):
            model = self._small(self.options.pretraining_epochs, self.options.steps)
            model.set_params(checkpoint=self.out / "model" / CHECKPOINT)
            model, is_new = fit_once(model, self.out / "model", *self._learning_data(labels))
            self.tell(f"trained      {_agreement(model)}, after {_count(self.options.steps, 'step', 'steps')}")
            if not is_new:
                self.tell("(kept from an earlier run)")
        return model

    def repair(self, own: GraphDistance, labels: PairBounds) -> None:
        """Find the nearest metric to the distances of the paper's model, and compare both with the truth.

        The error never grows: the exact distances are a metric, and finding the nearest metric is a projection to a
        convex set, which moves nearer to every point of that set.
        """
        with self.step("Repair: turn distances that break the triangle inequality into a metric"):
            epochs = self.options.paper_epochs
            paper = GraphDistance("paper", epochs=epochs, pretrain=False, n_jobs=self.n_jobs)
            paper, _ = fit_once(paper, self.out / "paper-model", *self._learning_data(labels))
            chosen = np.sort(self.data.test)[: self.options.matrix]
            graphs = self.data.graphs[chosen]
            exact = square_matrix(labels, chosen)
            predicted = paper.pairwise(graphs).astype(np.float64)
            result = triangle_fixing(predicted, n_jobs=self.n_jobs)
            files = {"matrix.csv": predicted, "matrix-repaired.csv": result.matrix}
            for name, matrix in files.items():
                write_matrix(self.out / name, matrix, ids=tuple(str(graph.id) for graph in graphs))
            before, after = triangle_violations(predicted), triangle_violations(result.matrix)
            by_model = triangle_violations(own.pairwise(graphs).astype(np.float64), tolerance=_SINGLE_PRECISION)
            errors = (_root_mean_square(matrix - exact) for matrix in files.values())
            size = len(graphs)
            self.tell(
                f"The paper's own distance (Eq. 9), after only {_count(epochs, 'pass', 'passes')}, among {size} unseen "
                "molecules:",
                f"before  {before.share:.1%} of {before.tested:,} detours over a third molecule are shorter than the "
                "direct way",
                f"after   {after.count:,} are; {result.changed_pairs:,} of {size * (size - 1) // 2:,} distances moved, "
                "as little as possible",
                "error   {:.2f} -> {:.2f} edits (root mean square)".format(*errors),
                "The error cannot grow: exact distances are a metric, and a repair moves nearer to every metric.",
                f"The distance of step 4 needs no repair: {by_model.count:,} detours are shorter, by construction.",
                f"Both matrices are in {' and '.join(files)}.",
            )

    def evaluate(self, model: GraphDistance, labels: PairBounds) -> ModelEvaluation:
        with self.step("Evaluate on molecules that the network has never seen"):
            found = evaluate_model(model, self.data, distances=labels, name="molecules")
            found = replace(found, truth_source="edit distances at unit costs, by the exact search, all pairs")
            write_report(found, self.out / "report.html", command=f"graphmetric demo --out {self.out}")
            scores, k = found.raw_scores, found.nearest
            assert scores is not None  # all distances are proven
            self.tell(
                f"{len(found.task.queries):,} unseen molecules rank the {len(found.task.database):,} others "
                f"({found.pairs:,} pairs).",
                f"mean error      {scores.mae:.2f} edits (always guessing the median: {found.error_of_median:.2f})",
            )
            if found.whole:
                self.tell(f"exactly right   {scores.exact_match_rate:.0%} of the distances, rounded")
            self.tell(
                f"rank agreement  {scores.ranking.rho:.3f} (1 is the true order)",
                f"nearest found   {k * scores.ranking.precision[k]:.1f} of the true {k}, ties counted",
            )
        return found

    def search(self, model: GraphDistance) -> None:
        """Index the molecules that the model has seen, and search for the first that it has not."""
        with self.step("Search: find the nearest molecules of an unseen one"):
            k, graphs = self.options.neighbours, self.data.graphs
            index = GraphIndex.build(model, graphs[self.seen], out=self.out / "index")
            query = graphs[int(self.data.test[0])]
            learned, proven = index.search(query, k), index.search(query, k, certified=True)
            exact = [graph_edit_distance(query, hit.graph).upper for hit in learned]
            explanation = index.explain(query, proven[0])
            write_file(self.out / "nearest.svg", draw_hits(learned))
            write_file(self.out / "nearest-proven.svg", draw_hits(proven))
            write_file(self.out / "edits.svg", explanation.svg)
            self.tell(f"The query is {query.id}, {query.metadata.get('smiles', query)}.")
            self.tell(f"     {'by the learned distance':<28} | by edits, proven")
            for rank, (hit, edits, sure) in enumerate(zip(learned, exact, proven, strict=True), 1):
                shown = f"{hit.distance:5.2f} (truly {edits:g})  {hit.id}"
                self.tell(f"{rank:>3}. {shown:<28} | {sure.distance:g}{'' if sure.proven else '?'}  {sure.id}")
            right = sum(edits <= proven[-1].distance for edits in exact)
            self.tell(
                f"{right} of the learned {len(learned)} are as near as the proven ones. The proven ones are certain, "
                "although only",
                f"{proven.report.evaluated_fraction:.0%} of {proven.report.graphs:,} molecules were searched to the "
                "end: bounds rule out the others.",
                f"{query.id} becomes {proven[0].id} by:",
                *(f"  {edit}" for edit in explanation.alignment.edit_path or ()),
            )

    def summarise(self, found: ModelEvaluation) -> None:
        """Say what was learned, how good it is, what is guaranteed, and what to do next."""
        scores, k, seconds = found.raw_scores, found.nearest, found.facts["Training"]["seconds"]
        assert scores is not None
        broken = [axiom.name for axiom in found.axioms if axiom.promised and not axiom.holds]
        checked = f"MEASURED TO BE BROKEN: {', '.join(broken)}" if broken else "The report has the measurements."
        self.say(f"""
What was learned  The number of edits between two molecules, from examples with exact distances.
How good it is    It is off by {scores.mae:.2f} edits on average for molecules it never saw, and it finds
                  {k * scores.ranking.precision[k]:.0f} of the {k} nearest, after {seconds:.0f} s of training.
What is certain   The learned distance is a metric (strictly, a pseudo-metric), whatever it has learned:
                  it is the same both ways, 0 for the same molecule with its atoms in another order, and no
                  detour is shorter. So a search can skip graphs without missing any, and clusters mean what
                  they say.
                  {checked}
What is not       That its numbers are right. Where that matters, ask for a certified search.
To look at        {self.out / "report.html"} (in a browser),
                  {self.out / "nearest-proven.svg"}, {self.out / "edits.svg"}

On your own graphs, in a folder or a file (.smi, .graphml, .gexf, .json, ...):
  graphmetric train MY-GRAPHS/ --preset small --out model/
and then
  graphmetric evaluate model/ MY-GRAPHS/ --report report.html
  graphmetric index model/ MY-GRAPHS/ --out idx/
  graphmetric search idx/ QUERY --certified""")

    def _small(self, epochs: int, steps: int) -> GraphDistance:
        """The preset small, with a short pre-training, which it does not have by default."""
        architecture, training = preset("small")
        pretraining = PretrainingOptions(epochs=epochs) if epochs else None
        options = architecture, replace(training, steps=steps, pretraining=pretraining)
        return GraphDistance(options, n_jobs=self.n_jobs)

    def _learning_data(self, labels: PairBounds) -> tuple[GraphCollection, PairBounds, NDArray[np.int64]]:
        """The arguments of ``fit``: the seen graphs, their distances, and which of them are for validation."""
        validation = np.searchsorted(self.seen, self.data.val)
        return self.data.graphs[self.seen], labels.subset(self.seen), validation


def _correlation(model: GraphDistance) -> float:
    """Mean rank correlation on pairs with validation graphs, measured when the model was fitted."""
    found: Any = model.report_["validation"]["mean_rank_correlation"]
    return float(found or np.nan)


def _agreement(model: GraphDistance) -> str:
    error = model.report_["validation"]["mean_absolute_error_in_edits"]
    return f"rank agreement {_correlation(model):.2f}, mean error {error:5.2f} edits"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _root_mean_square(difference: NDArray[np.float64]) -> float:
    pairs = difference[np.triu_indices(len(difference), 1)]
    return float(np.sqrt(np.mean(pairs**2)))
