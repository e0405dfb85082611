"""``graphmetric index`` makes an index; ``index add``, ``remove``, ``add-model`` and ``map`` change one."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Hashable
from itertools import chain, count
from typing import TYPE_CHECKING

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.graph_sources import GraphCommand, Reading, open_source, reading_options, stream_source
from graphmetric.cli.options import (
    FOLDER,
    OUT_FOLDER,
    Encoding,
    encoding_options,
    ignore_option,
    json_option,
    model_argument,
)
from graphmetric.cli.output import show_result
from graphmetric.errors import InvalidArgument
from graphmetric.index import open_store
from graphmetric.index.postgres.address import is_address

if TYPE_CHECKING:
    from graphmetric.edit_distance import EditCosts
    from graphmetric.search import GraphIndex
    from graphmetric.search.collection_map import MapMethod

_CHANGES = {
    "add INDEX SOURCE": "Add the graphs of SOURCE to an index.",
    "remove INDEX ID...": "Remove graphs from an index by their ids.",
    "add-model INDEX MODEL": "Add a model to an index that has none.",
    "map INDEX": "Lay out the graphs of an index in the plane.",
}
_MAP = click.Choice(["pca", "tsne"])


class _IndexGroup(click.Group):
    """``index [MODEL] SOURCE --out`` makes an index; ``index add`` and the like are commands of their own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_known = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_known else ["build", *args])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the help for building an index, the most common command, and name the other commands."""
        main = click.Context(build, parent=ctx.parent, info_name=ctx.info_name)
        build.format_help(main, formatter)
        with formatter.section("To change an index (graphmetric index add --help)"):
            formatter.write_dl(list(_CHANGES.items()))


@click.group(cls=_IndexGroup)
def index_command() -> None:
    """Make or change an index."""


@index_command.command("build", cls=GraphCommand)
@click.argument("sources", metavar="[MODEL] SOURCE", nargs=-1, required=True)
@click.option("--out", type=OUT_FOLDER, help="Folder for the index.")
@click.option("--store", metavar="ADDRESS", help="Database for the index: postgresql://user@host/database?index=NAME.")
@click.option("--number", is_flag=True, help="Name the graphs by their positions, not by their own ids.")
@click.option("--overwrite", is_flag=True, help="Replace an existing index, once the new one is complete.")
@click.option("--map", "map_method", type=_MAP, default="pca", help="Map of the collection; tsne is stored.")
@ignore_option(" For certified searches; by default what the model was trained to ignore.")
@encoding_options
@reading_options
@json_option
def build(
    sources: tuple[str, ...],
    out: str | None,
    store: str | None,
    number: bool,
    overwrite: bool,
    map_method: MapMethod,
    costs: EditCosts | None,
    encoding: Encoding,
    reading: Reading,
) -> None:
    """Index the graphs of SOURCE, so that `graphmetric search` can find the nearest ones.

    MODEL is a folder that `graphmetric train` wrote, or molecules, programs or unlabelled, which come with the package.
    Without a model the index answers certified searches only, by edit distance; a model can be added later.

    With --cluster the workers of a dask scheduler encode the graphs, which are read and written here.

    \b
    Examples:
      graphmetric index my-graphs/ --out idx/
      graphmetric index model/ my-graphs/ --out idx/
      graphmetric index model/ molecules --out idx/ --overwrite
      graphmetric index model/ my-graphs/ --store "postgresql://me@host/db?index=mine"
      graphmetric index model/ my-graphs/ --out idx/ --cluster tcp://scheduler:8786
      graphmetric index add idx/ more-graphs/
      graphmetric index remove idx/ graph-17 graph-18
      graphmetric index add-model idx/ model/
      graphmetric index map idx/
    """
    from graphmetric.search import GraphIndex

    if len(sources) > 2:
        raise InvalidArgument(f"index takes a model and one source of graphs; got {len(sources)} arguments")
    *models, source = sources
    if (out is None) == (store is None):
        raise InvalidArgument("say where the index is to be: --out FOLDER or --store ADDRESS")
    place = open_store(out or store or "")
    if place.exists() and not overwrite:
        raise InvalidArgument(f"{place.place} holds an index already: use --overwrite to replace it, or another place")
    learned = encoding.load(models[0]) if models else None
    graphs = stream_source(source, reading)[0]
    first = next(graphs, None)
    if first is None:
        raise InvalidArgument(f"{source} holds no graphs")
    started = time.perf_counter()
    ids = count() if number else None
    everything = chain([first], graphs)
    with encoding.executor() as executor:
        molecules = reading.molecule_options(source)
        index = GraphIndex.build(
            learned, everything, ids=ids, store=place, costs=costs, reading=molecules, executor=executor
        )
    if map_method != "pca":
        index.build_map(map_method)
        index.save(place)
    seconds, size, shown = time.perf_counter() - started, place.size(), out or place.place
    text = f"{len(index):,} graphs indexed in {seconds:.1f} s, {size / 1e6:.1f} MB in {shown}"
    if learned is None:
        text += "\nthe index has no model: searches are certified"
    data = {"out": shown, "graphs": len(index), "bytes": size, "seconds": seconds, "model": bool(models)}
    quoted = shlex.quote(shown)
    show_result(f"{text}\ntry: graphmetric search {quoted} QUERY -k 10", data)


@index_command.command("add", cls=GraphCommand)
@click.argument("index", type=FOLDER)
@click.argument("source")
@click.option("--number", is_flag=True, help="Name the new graphs by the next numbers, not by their own ids.")
@encoding_options
@reading_options
@json_option
def add(index: str, source: str, number: bool, encoding: Encoding, reading: Reading) -> None:
    """Add the graphs of SOURCE to INDEX, a folder that `graphmetric index` wrote, or the address of a database.

    Searches that run meanwhile are answered from the index as it was. Either all graphs are added, or none.

    \b
    Example:
      graphmetric index add idx/ more-graphs/
    """
    opened = _open_to_change(index, encoding)
    graphs = open_source(source, reading.like(opened)).graphs
    with encoding.executor() as executor:
        opened.add((graph.replace(id=None) for graph in graphs) if number else graphs, executor=executor)
    _save_change(opened, index, "added", len(graphs))


@index_command.command("remove")
@click.argument("index", type=FOLDER)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
def remove(index: str, ids: tuple[str, ...]) -> None:
    """Remove the graphs with these ids from INDEX; - reads the ids from standard input, one per line.

    If one of them is not in the index, nothing is removed.

    \b
    Example:
      graphmetric index remove idx/ graph-17 graph-18
    """
    opened = _open_to_change(index)
    lines = sys.stdin.read().splitlines() if ids == ("-",) else ids
    names = list(dict.fromkeys(known_id(opened, line) for line in lines if line))
    opened.remove(names)
    _save_change(opened, index, "removed", len(names))


@index_command.command("add-model")
@click.argument("index", type=FOLDER)
@model_argument
@encoding_options
@json_option
def add_model(index: str, model: str, encoding: Encoding) -> None:
    """Let MODEL encode all graphs of INDEX, which was made without a model.

    Searches that run meanwhile are answered from the index as it was.

    \b
    Example:
      graphmetric index add-model idx/ model/
    """
    opened = _open_to_change(index)
    learned = encoding.load(model)
    with encoding.executor() as executor:
        opened.add_model(learned, out=index, executor=executor)
    data = {"index": _shown(index), "model": model, "graphs": len(opened)}
    show_result(f"{len(opened):,} graphs encoded by {model}", data)


@index_command.command("map")
@click.argument("index", type=FOLDER)
@click.option("--method", type=_MAP, default="tsne", help="How to lay the graphs out; pca forgets a stored map.")
@json_option
def lay_out(index: str, method: MapMethod) -> None:
    """Lay out the graphs of INDEX in the plane by t-SNE, for the page of `graphmetric serve` and for plots.

    It takes some milliseconds for each graph and is stored in the index. Graphs that are added later are put among
    their nearest, until the map is made again. Without it, maps are made by principal components, at once.

    \b
    Example:
      graphmetric index map idx/
    """
    opened = _open_to_change(index)
    opened.build_map(method)
    if not is_address(index):
        opened.save(index)
    data = {"index": _shown(index), "map": method, "graphs": len(opened)}
    show_result(f"{len(opened):,} graphs of {_shown(index)} laid out by {method}", data)


def known_id(index: GraphIndex, text: str) -> Hashable:
    """Return the id of a graph as the index has it: a string or a number, alike on the command line."""
    return int(text) if text not in index and text.lstrip("-").isdecimal() else text


def _open_to_change(index: str, encoding: Encoding = Encoding()) -> GraphIndex:  # noqa: B008
    from graphmetric.search import GraphIndex

    opened = GraphIndex.load(index, n_jobs=encoding.n_jobs, device=encoding.device)
    if not is_address(index):
        check_writable(index, folder=True)
    return opened


def _save_change(opened: GraphIndex, index: str, change: str, count: int) -> None:
    if not is_address(index):  # a database was changed already
        opened.save(index)
    data = {"index": _shown(index), change: count, "graphs": len(opened)}
    show_result(f"{count:,} graphs {change}; {_shown(index)} holds {len(opened):,}", data)


def _shown(index: str) -> str:
    """The place of an index as it is printed: an address without its password."""
    return open_store(index).place if is_address(index) else index
