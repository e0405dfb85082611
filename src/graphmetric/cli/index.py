"""``graphmetric index``: make an index, and ``index add``, ``index remove``: change one."""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.options import JOBS
from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import say, say_json, warnings_as_notes
from graphmetric.errors import InvalidArgument

if TYPE_CHECKING:
    from graphmetric.search import GraphIndex

EPILOG = """\b
Examples:
  graphmetric index model/ my-graphs/ --out idx/
  graphmetric index model/ molecules --out idx/ --overwrite
  graphmetric index add idx/ more-graphs/
  graphmetric index remove idx/ graph-17 graph-18
Then: graphmetric search idx/ QUERY
"""
_CHANGES = {
    "add INDEX SOURCE": "Add the graphs of SOURCE to an index.",
    "remove INDEX ID...": "Remove graphs from an index by their ids.",
}


class _IndexGroup(click.Group):
    """``index MODEL SOURCE --out`` makes an index; ``index add`` and ``index remove`` are commands of their own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_known = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_known else ["build", *args])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """That of making an index, which is what people come for, and what else there is."""
        main = click.Context(build, parent=ctx.parent, info_name=ctx.info_name)
        build.format_usage(main, formatter)
        build.format_help_text(main, formatter)
        build.format_options(main, formatter)
        with formatter.section("To change an index (graphmetric index add --help)"):
            formatter.write_dl(list(_CHANGES.items()))
        self.format_epilog(ctx, formatter)


@click.group(cls=_IndexGroup, epilog=EPILOG, short_help="Index graphs for searching.")
def command() -> None:
    """Make or change an index."""


@command.command("build")
@click.argument("model", type=click.Path(file_okay=False))
@click.argument("source")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder for the index.")
@click.option("--number", is_flag=True, help="Name graphs by their position, not by their own ids.")
@click.option("--overwrite", is_flag=True, help="Replace an index that is there, once the new one is whole.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def build(
    model: str, source: str, out: str, number: bool, overwrite: bool, jobs: int, reading: Reading, as_json: bool
) -> None:
    """Index the graphs of SOURCE by MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.
    """
    from graphmetric.learned.learned_distance import LearnedDistance
    from graphmetric.search import GraphIndex

    if (Path(out) / "index.json").exists() and not overwrite:
        raise InvalidArgument(f"{out} holds an index already: use --overwrite to replace it, or another folder")
    check_writable(out, folder=True)
    learned = LearnedDistance.load(model, jobs)
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


@command.command("add", epilog="Example:\n  graphmetric index add idx/ more-graphs/")
@click.argument("index", type=click.Path(file_okay=False))
@click.argument("source")
@click.option("--number", is_flag=True, help="Name graphs by numbers that go on, not by their own ids.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def add(index: str, source: str, number: bool, jobs: int, reading: Reading, as_json: bool) -> None:
    """Add the graphs of SOURCE to INDEX, a folder that `graphmetric index` wrote.

    Searches that run meanwhile are answered from the index as it was. Either all graphs are added, or none.
    """
    from graphmetric.search import GraphIndex

    opened = GraphIndex.load(index, n_jobs=jobs)
    check_writable(index, folder=True)
    graphs = open_source(source, reading).graphs
    with warnings_as_notes():
        opened.add((graph.replace(id=None) for graph in graphs) if number else graphs)
    opened.save(index)
    _tell_change(index, len(graphs), "added", len(opened), as_json)


@command.command("remove", epilog="Example:\n  graphmetric index remove idx/ graph-17 graph-18")
@click.argument("index", type=click.Path(file_okay=False))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def remove(index: str, ids: tuple[str, ...], as_json: bool) -> None:
    """Remove the graphs with these ids from INDEX; - reads ids from standard input, one per line.

    If one of them is not there, nothing is removed.
    """
    from graphmetric.search import GraphIndex

    opened = GraphIndex.load(index)
    check_writable(index, folder=True)
    lines = sys.stdin.read().splitlines() if ids == ("-",) else ids
    names = dict.fromkeys(known_id(opened, line) for line in lines if line)
    opened.remove(list(names))
    opened.save(index)
    _tell_change(index, len(names), "removed", len(opened), as_json)


def known_id(index: GraphIndex, text: str) -> Hashable:
    """Ids are strings or numbers; on the command line both look alike."""
    return int(text) if text not in index and text.lstrip("-").isdecimal() else text


def _tell_change(index: str, count: int, deed: str, total: int, as_json: bool) -> None:
    if as_json:
        say_json({"index": index, deed: count, "graphs": total})
    else:
        say(f"{count:,} graphs {deed}; {index} holds {total:,}")
