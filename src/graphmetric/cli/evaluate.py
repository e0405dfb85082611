"""``graphmetric evaluate``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric._foundation.atomic_files import check_writable, make_folder
from graphmetric.cli.graph_sources import TYPED, GraphCommand, Reading, open_source, reading_options
from graphmetric.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    TIME_LIMIT,
    costs_of,
    ignore_option,
    jobs_option,
    json_option,
    model_argument,
    seed_option,
)
from graphmetric.cli.output import in_line, output_errors_named, show, to_json

if TYPE_CHECKING:
    from graphmetric.report import ModelEvaluation


@click.command(cls=GraphCommand)
@model_argument
@click.argument("source")
@click.option("--labels", type=FOLDER, help="Folder of `graphmetric label` that holds the true distances.")
@click.option(
    "--queries", type=COUNT, help="Number of query graphs. By default all test graphs, or 100 without a split."
)
@click.option(
    "--label-budget",
    type=COUNT,
    default=50_000,
    help="Pairs whose edit distance is computed if no true distances are known.",
)
@click.option(
    "--time-limit",
    type=TIME_LIMIT,
    default="120",
    metavar="SECONDS",
    help="Seconds for computing them; pairs not proven by then count by their bounds. 'none' means no limit.",
)
@ignore_option(" By default what the model was trained to ignore; anything else is refused.")
@click.option("--report", type=FILE, help="Write a report to this HTML file.")
@jobs_option
@seed_option("seed")
@reading_options
@json_option
@click.pass_context
def evaluate_command(
    context: click.Context,
    /,
    model: str,
    source: str,
    labels: str | None,
    ignore: tuple[str, ...],
    report: str | None,
    reading: Reading,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure how well MODEL predicts the distances of the graphs of SOURCE.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.

    The test graphs of a data set rank its training and validation graphs. For a file or a folder, some graphs drawn at
    random rank all others. The true distances are those of --labels or of the data set; otherwise they are computed.

    \b
    Examples:
      graphmetric evaluate model/ molecules --report report.html
      graphmetric evaluate model/ my-graphs/ --queries 50 --report report.html
      graphmetric evaluate model/ my-graphs/ --labels labels/ --json
      graphmetric evaluate model/ AIDS700nef --root data/
    """
    from graphmetric.edit_distance import read_labels
    from graphmetric.report import evaluate_model, write_report

    if report is not None:
        make_folder(Path(report).parent)
        check_writable(report)
    opened = open_source(source, reading)
    known = None if labels is None else read_labels(labels, opened.graphs)
    data = opened.dataset or opened.graphs
    found = evaluate_model(model, data, distances=known, costs=costs_of(ignore), name=source, **options)
    if report is not None:
        write_report(found, report, command=context.meta[TYPED])
    if as_json:
        show(to_json({**found.to_dict(), "report": report}))
        return
    with output_errors_named():
        for line in _in_words(found):
            click.echo(line)  # colours on a terminal, so names are escaped one by one
    if report is not None:
        show(f"report in {report}")


def _in_words(found: ModelEvaluation) -> Iterator[str]:
    from graphmetric.report.page import score_table

    yield f"{len(found.task.queries):,} graphs {found.task.rule}; {found.pairs:,} pairs"
    yield f"true distances: {in_line(found.truth_source)}; {found.proven:.1%} proven\n"
    titles, scores = score_table(found)
    rows = [row[:-1] for row in (titles, *scores)]  # the last column explains the score
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *values in rows:
        columns = (f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True))
        yield "    ".join([f"  {name:<{widths[0]}}", *columns])
    yield ""
    for axiom in found.axioms:
        sign = click.style("holds ", fg="green") if axiom.holds else click.style("broken", fg="red")
        yield f"  {axiom.name:<21}{sign}  {axiom.promise:<17}{axiom.measured}"
    yield ""
    for note in found.notes:
        yield f"note: {in_line(note)}"
