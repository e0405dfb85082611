"""``graphmetric label``."""

from __future__ import annotations

import time

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.options import JOBS, SEED, costs_of, ignore_option, time_limit_option
from graphmetric.cli.sources import Reading, open_source, reading_options, warn_of_unequal_numbers
from graphmetric.cli.terminal import say, say_json
from graphmetric.edit_distance.label_store import label_graphs
from graphmetric.edit_distance.registry import METHODS, TimeLimit

EPILOG = """\b
Examples:
  graphmetric label molecules --pairs random:20000 --out labels/
  graphmetric label my-graphs/ --pairs near:5000 --time-limit 0.5 --out labels/
  graphmetric label AIDS700nef --root data/ --pairs all --out labels/
Results are saved every second: stopped by Ctrl-C or a crash, the same command goes on where it was.
"""


@click.command(epilog=EPILOG, short_help="Edit distances of many pairs, resumable, into a folder.")
@click.argument("source")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder for the labels.")
@click.option("--pairs", default="all", show_default=True, help="all, random:N or near:N.")
@click.option(
    "--method", default="exact", show_default=True, help=f"One of {', '.join(METHODS)}; beam:10 sets a width."
)
@time_limit_option("1 for the exact search", "Seconds for each pair after which its label is a pair of bounds.")
@ignore_option()
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the choice of pairs.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    source: str,
    out: str,
    pairs: str,
    method: str,
    time_limit: TimeLimit,
    ignore: tuple[str, ...],
    jobs: int,
    seed: int,
    reading: Reading,
    as_json: bool,
) -> None:
    """Compute edit distances of pairs of the graphs of SOURCE."""
    check_writable(out, folder=True)
    graphs = open_source(source, reading).graphs
    warn_of_unequal_numbers(graphs, ignore)
    started = time.perf_counter()
    labels = label_graphs(
        graphs,
        out,
        pairs=pairs,
        method=method,
        costs=costs_of(ignore),
        n_jobs=jobs,
        time_limit=time_limit,
        random_state=seed,
    )
    seconds = time.perf_counter() - started
    pairs_labelled, exact = len(labels.pairs), int(labels.exact.sum())
    if as_json:
        counts = {"exact_pairs": exact, "pairs_with_bounds": pairs_labelled - exact}
        share = exact / pairs_labelled if pairs_labelled else 1.0
        report = {"graphs": len(graphs), "pairs": pairs_labelled, "exact": share, **counts, "seconds": seconds}
        say_json({**report, "out": out})
    else:
        known = "all exact" if exact == pairs_labelled else f"{exact:,} exact, {pairs_labelled - exact:,} only bounds"
        say(f"{pairs_labelled:,} pairs of {len(graphs):,} graphs: {known}, in {out} ({seconds:.1f} s)")
