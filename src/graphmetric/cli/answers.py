"""Answers to many queries, written to a file while they come: CSV, or a line of JSON per query."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from graphmetric.atomic import system_errors_named
from graphmetric.cli.notes import printable
from graphmetric.cli.terminal import say, speaking, to_json
from graphmetric.errors import GraphMetricError, UnknownFormat
from graphmetric.graphs.graph import Graph
from graphmetric.progress import progress

if TYPE_CHECKING:
    from graphmetric.search import SearchHit, SearchResult

ANSWERS = (".csv", ".jsonl")
_COLUMNS = ("query", "query_id", "rank", "id", "distance")
_CERTIFIED = ("exact", "lower", "upper", "proven")
"""Empty, like the explanation, unless they were asked for: every file has the same columns."""
_SECONDS = 0.5
"""About as long a batch of queries should take: answers are written when it ends."""
_MOST_QUERIES = 256

Answer = Callable[[Sequence[Graph]], Sequence["SearchResult"]]
Explain = Callable[["SearchResult"], Sequence[str | None]]
Describe = Callable[["SearchResult", Sequence[str | None]], dict[str, Any]]


def are_json_lines(out: str, json_lines: bool) -> bool:
    """Whether the answers to ``out`` are JSON lines; raises where the suffix tells neither format."""
    if out == "-":
        return json_lines
    suffix = Path(out).suffix.lower()
    if suffix not in ANSWERS:
        raise UnknownFormat(f"answers are written as {' or '.join(ANSWERS)}, or to - for standard output", out)
    return suffix == ".jsonl"


def write_answers(
    queries: Iterable[Graph],
    total: int | None,
    out: str,
    answer: Answer,
    explain: Explain,
    describe: Describe | None,
) -> dict[str, Any]:
    """Answer the queries one batch after another; what is written stays if the command is stopped.

    Args:
        queries: Read as they are needed.
        total: How many there are, where that is known.
        out: The file, or ``-``.
        answer: Finds the nearest graphs of a batch.
        explain: How a query becomes each hit, in words, or None for each.
        describe: A result as plain data for JSON lines; None writes CSV.

    Returns:
        How many queries and hits there were, as plain data.
    """
    done = {"queries": 0, "hits": 0, "out_of_time": 0}
    started = time.perf_counter()
    try:
        with _opened(out) as file, progress("search", total, "queries") as bar:
            lines = _JsonLines(file, describe) if describe is not None else _Table(file)
            for batch in _batches(queries):
                for result in answer(batch):
                    lines.write(done["queries"], result, explain(result))
                    done["queries"] += 1
                    done["hits"] += len(result)
                    done["out_of_time"] += not result.report.complete
                file.flush()
                bar.advance(len(batch), f"{done['queries']:,} queries answered")
    except BaseException:
        if done["queries"] and out != "-":
            say(f"{done['queries']:,} queries were answered; their hits are in {out}", err=True)
        raise
    return {**done, "seconds": time.perf_counter() - started, "out": out}


def _batches(queries: Iterable[Graph]) -> Iterator[list[Graph]]:
    """Batches that take about half a second each; what stands before a query that cannot be read is answered first."""
    batch: list[Graph] = []
    size, started = 1, time.perf_counter()
    try:
        for query in queries:
            batch.append(query)
            if len(batch) < size:
                continue
            ready, batch = batch, []
            yield ready
            seconds = time.perf_counter() - started
            if seconds < _SECONDS / 2:
                size = min(2 * size, _MOST_QUERIES)
            elif seconds > 2 * _SECONDS:
                size = max(1, size // 2)
            started = time.perf_counter()
    except GraphMetricError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


@contextmanager
def _opened(out: str) -> Iterator[IO[str]]:
    if out == "-":
        with speaking():
            yield _Shown() if sys.stdout.isatty() else sys.stdout
        return
    with (
        system_errors_named(out),
        open(out, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


class _Shown(io.StringIO):
    """A terminal must not obey what is in the names of graphs."""

    def write(self, text: str) -> int:
        return sys.stdout.write(printable(text))

    def flush(self) -> None:
        sys.stdout.flush()


class _JsonLines:
    def __init__(self, file: IO[str], describe: Describe) -> None:
        self._file, self._describe = file, describe

    def write(self, position: int, result: SearchResult, words: Sequence[str | None]) -> None:
        asked = {"query": position, "query_id": _plain(result.query.id)}
        self._file.write(to_json({**asked, **self._describe(result, words)}, lines=True) + "\n")


class _Table:
    def __init__(self, file: IO[str]) -> None:
        self._rows = csv.writer(file, lineterminator="\n")
        self._rows.writerow((*_COLUMNS, *_CERTIFIED, "explanation"))

    def write(self, position: int, result: SearchResult, words: Sequence[str | None]) -> None:
        for rank, (hit, word) in enumerate(zip(result, words, strict=True), 1):
            known = [position, _plain(result.query.id), rank, _plain(hit.id), f"{hit.distance:.7g}"]
            self._rows.writerow([*known, *self._bounds(hit), word])

    @staticmethod
    def _bounds(hit: SearchHit) -> list[Any]:
        numbers = [None if value is None else f"{value:.7g}" for value in (hit.exact, hit.lower, hit.upper)]
        return [*numbers, hit.proven]


def _plain(id: Any) -> Any:
    return id if isinstance(id, str | int | float | None) else str(id)
