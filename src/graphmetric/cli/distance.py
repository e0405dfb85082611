"""``graphmetric distance``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric._foundation.limits import check_memory
from graphmetric.cli.sources import Reading, open_graph, open_source, reading_options
from graphmetric.cli.terminal import say, say_json, warnings_as_notes
from graphmetric.errors import InvalidArgument

if TYPE_CHECKING:
    from graphmetric.learned.learned_distance import LearnedDistance

EPILOG = """\b
Examples:
  graphmetric distance unlabelled programs:3 programs:8
  graphmetric distance model/ first.json second.json
  graphmetric distance model/ molecules:3 molecules:8 --view steinhaus
  graphmetric distance model/ CCO CCN --smiles --align
  graphmetric distance model/ my-graphs/ --out distances.csv
"""


@click.command(epilog=EPILOG, short_help="Learned distance of two graphs, or of all pairs.")
@click.argument("model", type=click.Path(file_okay=False))
@click.argument("first")
@click.argument("second", required=False)
@click.option(
    "--view",
    type=click.Choice(["raw", "steinhaus", "paper"]),
    default="raw",
    show_default=True,
    help="In edits, or on one of two scales of [0, 1].",
)
@click.option("--out", type=click.Path(dir_okay=False), help="Matrix of all pairs: .npy, .npz, .csv or .parquet.")
@click.option("--align", is_flag=True, help="Show also which nodes correspond, where the model can tell.")
@click.option("--smiles", is_flag=True, help="FIRST and SECOND are SMILES.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str, first: str, second: str | None, view: Any, out: str | None, reading: Reading, **how: bool
) -> None:
    """How far MODEL thinks FIRST is from SECOND.

    MODEL is a folder that `graphmetric train` wrote, or molecules or unlabelled, which come with the package.

    A graph is a file with one graph, or SOURCE:POSITION where SOURCE is a file, folder or data set with many. Without
    SECOND, and with --out: the distances of all graphs of the source FIRST to each other.
    """
    from graphmetric.learned.learned_distance import LearnedDistance

    if (second is None) == (out is None):
        raise InvalidArgument("give two graphs, or one source of many and --out FILE for the matrix of all pairs")
    learned = LearnedDistance.load(model, n_jobs=1 if out is None else -1)
    if second is None or out is not None:
        assert out is not None
        _write_all_pairs(learned, first, out, view, reading)
        return
    g, h = (open_graph(text, reading, smiles=how["smiles"]) for text in (first, second))
    with warnings_as_notes():
        distance = learned.measure(g, h, view)
        found = learned.align(g, h) if how["align"] else None
    if how["as_json"]:
        aligned = {} if found is None else {"node_map": found.node_map, "edits": int(found.upper)}
        say_json({"distance": distance, "view": view, **aligned})
        return
    say(f"{distance:.6g}")
    if found is not None:
        say(f"\nnode map  first -> second, which takes {found.upper:g} edits")
        for u, v in enumerate(found.node_map or ()):
            say(f"  {u} -> {'deleted' if v is None else v}")


def _write_all_pairs(learned: LearnedDistance, source: str, out: str, view: Any, reading: Reading) -> None:
    """A ``.npy`` file may be larger than memory; the other formats also hold the ids of the graphs."""
    from graphmetric.formats.distance_matrices import check_suffix, write_matrix

    check_suffix(out)
    check_writable(out)
    graphs = open_source(source, reading).graphs
    pairs = len(graphs) ** 2
    if out.endswith(".npy"):
        check_writable(out, size=4 * pairs)
    else:
        check_memory(
            12 * pairs, f"a matrix of {len(graphs):,} graphs", "write a .npy file, which is not held in memory"
        )
    with warnings_as_notes():
        if out.endswith(".npy"):
            learned.pairwise(graphs, view=view, out=out)
        else:
            ids = tuple(str(k if graph.id is None else graph.id) for k, graph in enumerate(graphs))
            write_matrix(out, learned.pairwise(graphs, view=view), ids=ids)
    say(f"distances of {len(graphs):,} graphs in {out}")
