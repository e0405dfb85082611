"""``graphmetric distance``, ``embed`` and ``evaluate``: predictions of a trained model and their quality."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, check_writable, make_folder
from graphmetric._foundation.limits import check_memory
from graphmetric._foundation.options import format_count, format_csv
from graphmetric.cli.graph_sources import TYPED, GraphCommand, Reading, open_graph, open_source, reading_options
from graphmetric.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    OUT_FILE,
    TIME_LIMIT,
    Encoding,
    device_option,
    encoding_options,
    ignore_option,
    jobs_option,
    json_option,
    model_argument,
    seed_option,
    smiles_option,
    view_option,
)
from graphmetric.cli.output import in_line, output_errors_named, show, show_result, to_json, wants_json
from graphmetric.errors import InvalidArgument, UnknownFormat
from graphmetric.graphs.collection import GraphCollection

if TYPE_CHECKING:
    from graphmetric.learned.learned_distance import LearnedDistance
    from graphmetric.report import ModelEvaluation


@click.command(cls=GraphCommand)
@model_argument
@click.argument("first")
@click.argument("second", required=False)
@view_option
@click.option("--out", type=OUT_FILE, help="Write the matrix of all pairs to this .npy, .npz, .csv or .parquet file.")
@click.option("--align", is_flag=True, help="Also show which nodes correspond, if the model can align graphs.")
@smiles_option
@device_option
@reading_options
@json_option
def distance_command(
    model: str,
    first: str,
    second: str | None,
    view: Any,
    out: str | None,
    align: bool,
    smiles: bool,
    device: str,
    reading: Reading,
) -> None:
    """Compute the distance of FIRST and SECOND according to MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules, programs or unlabelled, which come with the package.

    A graph is a file that holds one graph, or SOURCE:POSITION, where SOURCE is a file, a folder or a data set that
    holds many. With --out and without SECOND, FIRST is such a source, and all its pairs are measured.

    \b
    Examples:
      graphmetric distance unlabelled programs:3 programs:8
      graphmetric distance model/ first.json second.json
      graphmetric distance model/ molecules:3 molecules:8 --view steinhaus
      graphmetric distance model/ CCO CCN --smiles --align
      graphmetric distance model/ my-graphs/ --out distances.csv
    """
    if (second is None) == (out is None):
        raise InvalidArgument("give two graphs, or one source of many and --out FILE for the matrix of all pairs")
    learned = Encoding(1 if out is None else -1, device).load(model)
    if out is not None:
        count = _write_all_pairs(learned, first, out, view, reading)
        show_result(f"distances of {count:,} graphs in {out}", {"graphs": count, "view": view, "out": out})
        return
    g, h = (open_graph(str(text), reading, smiles=smiles) for text in (first, second))
    distance = learned.distance(g, h, view)
    lines, data = [f"{distance:.6g}"], {"distance": distance, "view": view}
    if align:
        found = learned.align(g, h)
        data |= {"node_map": found.node_map, "edits": int(found.upper)}
        lines += ["", f"node map  first -> second, which takes {format_count(int(found.upper), 'edit')}"]
        lines += [f"  {u} -> {'deleted' if v is None else v}" for u, v in enumerate(found.node_map or ())]
    show_result("\n".join(lines), data)


@click.command(cls=GraphCommand)
@model_argument
@click.argument("source")
@click.option("--out", required=True, type=OUT_FILE, help="File for the vectors: .npy or .csv.")
@encoding_options
@reading_options
@json_option
def embed_command(model: str, source: str, out: str, encoding: Encoding, reading: Reading) -> None:
    """Compute a vector for every graph of SOURCE according to MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules, programs or unlabelled, which come with the package.

    A .csv file has one line per graph: its id (or position) and its numbers. A .npy file has the numbers alone.

    \b
    Examples:
      graphmetric embed model/ my-graphs/ --out vectors.npy
      graphmetric embed model/ molecules --out vectors.csv
    """
    path = Path(out)
    if path.suffix not in (".npy", ".csv"):
        raise UnknownFormat("vectors are written as .npy or .csv", path)
    learned = encoding.load(model)
    graphs = open_source(source, reading).graphs
    with encoding.executor() as executor:
        vectors = learned.embed(graphs, executor)
    with atomic_write(path) as file:
        if path.suffix == ".npy":
            np.save(file, vectors)
        else:
            file.write(_as_csv(graphs, vectors).encode(errors="backslashreplace"))
    count, width = vectors.shape
    data = {"vectors": count, "width": width, "out": out}
    show_result(f"{count:,} vectors of {width} numbers written to {out}", data)


def _write_all_pairs(learned: LearnedDistance, source: str, out: str, view: Any, reading: Reading) -> int:
    """Write the matrix and return the number of graphs. Only a ``.npy`` file may be larger than memory."""
    from graphmetric.formats.distance_matrices import check_suffix, write_matrix

    check_suffix(out)
    graphs = open_source(source, reading).graphs
    pairs = len(graphs) ** 2
    if out.endswith(".npy"):
        check_writable(out, size=4 * pairs)
        learned.pairwise(graphs, view=view, out=out)
    else:
        advice = "write a .npy file, which is not held in memory"
        check_memory(12 * pairs, f"a matrix of {len(graphs):,} graphs", advice)
        ids = tuple(str(k if graph.id is None else graph.id) for k, graph in enumerate(graphs))
        write_matrix(out, learned.pairwise(graphs, view=view), ids=ids)
    return len(graphs)


def _as_csv(graphs: GraphCollection, vectors: NDArray[Any]) -> str:
    rows: list[list[Any]] = [["id", *(f"z{k}" for k in range(vectors.shape[1]))]]
    for position, (graph, vector) in enumerate(zip(graphs, vectors, strict=True)):
        rows.append([position if graph.id is None else graph.id, *(f"{number:.9g}" for number in vector)])
    return format_csv(rows, end="\r\n")


@click.command(cls=GraphCommand)
@model_argument
@click.argument("source")
@click.option("--labels", type=FOLDER, help="Folder of `graphmetric label` that holds the true distances.")
@click.option(
    "--queries", type=COUNT, help="Number of query graphs. By default all test graphs, or 100 without a split."
)
@click.option(
    "--label-budget",
    type=COUNT,
    default=50_000,
    help="Pairs whose edit distance is computed if no true distances are known.",
)
@click.option(
    "--time-limit",
    type=TIME_LIMIT,
    default="120",
    metavar="SECONDS",
    help="Seconds for computing them; pairs not proven by then count by their bounds. 'none' means no limit.",
)
@ignore_option(" By default what the model was trained to ignore; anything else is refused.")
@click.option("--report", type=FILE, help="Write a report to this HTML file.")
@jobs_option
@device_option
@seed_option("seed")
@reading_options
@json_option
@click.pass_context
def evaluate_command(
    context: click.Context,
    /,
    model: str,
    source: str,
    labels: str | None,
    report: str | None,
    reading: Reading,
    **options: Any,
) -> None:
    """Measure how well MODEL predicts the distances of the graphs of SOURCE.

    MODEL is a folder that `graphmetric train` wrote, or molecules, programs or unlabelled, which come with the package.

    The test graphs of a data set rank its training and validation graphs. For a file or a folder, some graphs drawn at
    random rank all others. The true distances are those of --labels or of the data set; otherwise they are computed.

    \b
    Examples:
      graphmetric evaluate model/ molecules --report report.html
      graphmetric evaluate model/ my-graphs/ --queries 50 --report report.html
      graphmetric evaluate model/ my-graphs/ --labels labels/ --json
      graphmetric evaluate model/ AIDS700nef --root data/
    """
    from graphmetric.edit_distance import read_labels
    from graphmetric.report import evaluate_model, write_report

    if report is not None:
        make_folder(Path(report).parent)
        check_writable(report)
    opened = open_source(source, reading)
    known = None if labels is None else read_labels(labels, opened.graphs)
    data = opened.dataset or opened.graphs
    found = evaluate_model(model, data, distances=known, name=source, **options)
    if report is not None:
        write_report(found, report, command=context.meta[TYPED])
    if wants_json():
        show(to_json({**found.to_dict(), "report": report}))
        return
    with output_errors_named():
        for line in _in_words(found):
            click.echo(line)  # colours on a terminal, so names are escaped one by one
    if report is not None:
        show(f"report in {report}")


def _in_words(found: ModelEvaluation) -> Iterator[str]:
    from graphmetric.report.page import score_table

    yield f"{len(found.task.queries):,} graphs {found.task.rule}; {found.pairs:,} pairs"
    yield f"true distances: {in_line(found.truth_source)}; {found.proven:.1%} proven\n"
    titles, scores = score_table(found)
    rows = [row[:-1] for row in (titles, *scores)]  # the last column explains the score
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *values in rows:
        columns = (f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True))
        yield "    ".join([f"  {name:<{widths[0]}}", *columns])
    yield ""
    for axiom in found.axioms:
        sign = click.style("holds ", fg="green") if axiom.holds else click.style("broken", fg="red")
        yield f"  {axiom.name:<21}{sign}  {axiom.promise:<17}{axiom.measured}"
    yield ""
    for note in found.notes:
        yield f"note: {in_line(note)}"
