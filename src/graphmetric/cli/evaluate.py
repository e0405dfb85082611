"""``graphmetric evaluate``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from graphmetric._foundation.atomic_files import check_writable, make_folder
from graphmetric.cli.options import JOBS, SEED, TIME_LIMIT, costs_of, ignore_option
from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import in_table, say, say_json, speaking, warnings_as_notes

if TYPE_CHECKING:
    from graphmetric.report import ModelEvaluation

EPILOG = """\b
Examples:
  graphmetric evaluate model/ molecules --report report.html
  graphmetric evaluate model/ my-graphs/ --queries 50 --report report.html
  graphmetric evaluate model/ my-graphs/ --labels labels/ --json
  graphmetric evaluate model/ AIDS700nef --root data/
"""


@click.command(epilog=EPILOG, short_help="How good a model is on graphs, and a report to look at.")
@click.argument("model", type=click.Path(file_okay=False))
@click.argument("source")
@click.option("--labels", type=click.Path(file_okay=False), help="Folder of `graphmetric label` with true distances.")
@click.option(
    "--queries", type=click.IntRange(1), help="Graphs that ask; else all test graphs, or 100 without a split."
)
@click.option(
    "--label-budget",
    type=click.IntRange(1),
    default=50_000,
    show_default=True,
    help="Pairs to search for where nothing is known.",
)
@click.option(
    "--time-limit",
    type=TIME_LIMIT,
    default="120",
    show_default=True,
    metavar="SECONDS",
    help="Seconds of that search; what is not proven by then is measured against bounds. 'none': no limit.",
)
@ignore_option(" By default what the model was trained to ignore; anything else is refused.")
@click.option("--report", type=click.Path(dir_okay=False), help="HTML file to write.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of everything that is drawn.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str,
    source: str,
    labels: str | None,
    queries: int | None,
    label_budget: int,
    time_limit: float | None,
    ignore: tuple[str, ...],
    report: str | None,
    jobs: int,
    seed: int,
    reading: Reading,
    as_json: bool,
) -> None:
    """Measure MODEL on the graphs of SOURCE.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.

    The test graphs of a data set rank its training and validation graphs. Of a file or folder, some graphs drawn at
    random rank all others. True distances are those of --labels or of the data set; else they are searched for.
    """
    from graphmetric.edit_distance import read_labels
    from graphmetric.report import evaluate_model, write_report

    if report is not None:
        make_folder(Path(report).parent)
        check_writable(report)
    opened = open_source(source, reading)
    distances = None if labels is None else read_labels(labels, opened.graphs)
    with warnings_as_notes():
        found = evaluate_model(
            model,
            opened.dataset or opened.graphs,
            distances=distances,
            queries=queries,
            label_budget=label_budget,
            time_limit=time_limit,
            costs=costs_of(ignore),
            seed=seed,
            name=source,
            n_jobs=jobs,
        )
    if report is not None:
        write_report(found, report, command=_command_line())
    if as_json:
        say_json({**found.to_dict(), "report": report})
    else:
        with speaking():
            _tell(found, report)


def _command_line() -> str:
    """What was typed, as a shell takes it."""
    context = click.get_current_context()
    words = ["graphmetric", "evaluate"]
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            words.append(value)
        elif context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            for one in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0]] if one is True else [parameter.opts[0], str(one)]
    return shlex.join(words)


def _tell(found: ModelEvaluation, report: str | None) -> None:
    from graphmetric.report.page import score_table

    task, console = found.task, Console(highlight=False)
    console.print(f"{len(task.queries):,} graphs {task.rule}; {found.pairs:,} pairs")
    console.print(f"true distances: {in_table(found.truth_source)}; {found.proven:.1%} proven\n")
    table = Table(box=None, padding=(0, 2))
    titles, rows = score_table(found)
    for title in titles[:-1]:
        table.add_column(title, justify="left" if title == "score" else "right")
    for row in rows:
        table.add_row(*row[:-1])
    console.print(table)
    console.print()
    for axiom in found.axioms:
        sign = "[green]holds [/]" if axiom.holds else "[red]broken[/]"
        console.print(f"  {axiom.name:<21}{sign}  {axiom.promise:<17}{axiom.measured}", soft_wrap=True)
    console.print()
    for note in found.notes:
        console.print(f"note: {in_table(note)}", soft_wrap=True)
    if report is not None:
        say(f"report in {report}")
