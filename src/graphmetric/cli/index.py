"""``graphmetric index``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from graphmetric.atomic import check_writable
from graphmetric.cli.notes import warnings_as_notes
from graphmetric.cli.options import JOBS
from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import say, say_json
from graphmetric.errors import InvalidArgument

EPILOG = """\b
Examples:
  graphmetric index model/ my-graphs/ --out idx/
  graphmetric index model/ molecules --out idx/ --overwrite
Then: graphmetric search idx/ QUERY
"""


@click.command(epilog=EPILOG, short_help="Index graphs for searching.")
@click.argument("model", type=click.Path(file_okay=False))
@click.argument("source")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder for the index.")
@click.option("--number", is_flag=True, help="Name graphs by their position, not by their own ids.")
@click.option("--overwrite", is_flag=True, help="Replace an index that is there, once the new one is whole.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str, source: str, out: str, number: bool, overwrite: bool, jobs: int, reading: Reading, as_json: bool
) -> None:
    """Index the graphs of SOURCE by MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.
    """
    from graphmetric.search import GraphIndex
    from graphmetric.search.stored_model import StoredModel

    if (Path(out) / "index.json").exists() and not overwrite:
        raise InvalidArgument(f"{out} holds an index already: use --overwrite to replace it, or another folder")
    check_writable(out, folder=True)
    learned = StoredModel.load(model, jobs)
    graphs = open_source(source, reading).graphs
    started = time.perf_counter()
    with warnings_as_notes():
        index = GraphIndex.build(learned, graphs, ids=range(len(graphs)) if number else None, out=out)
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file())
    if as_json:
        say_json({"out": out, "graphs": len(index), "bytes": size, "seconds": seconds})
        return
    say(f"{len(index):,} graphs indexed in {seconds:.1f} s, {size / 1e6:.1f} MB in {out}")
    say(f"try: graphmetric search {out} QUERY -k 10")
