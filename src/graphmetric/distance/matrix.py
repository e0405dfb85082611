"""The pair defines the matrix: all distances of a comparison, in blocks, into memory or into a file.

Working memory does not grow with the collection: a table of a few megabytes at a time. Within one collection each
distance is computed once and mirrored, so the matrix is symmetric to the last bit. Only within the tiles of the
diagonal it is computed twice, where finding out which are needed would take longer than most distances do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.atomic_files import make_folder, system_errors_named, write_file
from graphmetric._foundation.options import parse_json
from graphmetric._foundation.threads import map_in_threads
from graphmetric.distance.comparison import Comparison
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.graphs.pair_bounds import as_pairs

BLOCK_ROWS = 1024
"""Rows that are finished, and recorded as such, together."""
TILE_ROWS = 64
TILE_VALUES = 2**20
"""Numbers in the largest intermediate table: 4 MB, for which a core's cache still helps."""

Matrix = NDArray[np.float32]
Advance = Callable[[int], object]


def _ignore(rows: int) -> None:
    """The progress that nobody shows."""


def distance_matrix(comparison: Comparison, out: Matrix | None = None, advance: Advance = _ignore) -> Matrix:
    """All distances, rows by columns, as float32.

    Args:
        comparison: What to compare; see :meth:`Comparison.prepare`.
        out: Where to put them, such as a ``np.memmap``; a new array by default.
        advance: Called with the number of rows whenever some are finished.
    """
    out = np.empty(comparison.shape, dtype=np.float32) if out is None else out
    if out.shape != comparison.shape or out.dtype != np.float32:
        raise InvalidArgument(f"out must be float32 of shape {comparison.shape}; got {out.dtype} of shape {out.shape}")
    for rows in _blocks(0, len(out), BLOCK_ROWS):
        _fill_rows(comparison, out, rows)
        advance(rows.stop - rows.start)
    return out


def write_distance_matrix(
    comparison: Comparison, path: str | os.PathLike[str], advance: Advance = _ignore, block_rows: int | None = None
) -> np.memmap[tuple[int, ...], np.dtype[np.float32]]:
    """All distances into a ``.npy`` file, which may be larger than memory; returns it, mapped read-only.

    The work is done in ``<path>.part``, with ``<path>.part.json`` saying how many rows are finished; a job that was
    stopped goes on from there when it is called again. The file takes its name when it is complete.
    """
    target = Path(path)
    part, marker = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.json")
    wanted = {"digest": comparison.digest(), "shape": list(comparison.shape)}
    done = _read_marker(part, marker, wanted)
    out = _open_or_create(part, comparison.shape, new=done is None)
    if done:
        advance(done)
    for rows in _blocks(done or 0, len(out), block_rows or BLOCK_ROWS):
        _fill_rows(comparison, out, rows)
        out.flush()
        write_file(marker, json.dumps({**wanted, "rows": rows.stop}))
        advance(rows.stop - rows.start)
    del out
    with system_errors_named(target):
        os.replace(part, target)
        marker.unlink(missing_ok=True)
    return np.lib.format.open_memmap(target, mode="r")


def pair_distances(comparison: Comparison, pairs: ArrayLike) -> NDArray[np.float32]:
    """Distances of chosen pairs (n, 2): positions among the rows and among the columns."""
    chosen = as_pairs(pairs)
    wrong = np.flatnonzero(((chosen < 0) | (chosen >= comparison.shape)).any(axis=1))
    if len(wrong):
        raise InvalidArgument(
            f"pairs[{wrong[0]}] is {tuple(chosen[wrong[0]].tolist())}; there are {comparison.shape[0]} rows and "
            f"{comparison.shape[1]} columns, counted from 0"
        )
    positions = torch.from_numpy(chosen.astype(np.int64)).to(comparison.left.graphs.start.device)
    out = np.empty(len(chosen), dtype=np.float32)
    for part in _blocks(0, len(chosen), _tile_pairs(comparison)):
        out[part] = comparison.of_pairs(positions[part]).cpu().numpy()
    return out


def _fill_rows(comparison: Comparison, out: Matrix, rows: slice) -> None:
    """Complete some rows; within one collection all rows above must be complete."""
    if comparison.symmetric:
        for above in _blocks(0, rows.start, BLOCK_ROWS):
            out[rows, above] = out[above, rows].T
    tiles = list(_blocks(rows.start, rows.stop, TILE_ROWS))
    pieces: list[tuple[slice, slice]] = []
    for tile in tiles:
        first = tile.start if comparison.symmetric else 0
        blocks = _blocks(first, out.shape[1], _tile_pairs(comparison) // TILE_ROWS)
        pieces += [(tile, columns) for columns in blocks]

    def fill(piece: tuple[slice, slice]) -> None:
        out[piece] = comparison.table(*piece).cpu().numpy()

    map_in_threads(fill, pieces, parts_are_parallel=True)  # some heads have threads of their own over the pairs
    if comparison.symmetric:
        for tile in tiles:
            _mirror(out[tile.start : rows.stop, tile.start : rows.stop], tile.stop - tile.start)


def _mirror(square: Matrix, finished: int) -> None:
    """Copy the values above the diagonal of the first rows to below it."""
    corner = square[:finished, :finished]
    below = np.tril_indices(finished, -1)
    corner[below] = corner.T[below]
    square[finished:, :finished] = square[:finished, finished:].T


def _blocks(first: int, last: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, last)) for start in range(first, last, size))


def _tile_pairs(comparison: Comparison) -> int:
    return max(TILE_ROWS * 16, TILE_VALUES // max(comparison.head.width, 64))


def _read_marker(part: Path, marker: Path, wanted: Mapping[str, object]) -> int | None:
    """Return the number of finished rows; None if there is nothing to resume."""
    if not (part.exists() and marker.exists()):
        return None
    try:
        found = parse_json(marker.read_bytes())
        rows, known = int(found["rows"]), {key: found[key] for key in wanted}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"not a readable marker, remove it to start again: {error}", marker) from None
    if known != wanted:
        raise InvalidArgument(
            f"{part} belongs to distances of other graphs or another model; remove it, or write elsewhere"
        )
    return rows


def _open_or_create(part: Path, shape: tuple[int, int], new: bool) -> np.memmap[tuple[int, ...], np.dtype[np.float32]]:
    if not new:
        found = np.lib.format.open_memmap(part, mode="r+")
        if found.shape != shape or found.dtype != np.float32:
            raise FileError(f"holds {found.dtype} of shape {found.shape} instead of float32 of shape {shape}", part)
        return found
    make_folder(part.parent)
    try:
        with system_errors_named(part):
            created = np.lib.format.open_memmap(part, mode="w+", dtype=np.float32, shape=shape)
            if hasattr(os, "posix_fallocate"):  # a full disk is an error now instead of a crash when a page is touched
                with open(part, "r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, part.stat().st_size)
    except BaseException:
        part.unlink(missing_ok=True)  # there is nothing in it to go on from
        raise
    return created
