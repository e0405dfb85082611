"""The steps in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from graphmetric.edit_distance import Labels
from graphmetric.estimator import GraphDistance
from graphmetric.model_report import ModelEvaluation, evaluate_model, write_report
from graphmetric.tour import words
from graphmetric.tour.folder import TourFolder
from graphmetric.tour.learning import Agreement, label_pairs, train_model, train_paper_model, try_pretraining
from graphmetric.tour.material import Material, gather_material
from graphmetric.tour.options import TourOptions
from graphmetric.tour.repairing import repair_predictions
from graphmetric.tour.searching import search_neighbours

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
    for line in words.introduce(folder):
        say(line)
    with narrator.step("Read the molecules") as tell:
        material = gather_material(options.graphs)
        tell(words.tell_material(material))
    with narrator.step("Label: search for the exact distance of every pair") as tell:
        labels = label_pairs(material, folder, n_jobs)
        tell(words.tell_labels(labels, material))
    with narrator.step("Pre-train: learn to recover atoms and bonds, without labels") as tell:
        tell(words.tell_pretraining(*try_pretraining(material, labels, options, n_jobs), options))
    with narrator.step("Train on the labels") as tell:
        model, kept = train_model(material, labels, folder, options, n_jobs)
        tell(words.tell_training(Agreement.of(model), options, kept))
    with narrator.step("Repair: make a metric of distances that are none") as tell:
        paper = train_paper_model(material, labels, folder, options, n_jobs)
        repaired = repair_predictions(paper, model, material, labels, folder, options.matrix)
        tell(words.tell_repair(repaired, folder, options))
    with narrator.step("Evaluate on molecules that the network has never seen") as tell:
        found = _evaluate(model, material, labels, folder, out)
        tell(words.tell_evaluation(found))
    with narrator.step("Search: the nearest molecules of an unseen one") as tell:
        searched = search_neighbours(model, material, folder, options.neighbours)
        tell(words.tell_search(searched))
    say("")
    for line in words.summarise(found, folder):
        say(line)
    return found


def _evaluate(
    model: GraphDistance, material: Material, labels: Labels, folder: TourFolder, out: Path
) -> ModelEvaluation:
    found = evaluate_model(model, material.graphs, distances=labels, train=material.seen, name="molecules")
    found = replace(found, truth="edit distances at unit costs, by the exact search, all pairs")
    write_report(found, folder.report, command=f"graphmetric demo --out {out}")
    return found
