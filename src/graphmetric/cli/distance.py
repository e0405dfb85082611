"""``graphmetric distance``."""

from __future__ import annotations

import json
from typing import Any

import click

from graphmetric.cli.notes import warnings_as_notes
from graphmetric.cli.sources import open_graph

EPILOG = """\b
Examples:
  graphmetric distance model/ first.json second.json
  graphmetric distance model/ molecules:3 molecules:8 --view steinhaus
  graphmetric distance model/ CCO CCN --smiles --align
"""


@click.command(epilog=EPILOG, short_help="Learned distance of two graphs.")
@click.argument("model", type=click.Path(file_okay=False))
@click.argument("first")
@click.argument("second")
@click.option(
    "--view",
    type=click.Choice(["raw", "steinhaus", "paper"]),
    default="raw",
    show_default=True,
    help="In edits, or on one of two scales of [0, 1].",
)
@click.option("--align", is_flag=True, help="Show also which nodes correspond, where the model can tell.")
@click.option("--smiles", is_flag=True, help="FIRST and SECOND are SMILES.")
@click.option("--root", type=click.Path(file_okay=False), help="Folder that holds the benchmark data sets.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    model: str, first: str, second: str, view: Any, align: bool, smiles: bool, root: str | None, as_json: bool
) -> None:
    """How far MODEL, a folder that `graphmetric train` wrote, thinks FIRST is from SECOND.

    A graph is a file with one graph, or SOURCE:POSITION where SOURCE is a file, folder or data set with many.
    """
    from graphmetric.estimator import GraphDistance

    learned = GraphDistance.load(model)
    g, h = (open_graph(text, root=root, smiles=smiles) for text in (first, second))
    with warnings_as_notes():
        distance = learned.distance(g, h, view)
        found = learned.align(g, h) if align else None
    if as_json:
        aligned = {} if found is None else {"node_map": found.node_map, "edits": int(found.upper)}
        click.echo(json.dumps({"distance": distance, "view": view, **aligned}, indent=2))
        return
    click.echo(f"{distance:.6g}")
    if found is not None:
        click.echo(f"\nnode map  first -> second, which takes {found.upper:g} edits")
        for u, v in enumerate(found.node_map or ()):
            click.echo(f"  {u} -> {'deleted' if v is None else v}")
