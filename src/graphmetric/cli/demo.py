"""``graphmetric demo``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from graphmetric.cli.options import jobs_option, json_option, out_folder_option
from graphmetric.cli.output import show, to_json, wants_json


@click.command()
@out_folder_option("Folder for the results.", "demo-output")
@click.option("--quick", is_flag=True, help="Take few molecules and hardly train: done in seconds, with poor numbers.")
@jobs_option
@json_option
def demo_command(out: str, quick: bool, n_jobs: int) -> None:
    """Show the whole method on the embedded molecules: label, train, repair, evaluate, search, and a report.

    After Ctrl-C or a crash, the same command continues where it was. With --json, the explanations go to standard
    error.

    \b
    Examples:
      graphmetric demo
      graphmetric demo --quick --out /tmp/demo
    """
    from graphmetric.demo import QUICK, DemoOptions, run_demo

    try:
        found = run_demo(Path(out), QUICK if quick else DemoOptions(), partial(show, err=wants_json()), n_jobs)
    except KeyboardInterrupt:
        show("nothing is lost: the same command goes on where it was", err=True)
        raise
    if wants_json():
        show(to_json({**found.to_dict(), "out": out}))
