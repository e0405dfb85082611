"""``graphmetric ged``."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from graphmetric._foundation.atomic_files import atomic_write, check_writable
from graphmetric.cli.options import costs_of, ignore_option, time_limit_option
from graphmetric.cli.sources import Reading, open_graph, reading_options, warn_of_unequal_numbers
from graphmetric.cli.terminal import say, to_json
from graphmetric.drawing.alignment import draw_alignment
from graphmetric.edit_distance import EditDistance, graph_edit_distance
from graphmetric.edit_distance.registry import METHODS, TimeLimit
from graphmetric.errors import SearchInterrupted

EPILOG = """\b
Examples:
  graphmetric ged first.json second.json
  graphmetric ged molecules:3 molecules:8 --plot edits.svg
  graphmetric ged CCO CCN --smiles
  graphmetric ged set.gmg:0 set.gmg:1 --method beam:10
"""


@click.command(epilog=EPILOG, short_help="Edit distance of two graphs, and the edits.")
@click.argument("first")
@click.argument("second")
@click.option(
    "--method", default="exact", show_default=True, help=f"One of {', '.join(METHODS)}; beam:10 sets a width."
)
@time_limit_option("10 for the exact search", "Seconds after which the exact search gives the bounds it has.")
@ignore_option()
@click.option("--smiles", is_flag=True, help="FIRST and SECOND are SMILES.")
@reading_options
@click.option(
    "--plot", type=click.Path(dir_okay=False), help="Draw both graphs, matched and marked, into this SVG file."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    first: str,
    second: str,
    method: str,
    time_limit: TimeLimit,
    ignore: tuple[str, ...],
    smiles: bool,
    reading: Reading,
    plot: str | None,
    as_json: bool,
) -> None:
    """The least number of edits that turn FIRST into SECOND, how nodes correspond, and the edits.

    A graph is a file with one graph, or SOURCE:POSITION where SOURCE is a file, folder or data set with many. Ctrl-C
    ends the search and prints the bounds that are known by then.
    """
    if plot is not None:
        check_writable(plot)
    graphs = [open_graph(text, reading, smiles=smiles) for text in (first, second)]
    warn_of_unequal_numbers(graphs, ignore)
    try:
        result = graph_edit_distance(*graphs, method=method, costs=costs_of(ignore), time_limit=time_limit)
    except SearchInterrupted as stopped:
        _tell(stopped.known, as_json)
        raise
    _tell(result, as_json)
    if plot is not None:
        with atomic_write(Path(plot)) as file:
            file.write(draw_alignment(result).encode(errors="backslashreplace"))
        say(f"drawn into {plot}", err=True)


def _tell(result: EditDistance, as_json: bool) -> None:
    say(to_json(_jsonable(result)) if as_json else _in_words(result))


def _in_words(result: EditDistance) -> str:
    if result.impossible:
        lines = ["distance  infinite (exact): no edits that the costs allow lead from the first graph to the second"]
    elif result.exact:
        lines = [f"distance  {result.upper:g} (exact)"]
    else:
        lines = [f"distance  between {result.lower:g} and {result.upper:g}", f"answer    {result.value:g}"]
    if result.note is not None:
        lines.append(f"note      {result.note}")
    lines.append(f"method    {result.method}, {1000 * result.seconds:.1f} ms, {result.nodes_expanded} nodes expanded")
    if result.node_map is not None:
        lines += ["", "node map  first -> second"]
        labels, new_labels = result.first.node_labels, result.second.node_labels
        for u, v in enumerate(result.node_map):
            target = "deleted" if v is None else f"{v}{_label(new_labels, v)}"
            lines.append(f"  {u}{_label(labels, u)} -> {target}")
        lines += ["", "edits"]
        lines += [f"  {k}. {edit}" for k, edit in enumerate(result.edit_path or (), 1)] or [
            "  none: the graphs are the same"
        ]
    return "\n".join(lines)


def _label(labels: tuple[Any, ...] | None, node: int) -> str:
    return "" if labels is None else f" {labels[node]}"


def _jsonable(result: EditDistance) -> dict[str, Any]:
    told = ("lower", "upper", "value", "exact", "method", "note", "nodes_expanded")
    numbers = {name: getattr(result, name) for name in told}
    for name in ("lower", "upper", "value"):
        numbers[name] = numbers[name] if math.isfinite(numbers[name]) else None  # JSON has no infinity
    numbers["impossible"] = result.impossible
    edits = [
        {"edit": str(edit), "kind": type(edit).__name__, **_plain(asdict(edit))} for edit in result.edit_path or ()
    ]
    return {**numbers, "seconds": result.seconds, "node_map": result.node_map, "edits": edits}


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, int | float | str | None) else str(value) for key, value in fields.items()}
