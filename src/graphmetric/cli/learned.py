"""``graphmetric distance`` and ``graphmetric embed``: what a trained model says about graphs."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, check_writable
from graphmetric._foundation.limits import check_memory
from graphmetric.cli.graph_sources import GraphCommand, Reading, open_graph, open_source, reading_options
from graphmetric.cli.options import FILE, jobs_option, json_option, model_argument, smiles_option, view_option
from graphmetric.cli.output import show_result
from graphmetric.errors import InvalidArgument, UnknownFormat
from graphmetric.graphs.collection import GraphCollection

if TYPE_CHECKING:
    from graphmetric.learned.learned_distance import LearnedDistance


@click.command(cls=GraphCommand)
@model_argument
@click.argument("first")
@click.argument("second", required=False)
@view_option
@click.option("--out", type=FILE, help="Write the matrix of all pairs to this .npy, .npz, .csv or .parquet file.")
@click.option("--align", is_flag=True, help="Also show which nodes correspond, if the model can tell.")
@smiles_option
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
    reading: Reading,
    as_json: bool,
) -> None:
    """Compute the distance of FIRST and SECOND according to MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.

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
    from graphmetric.learned.learned_distance import LearnedDistance

    if (second is None) == (out is None):
        raise InvalidArgument("give two graphs, or one source of many and --out FILE for the matrix of all pairs")
    learned = LearnedDistance.load(model, n_jobs=1 if out is None else -1)
    if out is not None:
        count = _write_all_pairs(learned, first, out, view, reading)
        show_result(f"distances of {count:,} graphs in {out}", {"graphs": count, "view": view, "out": out}, as_json)
        return
    g, h = (open_graph(str(text), reading, smiles=smiles) for text in (first, second))
    distance = learned.measure(g, h, view)
    lines, data = [f"{distance:.6g}"], {"distance": distance, "view": view}
    if align:
        found = learned.align(g, h)
        data |= {"node_map": found.node_map, "edits": int(found.upper)}
        lines += ["", f"node map  first -> second, which takes {found.upper:g} edits"]
        lines += [f"  {u} -> {'deleted' if v is None else v}" for u, v in enumerate(found.node_map or ())]
    show_result("\n".join(lines), data, as_json)


@click.command(cls=GraphCommand)
@model_argument
@click.argument("source")
@click.option("--out", required=True, type=FILE, help="File for the vectors: .npy or .csv.")
@jobs_option
@reading_options
@json_option
def embed_command(model: str, source: str, out: str, n_jobs: int, reading: Reading, as_json: bool) -> None:
    """Compute a vector for every graph of SOURCE according to MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.

    A .csv file has one line per graph: its id (or position) and its numbers. A .npy file has the numbers alone.

    \b
    Examples:
      graphmetric embed model/ my-graphs/ --out vectors.npy
      graphmetric embed model/ molecules --out vectors.csv
    """
    from graphmetric.learned.learned_distance import LearnedDistance

    path = Path(out)
    if path.suffix not in (".npy", ".csv"):
        raise UnknownFormat("vectors are written as .npy or .csv", path)
    check_writable(path)
    learned = LearnedDistance.load(model, n_jobs=n_jobs)
    graphs = open_source(source, reading).graphs
    vectors = learned.embed(graphs)
    with atomic_write(path) as file:
        if path.suffix == ".npy":
            np.save(file, vectors)
        else:
            file.write(_as_csv(graphs, vectors).encode(errors="backslashreplace"))
    count, width = vectors.shape
    data = {"vectors": count, "width": width, "out": out}
    show_result(f"{count:,} vectors of {width} numbers written to {out}", data, as_json)


def _write_all_pairs(learned: LearnedDistance, source: str, out: str, view: Any, reading: Reading) -> int:
    """Write the matrix and return the number of graphs. Only a ``.npy`` file may be larger than memory."""
    from graphmetric.formats.distance_matrices import check_suffix, write_matrix

    check_suffix(out)
    check_writable(out)
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
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", *(f"z{k}" for k in range(vectors.shape[1]))])
    for position, (graph, vector) in enumerate(zip(graphs, vectors, strict=True)):
        writer.writerow([position if graph.id is None else graph.id, *(f"{number:.9g}" for number in vector)])
    return text.getvalue()
