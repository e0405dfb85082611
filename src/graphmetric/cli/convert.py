"""``graphmetric convert``."""

from __future__ import annotations

import warnings

import click

from graphmetric.cli.sources import open_source
from graphmetric.errors import ConversionWarning
from graphmetric.graphs.files import formats, write_graphs

EPILOG = """\b
Examples:
  graphmetric convert molecules.smi molecules.gmg
  graphmetric convert MUTAG/ mutag.jsonl.gz
  graphmetric convert AIDS700nef aids.gmg --root data/
"""


def _format_help() -> str:
    return "Formats: " + ", ".join(format_.name for format_ in formats()) + "."


@click.command(epilog=EPILOG, short_help="Turn graphs from one file format into another.")
@click.argument("source")
@click.argument("target")
@click.option("--from", "source_format", help="Format of SOURCE, where its suffix does not tell.")
@click.option("--to", "target_format", help="Format of TARGET, where its suffix does not tell.")
@click.option("--root", type=click.Path(file_okay=False), help="Folder that holds the benchmark data sets.")
@click.option(
    "--edge-labels/--no-edge-labels",
    default=None,
    help="Keep or drop a data set's edge labels; default: as its distances.",
)
def command(
    source: str,
    target: str,
    source_format: str | None,
    target_format: str | None,
    root: str | None,
    edge_labels: bool | None,
) -> None:
    """Read the graphs of SOURCE and write them to TARGET; says what TARGET's format cannot hold."""
    opened = open_source(source, file_format=source_format, root=root, edge_labels=edge_labels)
    with warnings.catch_warnings(record=True) as losses:
        warnings.simplefilter("always", ConversionWarning)
        write_graphs(opened.graphs, target, format=target_format)
    for loss in losses:
        click.echo(f"note: {loss.message}", err=True)
    click.echo(f"{len(opened.graphs):,} graphs written to {target}")
