"""``graphmetric search``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric.atomic import atomic_write, check_writable
from graphmetric.cli.answers import Answer, are_json_lines, write_answers
from graphmetric.cli.index import known_id
from graphmetric.cli.notes import warnings_as_notes
from graphmetric.cli.options import NOT_NEGATIVE, costs_of, ignore_option, time_limit_option
from graphmetric.cli.sources import Reading, open_graph, reading_options, stream_source
from graphmetric.cli.terminal import say, say_json, to_json
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
  graphmetric search idx/ queries.smi -k 5 --out hits.csv
  cat queries.smi | graphmetric search idx/ - --format smiles --out - --json
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
@ignore_option(" For --certified; by default what the model was trained to ignore.")
@click.option("--distinct", is_flag=True, help="Of isomorphic graphs only the first.")
@click.option("--candidates", type=click.IntRange(1), help="Look at this many graphs only: may miss near ones.")
@click.option("--explain", is_flag=True, help="Show also how the query becomes each graph.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw query and hits in a row: .svg, .png or .html.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Answer every graph of QUERY, into this file: .csv, or .jsonl with a line of JSON per query; - prints them.",
)
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
    out: str | None,
    smiles: bool,
    by_id: bool,
    reading: Reading,
    as_json: bool,
    **how: Any,
) -> None:
    """The graphs of INDEX, a folder that `graphmetric index` wrote, that are nearest to QUERY.

    QUERY is a file with one graph, or SOURCE:POSITION where SOURCE is a file, folder or data set with many; - reads
    standard input, whose format --format names. With --out, all graphs of QUERY are asked for, one after another:
    answers are written as they come, and stay if the command is stopped.
    """
    from graphmetric.search import GraphIndex

    _check_outputs(plot, out, as_json)
    opened = GraphIndex.load(index)
    how["where"] = dict(map(_condition, how["where"])) or None
    how["costs"] = costs_of(how.pop("ignore"))
    if how["costs"] is not None and not how["certified"]:
        raise InvalidArgument("--ignore goes with --certified: a learned distance ignores what its training did")
    if out is not None:
        if by_id or smiles:
            graph = opened.graph(known_id(opened, query)) if by_id else open_graph(query, reading, smiles=True)
            queries: tuple[Iterator[Graph], int | None] = iter([graph]), 1
        else:
            queries = stream_source(query, reading)
        _answer_all(opened, queries, out, as_json, explain, partial(_ask_all, opened, k=k, radius=radius, how=how))
        return
    advice = " or answer all of them by --out hits.csv"
    graph = opened.graph(known_id(opened, query)) if by_id else open_graph(query, reading, smiles=smiles, advice=advice)
    with warnings_as_notes():
        (result,) = _ask_all(opened, [graph], k, radius, how)
        words = _explanations(opened, result, explain)
    counts = _what_counts(opened, how["certified"])
    say(to_json({**_jsonable(result, words), "counts": counts}) if as_json else f"{_in_words(result, words)}\n{counts}")
    if plot is not None:
        with atomic_write(plot) as file:
            file.write(_drawn(result, Path(plot).suffix))
        say(f"drawn into {plot}", err=True)


def _check_outputs(plot: str | None, out: str | None, as_json: bool) -> None:
    """Before anything is searched for."""
    if plot is not None:
        if out is not None:
            raise InvalidArgument("--plot draws the hits of one query: leave out --out")
        if Path(plot).suffix not in PLOTS:
            raise UnknownFormat(f"hits are drawn as {', '.join(PLOTS)}", plot)
        check_writable(plot)
    if out is not None:
        are_json_lines(out, as_json)
        if out != "-":
            check_writable(out)


def _answer_all(
    index: GraphIndex,
    queries: tuple[Iterator[Graph], int | None],
    out: str,
    as_json: bool,
    explain: bool,
    answer: Answer,
) -> None:
    """Answer many queries into a file, and say how many."""
    explanations = partial(_explanations, index, explain=explain)
    describe = _jsonable if are_json_lines(out, as_json) else None
    with warnings_as_notes():
        done = write_answers(*queries, out, answer, explanations, describe)
    if not done["queries"]:
        raise InvalidArgument("there is no graph to ask for: the source of queries is empty")
    if as_json and out != "-":
        say_json(done)
        return
    late = f", {done['out_of_time']:,} of them out of time" if done["out_of_time"] else ""
    place = "" if out == "-" else f"; hits in {out}"
    say(f"{done['queries']:,} queries answered in {done['seconds']:.1f} s{late}{place}", err=out == "-")


def _ask_all(
    index: GraphIndex, graphs: Sequence[Graph], k: int, radius: float | None, how: dict[str, Any]
) -> list[SearchResult]:
    if radius is None:
        found: list[SearchResult] = index.search(list(graphs), k, **how)
        return found
    if how["certified"] or how["candidates"] is not None:
        raise InvalidArgument("--radius goes with the learned distance alone: leave out --certified and --candidates")
    chosen = {name: how[name] for name in ("view", "where", "distinct")}
    return [index.range(graph, radius, **chosen) for graph in graphs]


def _explanations(index: GraphIndex, result: SearchResult, explain: bool) -> list[str | None]:
    return [str(index.explain(result.query, hit)) if explain else None for hit in result]


def _what_counts(index: GraphIndex, certified: bool) -> str:
    if certified:
        return "the edit distance counts nodes, edges and every attribute that the graphs have"
    return index.model.featurizer_.describe()


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


def _jsonable(result: SearchResult, words: Sequence[str | None]) -> dict[str, Any]:
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
    return (draw_hits(result) if suffix == ".svg" else page_of_hits(result)).encode(errors="backslashreplace")
