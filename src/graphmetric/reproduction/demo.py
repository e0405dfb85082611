"""The steps in order.

Parameters of the tour.

The folder of a tour.

::

    demo.json               whose folder it is
    labels/                 exact edit distances
    model/, paper-model/    trained models
    report.html             how good the model is
    matrix.csv              distances of the paper's model, and
    matrix-repaired.csv     the nearest metric
    index/                  for searching
    nearest.svg, nearest-proven.svg, edits.svg

The molecules of the tour, and which of them a model may see.

Labels, pre-training and training.

A matrix of distances that is no metric, and the nearest one that is.

The nearest graphs of an unseen one: by the learned distance, and proven.

What is told of each step, for someone who meets the subject for the first time.

A tour of the whole method on the embedded molecules: what ``graphmetric demo`` shows.

::

    options.py      how long it takes
    folder.py       the folder of its results, and whether it is this tour's
    material.py     the graphs and who may see them
    learning.py     labels, pre-training, training
    repairing.py    a matrix that is no metric, and the nearest one that is
    searching.py    nearest graphs, learned and proven
    words.py        what is told of each step, and the summary
    run.py          run_tour: the steps in order, with their times
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric._foundation.options import to_plain
from graphmetric.datasets import load_dataset
from graphmetric.edit_distance import Labels, graph_edit_distance, label_graphs
from graphmetric.errors import FileError
from graphmetric.estimator import GraphDistance
from graphmetric.formats.distance_matrices import write_matrix
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned.model_folder import CHECKPOINT, CONFIG
from graphmetric.metric_repair import RepairResult, TriangleViolations, triangle_fixing, triangle_violations
from graphmetric.report import ModelEvaluation, evaluate_model, write_report
from graphmetric.search import GraphIndex, SearchResult
from graphmetric.search.gallery import draw_hits
from graphmetric.search.hits import Explanation
from graphmetric.training import PretrainingOptions, preset


@dataclass(frozen=True, slots=True)
class TourOptions:
    """How much of everything is done; by default two minutes or so on two cores, compilation included."""

    graphs: int | None = None
    """Molecules, in the proportions of the split; None: all."""
    pretraining_epochs: int = 3
    steps: int = 700
    """Of training, with the preset small."""
    paper_epochs: int = 10
    """Of training the paper's own model, whose distances are repaired; far from enough for it to be good."""
    matrix: int = 150
    """Unseen molecules whose matrix of distances is repaired."""
    neighbours: int = 10


QUICK = TourOptions(graphs=90, pretraining_epochs=1, steps=20, paper_epochs=1, matrix=15, neighbours=5)
"""Seconds, and a model that is hardly trained: to see that everything works."""

_CLAIM = "demo.json"


@dataclass(frozen=True, slots=True)
class TourFolder:
    """Names of what a tour writes."""

    path: Path

    @classmethod
    def claim(cls, path: Path, options: TourOptions) -> TourFolder:
        """A new or empty folder, or one in which a tour with the same options was stopped or has finished.

        Raises FileError for any other, so that nothing of the user's is mixed up with the tour.
        """
        description = {"what": "graphmetric demo", "options": to_plain(options)}
        if path.exists() and not path.is_dir():
            raise FileError("is a file; the demo writes a folder", path)
        if (path / _CLAIM).exists():
            _check_same(path / _CLAIM, description)
        elif path.exists() and any(path.iterdir()):
            raise FileError("holds other things than a demo; choose another folder with --out", path)
        make_folder(path)
        with atomic_write(path / _CLAIM) as file:
            file.write(json.dumps(description, indent=2).encode())
        return cls(path)

    @property
    def labels(self) -> Path:
        return self.path / "labels"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def paper_model(self) -> Path:
        return self.path / "paper-model"

    @property
    def matrix(self) -> Path:
        return self.path / "matrix.csv"

    @property
    def repaired(self) -> Path:
        return self.path / "matrix-repaired.csv"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def index(self) -> Path:
        return self.path / "index"

    def write_picture(self, name: str, svg: str) -> None:
        """An SVG file."""
        with atomic_write(self.path / name) as file:
            file.write(svg.encode())


