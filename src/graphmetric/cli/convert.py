"""``graphmetric convert``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import say
from graphmetric.formats import write_graphs

EPILOG = """\b
Examples:
  graphmetric convert molecules.smi molecules.gmg
  graphmetric convert MUTAG/ mutag.jsonl.gz
  graphmetric convert AIDS700nef aids.gmg --root data/
"""


@click.command(epilog=EPILOG, short_help="Turn graphs from one file format into another.")
@click.argument("source")
@click.argument("target")
@click.option("--from", "source_format", hidden=True, help="The same as --format.")
@click.option("--to", "target_format", help="Format of TARGET, where its suffix does not tell.")
@reading_options
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
    reading: Reading,
    edge_labels: bool | None,
) -> None:
    """Read the graphs of SOURCE and write them to TARGET; says what TARGET's format cannot hold."""
    if target != "-":
        check_writable(target, folder=not Path(target).suffix)
    if source_format is not None:
        reading = replace(reading, file_format=source_format)
    opened = open_source(source, reading, edge_labels=edge_labels)
    write_graphs(opened.graphs, target, format=target_format)
    say(f"{len(opened.graphs):,} graphs written to {target}")
