"""``graphmetric repair``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from graphmetric._foundation.atomic_files import atomic_write, check_writable
from graphmetric.cli.options import JOBS, POSITIVE, SECONDS
from graphmetric.cli.terminal import say, to_json
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.formats.distance_matrices import StoredMatrix, check_suffix, read_matrix, write_matrix
from graphmetric.metric_repair import (
    RepairResult,
    TriangleViolations,
    draw_repair,
    repair_matrix,
    triangle_violations,
)
from graphmetric.metric_repair.nearness import Matrix
from graphmetric.metric_repair.other_norms import write_known

EPILOG = """\b
Examples:
  graphmetric repair predicted.npy metric.npy
  graphmetric repair predicted.csv metric.csv --known measured.csv --figure repair.png
  graphmetric repair similarities.npz metric.npz --bounds 0 1 --norm linf
  graphmetric repair upper-bounds.npy metric.npy --decrease-only --json
"""

_PICTURES = (".png", ".svg", ".pdf")
_COUNTED_UP_TO = 2_000  # items; of more, violations are estimated from a sample
_SAMPLE = 10_000_000
_COUNTED_AT_ONCE, _SMALL_SAMPLE = 300, 200_000  # items and sample where there is a time limit


class Changes(NamedTuple):
    """How far a repair moved the distances of pairs."""

    pairs: int
    mean: float
    largest: float


_NAMES = {"l2": "L2", "l1": "L1", "linf": "L-infinity"}


@click.command(epilog=EPILOG, short_help="The nearest metric to a matrix of distances.")
@click.argument("given", metavar="IN", type=click.Path(dir_okay=False))
@click.argument("out", metavar="OUT", type=click.Path(dir_okay=False))
@click.option("--known", type=click.Path(dir_okay=False), help="Matrix of true distances, which are kept.")
@click.option(
    "--norm",
    type=click.Choice(list(_NAMES)),
    default="l2",
    show_default=True,
    help="Make small the squares of all changes, their sum (few pairs move), or the largest one.",
)
@click.option("--decrease-only", is_flag=True, help="Only lower distances, to their shortest paths.")
@click.option("--bounds", type=float, nargs=2, help="Least and largest distance of two different items.")
@click.option("--weights", type=click.Path(dir_okay=False), help="Matrix of what a change of each distance costs.")
@click.option(
    "--tolerance", type=POSITIVE, default=1e-6, show_default=True, help="Relative violation and gap to accept."
)
@click.option(
    "--time-limit",
    type=SECONDS,
    help="Seconds of work; then the best so far is written. Reading and writing files is not counted.",
)
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw what happened: .png, .svg or .pdf.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    given: str,
    out: str,
    known: str | None,
    norm: Any,
    decrease_only: bool,
    bounds: tuple[float, float] | None,
    weights: str | None,
    tolerance: float,
    time_limit: float | None,
    figure: str | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Change the distances of IN as little as possible so that the triangle inequality holds, and write OUT.

    IN is a symmetric matrix: .npy, .npz, .csv (with or without names) or .parquet, square or condensed; OUT has the
    form of IN. In KNOWN unknown distances are NaN, or nothing between two commas; IN may lack those that KNOWN has.
    """
    check_suffix(out)
    if figure is not None and Path(figure).suffix.lower() not in _PICTURES:
        raise FileError(f"a figure is a file {', '.join(_PICTURES)}", figure)
    for target in filter(None, (out, figure)):
        check_writable(target)
    stored = read_matrix(given)
    truth = None if known is None else _read_companion(known, stored)
    costs = None if weights is None else _read_companion(weights, stored)
    distances, fixed = _write_known(stored.matrix, truth, given, known)
    started = time.perf_counter()
    before = triangle_violations(distances, worst=1, sample=_sample_for(distances, time_limit), n_jobs=jobs)
    if time_limit is not None and not decrease_only:
        time_limit = max(0.0, time_limit - (time.perf_counter() - started))
    result = repair_matrix(
        distances,
        truth,
        norm=norm,
        decrease_only=decrease_only,
        weights=costs,
        bounds=bounds,
        tolerance=tolerance,
        time_limit=time_limit,
        n_jobs=jobs,
    )
    write_matrix(out, result.matrix, ids=stored.ids, condensed=stored.condensed)
    if figure is not None:
        _draw(figure, distances, result.matrix, Path(given).name)
    moved = _measure_changes(distances, result.matrix)
    known_pairs = 0 if fixed is None else int(fixed.sum()) // 2
    report = _report(before, result, moved, known_pairs) | {"norm": norm, "decrease_only": decrease_only, "out": out}
    say(to_json(report) if as_json else _in_words(report, before, tolerance))
    if not result.converged:
        say("note: stopped before the certificate was reached; the matrix is the best so far", err=True)


