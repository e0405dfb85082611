"""The report as one HTML file: no scripts, no links, nothing to fetch."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from graphmetric.atomic import atomic_write, make_folder
from graphmetric.model_report import sections
from graphmetric.model_report.evaluation import ModelEvaluation
from graphmetric.model_report.markup import Markup, element, join, say


def write_report(evaluation: ModelEvaluation, path: str | os.PathLike[str], *, command: str | None = None) -> None:
    """Write the page whole or not at all; ``command`` is what it says to make it again."""
    target = Path(path)
    page = render_report(evaluation, command=command).encode()
    make_folder(target.parent)
    with atomic_write(target) as file:
        file.write(page)


def render_report(evaluation: ModelEvaluation, *, command: str | None = None) -> str:
    """The page as text. It is well-formed XML, too."""
    title = f"How good is this distance on {evaluation.name}?"
    head = element(
        "head",
        Markup('<meta charset="utf-8"/>'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        element("title", say(title)),
        element("style", _style()),
    )
    body = element(
        "body",
        element(
            "main",
            element("header", element("h1", say(title)), element("p", say(_subtitle(evaluation)))),
            join(
                [
                    sections.headline(evaluation),
                    sections.notes(evaluation),
                    sections.neighbours(evaluation),
                    sections.errors(evaluation),
                    sections.axioms(evaluation),
                    sections.scores(evaluation),
                    sections.measurement(evaluation),
                    sections.reproduction(evaluation, command),
                ]
            ),
        ),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _subtitle(evaluation: ModelEvaluation) -> str:
    trial = evaluation.trial
    return (
        f"A learned distance against the truth: {len(trial.queries):,} graphs {trial.rule}, {evaluation.pairs:,} pairs."
    )


def _style() -> Markup:
    return Markup((files(__package__) / "style.css").read_text(encoding="utf-8"))
