"""``graphmetric search``.

Answers to many queries, written to a file while they come: CSV, or a line of JSON per query.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from graphmetric._foundation.atomic_files import atomic_write, check_writable, system_errors_named
from graphmetric._foundation.progress import progress
from graphmetric.cli.index import known_id
from graphmetric.cli.options import NOT_NEGATIVE, costs_of, ignore_option, time_limit_option
from graphmetric.cli.sources import Reading, open_graph, reading_options, stream_source
from graphmetric.cli.terminal import printable, say, say_json, speaking, to_json, warnings_as_notes
from graphmetric.errors import GraphMetricError, InvalidArgument, UnknownFormat
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from graphmetric.search import GraphIndex, SearchHit, SearchResult

ANSWERS = (".csv", ".jsonl")
_COLUMNS = ("query", "query_id", "rank", "id", "distance")
_CERTIFIED = ("exact", "lower", "upper", "proven")
"""Empty, like the explanation, unless they were asked for: every file has the same columns."""
_SECONDS = 0.5
"""About as long a batch of queries should take: answers are written when it ends."""
_MOST_QUERIES = 256

Answer = Callable[[Sequence[Graph]], Sequence["SearchResult"]]
Explain = Callable[["SearchResult"], Sequence[str | None]]
Describe = Callable[["SearchResult", Sequence[str | None]], dict[str, Any]]


def are_json_lines(out: str, json_lines: bool) -> bool:
    """Whether the answers to ``out`` are JSON lines; raises where the suffix tells neither format."""
    if out == "-":
        return json_lines
    suffix = Path(out).suffix.lower()
    if suffix not in ANSWERS:
        raise UnknownFormat(f"answers are written as {' or '.join(ANSWERS)}, or to - for standard output", out)
    return suffix == ".jsonl"


def write_answers(
    queries: Iterable[Graph],
    total: int | None,
    out: str,
    answer: Answer,
    explain: Explain,
    describe: Describe | None,
) -> dict[str, Any]:
    """Answer the queries one batch after another; what is written stays if the command is stopped.

    Args:
        queries: Read as they are needed.
        total: How many there are, where that is known.
        out: The file, or ``-``.
        answer: Finds the nearest graphs of a batch.
        explain: How a query becomes each hit, in words, or None for each.
        describe: A result as plain data for JSON lines; None writes CSV.

    Returns:
        How many queries and hits there were, as plain data.
    """
    done = {"queries": 0, "hits": 0, "out_of_time": 0}
    started = time.perf_counter()
    try:
        with _opened(out) as file, progress("search", total, "queries") as bar:
            lines = _JsonLines(file, describe) if describe is not None else _Table(file)
            for batch in _batches(queries):
                for result in answer(batch):
                    lines.write(done["queries"], result, explain(result))
                    done["queries"] += 1
                    done["hits"] += len(result)
                    done["out_of_time"] += not result.report.complete
                file.flush()
                bar.advance(len(batch), f"{done['queries']:,} queries answered")
    except BaseException:
        if done["queries"] and out != "-":
            say(f"{done['queries']:,} queries were answered; their hits are in {out}", err=True)
        raise
    return {**done, "seconds": time.perf_counter() - started, "out": out}


def _batches(queries: Iterable[Graph]) -> Iterator[list[Graph]]:
    """Batches that take about half a second each; what stands before a query that cannot be read is answered first."""
    batch: list[Graph] = []
    size, started = 1, time.perf_counter()
    try:
        for query in queries:
            batch.append(query)
            if len(batch) < size:
                continue
            ready, batch = batch, []
            yield ready
            seconds = time.perf_counter() - started
            if seconds < _SECONDS / 2:
                size = min(2 * size, _MOST_QUERIES)
            elif seconds > 2 * _SECONDS:
                size = max(1, size // 2)
            started = time.perf_counter()
    except GraphMetricError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


@contextmanager
def _opened(out: str) -> Iterator[IO[str]]:
    if out == "-":
        with speaking():
            yield _Shown() if sys.stdout.isatty() else sys.stdout
        return
    with (
        system_errors_named(out),
        open(out, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


class _Shown(io.StringIO):
    """A terminal must not obey what is in the names of graphs."""

    def write(self, text: str) -> int:
        return sys.stdout.write(printable(text))

    def flush(self) -> None:
        sys.stdout.flush()


class _JsonLines:
    def __init__(self, file: IO[str], describe: Describe) -> None:
        self._file, self._describe = file, describe

    def write(self, position: int, result: SearchResult, words: Sequence[str | None]) -> None:
        asked = {"query": position, "query_id": _plain(result.query.id)}
        self._file.write(to_json({**asked, **self._describe(result, words)}, lines=True) + "\n")


class _Table:
    def __init__(self, file: IO[str]) -> None:
        self._rows = csv.writer(file, lineterminator="\n")
        self._rows.writerow((*_COLUMNS, *_CERTIFIED, "explanation"))

    def write(self, position: int, result: SearchResult, words: Sequence[str | None]) -> None:
        for rank, (hit, word) in enumerate(zip(result, words, strict=True), 1):
            known = [position, _plain(result.query.id), rank, _plain(hit.id), f"{hit.distance:.7g}"]
            self._rows.writerow([*known, *self._bounds(hit), word])

    @staticmethod
    def _bounds(hit: SearchHit) -> list[Any]:
        numbers = [None if value is None else f"{value:.7g}" for value in (hit.exact, hit.lower, hit.upper)]
        return [*numbers, hit.proven]


def _plain(id: Any) -> Any:
    return id if isinstance(id, str | int | float | None) else str(id)


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
    return index.model.featurizer.describe()


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
