"""``graphmetric demo``."""

from __future__ import annotations

from pathlib import Path

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.options import JOBS
from graphmetric.cli.terminal import say, warnings_as_notes

EPILOG = """\b
Examples:
  graphmetric demo
  graphmetric demo --quick --out /tmp/demo
Stopped by Ctrl-C or a crash, the same command goes on where it was.
"""


@click.command(epilog=EPILOG, short_help="A tour on the embedded molecules, in a few minutes.")
@click.option("--out", default="demo-output", show_default=True, type=click.Path(file_okay=False), help="Results.")
@click.option("--quick", is_flag=True, help="Few molecules and hardly any training: seconds, and bad numbers.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
def command(out: str, quick: bool, jobs: int) -> None:
    """Label, train, repair, evaluate and search on the embedded molecules, and write a report to look at."""
    from graphmetric.reproduction.demo import QUICK, TourOptions, run_tour

    check_writable(out, folder=True)
    try:
        with warnings_as_notes():
            run_tour(Path(out), QUICK if quick else TourOptions(), say, jobs)
    except KeyboardInterrupt:
        say("nothing is lost: the same command goes on where it was", err=True)
        raise