def _check_same(path: Path, description: dict[str, object]) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be read: {error}; remove the folder or choose another with --out", path) from None
    if found != description:
        raise FileError("holds a demo with other options; remove it or choose another folder with --out", path.parent)


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """Graphs of which no two are isomorphic, so that an unseen graph has not been seen as a copy either."""

    graphs: GraphCollection
    """Training, validation and unseen graphs, in this order."""
    training: int
    """How many there are of the first, and so on."""
    validation: int
    copies: int
    """Graphs of the data set that were left out."""

    @property
    def seen(self) -> NDArray[np.int64]:
        """Positions of the training and validation graphs."""
        return np.arange(self.training + self.validation)

    @property
    def validating(self) -> NDArray[np.int64]:
        """Positions of the graphs that only choose the weights."""
        return self.seen[self.training :]

    @property
    def unseen(self) -> NDArray[np.int64]:
        return np.arange(self.training + self.validation, len(self.graphs))


def gather_material(count: int | None = None) -> Material:
    """The embedded molecules, or about so many of them, the first of each part."""
    whole = load_dataset("molecules")
    data = whole.leak_free()
    share = 1.0 if count is None else min(1.0, count / len(data.graphs))
    parts = [part[: max(2, round(share * len(part)))] for part in data.split]
    return Material(
        data.graphs[np.concatenate(parts)], len(parts[0]), len(parts[1]), len(whole.graphs) - len(data.graphs)
    )