def _read_companion(path: str, stored: StoredMatrix) -> Matrix:
    """Another matrix of the same items."""
    other = read_matrix(path)
    if len(other.matrix) != len(stored.matrix):
        raise FileError(f"has {len(other.matrix)} items; IN has {len(stored.matrix)}", path)
    if other.ids is not None and stored.ids is not None and other.ids != stored.ids:
        at = next(k for k, pair in enumerate(zip(other.ids, stored.ids, strict=True)) if pair[0] != pair[1])
        raise FileError(f"item {at} is {other.ids[at]!r}; in IN it is {stored.ids[at]!r}", path)
    return other.matrix


def _write_known(matrix: Matrix, truth: Matrix | None, given: str, known: str | None) -> Any:
    """Predicted distances with the known ones written in; an error names the file that it is in."""
    try:
        return write_known(matrix, truth)
    except InvalidArgument as error:
        raise FileError(str(error), known if str(error).startswith("known") else given) from None


def _sample_for(distances: Matrix, time_limit: float | None) -> int | None:
    if time_limit is not None and len(distances) > _COUNTED_AT_ONCE:
        return _SMALL_SAMPLE
    return None if len(distances) <= _COUNTED_UP_TO else _SAMPLE


def _measure_changes(before: Matrix, after: Matrix) -> Changes:
    """Over pairs, row by row: all at once would take as much memory again as the matrices."""
    total, largest = 0.0, 0.0
    for old, new in zip(before, after, strict=True):
        change = np.abs(new - old)
        total += float(change.sum())
        largest = max(largest, float(change.max(initial=0.0)))
    pairs = len(before) * (len(before) - 1) // 2
    return Changes(pairs, total / 2 / pairs if pairs else 0.0, largest)


def _draw(path: str, before: Matrix, after: Matrix, title: str) -> None:
    picture = draw_repair(before, after, title=title)
    with atomic_write(path) as file:
        picture.savefig(file, format=Path(path).suffix[1:].lower())
    say(f"drawn into {path}", err=True)


def _report(before: TriangleViolations, result: RepairResult, moved: Changes, known_pairs: int) -> dict[str, Any]:
    return {
        "items": len(result.matrix),
        "known_pairs": known_pairs,
        "violated_before": before.count,
        "tested_before": before.tested,
        "share_before": before.share,
        "max_violation_before": before.max_depth,
        "max_violation": result.max_violation,
        "pairs": moved.pairs,
        "changed_pairs": result.changed_pairs,
        "mean_change": moved.mean,
        "max_change": moved.largest,
        "objective": result.objective,
        "duality_gap": result.duality_gap,
        "converged": result.converged,
        "seconds": result.seconds,
    }


def _in_words(report: dict[str, Any], before: TriangleViolations, tolerance: float) -> str:
    lines = [f"before    {before}"]
    if report["max_violation"] <= 0:
        lines.append("after     no triangle inequality is violated")
    else:
        lines.append(f"after     largest violation {report['max_violation']:.2g} ({tolerance:g} relative is accepted)")
    kept = f", {report['known_pairs']:,} known ones kept" if report["known_pairs"] else ""
    lines.append(
        f"moved     {report['changed_pairs']:,} of {report['pairs']:,} pairs, by {report['max_change']:.3g} at most, "
        f"{report['mean_change']:.3g} on average over all{kept}"
    )
    if report["decrease_only"]:
        lines.append("nearest   the largest metric that is nowhere above the given distances")
    else:
        lines.append(
            f"nearest   in {_NAMES[report['norm']]}: objective {report['objective']:.6g}, "
            f"proven to be within {report['duality_gap']:.1e} (relative) of the least possible"
        )
    lines.append(f"written   {report['out']} ({report['items']:,} items, {report['seconds']:.1f} s)")
    return "\n".join(lines)
