"""``graphmetric embed``."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, check_writable
from graphmetric.cli.options import JOBS
from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import say, warnings_as_notes
from graphmetric.errors import UnknownFormat
from graphmetric.graphs.collection import GraphCollection

EPILOG = """\b
Examples:
  graphmetric embed model/ my-graphs/ --out vectors.npy
  graphmetric embed model/ molecules --out vectors.csv
"""


@click.command(epilog=EPILOG, short_help="A vector for every graph.")
@click.argument("model", type=click.Path(file_okay=False))
@click.argument("source")
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="File for the vectors: .npy or .csv.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@reading_options
def command(model: str, source: str, out: str, jobs: int, reading: Reading) -> None:
    """Embed the graphs of SOURCE by MODEL.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.

    A .csv file has a line per graph: its name (or position) and its numbers. A .npy file has the numbers alone.
    """
    from graphmetric.learned.learned_distance import LearnedDistance

    path = Path(out)
    if path.suffix not in (".npy", ".csv"):
        raise UnknownFormat("vectors are written as .npy or .csv", path)
    check_writable(path)
    learned = LearnedDistance.load(model, n_jobs=jobs)
    graphs = open_source(source, reading).graphs
    with warnings_as_notes():
        vectors = learned.embed(graphs)
    with atomic_write(path) as file:
        if path.suffix == ".npy":
            np.save(file, vectors)
        else:
            file.write(_as_csv(graphs, vectors).encode(errors="backslashreplace"))
    say(f"{len(vectors):,} vectors of {vectors.shape[1]} numbers written to {out}")


def _as_csv(graphs: GraphCollection, vectors: NDArray[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", *(f"z{k}" for k in range(vectors.shape[1]))])
    for position, (graph, vector) in enumerate(zip(graphs, vectors, strict=True)):
        writer.writerow([position if graph.id is None else graph.id, *(f"{number:.9g}" for number in vector)])
    return text.getvalue()