def square_matrix(labels: Labels, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The distances among some graphs, all of which are labelled, given by ascending positions."""
    among = labels.among(chosen)
    matrix = np.zeros((len(chosen), len(chosen)))
    rows, columns = among.pairs.T
    matrix[rows, columns] = matrix[columns, rows] = among.upper
    return matrix


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a distance ranks pairs with validation graphs, and how far off it is."""

    correlation: float
    """Mean over graphs of Spearman's."""
    error: float
    """In edits."""

    @classmethod
    def of(cls, model: GraphDistance) -> Agreement:
        """As measured when it was fitted."""
        found = model.report_["validation"]
        return cls(found["mean_rank_correlation"] or np.nan, found["mean_absolute_error_in_edits"])


def label_pairs(material: Material, folder: TourFolder, n_jobs: int) -> Labels:
    """Exact edit distances of all pairs; those with unseen graphs are kept from the models."""
    return label_graphs(material.graphs, folder.labels, pairs="all", n_jobs=n_jobs)


def try_pretraining(
    material: Material, labels: Labels, options: TourOptions, n_jobs: int
) -> tuple[Agreement, Agreement]:
    """What the distance is worth before anything is learned, and after pre-training alone."""
    found = []
    for epochs in (0, options.pretraining_epochs):
        model = _small(options, n_jobs, epochs, steps=0)
        found.append(Agreement.of(_fit(model, material, labels)))
    return found[0], found[1]


def train_model(
    material: Material, labels: Labels, folder: TourFolder, options: TourOptions, n_jobs: int
) -> tuple[GraphDistance, bool]:
    """The model of the tour, and whether it was there already; a training that was stopped goes on."""
    if (folder.model / CONFIG).exists():
        return GraphDistance.load(folder.model).set_params(n_jobs=n_jobs), True
    model = _small(options, n_jobs, options.pretraining_epochs, options.steps)
    model.set_params(checkpoint=folder.model / CHECKPOINT)
    _fit(model, material, labels).save(folder.model)
    return model, False


def train_paper_model(
    material: Material, labels: Labels, folder: TourFolder, options: TourOptions, n_jobs: int
) -> GraphDistance:
    """The paper's encoder with Eq. 9, trained for a moment."""
    if (folder.paper_model / CONFIG).exists():
        return GraphDistance.load(folder.paper_model).set_params(n_jobs=n_jobs)  # type: ignore[no-any-return]
    model = GraphDistance("paper", epochs=options.paper_epochs, pretrain=False, n_jobs=n_jobs)
    _fit(model, material, labels).save(folder.paper_model)
    return model


def _small(options: TourOptions, n_jobs: int, epochs: int, steps: int) -> GraphDistance:
    """The preset small, with a short pre-training, which it does without by default."""
    architecture, training = preset("small")
    pretraining = PretrainingOptions(epochs=epochs) if epochs else None
    return GraphDistance((architecture, replace(training, steps=steps, pretraining=pretraining)), n_jobs=n_jobs)


def _fit(model: GraphDistance, material: Material, labels: Labels) -> GraphDistance:
    return model.fit(material.graphs[material.seen], labels.among(material.seen), material.validating)


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A repair, and what it did to the errors."""

    before: TriangleViolations
    after: TriangleViolations
    own: TriangleViolations
    """Of the model of the tour on the same graphs, which nothing was done to."""
    result: RepairResult
    error_before: float
    """Root of the mean squared difference from the exact distances, in edits."""
    error_after: float
    """Never larger: the exact distances are a metric, and the nearest metric is nearer to all metrics (it is a
    projection to a convex set)."""


def repair_predictions(
    paper: GraphDistance, own: GraphDistance, material: Material, labels: Labels, folder: TourFolder, count: int
) -> Repaired:
    """Count, repair and count again, on unseen molecules."""
    chosen = material.unseen[:count]
    graphs, exact = material.graphs[chosen], square_matrix(labels, chosen)
    predicted = paper.pairwise(graphs).astype(np.float64)
    result = triangle_fixing(predicted, n_jobs=paper.n_jobs)
    ids = tuple(str(graph.id) for graph in graphs)
    for path, matrix in ((folder.matrix, predicted), (folder.repaired, result.matrix)):
        write_matrix(path, matrix, ids=ids)
    return Repaired(
        before=triangle_violations(predicted),
        after=triangle_violations(result.matrix),
        own=triangle_violations(own.pairwise(graphs).astype(np.float64), tolerance=1e-5),  # single precision
        result=result,
        error_before=_root_mean_square(predicted - exact),
        error_after=_root_mean_square(result.matrix - exact),
    )


def _root_mean_square(difference: np.ndarray) -> float:
    pairs = difference[np.triu_indices(len(difference), 1)]
    return float(np.sqrt(np.mean(pairs**2)))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Two answers to the same question."""

    learned: SearchResult
    proven: SearchResult
    exact: tuple[float, ...]
    """The edit distance of each learned hit."""
    explanation: Explanation
    """How the query becomes the first proven hit."""

    @property
    def right(self) -> int:
        """Learned hits that are as near as the last proven one."""
        limit = self.proven[-1].distance
        return sum(distance <= limit for distance in self.exact)


def search_neighbours(model: GraphDistance, material: Material, folder: TourFolder, k: int) -> Found:
    """Index the graphs that the model has seen, and ask for the neighbours of the first that it has not."""
    index = GraphIndex.build(model, material.graphs[material.seen], out=folder.index)
    query = material.graphs[int(material.unseen[0])]
    learned, proven = index.search(query, k), index.search(query, k, certified=True)
    exact = tuple(graph_edit_distance(query, hit.graph).upper for hit in learned)
    found = Found(learned, proven, exact, index.explain(query, proven[0]))
    folder.write_picture("nearest.svg", draw_hits(learned))
    folder.write_picture("nearest-proven.svg", draw_hits(proven))
    folder.write_picture("edits.svg", found.explanation.svg)
    return found


def introduce(folder: TourFolder) -> Iterator[str]:
    yield "How different are two molecules? Count the edits, of atoms and bonds, that turn one into the other."
    yield "Searching for the smallest count is slow for large graphs; a network learns it from examples."
    yield f"Everything goes into {folder.path}. The first run also compiles the searches, about a minute in all."


def tell_material(material: Material) -> Iterator[str]:
    sizes = material.graphs.sizes
    yield (
        f"{len(material.graphs):,} molecules of {sizes.min()} to {sizes.max()} atoms, no two the same "
        f"({material.copies:,} copies left out):"
    )
    yield (
        f"{material.training:,} to learn from, {material.validation:,} to choose the best weights, "
        f"{len(material.unseen):,} that the network never sees"
    )


def tell_labels(labels: Labels, material: Material) -> Iterator[str]:
    among = labels.among(material.seen)
    mean = labels.upper.mean()
    yield f"{len(labels.pairs):,} pairs, {labels.exact.mean():.1%} proven exact; {mean:.1f} edits on average"
    yield f"{len(among.pairs):,} are for learning; those with unseen molecules only judge the result"


def tell_pretraining(before: Agreement, after: Agreement, options: TourOptions) -> Iterator[str]:
    yield f"untrained    {_agreement(before)}"
    yield f"pre-trained  {_agreement(after)}, after {_count(options.pretraining_epochs, 'pass', 'passes')}"
    if after.correlation <= before.correlation:
        yield "It does not help by itself: it teaches atoms and bonds, not distances. Training has to do that"


def tell_training(trained: Agreement, options: TourOptions, kept: bool) -> Iterator[str]:
    yield f"trained      {_agreement(trained)}, after {_count(options.steps, 'step', 'steps')}"
    if kept:
        yield "(kept from an earlier run)"


def tell_repair(repaired: Repaired, folder: TourFolder, options: TourOptions) -> Iterator[str]:
    before, size, moved = repaired.before, len(repaired.result.matrix), repaired.result.changed_pairs
    passes = _count(options.paper_epochs, "pass", "passes")
    yield f"The distance of the paper (Eq. 9), after {passes} only, among {size} unseen molecules:"
    yield f"before  {before.share:.1%} of {before.tested:,} detours are shorter than the direct way"
    yield (
        f"after   {repaired.after.count:,} are; {moved:,} of {size * (size - 1) // 2:,} distances moved, as little as "
        "possible"
    )
    yield f"error   {repaired.error_before:.2f} -> {repaired.error_after:.2f} edits (root mean square)"
    yield "It never grows: exact distances are a metric, and the nearest metric is nearer to every metric"
    yield f"The distance of step 4 needs no repair: {repaired.own.count:,} detours are shorter, by construction"
    yield f"Both matrices: {folder.matrix.name}, {folder.repaired.name}"


def tell_evaluation(found: ModelEvaluation) -> Iterator[str]:
    k, scores, task = found.nearest, found.raw_scores, found.task
    assert scores is not None  # all distances are proven
    yield f"{len(task.queries):,} unseen molecules rank the {len(task.database):,} others ({found.pairs:,} pairs)"
    yield f"mean error      {scores.mae:.2f} edits (always guessing the median: {found.error_of_median:.2f})"
    if found.whole:
        yield f"exactly right   {scores.exact_hits:.0%} of the distances, rounded"
    yield f"rank agreement  {scores.ranking.rho:.3f} (1 is the true order)"
    yield f"nearest found   {k * scores.ranking.precision[k]:.1f} of the true {k}, ties counted"


def tell_search(found: Found) -> Iterator[str]:
    query = found.learned.query
    yield f"The query is {query.id}, {query.metadata.get('smiles', query)}"
    yield f"     {'by the learned distance':<28} | by edits, proven"
    for rank, (hit, exact, sure) in enumerate(zip(found.learned, found.exact, found.proven, strict=True), 1):
        learned = f"{hit.distance:5.2f} (truly {exact:g})  {hit.id}"
        yield f"{rank:>3}. {learned:<28} | {sure.distance:g}{'' if sure.proven else '?'}  {sure.id}"
    report, count = found.proven.report, len(found.learned)
    yield f"{found.right} of the learned {count} are as near as the proven ones. These are certain, although only"
    yield f"{report.refined:.0%} of {report.graphs:,} molecules were searched to the end: bounds rule out the others"
    yield f"{query.id} becomes {found.proven[0].id} by:"
    for edit in found.explanation.alignment.edit_path or ():
        yield f"  {edit}"


def summarise(found: ModelEvaluation, folder: TourFolder) -> Iterator[str]:
    """What was learned, how good it is, what is guaranteed, what to do next."""
    scores, k, seconds = found.raw_scores, found.nearest, found.facts["Training"]["seconds"]
    assert scores is not None
    right = k * scores.ranking.precision[k]
    broken = [axiom.name for axiom in found.axioms if axiom.promised and not axiom.holds]
    yield "What was learned  the number of edits between two molecules, from examples that were searched for"
    yield f"How good it is    off by {scores.mae:.2f} edits on average for molecules it never saw, and it finds"
    yield f"                  {right:.0f} of the {k} nearest, after {seconds:.0f} s of training"
    yield "What is certain   it is a metric (strictly, a pseudo-metric), whatever it has learned: the same both ways,"
    yield "                  0 for the same graph with its atoms in another order, and no detour is shorter. So a"
    yield "                  search may skip graphs and miss none, and clusters mean what they say."
    yield f"                  {_checked(broken)}"
    yield "What is not       that its numbers are right; where that matters, ask for a certified search"
    yield f"To look at        {folder.report} (in a browser),"
    yield f"                  {folder.path / 'nearest-proven.svg'}, {folder.path / 'edits.svg'}"
    yield ""
    yield "On your own graphs, a folder or file of them (.smi, .graphml, .gexf, .json, ...):"
    yield "  graphmetric train MY-GRAPHS/ --preset small --out model/"
    yield "and then"
    yield "  graphmetric evaluate model/ MY-GRAPHS/ --report report.html"
    yield "  graphmetric index model/ MY-GRAPHS/ --out idx/"
    yield "  graphmetric search idx/ QUERY --certified"


def _checked(broken: list[str]) -> str:
    return f"MEASURED TO BE BROKEN: {', '.join(broken)}" if broken else "Measured, too: the report has the figures."


def _agreement(found: Agreement) -> str:
    return f"rank agreement {found.correlation:.2f}, mean error {found.error:5.2f} edits"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


STEPS = 7
Say = Callable[[str], object]
Tell = Callable[[Iterable[str]], None]


@dataclass(slots=True)
class Narrator:
    """Numbers the steps, and says how long each took."""

    say: Say
    number: int = 0

    @contextmanager
    def step(self, title: str) -> Iterator[Tell]:
        """Say the title at once, so that it is known what takes so long; inside, findings are told."""
        self.number += 1
        self.say(f"\n[{self.number}/{STEPS}] {title}")
        started = time.perf_counter()
        yield self.tell
        self.say(f"      ({time.perf_counter() - started:.0f} s)")

    def tell(self, lines: Iterable[str]) -> None:
        """Findings, below the title."""
        for line in lines:
            self.say(f"      {line}")


def run_tour(out: Path, options: TourOptions, say: Say, n_jobs: int = -1) -> ModelEvaluation:
    """Label, pre-train, train, repair, evaluate and search, and tell of it line by line.

    Labels and models that are in ``out`` from a tour that was stopped are used, not made again.
    """
    folder = TourFolder.claim(out, options)
    narrator = Narrator(say)
    for line in introduce(folder):
        say(line)
    with narrator.step("Read the molecules") as tell:
        material = gather_material(options.graphs)
        tell(tell_material(material))
    with narrator.step("Label: search for the exact distance of every pair") as tell:
        labels = label_pairs(material, folder, n_jobs)
        tell(tell_labels(labels, material))
    with narrator.step("Pre-train: learn to recover atoms and bonds, without labels") as tell:
        tell(tell_pretraining(*try_pretraining(material, labels, options, n_jobs), options))
    with narrator.step("Train on the labels") as tell:
        model, kept = train_model(material, labels, folder, options, n_jobs)
        tell(tell_training(Agreement.of(model), options, kept))
    with narrator.step("Repair: make a metric of distances that are none") as tell:
        paper = train_paper_model(material, labels, folder, options, n_jobs)
        repaired = repair_predictions(paper, model, material, labels, folder, options.matrix)
        tell(tell_repair(repaired, folder, options))
    with narrator.step("Evaluate on molecules that the network has never seen") as tell:
        found = _evaluate(model, material, labels, folder, out)
        tell(tell_evaluation(found))
    with narrator.step("Search: the nearest molecules of an unseen one") as tell:
        searched = search_neighbours(model, material, folder, options.neighbours)
        tell(tell_search(searched))
    say("")
    for line in summarise(found, folder):
        say(line)
    return found


def _evaluate(
    model: GraphDistance, material: Material, labels: Labels, folder: TourFolder, out: Path
) -> ModelEvaluation:
    found = evaluate_model(model, material.graphs, distances=labels, train=material.seen, name="molecules")
    found = replace(found, truth_source="edit distances at unit costs, by the exact search, all pairs")
    write_report(found, folder.report, command=f"graphmetric demo --out {out}")
    return found


__all__ = ["TourOptions", "run_tour"]
