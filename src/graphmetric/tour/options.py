"""Parameters of the tour."""

from __future__ import annotations

from dataclasses import dataclass


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
