"""The report as one HTML file: no scripts, no links, nothing to fetch."""

from __future__ import annotations

import os
from pathlib import Path

from graphmetric.atomic import atomic_write, make_folder
from graphmetric.graphs.drawing.page import render_page
from graphmetric.model_report import sections
from graphmetric.model_report.evaluation import ModelEvaluation


def write_report(evaluation: ModelEvaluation, path: str | os.PathLike[str], *, command: str | None = None) -> None:
    """Write the page whole or not at all; ``command`` is what it says to make it again."""
    target = Path(path)
    page = render_report(evaluation, command=command).encode(errors="backslashreplace")
    make_folder(target.parent)
    with atomic_write(target) as file:
        file.write(page)


def render_report(evaluation: ModelEvaluation, *, command: str | None = None) -> str:
    """The page as text."""
    parts = [
        sections.headline(evaluation),
        sections.notes(evaluation),
        sections.neighbours(evaluation),
        sections.errors(evaluation),
        sections.axioms(evaluation),
        sections.scores(evaluation),
        sections.measurement(evaluation),
        sections.reproduction(evaluation, command),
    ]
    return render_page(f"How good is this distance on {evaluation.name}?", _subtitle(evaluation), parts)


def _subtitle(evaluation: ModelEvaluation) -> str:
    trial = evaluation.trial
    return (
        f"A learned distance against the truth: {len(trial.queries):,} graphs {trial.rule}, {evaluation.pairs:,} pairs."
    )
