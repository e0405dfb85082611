"""``graphmetric search``: the nearest graphs of one query, or of many, whose hits go to a file as they are found."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric._foundation.atomic_files import system_errors_named, write_file
from graphmetric._foundation.limits import paced
from graphmetric._foundation.options import format_count, format_csv, format_number, parse_json
from graphmetric._foundation.progress import progress, verbose_progress
from graphmetric.cli.graph_sources import GraphCommand, Reading, open_graph, reading_options, stream_source
from graphmetric.cli.index import known_id
from graphmetric.cli.options import (
    COUNT,
    FOLDER,
    NOT_NEGATIVE,
    OUT_FILE,
    device_option,
    ignore_option,
    jobs_option,
    json_option,
    limit_option,
    smiles_option,
    time_limit_option,
    view_option,
)
from graphmetric.cli.output import output_errors_named, printable, show, show_result, to_json, wants_json
from graphmetric.errors import InvalidArgument, SearchInterrupted, UnknownFormat
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from graphmetric.edit_distance import EditCosts
    from graphmetric.learned.learned_distance import LearnedDistance
    from graphmetric.search import GraphIndex, SearchHit, SearchResult
    from graphmetric.search.hits import SearchProgress

Search = Callable[[Sequence[Graph]], "list[SearchResult]"]
"""Finds the hits of some queries."""
Explain = Callable[["SearchResult"], "list[str | None]"]
"""Says how the query becomes each hit, or None for each."""

_PICTURES = (".svg", ".png", ".html")
_TABLES = (".csv", ".jsonl")
_WHERE = "Only graphs with this metadata. Can be repeated."
_BATCH_SECONDS = 0.5
"""About how long a batch of queries should take; its hits are written when it ends."""
_LARGEST_BATCH = 256


def _conditions(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign:
            raise InvalidArgument(f"--where takes key=value; got {text!r}")
        try:
            found[key] = parse_json(value)
        except ValueError:
            found[key] = value
    return found or None


@click.command(cls=GraphCommand)
@click.argument("index", type=FOLDER)
@click.argument("query")
@click.option("-k", default=10, type=COUNT, help="Number of graphs to find.")
@click.option(
    "--within",
    "radius",
    type=NOT_NEGATIVE,
    help="Find all graphs up to this distance instead.",
)
@click.option(
    "--certified", is_flag=True, help="Search by edit distance, with proof; always so if the index has no model."
)
@time_limit_option("60 for each query", "Seconds after which a certified search reports what it has proven.")
@view_option
@click.option("--where", multiple=True, metavar="KEY=VALUE", callback=_conditions, help=_WHERE)
@ignore_option(" Needs --certified. By default what the index or its model ignores.")
@limit_option(" Needs --certified.")
@click.option("--distinct", is_flag=True, help="Show only the first of several isomorphic graphs.")
@click.option(
    "--candidates",
    "num_candidates",
    type=COUNT,
    help="Evaluate only this many graphs. Faster, but may miss near ones.",
)
@click.option("--explain", is_flag=True, help="Also show how the query becomes each graph.")
@click.option("--plot", type=OUT_FILE, help="Draw the query and the hits side by side: .svg, .png or .html.")
@click.option(
    "--out",
    type=OUT_FILE,
    help="Search for all graphs of QUERY and write the hits to this .csv or .jsonl file, or to - for standard output.",
)
@smiles_option
@click.option("--id", "by_id", is_flag=True, help="QUERY is the id of a graph of the index.")
@jobs_option
@device_option
@reading_options
@json_option
def search_command(
    index: str,
    query: str,
    k: int,
    radius: float | None,
    explain: bool,
    plot: str | None,
    out: str | None,
    smiles: bool,
    by_id: bool,
    device: str,
    reading: Reading,
    **options: Any,
) -> None:
    """Find the graphs of INDEX that are nearest to QUERY. INDEX is a folder that `graphmetric index` wrote,
    or the address of a database.

    QUERY is a file that holds one graph, or SOURCE:POSITION, where SOURCE is a file, a folder or a data set that holds
    many; - reads standard input, whose format --format must name. With --out, all graphs of QUERY are searched for:
    their hits are written as they are found, and stay if the command is stopped. Ctrl-C ends a certified search and
    prints what it has proven.

    \b
    Examples:
      graphmetric search idx/ molecules:3 -k 10
      graphmetric search idx/ query.json --certified --explain
      graphmetric search idx/ query.json --certified --within 4
      graphmetric search idx/ query.json --certified --within 4 --limit ring=0 --limit element=2
      graphmetric search idx/ "CC(=O)O" --smiles --plot nearest.svg
      graphmetric search idx/ 17 --id --where class=1
      graphmetric search idx/ queries.smi -k 5 --out hits.csv
      graphmetric search "postgresql://me@host/db?index=mine" molecules:3
      cat queries.smi | graphmetric search idx/ - --format smiles --out - --json
    """
    from graphmetric.search import GraphIndex

    _check_targets(plot, out)
    opened = GraphIndex.load(index, device=device)
    options["certified"] |= opened.model is None
    _check_options(options, radius)
    reading = reading.like(opened)
    if "distinguish" not in reading.options and not by_id and (smiles or reading.molecule_options(query) is not None):
        opened.query_reading()  # which warns where it is not known

    def search(graphs: Sequence[Graph], **more: Any) -> list[SearchResult]:
        if radius is None:
            return opened.search(list(graphs), k, **options, **more)  # type: ignore[no-any-return]
        chosen = {name: value for name, value in options.items() if name != "num_candidates"}
        return opened.range_search(list(graphs), radius, **chosen, **more)  # type: ignore[no-any-return]

    def search_batch(graphs: Sequence[Graph]) -> list[SearchResult]:
        with verbose_progress(False if options["certified"] else None):  # the command shows that of all batches
            return search(graphs)

    def explained(result: SearchResult) -> list[str | None]:
        return [str(opened.explain(result.query, hit)) if explain else None for hit in result]

    if out is not None and not by_id and not smiles:
        _answer_all(*stream_source(query, reading), out, search_batch, explained, opened.metadata_keys)
        return
    advice = " or search for all of them with --out hits.csv"
    graph = opened.graph(known_id(opened, query)) if by_id else open_graph(query, reading, smiles=smiles, advice=advice)
    if smiles:
        graph = opened.as_query(graph)
    if out is not None:
        _answer_all([graph], 1, out, search_batch, explained, opened.metadata_keys)
        return

    def show_hits(result: SearchResult) -> None:
        explanations = explained(result)
        counts = _what_counts(opened, None if options["certified"] else opened.model, options["costs"])
        data = {**_as_data(result, explanations), "counts": counts}
        show_result(f"{_in_words(result, explanations)}\n{counts}", data)

    try:
        with progress("search", None) as bar:
            (result,) = search([graph], callback=lambda known: bar.advance(0, _how_far(known)))
    except SearchInterrupted as stopped:
        show_hits(stopped.known[0])
        raise
    show_hits(result)
    if plot is not None:
        write_file(plot, _draw(result, opened.costs, Path(plot).suffix))
        show(f"drawn into {plot}", err=True)


def _check_targets(plot: str | None, out: str | None) -> None:
    """Refuse files of other kinds before anything is searched."""
    if plot is not None and out is not None:
        raise InvalidArgument("--plot draws the hits of one query: leave out --out")
    if plot is not None and Path(plot).suffix not in _PICTURES:
        raise UnknownFormat(f"hits are drawn as {', '.join(_PICTURES)}", plot)
    if out not in (None, "-") and Path(str(out)).suffix.lower() not in _TABLES:
        raise UnknownFormat(f"hits are written as {' or '.join(_TABLES)}, or to - for standard output", out)


def _check_options(options: Mapping[str, Any], radius: float | None) -> None:
    """Refuse options that have no meaning together."""
    if options["costs"] and not options["certified"]:
        raise InvalidArgument("--ignore goes with --certified: a learned distance ignores what its training did")
    if options["limits"] and not options["certified"]:
        raise InvalidArgument("--limit goes with --certified: a learned distance does not count edits")
    if radius is not None and options["num_candidates"] is not None:
        raise InvalidArgument("--within finds all graphs up to a distance: leave out --candidates")


def _how_far(known: SearchProgress) -> str:
    """Format the progress of a certified search as a short line."""
    counts = f"{known.found:,} found, {known.excluded:,} excluded, {known.undecided:,} undecided"
    return (
        counts if known.undecided_lower is None else f"{counts}, none of these nearer than {known.undecided_lower:.4g}"
    )


def _what_counts(index: GraphIndex, model: LearnedDistance | None, costs: EditCosts | None) -> str:
    if model is not None:
        return model.featurizer.describe()
    ignored = (index.costs if costs is None else costs).ignore
    but = f" but {', '.join(sorted(ignored))}" if ignored else ""
    return f"the edit distance counts nodes, edges and every attribute that the graphs have{but}"


def _in_words(result: SearchResult, explanations: list[str | None]) -> str:
    lines = []
    for rank, (hit, explanation) in enumerate(zip(result, explanations, strict=True), 1):
        lines.append(f"{rank:>3}. {_distance(hit):<24} {hit.id}")
        lines += [f"     {line}" for line in (explanation or "").splitlines()]
    return "\n".join([*lines, str(result.report)])


def _distance(hit: SearchHit) -> str:
    from graphmetric.search.hits import spell_distance, spell_proof

    return spell_distance(hit) if hit.proven is None else f"{spell_distance(hit)} ({spell_proof(hit)})"


def _as_data(result: SearchResult, explanations: Sequence[str | None]) -> dict[str, Any]:
    hits = []
    for hit, explanation in zip(result, explanations, strict=True):
        plain: dict[str, Any] = {"id": _plain(hit.id), "distance": hit.distance, "metadata": dict(hit.metadata)}
        if hit.proven is not None:
            plain |= {"exact": hit.exact, "lower": hit.lower, "upper": hit.upper, "proven": hit.proven}
            path = hit.edit_path
            plain["edit_counts"] = None if path is None else asdict(path.counts)
            plain["edits"] = [str(edit) for edit in path or ()]
        hits.append(plain if explanation is None else {**plain, "explanation": explanation})
    report = result.report
    names = ("graphs", "exact", "complete", "undecided", "undecided_lower", "evaluated_fraction", "seconds")
    about = {name: getattr(report, name) for name in names}
    return {"view": result.view, "hits": hits, "report": {**about, "stages": dict(report.stages)}}


def _plain(id: Any) -> Any:
    return id if isinstance(id, str | int | float | None) else str(id)


def _cell(value: Any) -> Any:
    """A value of the metadata as one cell: lists and tables as JSON."""
    return value if isinstance(value, str | int | float | None) else to_json(value, one_line=True)


def _draw(result: SearchResult, costs: EditCosts, suffix: str) -> bytes | str:
    from graphmetric.search.gallery import draw_hits, page_of_hits, picture_of_hits

    if suffix == ".png":
        return picture_of_hits(result)
    return draw_hits(result) if suffix == ".svg" else page_of_hits(result, costs)


def _answer_all(
    queries: Iterable[Graph], total: int | None, out: str, search: Search, explain: Explain, keys: Sequence[str]
) -> None:
    """Search for one batch of queries after another; hits that are written stay if the command is stopped.

    ``keys`` are those of the metadata of the index, the columns of a table after those that every table has; the
    last five of these are empty unless requested.
    """
    from graphmetric.search.hits import HIT_COLUMNS, metadata_column

    is_json = wants_json() if out == "-" else out.lower().endswith(".jsonl")
    describe = _json_line if is_json else partial(_csv_lines, keys)
    done = {"queries": 0, "hits": 0, "out_of_time": 0}
    started = time.perf_counter()
    try:
        with _opened(out) as write, progress("search", total, "queries") as bar:
            if not is_json:
                write(format_csv([[*HIT_COLUMNS, *map(metadata_column, keys)]]))
            for batch in paced(queries, _BATCH_SECONDS, most=_LARGEST_BATCH):
                lines = []
                for result in search(batch):
                    lines.append(describe(done["queries"], result, explain(result)))
                    done["queries"] += 1
                    done["hits"] += len(result)
                    done["out_of_time"] += not result.report.complete
                write("".join(lines))
                bar.advance(len(batch), f"{format_count(done['queries'], 'query', 'queries')} answered")
    except BaseException:
        if done["queries"] and out != "-":
            answered = format_count(done["queries"], "query was", "queries were")
            show(f"{answered} answered; their hits are in {out}", err=True)
        raise
    if not done["queries"]:
        raise InvalidArgument("there is no graph to search for: the source of queries is empty")
    seconds = time.perf_counter() - started
    late = f", {done['out_of_time']:,} of them out of time" if done["out_of_time"] else ""
    text = f"{format_count(done['queries'], 'query', 'queries')} answered in {seconds:.1f} s{late}"
    if out == "-":
        show(text, err=True)
    else:
        show_result(f"{text}; hits in {out}", {**done, "seconds": seconds, "out": out})


@contextmanager
def _opened(out: str) -> Iterator[Callable[[str], object]]:
    """A function that writes text to the file, or to standard output, at once."""
    if out == "-":
        with output_errors_named():
            is_terminal = sys.stdout.isatty()  # which must not obey the names of graphs
            yield lambda text: click.echo(printable(text) if is_terminal else text, nl=False)
        return
    with system_errors_named(out), open(out, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:

        def write(text: str) -> None:
            file.write(text)
            file.flush()

        yield write


def _json_line(position: int, result: SearchResult, explanations: Sequence[str | None]) -> str:
    asked = {"query": position, "query_id": _plain(result.query.id)}
    return to_json({**asked, **_as_data(result, explanations)}, one_line=True) + "\n"


def _csv_lines(keys: Sequence[str], position: int, result: SearchResult, explanations: Sequence[str | None]) -> str:
    rows = []
    for rank, (hit, explanation) in enumerate(zip(result, explanations, strict=True), 1):
        numbers = (hit.distance, hit.exact, hit.lower, hit.upper)
        shown = [None if number is None else format_number(number, 7) for number in numbers]
        row = [position, _plain(result.query.id), rank, _plain(hit.id), *shown, hit.proven, explanation]
        rows.append([*row, *(_cell(hit.metadata.get(key)) for key in keys)])
    return format_csv(rows)
