"""``graphmetric info``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from graphmetric.cli.sources import Reading, open_source, reading_options
from graphmetric.cli.terminal import can_print, in_table, say_json, speaking
from graphmetric.graphs.summary import CollectionSummary, Spread, summarize

EPILOG = """\b
Examples:
  graphmetric info molecules                  an embedded data set
  graphmetric info AIDS700nef --root data/    a benchmark from a folder
  graphmetric info my-graphs/                 a folder of graph files
  graphmetric info set.gmg --json
"""


@click.command(epilog=EPILOG)
@click.argument("source")
@reading_options
@click.option(
    "--edge-labels/--no-edge-labels",
    default=None,
    help="Keep or drop a data set's edge labels; default: as its distances.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(source: str, reading: Reading, edge_labels: bool | None, as_json: bool) -> None:
    """How many graphs SOURCE has, their sizes, labels, isomorphism classes, and what is unusual.

    SOURCE is a file, a folder, a glob pattern, or the name of a data set.
    """
    opened = open_source(source, reading, edge_labels=edge_labels)
    summary = summarize(opened.graphs)
    if as_json:
        say_json({"source": source, "read_as": opened.read_as, **_jsonable(summary)})
    else:
        with speaking():
            print_summary(summary, source, opened.read_as)


def print_summary(summary: CollectionSummary, source: str, read_as: str) -> None:
    """The figures as a table, the sizes as a histogram, the warnings as a list."""
    console = Console()
    bar = "█" if can_print("█") else "#"
    table = Table(
        title=f"{in_table(source)}  ({read_as})", title_justify="left", show_header=False, box=None, padding=(0, 2)
    )
    table.add_row("graphs", f"{summary.graphs:,}")
    table.add_row("isomorphism classes", f"{summary.isomorphism_classes:,}")
    table.add_row("nodes per graph", _spread(summary.nodes))
    table.add_row("edges per graph", _spread(summary.edges))
    table.add_row("node labels", _tally(summary.node_labels))
    table.add_row("edge labels", _tally(summary.edge_labels))
    for name in ("directed", "weighted", "with_self_loops", "disconnected"):
        if count := getattr(summary, name):
            table.add_row(name.replace("_", " "), f"{count:,} graphs")
    if summary.features:
        table.add_row("features per node", str(summary.features))
    table.add_row("an edit distance counts", ", ".join(summary.counts))
    table.add_row("memory", f"{summary.memory_bytes / 1e6:.1f} MB")
    console.print(table)
    console.print(f"\n  nodes  graphs\n{_histogram(summary.size_histogram, bar)}", highlight=False)
    for sentence in summary.unusual:
        console.print(f"  note: {in_table(sentence)}", highlight=False)


def _spread(spread: Spread) -> str:
    return f"{spread.min} .. {spread.max}, mean {spread.mean:.2f}"


def _tally(counts: dict[Any, int], most: int = 8) -> str:
    if not counts:
        return "none"
    shown = ", ".join(f"{in_table(label)} {count:,}" for label, count in list(counts.items())[:most])
    return f"{len(counts)}: {shown}" + (", ..." if len(counts) > most else "")


def _histogram(sizes: dict[int, int], bar: str, rows: int = 12, width: int = 40) -> str:
    if not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    step = max(1, -(-(high - low + 1) // rows))
    bins = dict.fromkeys(range(low, high + 1, step), 0)
    for size, count in sizes.items():
        bins[low + (size - low) // step * step] += count
    largest = max(bins.values())
    lines = []
    for start, count in bins.items():
        name = f"{start}" if step == 1 else f"{start}-{min(start + step - 1, high)}"
        lines.append(f"{name:>7}  {count:>6,}  {bar * -(-count * width // largest)}")
    return "\n".join(lines)


def _jsonable(summary: CollectionSummary) -> dict[str, Any]:
    plain = asdict(summary)
    for name in ("node_labels", "edge_labels"):
        plain[name] = {str(label): count for label, count in plain[name].items()}
    return plain
