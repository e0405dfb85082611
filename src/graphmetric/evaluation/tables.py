"""Tables of many runs: one per protocol, mean and spread over the seeds, with published numbers above them.

The published numbers are in ``published.csv``, in plain units: the paper's Table 1, and the tables of the works that
rank as SimGNN does (protocol A).
"""

from __future__ import annotations

import csv
import io
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.run_record import RunRecord
from graphmetric.evaluation.scores import format_score, title_of

METRICS = ("rho", "tau", "p@10", "p@20", "mse", "mae")
"""The columns of a table for which there are values."""


class ScoreColumn(NamedTuple):
    """One score on one data set."""

    dataset: str
    metric: str


class ScoreCell(NamedTuple):
    """The mean of runs that differ only in their seeds."""

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
    """Where published numbers come from; None for runs."""
    cells: dict[ScoreColumn, ScoreCell]

    @property
    def runs(self) -> str:
        """How many runs the cells are means of, as a number or a range; empty for published numbers."""
        counts = sorted({cell.runs for cell in self.cells.values() if cell.runs is not None})
        return "-".join(map(str, dict.fromkeys([*counts[:1], *counts[-1:]])))


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """Methods as rows, data set x score as columns; all of one protocol."""

    protocol: str
    columns: tuple[ScoreColumn, ...]
    rows: tuple[TableRow, ...]

    def to_markdown(self) -> str:
        """The table for people: three decimals, squared errors in thousandths, ``mean ± spread``."""
        head = ["method", *(f"{dataset} {title_of(metric)}" for dataset, metric in self.columns), "runs", "source"]
        lines = [head, ["---"] * len(head)]
        for row in self.rows:
            cells = [_show(column.metric, row.cells.get(column)) for column in self.columns]
            lines.append([row.method, *cells, row.runs, row.source or ""])
        return "\n".join([f"## Protocol {self.protocol}", "", *map(_markdown_line, lines)]) + "\n"

    def to_csv(self) -> str:
        """The table for programs: plain units, every digit, empty where there is no value."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        head = [f"{dataset} {metric} {what}" for dataset, metric in self.columns for what in ("mean", "spread", "runs")]
        writer.writerow(["protocol", "method", "source", *head])
        for row in self.rows:
            found = (row.cells.get(column) for column in self.columns)
            values = [value for cell in found for value in (cell or (None, None, None))]
            writer.writerow([self.protocol, row.method, row.source, *values])
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """What one source reports for one method on one data set under one protocol."""

    method: str
    dataset: str
    protocol: str
    scores: Mapping[str, float]
    """By the names of :meth:`Scores.to_dict`."""
    source: str
    """Where it is from, and what to keep in mind."""


def _read_published() -> tuple[PublishedResult, ...]:
    text = (files(__package__) / "published.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedResult(scores={name: float(row[name]) for name in METRICS if row[name]}, **_words_of(row))
        for row in csv.DictReader(io.StringIO(text))
    )


def _words_of(row: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in row.items() if name not in METRICS}


PUBLISHED = _read_published()
"""Everything in ``published.csv``."""


def find_published(protocol: str, datasets: Sequence[str]) -> list[PublishedResult]:
    """All published results for a protocol and any of these data sets, in the order of the tables."""
    return [result for result in PUBLISHED if result.protocol == protocol and result.dataset in datasets]


def make_tables(
    records: Sequence[RunRecord], *, metrics: Sequence[str] = METRICS, with_published: bool = True
) -> list[ResultTable]:
    """One table per protocol, protocols and methods in the order of the records.

    Published numbers of the same protocol and data sets come first. Runs of one method, data set and protocol are
    averaged; they must differ in their seeds and in nothing else, or InvalidArgument is raised.
    """
    for metric in metrics:
        title_of(metric)  # refuses unknown names
    tables = []
    for protocol in dict.fromkeys(record.protocol for record in records):
        runs = [record for record in records if record.protocol == protocol]
        datasets = list(dict.fromkeys(run.dataset for run in runs))
        present = {(run.dataset, metric) for run in runs for metric in run.scores}
        columns = tuple(ScoreColumn(d, m) for d in datasets for m in metrics if (d, m) in present)
        for run in runs:
            _check_same_but_seeds([r for r in runs if (r.method, r.dataset) == (run.method, run.dataset)])
        published = find_published(protocol, datasets) if with_published else []
        rows = [*_make_rows(published, columns), *_make_rows(runs, columns)]
        tables.append(ResultTable(protocol, columns, tuple(row for row in rows if row.cells)))
    return tables


def write_tables(folder: str | os.PathLike[str], tables: Iterable[ResultTable]) -> None:
    """Write ``report.md`` with all tables, and ``report-PROTOCOL.csv`` for each."""
    target, found = Path(folder), list(tables)
    make_folder(target)
    texts = {f"report-{''.join(c if c.isalnum() else '-' for c in t.protocol)}.csv": t.to_csv() for t in found}
    texts["report.md"] = "\n".join(table.to_markdown() for table in found)
    for name, text in texts.items():
        with atomic_write(target / name) as file:
            file.write(text.encode())


def _make_rows(entries: Sequence[RunRecord | PublishedResult], columns: Sequence[ScoreColumn]) -> list[TableRow]:
    """One row for each method, with means over its runs."""
    rows = []
    for method in dict.fromkeys(entry.method for entry in entries):
        mine = [entry for entry in entries if entry.method == method]
        cells: dict[ScoreColumn, ScoreCell] = {}
        sources: dict[str, None] = {}
        for column in columns:
            found = [e for e in mine if e.dataset == column.dataset and column.metric in e.scores]
            if values := [entry.scores[column.metric] for entry in found]:
                spread = statistics.stdev(values) if len(values) > 1 else None
                runs = sum(isinstance(entry, RunRecord) for entry in found) or None
                cells[column] = ScoreCell(statistics.fmean(values), spread, runs)
                sources |= {entry.source: None for entry in found if isinstance(entry, PublishedResult)}
        rows.append(TableRow(method, " / ".join(sources) or None, cells))
    return rows


def _check_same_but_seeds(runs: list[RunRecord]) -> None:
    """Refuse runs that differ in more than chance, or that count one run twice: their spread would mean nothing."""
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


def _show(metric: str, cell: ScoreCell | None) -> str:
    if cell is None:
        return ""
    mean = format_score(metric, cell.mean)
    return mean if cell.spread is None else f"{mean} ± {format_score(metric, cell.spread)}"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
