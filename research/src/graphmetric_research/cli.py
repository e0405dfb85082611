"""The ``graphmetric-research`` command."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric.cli import prepare_logging, run_program
from graphmetric.cli.options import COUNT, FOLDER, JOBS, json_option, out_folder_option
from graphmetric.cli.output import show_result

if TYPE_CHECKING:
    from graphmetric_research.reproduction.at_size import Part
    from graphmetric_research.reproduction.frontier import SizeOptions

_OF_SIZE = ("at-size", "random-pairs", "frontier")
"""Experiments that compare methods by what they answer in which time."""
_EXPERIMENTS = ("table1", "protocol-a", "leak-free", "ablation", "figure2", *_OF_SIZE)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="graphmetric-research", prog_name="graphmetric-research")
@click.argument("experiment", metavar="EXPERIMENT", type=click.Choice(_EXPERIMENTS))
@out_folder_option("Folder for the results.", "reproduction")
@click.option("--root", type=FOLDER, help="Folder that holds the benchmark data sets.")
@click.option("--datasets", "-d", multiple=True, help="Data sets instead of the paper's three. Can be repeated.")
@click.option("--only", multiple=True, help="Only rows whose names contain this, beside --model. Can be repeated.")
@click.option("--seeds", type=COUNT, default=3, help="Runs of every row that learns.")
@click.option("--quick", is_flag=True, help="One seed and a tenth of every training: minutes, and worse numbers.")
@click.option("--limit", type=COUNT, help="Take only this many graphs of each data set.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME=FOLDER",
    help="A trained model to compare. Can be repeated; models of one name are seeds of one method.",
)
@click.option(
    "--train", "trained", multiple=True, metavar="PRESET", help="at-size: train this preset first. Can be repeated."
)
@click.option("--train-on", metavar="BENCHMARK", help="at-size: train on the training graphs of another benchmark.")
@click.option("--label-budget", type=COUNT, help="at-size: labels for each training.")
@click.option("--queries", type=COUNT, help="at-size: number of queries of each benchmark.")
@click.option("--validation", is_flag=True, help="at-size, frontier: the validation part, on which choices are made.")
@click.option("--jobs", "n_jobs", type=JOBS, default=1, help="Number of threads.")
@json_option
@click.pass_context
def cli(
    context: click.Context,
    experiment: str,
    out: str,
    root: str | None,
    datasets: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int,
    quick: bool,
    limit: int | None,
    models: tuple[str, ...],
    trained: tuple[str, ...],
    train_on: str | None,
    label_budget: int | None,
    queries: int | None,
    validation: bool,
    n_jobs: int,
) -> None:
    """Run EXPERIMENT and print its tables. The folder gets tables, figures and a record of every run.

    After Ctrl-C or a crash, the same command continues where it was.

    \b
    Experiments:
      table1        the paper's table: every method, with and without triangle fixing
      protocol-a    the usual table: test graphs rank training and validation graphs
      leak-free     the same without isomorphic graphs in two parts
      ablation      the paper's model with one thing changed
      figure2       the ten nearest graphs of some test graphs, drawn
      at-size       graphs of 10, 25 and 50 nodes: accuracy and time per pair of all methods
      random-pairs  the same graphs: errors of 1,000 random pairs
      frontier      accuracy against time per pair, drawn from the results of at-size

    \b
    Examples:
      graphmetric-research table1 --root data/ --out reproduction/
      graphmetric-research protocol-a --quick --limit 200 --datasets molecules --out try/
      graphmetric-research ablation --root data/ --only paper --only residual --out reproduction/
      graphmetric-research at-size --root data/ -d AIDS42k-15-40 --model mine=model/ --out reproduction/
      graphmetric-research at-size --root data/ -d AIDS42k-15-40 --train small --train pooled --out reproduction/
    """
    prepare_logging(context)
    from graphmetric_research.reproduction.experiments import PUBLIC_SETS, check_claims, make_experiment
    from graphmetric_research.reproduction.figure import draw_figure
    from graphmetric_research.reproduction.runner import RunOptions, run_experiment

    if experiment in _OF_SIZE:
        from graphmetric_research.reproduction.frontier import SizeOptions
        from graphmetric_research.reproduction.runner import LabelPlan

        part: Part = "validation" if validation else "test"
        plan = LabelPlan() if label_budget is None else LabelPlan(label_budget)
        sized = SizeOptions(
            Path(out) / "at-size", root, part, queries, n_jobs, only, trained, train_on, 1 if quick else seeds, plan
        )
        _run_of_size(experiment, datasets, models, sized)
        return
    chosen = datasets or PUBLIC_SETS
    options = RunOptions(Path(out), tuple(range(seeds)), quick, limit, root, n_jobs, only)
    if experiment == "figure2":
        files = [str(path) for path in draw_figure(chosen, options)]
        show_result("\n".join(f"Written: {path}" for path in files), {"files": files})
        return
    records = run_experiment(make_experiment(experiment, chosen), options)
    folder = Path(out) / experiment
    claims = check_claims(records) if experiment == "table1" else []
    lines = [(folder / "report.md").read_text(encoding="utf-8"), *map(str, claims), f"\nTables and records: {folder}"]
    data = {"out": str(folder), "runs": [*map(asdict, records)], "claims": [*map(asdict, claims)]}
    show_result("\n".join(lines), data)


def _run_of_size(experiment: str, sets: tuple[str, ...], models: tuple[str, ...], options: SizeOptions) -> None:
    """Measure what is missing, then make the tables and the figure from all results."""
    from graphmetric_research.reproduction.figure import draw_frontier
    from graphmetric_research.reproduction.frontier import (
        CONTENDERS,
        PANELS,
        LearnedContender,
        read_results,
        run_at_size,
        run_random_pairs,
        write_report,
    )

    learned = [LearnedContender(name, folder) for name, folder in map(_named_model, models)]
    if experiment != "frontier":
        run = run_at_size if experiment == "at-size" else run_random_pairs
        run(sets or PANELS, [*CONTENDERS, *learned], options)
    lines = [write_report(options.out)]
    if experiment != "random-pairs":
        drawn = draw_frontier(options.out, sets or PANELS, validation=options.part == "validation")
        lines.append(f"Drawn: {drawn}")
    show_result("\n".join(lines), {"out": str(options.out), "results": read_results(options.out)})


def _named_model(text: str) -> tuple[str, str]:
    name, sign, folder = text.partition("=")
    if not (name and sign and folder):
        raise click.BadParameter(f"{text!r} is not NAME=FOLDER, such as mine=model/.", param_hint="--model")
    return name, folder


def main(arguments: list[str] | None = None) -> Any:
    """Run an experiment."""
    return run_program(cli, "graphmetric-research", arguments)
