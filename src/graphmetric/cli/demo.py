"""``graphmetric demo``."""

from __future__ import annotations

import click

from graphmetric.cli.info import print_summary
from graphmetric.graphs.datasets import load_dataset
from graphmetric.graphs.summary import summarize

EMBEDDED = ("molecules", "programs", "atlas")


@click.command()
def command() -> None:
    """Load the embedded data sets and show what is in them."""
    for name in EMBEDDED:
        dataset = load_dataset(name)
        print_summary(summarize(dataset.graphs), name, dataset.description)
        click.echo()
    click.echo("Next: graphmetric info PATH  on a file or folder of your own graphs.")
