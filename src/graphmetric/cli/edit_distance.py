"""``graphmetric ged`` and ``graphmetric label``."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import click

from graphmetric._foundation.atomic_files import write_file
from graphmetric._foundation.executors import dask_client
from graphmetric.cli.graph_sources import (
    GraphCommand,
    Reading,
    open_graph,
    open_source,
    reading_options,
    warn_of_nearly_unique_attributes,
)
from graphmetric.cli.options import (
    OUT_FILE,
    cluster_option,
    ignore_option,
    jobs_option,
    json_option,
    limit_option,
    method_option,
    out_folder_option,
    seed_option,
    smiles_option,
    time_limit_option,
)
from graphmetric.cli.output import show, show_result
from graphmetric.drawing.alignment import draw_alignment
from graphmetric.edit_distance import CommonEdgeSubgraph, EditCosts, EditDistance, graph_edit_distance, mces_distance
from graphmetric.edit_distance.common_subgraph import EdgeWeights
from graphmetric.edit_distance.label_store import label_graphs
from graphmetric.edit_distance.method import TimeLimit
from graphmetric.errors import SearchInterrupted

_PLAIN = (int, float, str, type(None))
_DISTANCES = (
    "What to count: edits; with mces the edges outside of the largest common subgraph; with weighted-mces these "
    "by their bond orders."
)


@click.command(cls=GraphCommand)
@click.argument("first")
@click.argument("second")
@click.option(
    "--distance",
    type=click.Choice(["edits", "mces", "weighted-mces"]),
    default="edits",
    metavar="NAME",
    help=_DISTANCES,
)
@method_option()
@time_limit_option("10 for exact and relaxed", "Seconds after which exact and relaxed return their bounds.")
@ignore_option()
@limit_option()
@smiles_option
@reading_options
@click.option("--plot", type=OUT_FILE, help="Draw both graphs into this SVG file, with matched nodes and edits marked.")
@json_option
def ged_command(
    first: str,
    second: str,
    distance: str,
    method: str,
    time_limit: TimeLimit,
    costs: EditCosts | None,
    limits: dict[str, int] | None,
    smiles: bool,
    reading: Reading,
    plot: str | None,
) -> None:
    """Find the least number of edits that turn FIRST into SECOND, which nodes correspond, and the edits.

    With --distance mces, find the common subgraph that has the most edges, and the number of edges outside of it.

    A graph is a file that holds one graph, or SOURCE:POSITION, where SOURCE is a file, a folder or a data set that
    holds many. Ctrl-C ends the search and prints the bounds found so far.

    \b
    Examples:
      graphmetric ged first.json second.json
      graphmetric ged molecules:3 molecules:8 --plot edits.svg
      graphmetric ged CCO CCN --smiles
      graphmetric ged set.gmg:0 set.gmg:1 --method beam:10
      graphmetric ged molecules:3 molecules:8 --method relaxed
      graphmetric ged molecules:3 molecules:8 --distance mces
      graphmetric ged molecules:3 molecules:8 --limit ring=0 --limit element=2
    """
    if distance != "edits" and (method != "exact" or plot is not None or limits is not None):
        option = "--plot draws edits" if limits is None else "--limit counts edits"
        option = option if method == "exact" else f"--method {method} counts edits"
        raise click.UsageError(f"{option}, not common edges: leave it out, or leave out --distance {distance}.")
    graphs = [open_graph(text, reading, smiles=smiles) for text in (first, second)]
    warn_of_nearly_unique_attributes(graphs, costs)
    try:
        if distance != "edits":
            ignored = (costs or EditCosts()).ignore
            weights: EdgeWeights = None if distance == "mces" else "bond_orders"
            common = mces_distance(*graphs, weights=weights, ignore=ignored, time_limit=time_limit)
            show_result(_common_in_words(common), _common_as_data(common))
            return
        result = graph_edit_distance(*graphs, method=method, costs=costs, limits=limits, time_limit=time_limit)
    except SearchInterrupted as stopped:
        show_result(_in_words(stopped.known), _as_data(stopped.known))
        raise
    show_result(_in_words(result), _as_data(result))
    if plot is not None:
        write_file(plot, draw_alignment(result))
        show(f"drawn into {plot}", err=True)


@click.command(cls=GraphCommand)
@click.argument("source")
@out_folder_option("Folder for the labels.")
@click.option("--pairs", default="all", metavar="CHOICE", help="all, random:N or near:N.")
@method_option()
@time_limit_option("1 for exact and relaxed", "Seconds per pair after which its label is a pair of bounds.")
@ignore_option()
@jobs_option
@cluster_option
@seed_option("random_state", "the choice of pairs")
@reading_options
@json_option
def label_command(
    source: str,
    out: str,
    cluster: str | None,
    reading: Reading,
    **options: Any,
) -> None:
    """Compute the edit distances of pairs of the graphs of SOURCE, as labels to train or evaluate with.

    Results are saved every second: after Ctrl-C or a crash, the same command continues where it was. With --cluster the
    workers of a dask scheduler compute them, and all pairs take no more memory here than the graphs.

    \b
    Examples:
      graphmetric label molecules --pairs random:20000 --out labels/
      graphmetric label my-graphs/ --pairs near:5000 --time-limit 0.5 --out labels/
      graphmetric label AIDS700nef --root data/ --pairs all --out labels/
      graphmetric label my-graphs/ --cluster tcp://scheduler:8786 --out labels/
    """
    graphs = open_source(source, reading).graphs
    warn_of_nearly_unique_attributes(graphs, options["costs"])
    started = time.perf_counter()
    if cluster is None:
        labels = label_graphs(graphs, out, **options)
        pairs, exact = len(labels), int(labels.exact.sum())
    else:
        with dask_client(cluster) as client:
            stored = label_graphs(graphs, out, executor=client, **options)
        pairs, exact = len(stored), stored.count_exact()
    seconds = time.perf_counter() - started
    known = "all exact" if exact == pairs else f"{exact:,} exact, {pairs - exact:,} only bounds"
    counts = {"graphs": len(graphs), "pairs": pairs, "exact_pairs": exact, "pairs_with_bounds": pairs - exact}
    data = {**counts, "exact": exact / pairs if pairs else 1.0, "seconds": seconds, "out": out}
    show_result(f"{pairs:,} pairs of {len(graphs):,} graphs: {known}, in {out} ({seconds:.1f} s)", data)


def _in_words(result: EditDistance) -> str:
    if result.impossible:
        which = "that the costs allow" if result.limits is None else "within the limits"
        lines = [f"distance  infinite (exact): no edits {which} lead from the first graph to the second"]
    elif result.exact:
        lines = [f"distance  {result.upper:g} (exact)"]
    else:
        lines = [f"distance  between {result.lower:g} and {result.upper:g}"]
    if not result.exact or result.value != result.upper:
        lines.append(f"answer    {result.value:g}")
    if result.note is not None:
        lines.append(f"note      {result.note}")
    work = "steps" if result.method == "relaxed" else "nodes expanded"
    lines.append(f"method    {result.method}, {1000 * result.seconds:.1f} ms, {result.nodes_expanded} {work}")
    if result.node_map is None:
        return "\n".join(lines)
    lines += ["", "node map  first -> second"]
    for u, v in enumerate(result.node_map):
        target = "deleted" if v is None else _named(v, result.second.node_labels)
        lines.append(f"  {_named(u, result.first.node_labels)} -> {target}")
    path = result.edit_path
    assert path is not None
    edits = [f"  {k}. {edit}" for k, edit in enumerate(path, 1)]
    heading = f"edits     {path.counts}" if edits else "edits     none: the graphs are the same"
    return "\n".join([*lines, "", heading, *edits])


def _common_in_words(common: CommonEdgeSubgraph) -> str:
    known = f"{common.upper:g} (exact)" if common.exact else f"between {common.lower:g} and {common.upper:g}"
    lines = [f"distance  {known}"]
    if common.note is not None:
        lines.append(f"note      {common.note}")
    lines.append(f"common    {common.size} of {common.first.num_edges} and {common.second.num_edges} edges")
    lines += [f"similar   {common.similarity:.3f}", "", "node map  first -> second"]
    for u, v in enumerate(common.node_map):
        if v is not None:
            lines.append(f"  {_named(u, common.first.node_labels)} -> {_named(v, common.second.node_labels)}")
    return "\n".join(lines)


def _common_as_data(common: CommonEdgeSubgraph) -> dict[str, Any]:
    names = ("lower", "upper", "exact", "size", "similarity", "note", "node_map", "common_edges")
    return {name: getattr(common, name) for name in names}


def _named(node: int, labels: tuple[Any, ...] | None) -> str:
    return f"{node}" if labels is None else f"{node} {labels[node]}"


def _as_data(result: EditDistance) -> dict[str, Any]:
    names = ("lower", "upper", "value", "exact", "impossible", "method", "note", "seconds", "nodes_expanded")
    data = {**{name: getattr(result, name) for name in names}, "limits": result.limits, "node_map": result.node_map}
    path, edits = result.edit_path, []
    if path is None:
        return {**data, "edit_counts": None, "edits": []}
    for edit, place in zip(path, path.places, strict=True):
        plain = {key: value if isinstance(value, _PLAIN) else str(value) for key, value in asdict(edit).items()}
        edits.append({"edit": str(edit), "kind": type(edit).__name__, "place": place, **plain})
    return {**data, "edit_counts": asdict(path.counts), "edits": edits}
