"""``graphmetric search``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric.atomic import atomic_write, check_writable
from graphmetric.cli.notes import warnings_as_notes
from graphmetric.cli.options import NOT_NEGATIVE, time_limit_option
from graphmetric.cli.sources import Reading, open_graph, reading_options
from graphmetric.cli.terminal import say, to_json
from graphmetric.errors import InvalidArgument, UnknownFormat
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from graphmetric.search import GraphIndex, SearchHit, SearchResult

PLOTS = (".svg", ".png", ".html")

EPILOG = """\b
Examples:
  graphmetric search idx/ molecules:3 -k 10
  graphmetric search idx/ query.json --certified --explain
  graphmetric search idx/ "CC(=O)O" --smiles --plot nearest.svg
  graphmetric search idx/ 17 --id --where class=1
"""


@click.command(epilog=EPILOG, short_help="Nearest graphs of an index.")
@click.argument("index", type=click.Path(file_okay=False))
@click.argument("query")
@click.option("-k", default=10, show_default=True, type=click.IntRange(min=1), help="How many graphs.")
@click.option("--radius", type=NOT_NEGATIVE, help="Instead: all graphs at most this far.")
@click.option("--certified", is_flag=True, help="By edit distance, every rank proven.")
@time_limit_option("60 for each query", "Seconds after which a certified search says what it has proven.")
@click.option(
    "--view",
    type=click.Choice(["raw", "steinhaus", "paper"]),
    default="raw",
    show_default=True,
    help="In edits, or on one of two scales of [0, 1].",
)
@click.option("--where", multiple=True, help="Only graphs with this metadata, as key=value. Repeatable.")
@click.option("--distinct", is_flag=True, help="Of isomorphic graphs only the first.")
@click.option("--candidates", type=click.IntRange(1), help="Look at this many graphs only: may miss near ones.")
@click.option("--explain", is_flag=True, help="Show also how the query becomes each graph.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw query and hits in a row: .svg, .png or .html.")
@click.option("--smiles", is_flag=True, help="QUERY is a SMILES.")
@click.option("--id", "by_id", is_flag=True, help="QUERY is the id of a graph of the index.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    index: str,
    query: str,
    k: int,
    radius: float | None,
    explain: bool,
    plot: str | None,
    smiles: bool,
    by_id: bool,
    reading: Reading,
    as_json: bool,
    **how: Any,
) -> None:
    """The graphs of INDEX, a folder that `graphmetric index` wrote, that are nearest to QUERY.

    QUERY is a file with one graph, or SOURCE:POSITION where SOURCE is a file, folder or data set with many.
    """
    from graphmetric.search import GraphIndex

    if plot is not None:
        if Path(plot).suffix not in PLOTS:
            raise UnknownFormat(f"hits are drawn as {', '.join(PLOTS)}", plot)
        check_writable(plot)
    opened = GraphIndex.load(index)
    graph = _named_graph(opened, query) if by_id else open_graph(query, reading, smiles=smiles)
    how["where"] = dict(map(_condition, how["where"])) or None
    with warnings_as_notes():
        result = _ask(opened, graph, k, radius, how)
        words = [str(opened.explain(graph, hit)) if explain else None for hit in result]
    say(to_json(_jsonable(result, words)) if as_json else _in_words(result, words))
    if plot is not None:
        with atomic_write(plot) as file:
            file.write(_drawn(result, Path(plot).suffix))
        say(f"drawn into {plot}", err=True)


def _ask(index: GraphIndex, graph: Graph, k: int, radius: float | None, how: dict[str, Any]) -> SearchResult:
    if radius is None:
        return index.search(graph, k, **how)
    if how["certified"] or how["candidates"] is not None:
        raise InvalidArgument("--radius goes with the learned distance alone: leave out --certified and --candidates")
    return index.range(graph, radius, view=how["view"], where=how["where"], distinct=how["distinct"])


def _named_graph(index: GraphIndex, text: str) -> Graph:
    """Ids are strings or numbers; on the command line both look alike."""
    return index.graph(int(text) if text not in index and text.lstrip("-").isdecimal() else text)


def _condition(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign:
        raise InvalidArgument(f"--where takes key=value; got {text!r}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _in_words(result: SearchResult, words: list[str | None]) -> str:
    lines = []
    for rank, (hit, explained) in enumerate(zip(result, words, strict=True), 1):
        lines.append(f"{rank:>3}. {_distance(hit):<24} {hit.id}")
        lines += [f"     {line}" for line in explained.splitlines()] if explained else []
    return "\n".join([*lines, str(result.report)])


def _distance(hit: SearchHit) -> str:
    if hit.proven is None:
        return f"{hit.distance:.6g}"
    known = f"{hit.exact:.6g}" if hit.exact is not None else f"{hit.lower:.6g} .. {hit.upper:.6g}"
    return f"{known} ({'proven' if hit.proven else 'not proven'})"


def _jsonable(result: SearchResult, words: list[str | None]) -> dict[str, Any]:
    hits = []
    for hit, explained in zip(result, words, strict=True):
        plain: dict[str, Any] = {"id": str(hit.id) if isinstance(hit.id, tuple | bytes) else hit.id}
        plain |= {"distance": hit.distance, "metadata": dict(hit.metadata)}
        if hit.proven is not None:
            plain |= {"exact": hit.exact, "lower": hit.lower, "upper": hit.upper, "proven": hit.proven}
            plain["edits"] = [str(edit) for edit in hit.edit_path or ()]
        hits.append(plain if explained is None else {**plain, "explanation": explained})
    report = result.report
    about = {"graphs": report.graphs, "exact": report.exact, "complete": report.complete, "refined": report.refined}
    return {"view": result.view, "hits": hits, "report": {**about, "removed": dict(report.stages)}}


def _drawn(result: SearchResult, suffix: str) -> bytes:
    from graphmetric.search.gallery import draw_hits, page_of_hits, picture_of_hits

    if suffix == ".png":
        return picture_of_hits(result)
    return (draw_hits(result) if suffix == ".svg" else page_of_hits(result)).encode()
