"""One record per run, kept as a JSON file: method, data, seeds, versions and scores; and tables of many runs.

There is one table per protocol, with mean and spread over the seeds and published numbers above them. These are in
``published.csv``, in plain units: the paper's Table 1, and the tables of the works that rank as SimGNN does
(protocol A).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from graphmetric._foundation.atomic_files import make_folder, write_file
from graphmetric._foundation.options import format_csv
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.evaluation.scores import format_score, title_of

FORMAT = "graphmetric run"
VERSION = 1


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of one method; it is checked when it is made, and equal after it was written and read."""

    method: str
    """Its name in reports; runs that differ in more than their seeds have different names."""
    dataset: str
    protocol: str
    """One of the names in :mod:`graphmetric_research.protocols`, with any filter of pairs in words."""
    scores: dict[str, float]
    """By the names of :meth:`Scores.to_dict`, in plain units."""
    axioms: dict[str, Any] | None
    """As :meth:`MeasuredAxioms.to_dict` gives them; None if not measured."""
    configuration: dict[str, Any]
    """Every parameter that matters, as plain JSON; only entries named in ``seeds`` differ between runs of a method."""
    seeds: dict[str, int]
    """The seeds by their purpose, such as ``{"random_state": 0}``."""
    versions: dict[str, str]
    """See :func:`graphmetric._foundation.versions.installed_versions`."""
    cpu_seconds: float
    """CPU time of all threads together."""
    wall_seconds: float
    date: str
    """When the run ended, ISO 8601."""

    def __post_init__(self) -> None:
        for name, (is_right, allowed) in _FIELDS.items():
            value = getattr(self, name)
            if not is_right(value):
                raise InvalidArgument(f"{name} of a record must be {allowed}; got {value!r}")
            if isinstance(value, dict):
                object.__setattr__(self, name, _copy_json(value, name))

    def to_json(self) -> str:
        """The text of the file."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> RunRecord:
        """Read the text of :meth:`to_json`; a field that is unknown, missing or wrong is refused."""
        try:
            content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repetition)
        except (ValueError, RecursionError) as error:
            raise FileError(f"is not valid JSON: {error}") from None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise FileError("is not the record of a run")
        if (found := content.pop("version", None)) != VERSION:
            raise FileError(f"has version {found!r}; this graphmetric reads records of version {VERSION}")
        if unknown := [name for name in content if name not in _FIELDS]:
            raise FileError(f"has unknown fields: {', '.join(unknown)}; a record has {', '.join(_FIELDS)}")
        if missing := [name for name in _FIELDS if name not in content]:
            raise FileError(f"lacks the fields {', '.join(missing)}")
        try:
            return cls(**content)
        except InvalidArgument as error:
            raise FileError(str(error)) from None


def write_record(folder: str | os.PathLike[str], record: RunRecord) -> Path:
    """Write a record into a folder of records, under a name of its own, and return the path.

    The name ends in a digest of the content: records of other runs are never overwritten, the same one is.
    """
    target = Path(folder)
    make_folder(target)
    text = record.to_json().encode()
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{record.method} {record.dataset} {record.protocol}")[:80].strip("-")
    path = target / f"{words}-{hashlib.sha256(text).hexdigest()[:12]}.json"
    write_file(path, text)
    return path


def read_record(path: str | os.PathLike[str]) -> RunRecord:
    """Read the record of one file; raises FileError, with the path, if it is not one."""
    try:
        return RunRecord.from_json(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from None
    except FileError as error:
        raise FileError(error.problem, path) from None


def read_records(folder: str | os.PathLike[str]) -> list[RunRecord]:
    """Read all records of a folder, in the order of the file names; any other ``.json`` file is an error."""
    if not Path(folder).is_dir():
        raise FileError("is not a folder of records", folder)
    return [read_record(path) for path in sorted(Path(folder).glob("*.json"))]


def _copy_json(value: Any, name: str) -> Any:
    """A deep copy that shares nothing with the caller; refuses what would come back from a file as something else."""
    try:
        copied = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{name} of a record must be plain JSON: {error}") from None
    if copied != value:
        raise InvalidArgument(
            f"{name} of a record must be plain JSON: tables with texts as keys, lists and no tuples; got {value!r}"
        )
    return copied


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return (isinstance(value, float) or _is_whole(value)) and math.isfinite(value)


def _is_table_of(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(_is_text(k) and is_right(v) for k, v in value.items())


def _is_date(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


_TEXT = (_is_text, "a text that is not empty")
_SECONDS = (lambda value: _is_finite(value) and value >= 0, "a number of seconds, 0 or more")
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "method": _TEXT,
    "dataset": _TEXT,
    "protocol": _TEXT,
    "scores": (_is_table_of(_is_finite), "finite numbers by name"),
    "axioms": (lambda value: value is None or isinstance(value, dict), "a table, or None"),
    "configuration": (lambda value: isinstance(value, dict), "a table"),
    "seeds": (_is_table_of(_is_whole), "whole numbers by name"),
    "versions": (_is_table_of(_is_text), "texts by name"),
    "cpu_seconds": _SECONDS,
    "wall_seconds": _SECONDS,
    "date": (_is_date, "a date in the form of ISO 8601, such as 2026-01-31T12:00:00"),
}
"""What each field of a record may be, as a check and in words."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _refuse_repetition(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(entries)
    if len(found) < len(entries):
        raise ValueError("a name occurs twice in one table")
    return found


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
        head = [f"{dataset} {metric} {what}" for dataset, metric in self.columns for what in ("mean", "spread", "runs")]
        lines: list[list[Any]] = [["protocol", "method", "source", *head]]
        for row in self.rows:
            found = (row.cells.get(column) for column in self.columns)
            values = [value for cell in found for value in (cell or (None, None, None))]
            lines.append([self.protocol, row.method, row.source, *values])
        return format_csv(lines)


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
    found = []
    for row in csv.DictReader(io.StringIO(text)):
        scores = {name: float(value) for name in METRICS if (value := row.pop(name))}
        found.append(PublishedResult(scores=scores, **row))
    return tuple(found)


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
        write_file(target / name, text)


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
