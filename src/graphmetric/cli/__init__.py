"""The ``graphmetric`` command. The module of a subcommand is imported only when it is called."""

from __future__ import annotations

import gc
import logging
import os
import sys
from importlib import import_module
from typing import Any

import click

from graphmetric import __version__
from graphmetric.cli.output import PlainFormatter, explain_error, flush_output, prepare_streams, warnings_as_notes

COMMANDS = {
    "demo": "Show the whole method on a thousand molecules, in a few minutes.",
    "info": "Describe the graphs of a file, a folder or a data set.",
    "convert": "Convert graphs from one file format to another.",
    "ged": "Compute the edit distance of two graphs, and list the edits.",
    "label": "Compute the edit distances of many pairs of graphs into a folder.",
    "train": "Learn a distance from your graphs.",
    "evaluate": "Measure how good a model is, and write a report.",
    "distance": "Compute the learned distance of two graphs, or of all pairs.",
    "embed": "Compute a vector for every graph.",
    "index": "Index graphs so that they can be searched.",
    "search": "Find the nearest graphs of an index, with proof if you like.",
    "serve": "Serve an index over HTTP, with a page to draw and search.",
    "repair": "Find the metric that is nearest to a distance matrix.",
    "doctor": "Show versions, extras and the state of this installation.",
}
_MODULES = {
    **dict.fromkeys(("info", "convert"), "graph_files"),
    **dict.fromkeys(("ged", "label"), "edit_distance"),
    **dict.fromkeys(("distance", "embed", "evaluate"), "learned"),
}
"""The modules of commands that share one; each of the others has the name of its module."""
_MOVED = {
    "reproduce": "the experiments of the paper are a distribution of their own: install graphmetric-research and run "
    "`graphmetric-research EXPERIMENT`"
}
"""Commands of earlier versions, and where they are now."""


class _LazyGroup(click.Group):
    """Knows its commands by name, so that ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _MOVED:
            raise click.UsageError(_MOVED[cmd_name])
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{__name__}.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name="graphmetric")
@click.option("-v", "--verbose", is_flag=True, help="Log every step to standard error.")
@click.pass_context
def cli(context: click.Context, verbose: bool) -> None:
    """Learn and compute distances between graphs.

    \b
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
      graphmetric serve molecules --open
      graphmetric repair predicted.npy metric.npy

    `graphmetric COMMAND --help` explains a command.
    """
    prepare_logging(context, verbose=verbose)


def prepare_logging(context: click.Context, *, verbose: bool = False) -> None:
    """Send log lines and warnings to standard error as long as a command runs."""
    context.with_resource(warnings_as_notes())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter("%(message)s"))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])
    for library in ("numba", "faiss"):  # they log too much
        logging.getLogger(library).setLevel(logging.WARNING)


def main(arguments: list[str] | None = None) -> Any:
    """Run a command of ``graphmetric``."""
    return run_program(cli, "graphmetric", arguments)


def run_program(program: click.Command, name: str, arguments: list[str] | None = None) -> Any:
    """Run a program; an error of the user or the machine becomes one line, and a traceback means a bug of ours."""
    # OpenMP reads this when torch, faiss or scikit-learn load it: its threads should sleep while they wait.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    prepare_streams()
    threshold = gc.get_threshold()
    gc.set_threshold(100_000, *threshold[1:])  # with the usual 700, importing torch takes .4 s more
    try:
        result = program.main(args=arguments, prog_name=name, standalone_mode=False)
        flush_output()
        return result
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (explained, with its traceback if it is unknown)
        sys.exit(explain_error(error))
    finally:
        gc.set_threshold(*threshold)
