"""``graphmetric label``."""

from __future__ import annotations

import time

import click

from graphmetric.atomic import check_writable
from graphmetric.cli.options import JOBS, SECONDS, SEED
from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import say, say_json
from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.label_store import label_graphs
from graphmetric.edit_distance.registry import METHODS

EPILOG = """\b
Examples:
  graphmetric label molecules --pairs random:20000 --out labels/
  graphmetric label my-graphs/ --pairs near:5000 --time-limit 0.5 --out labels/
  graphmetric label AIDS700nef --root data/ --pairs all --out labels/
Stopped by Ctrl-C or a crash, the same command goes on where it was.
"""


@click.command(epilog=EPILOG, short_help="Edit distances of many pairs, resumable, into a folder.")
@click.argument("source")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder for the labels.")
@click.option("--pairs", default="all", show_default=True, help="all, random:N or near:N.")
@click.option(
    "--method", default="exact", show_default=True, help=f"One of {', '.join(METHODS)}; beam:10 sets a width."
)
@click.option("--time-limit", type=SECONDS, help="Seconds per pair after which the exact search gives bounds.")
@click.option("--ignore", multiple=True, help="An attribute that does not count, such as edge_labels. Repeatable.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the choice of pairs.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    source: str,
    out: str,
    pairs: str,
    method: str,
    time_limit: float | None,
    ignore: tuple[str, ...],
    jobs: int,
    seed: int,
    reading: Reading,
    as_json: bool,
) -> None:
    """Compute edit distances of pairs of the graphs of SOURCE."""
    check_writable(out, folder=True)
    graphs = open_source(source, reading).graphs
    started = time.perf_counter()
    labels = label_graphs(
        graphs,
        out,
        pairs=pairs,
        method=method,
        costs=EditCosts(ignore=frozenset(ignore)),  # type: ignore[arg-type]
        n_jobs=jobs,
        time_limit_per_pair=time_limit,
        random_state=seed,
    )
    seconds = time.perf_counter() - started
    exact = float(labels.exact.mean()) if len(labels.pairs) else 1.0
    if as_json:
        report = {"graphs": len(graphs), "pairs": len(labels.pairs), "exact": exact, "seconds": seconds, "out": out}
        say_json(report)
    else:
        say(f"{len(labels.pairs):,} pairs of {len(graphs):,} graphs, {exact:.1%} exact, in {out} ({seconds:.1f} s)")
