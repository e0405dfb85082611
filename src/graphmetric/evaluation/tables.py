"""Tables of many runs: one per protocol, mean and spread over the seeds, published numbers above."""

from __future__ import annotations

import csv
import io
import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.published import PublishedResult, find_published
from graphmetric.evaluation.run_record import RunRecord
from graphmetric.evaluation.scores import format_score, title_of

METRICS = ("rho", "tau", "p@10", "p@20", "mse", "mae")
"""The columns of a table, as far as there are values."""


class Column(NamedTuple):
    """One score on one data set."""

    dataset: str
    metric: str


class Cell(NamedTuple):
    """The mean of runs that differ in their seeds only."""

    mean: float
    spread: float | None = None
    """Sample standard deviation; None for one run and for published numbers."""
    runs: int | None = None
    """None for published numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRow:
    """One method."""

    method: str
    source: str | None
    """Of published numbers; None for runs."""
    cells: dict[Column, Cell]

    @property
    def runs(self) -> str:
        """How many runs the cells are means of, as a number or a range; empty for published numbers."""
        counts = sorted({cell.runs for cell in self.cells.values() if cell.runs is not None})
        return "-".join(map(str, dict.fromkeys([*counts[:1], *counts[-1:]])))


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """Methods as rows, data set x score as columns; all of one protocol."""

    protocol: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]

    def to_markdown(self) -> str:
        """For people: three decimals, squared errors in thousandths, ``mean ± spread``."""
        head = ["method", *(f"{dataset} {title_of(metric)}" for dataset, metric in self.columns), "runs", "source"]
        lines = [head, ["---"] * len(head)]
        for row in self.rows:
            cells = [_show(column.metric, row.cells.get(column)) for column in self.columns]
            lines.append([row.method, *cells, row.runs, row.source or ""])
        return "\n".join([f"## Protocol {self.protocol}", "", *map(_markdown_line, lines)]) + "\n"

    def to_csv(self) -> str:
        """For programs: plain units, every digit, empty where there is no value."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        head = [f"{dataset} {metric} {what}" for dataset, metric in self.columns for what in ("mean", "spread", "runs")]
        writer.writerow(["protocol", "method", "source", *head])
        for row in self.rows:
            found = (row.cells.get(column) for column in self.columns)
            values = [value for cell in found for value in (cell or (None, None, None))]
            writer.writerow([self.protocol, row.method, row.source, *values])
        return text.getvalue()


def make_tables(
    records: Sequence[RunRecord], *, metrics: Sequence[str] = METRICS, with_published: bool = True
) -> list[ResultTable]:
    """One table per protocol, protocols and methods in the order of the records.

    Published numbers of the same protocol and data sets come first. Runs of one method, data set and protocol are
    averaged; they must differ in their seeds and in nothing else, or InvalidArgument is raised.
    """
    for metric in metrics:
        title_of(metric)  # refuses unknown names
    protocols = dict.fromkeys(record.protocol for record in records)
    return [
        _make_table(name, [r for r in records if r.protocol == name], metrics, with_published) for name in protocols
    ]


def write_report(folder: str | os.PathLike[str], tables: Iterable[ResultTable]) -> None:
    """Write ``report.md`` with all tables, and ``report-PROTOCOL.csv`` for each."""
    target, found = Path(folder), list(tables)
    make_folder(target)
    texts = {f"report-{''.join(c if c.isalnum() else '-' for c in t.protocol)}.csv": t.to_csv() for t in found}
    texts["report.md"] = "\n".join(table.to_markdown() for table in found)
    for name, text in texts.items():
        with atomic_write(target / name) as file:
            file.write(text.encode())


def _make_table(protocol: str, records: list[RunRecord], metrics: Sequence[str], with_published: bool) -> ResultTable:
    datasets = list(dict.fromkeys(record.dataset for record in records))
    present = {Column(record.dataset, metric) for record in records for metric in record.scores}
    columns = tuple(Column(d, m) for d in datasets for m in metrics if Column(d, m) in present)
    published = find_published(protocol, datasets) if with_published else []
    rows = [*_published_rows(published, columns), *_measured_rows(records, columns)]
    return ResultTable(protocol, columns, tuple(row for row in rows if row.cells))


def _published_rows(results: list[PublishedResult], columns: Sequence[Column]) -> list[TableRow]:
    rows = []
    for method in dict.fromkeys(result.method for result in results):
        mine = {result.dataset: result for result in results if result.method == method}
        cells = {c: Cell(mine[c.dataset].scores[c.metric]) for c in columns if _has(mine.get(c.dataset), c.metric)}
        sources = dict.fromkeys(mine[column.dataset].source for column in cells)
        rows.append(TableRow(method, " / ".join(sources), cells))
    return rows


def _has(result: PublishedResult | None, metric: str) -> bool:
    return result is not None and metric in result.scores


def _measured_rows(records: list[RunRecord], columns: Sequence[Column]) -> list[TableRow]:
    rows = []
    for method in dict.fromkeys(record.method for record in records):
        by_dataset = {
            dataset: [record for record in records if (record.method, record.dataset) == (method, dataset)]
            for dataset in dict.fromkeys(column.dataset for column in columns)
        }
        for runs in by_dataset.values():
            _check_same_but_seeds(runs)
        found = {c: [run.scores[c.metric] for run in by_dataset[c.dataset] if c.metric in run.scores] for c in columns}
        rows.append(TableRow(method, None, {column: _average(values) for column, values in found.items() if values}))
    return rows


def _average(values: list[float]) -> Cell:
    spread = statistics.stdev(values) if len(values) > 1 else None
    return Cell(statistics.fmean(values), spread, len(values))


def _check_same_but_seeds(runs: list[RunRecord]) -> None:
    """A mean over runs that differ in more than chance, or that counts one run twice, would be no spread of seeds."""
    for run in runs[1:]:
        if _settings(run) != _settings(runs[0]):
            raise InvalidArgument(
                f"runs of {run.method!r} on {run.dataset} differ in their configuration: {_settings(runs[0])} and "
                f"{_settings(run)}; give them different method names"
            )
    seeds = [sorted(run.seeds.items()) for run in runs]
    for k, found in enumerate(seeds):
        if found in seeds[:k]:
            raise InvalidArgument(
                f"two runs of {runs[k].method!r} on {runs[k].dataset} have the same seeds {dict(found)}: keep one"
            )


def _settings(run: RunRecord) -> dict[str, Any]:
    return {name: value for name, value in run.configuration.items() if name not in run.seeds}


def _show(metric: str, cell: Cell | None) -> str:
    if cell is None:
        return ""
    mean = format_score(metric, cell.mean)
    return mean if cell.spread is None else f"{mean} ± {format_score(metric, cell.spread)}"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
