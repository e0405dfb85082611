"""``graphmetric repair``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from graphmetric._foundation.atomic_files import atomic_write
from graphmetric._foundation.options import format_lower, format_number
from graphmetric.cli.options import FILE, OUT_FILE, POSITIVE, SECONDS, jobs_option, json_option
from graphmetric.cli.output import show, show_result
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.formats.distance_matrices import StoredMatrix, check_suffix, read_matrix, write_matrix
from graphmetric.metric_repair import TriangleViolations, draw_repair, repair_matrix, triangle_violations
from graphmetric.metric_repair.nearness import Matrix
from graphmetric.metric_repair.other_norms import write_known

_PICTURES = (".png", ".svg", ".pdf")
_NORMS = {"l2": "L2", "l1": "L1", "linf": "L-infinity"}
_COUNTED_UP_TO = 2_000  # items; with more, violations are estimated from a sample
_SAMPLE = 10_000_000
_COUNTED_AT_ONCE, _SMALL_SAMPLE = 300, 200_000  # the same if there is a time limit


@click.command()
@click.argument("given", metavar="IN", type=FILE)
@click.argument("out", metavar="OUT", type=OUT_FILE)
@click.option("--known", type=FILE, help="Matrix of true distances, which are not changed.")
@click.option(
    "--norm",
    type=click.Choice(list(_NORMS)),
    default="l2",
    help="What to keep small: the squares of all changes, their sum (few pairs move), or the largest one.",
)
@click.option("--decrease-only", is_flag=True, help="Only decrease distances, to the lengths of their shortest paths.")
@click.option("--bounds", type=float, nargs=2, help="Least and largest distance of two different items.")
@click.option("--weights", type=FILE, help="Matrix of the cost of changing each distance.")
@click.option(
    "--tolerance",
    type=POSITIVE,
    default=1e-6,
    help="Largest violation, as a part of the largest distance, and relative gap to accept.",
)
@click.option(
    "--time-limit", type=SECONDS, help="Seconds of work, not counting files; the best matrix found by then is written."
)
@click.option("--figure", type=OUT_FILE, help="Draw the changes into this .png, .svg or .pdf file.")
@jobs_option
@json_option
def repair_command(
    given: str,
    out: str,
    known: str | None,
    weights: str | None,
    time_limit: float | None,
    figure: str | None,
    **options: Any,
) -> None:
    """Change the distances of IN as little as possible so that the triangle inequality holds, and write OUT.

    IN is a symmetric matrix in a .npy, .npz, .csv (with or without names) or .parquet file, square or condensed; OUT
    has the same form. In the matrix of --known, an unknown distance is NaN or left empty; its known distances may be
    missing in IN.

    \b
    Examples:
      graphmetric repair predicted.npy metric.npy
      graphmetric repair predicted.csv metric.csv --known measured.csv --figure repair.png
      graphmetric repair similarities.npz metric.npz --bounds 0 1 --norm linf
      graphmetric repair upper-bounds.npy metric.npy --decrease-only --json
    """
    check_suffix(out)
    if figure is not None and Path(figure).suffix.lower() not in _PICTURES:
        raise FileError(f"a figure is a file {', '.join(_PICTURES)}", figure)
    stored = read_matrix(given)
    truth, costs = (None if path is None else _read_companion(path, stored) for path in (known, weights))
    try:
        distances, fixed = write_known(stored.matrix, truth)
    except InvalidArgument as error:  # name the file that is wrong
        raise FileError(str(error), known if str(error).startswith("known") else given) from None
    started = time.perf_counter()
    sample = _sample_for(distances, time_limit)
    before = triangle_violations(distances, worst=1, sample=sample, n_jobs=options["n_jobs"])
    if time_limit is not None and not options["decrease_only"]:
        time_limit = max(0.0, time_limit - (time.perf_counter() - started))
    result = repair_matrix(distances, truth, weights=costs, time_limit=time_limit, **options)
    write_matrix(out, result.matrix, ids=stored.ids, condensed=stored.condensed)
    if figure is not None:
        picture = draw_repair(distances, result.matrix, title=Path(given).name)
        with atomic_write(figure) as file:
            picture.savefig(file, format=Path(figure).suffix[1:].lower())
        show(f"drawn into {figure}", err=True)
    report = {
        "items": len(distances),
        "known_pairs": 0 if fixed is None else int(fixed.sum()) // 2,
        "violated_before": before.count,
        "tested_before": before.tested,
        "share_before": before.share,
        "max_violation_before": before.max_violation,
        **_measure_changes(distances, result.matrix),
        **{name: options[name] for name in ("norm", "decrease_only")},
        "out": out,
    }
    for name in ("max_violation", "changed_pairs", "objective", "lower_bound", "duality_gap", "converged", "seconds"):
        report[name] = getattr(result, name)
    show_result(_in_words(report, before, options["tolerance"]), report)
    if not result.converged:
        show("note: stopped before the certificate was reached; the matrix is the best found by then", err=True)


def _read_companion(path: str, stored: StoredMatrix) -> Matrix:
    """Another matrix of the same items."""
    other = read_matrix(path)
    if len(other.matrix) != len(stored.matrix):
        raise FileError(f"has {len(other.matrix)} items; IN has {len(stored.matrix)}", path)
    if other.ids is not None and stored.ids is not None and other.ids != stored.ids:
        at = next(k for k, pair in enumerate(zip(other.ids, stored.ids, strict=True)) if pair[0] != pair[1])
        raise FileError(f"item {at} is {other.ids[at]!r}; in IN it is {stored.ids[at]!r}", path)
    return other.matrix


def _sample_for(distances: Matrix, time_limit: float | None) -> int | None:
    if time_limit is not None and len(distances) > _COUNTED_AT_ONCE:
        return _SMALL_SAMPLE
    return None if len(distances) <= _COUNTED_UP_TO else _SAMPLE


def _measure_changes(before: Matrix, after: Matrix) -> dict[str, float]:
    """Return the changes of the distances, row by row: all at once would take as much memory as the matrices."""
    total, largest = 0.0, 0.0
    for old, new in zip(before, after, strict=True):
        change = np.abs(new - old)
        total += float(change.sum())
        largest = max(largest, float(change.max(initial=0.0)))
    pairs = len(before) * (len(before) - 1) // 2
    return {"pairs": pairs, "mean_change": total / 2 / pairs if pairs else 0.0, "max_change": largest}


def _in_words(report: dict[str, Any], before: TriangleViolations, tolerance: float) -> str:
    after = "no triangle inequality is violated"
    if report["max_violation"] > 0:
        after = f"largest violation {report['max_violation']:.2g} of the largest distance ({tolerance:g} is accepted)"
    kept = f", {report['known_pairs']:,} known ones kept" if report["known_pairs"] else ""
    nearest = "the largest metric that is nowhere above the given distances"
    if not report["decrease_only"]:
        nearest = (
            f"in {_NORMS[report['norm']]}: objective {format_number(report['objective'])}; "
            f"the least possible is at least {format_lower(report['lower_bound'])}"
        )
    return (
        f"before    {before}\n"
        f"after     {after}\n"
        f"moved     {report['changed_pairs']:,} of {report['pairs']:,} pairs, by {report['max_change']:.3g} at most, "
        f"{report['mean_change']:.3g} on average over all{kept}\n"
        f"nearest   {nearest}\n"
        f"written   {report['out']} ({report['items']:,} items, {report['seconds']:.1f} s)"
    )
