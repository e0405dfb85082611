"""The ``graphmetric`` command. Each subcommand is a module here, imported only when it is called."""

from __future__ import annotations

import gc
import logging
import os
import sys
from importlib import import_module
from typing import Any

import click

from graphmetric import __version__
from graphmetric.cli.terminal import PlainFormatter, explain, finish_output, prepare_streams, warnings_as_notes

COMMANDS = {
    "demo": "A tour on the embedded molecules, in a few minutes.",
    "info": "What is in a file, folder or data set of graphs.",
    "convert": "Turn graphs from one file format into another.",
    "ged": "Edit distance of two graphs, and the edits.",
    "label": "Edit distances of many pairs, resumable, into a folder.",
    "train": "Learn a distance from a folder of graphs.",
    "evaluate": "How good a model is on graphs, and a report to look at.",
    "distance": "Learned distance of two graphs, or of all pairs.",
    "embed": "A vector for every graph.",
    "index": "Index graphs for searching.",
    "search": "Nearest graphs of an index, by learned or certified edit distance.",
    "repair": "The nearest metric to a matrix of distances.",
    "reproduce": "Run the paper's table and figure, and tables beyond it.",
    "doctor": "Versions, threads and extras of this installation.",
}

EPILOG = """\b
Examples:
  graphmetric demo
  graphmetric info my-graphs/ --json
  graphmetric convert molecules.smi molecules.gmg
  graphmetric ged molecules:3 molecules:8 --plot edits.svg
  graphmetric label my-graphs/ --pairs random:10000 --out labels/
  graphmetric train my-graphs/ --out model/
  graphmetric evaluate model/ my-graphs/ --report report.html
  graphmetric distance model/ molecules:3 molecules:8
  graphmetric embed model/ my-graphs/ --out vectors.npy
  graphmetric index model/ my-graphs/ --out idx/
  graphmetric search idx/ molecules:3 --certified --plot nearest.svg
  graphmetric search idx/ queries.smi --out hits.csv
  graphmetric repair predicted.npy metric.npy
"""


class _LazyGroup(click.Group):
    """Knows its commands by name, so that ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="graphmetric")
@click.option("-v", "--verbose", is_flag=True, help="Log what is being done to standard error.")
def cli(verbose: bool) -> None:
    """Learn and compute distances between graphs."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(PlainFormatter("%(message)s"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[lines])
    for talkative in ("numba", "faiss"):
        logging.getLogger(talkative).setLevel(logging.WARNING)


def main(arguments: list[str] | None = None) -> Any:
    """Entry point: what the user or the machine causes is told in a line; a traceback means a fault of ours."""
    # Read when OpenMP is loaded, by torch, faiss or scikit-learn: its threads should sleep while they wait.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    prepare_streams()
    collect_after = gc.get_threshold()
    gc.set_threshold(100_000, *collect_after[1:])  # importing torch with the usual 700 takes .4 s more
    try:
        with warnings_as_notes():
            result = cli.main(args=arguments, prog_name="graphmetric", standalone_mode=False)
        finish_output()
        return result
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (told, with its traceback if it is unknown)
        sys.exit(explain(error))
    finally:
        gc.set_threshold(*collect_after)
