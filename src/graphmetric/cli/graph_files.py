"""``graphmetric info`` and ``graphmetric convert``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.graph_sources import GraphCommand, Reading, open_source, reading_options
from graphmetric.cli.options import edge_labels_option, json_option
from graphmetric.cli.output import can_print, in_line, show_result
from graphmetric.formats import write_graphs
from graphmetric.graphs.summary import CollectionSummary, MinMeanMax, summarize


@click.command(cls=GraphCommand)
@click.argument("source")
@reading_options
@edge_labels_option
@json_option
def info_command(source: str, reading: Reading, edge_labels: bool | None) -> None:
    """Describe the graphs of SOURCE: their number, sizes, labels, isomorphism classes, and anything unusual.

    SOURCE is a file, a folder, a glob pattern, or the name of a data set.

    \b
    Examples:
      graphmetric info molecules                  an embedded data set
      graphmetric info AIDS700nef --root data/    a benchmark from a folder
      graphmetric info my-graphs/                 a folder of graph files
      graphmetric info set.gmg --json
    """
    opened = open_source(source, reading, edge_labels=edge_labels)
    summary = summarize(opened.graphs)
    plain = asdict(summary)
    for name in ("node_labels", "edge_labels"):
        plain[name] = {str(label): count for label, count in plain[name].items()}
    title = f"{in_line(source)}  ({opened.read_as})"
    show_result(f"{title}\n{_in_words(summary)}", {"source": source, "read_as": opened.read_as, **plain})


@click.command(cls=GraphCommand)
@click.argument("source")
@click.argument("target")
@click.option("--to", "target_format", metavar="NAME", help="Format of TARGET, if its suffix does not say it.")
@reading_options
@edge_labels_option
@json_option
def convert_command(
    source: str, target: str, target_format: str | None, reading: Reading, edge_labels: bool | None
) -> None:
    """Read the graphs of SOURCE and write them to TARGET. A note lists what the format of TARGET cannot hold.

    \b
    Examples:
      graphmetric convert molecules.smi molecules.gmg
      graphmetric convert MUTAG/ mutag.jsonl.gz
      graphmetric convert AIDS700nef aids.gmg --root data/
    """
    if target != "-":
        check_writable(target, folder=not Path(target).suffix)
    graphs = open_source(source, reading, edge_labels=edge_labels).graphs
    write_graphs(graphs, target, format=target_format)
    show_result(f"{len(graphs):,} graphs written to {target}", {"graphs": len(graphs), "out": target})


def _in_words(summary: CollectionSummary) -> str:
    """The figures as a table, the sizes as a histogram, and what is unusual as notes."""
    rows = {
        "graphs": f"{summary.graphs:,}",
        "isomorphism classes": f"{summary.isomorphism_classes:,}",
        "nodes per graph": _spread(summary.nodes),
        "edges per graph": _spread(summary.edges),
        "node labels": _tally(summary.node_labels),
        "edge labels": _tally(summary.edge_labels),
    }
    for name in ("directed", "weighted", "with_self_loops", "disconnected"):
        if count := getattr(summary, name):
            rows[name.replace("_", " ")] = f"{count:,} graphs"
    if summary.features:
        rows["features per node"] = str(summary.features)
    rows["an edit distance counts"] = ", ".join(summary.counts)
    rows["memory"] = f"{summary.memory_bytes / 1e6:.1f} MB"
    table = [f"  {name:<27}{value}" for name, value in rows.items()]
    notes = [f"  note: {in_line(sentence)}" for sentence in summary.unusual]
    return "\n".join([*table, "", "  nodes  graphs", *_histogram(summary.size_histogram), *notes])


def _spread(spread: MinMeanMax) -> str:
    return f"{spread.min} .. {spread.max}, mean {spread.mean:.2f}"


def _tally(counts: dict[Any, int], most: int = 8) -> str:
    if not counts:
        return "none"
    shown = ", ".join(f"{in_line(label)} {count:,}" for label, count in list(counts.items())[:most])
    return f"{len(counts)}: {shown}" + (", ..." if len(counts) > most else "")


def _histogram(sizes: dict[int, int], rows: int = 12, width: int = 40) -> list[str]:
    if not sizes:
        return []
    low, high = min(sizes), max(sizes)
    step = max(1, -(-(high - low + 1) // rows))
    bins = dict.fromkeys(range(low, high + 1, step), 0)
    for size, count in sizes.items():
        bins[low + (size - low) // step * step] += count
    largest, bar = max(bins.values()), "█" if can_print("█") else "#"
    lines = []
    for start, count in bins.items():
        name = f"{start}" if step == 1 else f"{start}-{min(start + step - 1, high)}"
        lines.append(f"{name:>7}  {count:>6,}  {bar * -(-count * width // largest)}")
    return lines
