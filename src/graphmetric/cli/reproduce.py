"""``graphmetric reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.options import JOBS
from graphmetric.cli.terminal import say

EPILOG = """\b
Experiments:
  table1      the paper's table: every method, with and without triangle fixing
  protocol-a  the usual table: test graphs rank training and validation graphs
  leak-free   the same without isomorphic graphs in two parts
  ablation    the paper's model with one thing changed
  figure2     the ten nearest graphs of some test graphs, drawn

\b
Examples:
  graphmetric reproduce table1 --root data/ --out reproduction/
  graphmetric reproduce protocol-a --quick --limit 200 --datasets molecules --out try/
  graphmetric reproduce ablation --root data/ --only paper --only residual --out reproduction/
Stopped by Ctrl-C or a crash, the same command goes on where it was.
"""


@click.command(epilog=EPILOG, short_help="Run the paper's table and figure, and tables beyond it.")
@click.argument("experiment", type=click.Choice(["table1", "protocol-a", "leak-free", "ablation", "figure2"]))
@click.option("--out", default="reproduction", show_default=True, type=click.Path(file_okay=False), help="Results.")
@click.option("--root", type=click.Path(file_okay=False), help="Folder that holds the benchmark data sets.")
@click.option("--datasets", "-d", multiple=True, help="Data sets instead of the paper's three; repeat the option.")
@click.option("--only", multiple=True, help="Rows whose names contain this; repeat the option.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Runs of every row that learns: 0, 1, ...",
)
@click.option("--quick", is_flag=True, help="One seed and a tenth of every training: minutes, and worse numbers.")
@click.option("--limit", type=click.IntRange(1), help="Graphs of each data set; all if not given.")
@click.option("--jobs", type=JOBS, default=1, show_default=True, help="Threads.")
def command(
    experiment: str,
    out: str,
    root: str | None,
    datasets: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int,
    quick: bool,
    limit: int | None,
    jobs: int,
) -> None:
    """Run EXPERIMENT and print its tables; records, tables and figures go into --out."""
    from graphmetric.reproduction.claims import check_claims
    from graphmetric.reproduction.experiments import PUBLIC_SETS, make_experiment
    from graphmetric.reproduction.figure import draw_figure
    from graphmetric.reproduction.runner import RunOptions, run_experiment

    check_writable(out, folder=True)
    chosen = datasets or PUBLIC_SETS
    options = RunOptions(Path(out), tuple(range(seeds)), quick, limit, root, jobs, only)
    if experiment == "figure2":
        for path in draw_figure(chosen, options):
            say(f"Written: {path}")
        return
    records = run_experiment(make_experiment(experiment, chosen), options)
    folder = Path(out) / experiment
    say((folder / "report.md").read_text())
    if experiment == "table1":
        for claim in check_claims(records):
            say(claim)
    say(f"\nTables and records: {folder}")
