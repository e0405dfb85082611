"""Matrices in blocks are the direct pairs, in memory and in a file, also after a stop."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from graphmetric.distance import Comparison, distance_matrix, pair_distances, write_distance_matrix
from graphmetric.distance import matrix as matrix_module
from graphmetric.errors import FileError, InvalidArgument
from tests.distance.random_representations import HEADS, random_graphs, random_head

every_head = pytest.mark.parametrize("name", HEADS)


@pytest.fixture(params=[(3, 2, 1), (4, 3, 100), (1000, 64, 2**20)], ids=["tiny", "small", "default"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(("BLOCK_ROWS", "TILE_ROWS", "TILE_VALUES"), request.param, strict=True):
        monkeypatch.setattr(matrix_module, name, value)


@pytest.mark.slow
@every_head
@pytest.mark.usefixtures("blocks")
@torch.no_grad()
def test_matrix_is_the_direct_pairs(name: str) -> None:
    head, left, right = random_head(name), random_graphs(11, 1), random_graphs(35, 2)
    rows, columns = torch.cartesian_prod(torch.arange(11), torch.arange(35)).T
    direct = head(left.take(rows), right.take(columns)).reshape(11, 35).numpy()
    comparison = Comparison.prepare(head, left, right, view=head.scale)
    assert distance_matrix(comparison) == pytest.approx(direct, rel=1e-6, abs=1e-12)
    pairs = torch.stack([rows, columns], dim=1).numpy()
    assert pair_distances(comparison, pairs) == pytest.approx(direct.ravel(), rel=1e-6, abs=1e-12)


@every_head
@pytest.mark.usefixtures("blocks")
def test_square_matrix_is_the_rectangular_one(name: str) -> None:
    head, graphs = random_head(name), random_graphs(37, 3)
    square = distance_matrix(Comparison.prepare(head, graphs))
    assert square == pytest.approx(distance_matrix(Comparison.prepare(head, graphs, graphs)), rel=1e-6, abs=1e-12)
    assert np.array_equal(square, square.T)
    assert not square.diagonal().any()


@pytest.mark.usefixtures("blocks")
def test_each_distance_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    original = Comparison.table

    def count(self: Comparison, rows: slice, columns: slice) -> torch.Tensor:
        nonlocal asked
        asked += (rows.stop - rows.start) * (columns.stop - columns.start)
        return original(self, rows, columns)

    monkeypatch.setattr(Comparison, "table", count)
    distance_matrix(Comparison.prepare(random_head("matching"), random_graphs(37, 3)))
    within_tiles = 37 * matrix_module.TILE_ROWS
    assert asked <= min(37 * 37, 37 * 38 // 2 + within_tiles)


def test_into_an_array_that_is_given(tmp_path: Path) -> None:
    comparison = Comparison.prepare(random_head("block norm"), random_graphs(9), random_graphs(5, 1))
    given = np.memmap(tmp_path / "raw.bin", dtype=np.float32, mode="w+", shape=(9, 5))
    steps: list[int] = []
    assert distance_matrix(comparison, out=given, advance=steps.append) is given
    assert np.array_equal(given, distance_matrix(comparison))
    assert sum(steps) == 9
    with pytest.raises(InvalidArgument, match=r"float32 of shape \(9, 5\); got float64"):
        distance_matrix(comparison, out=np.empty((9, 5)))  # type: ignore[arg-type]


class Stop(Exception):
    pass


@pytest.mark.parametrize("rows_before_stop", [4, 8, 20])
@pytest.mark.parametrize("square", [True, False])
def test_a_stopped_file_goes_on(tmp_path: Path, rows_before_stop: int, square: bool) -> None:
    head, graphs = random_head("matching"), random_graphs(20, 1)
    comparison = Comparison.prepare(head, graphs, None if square else random_graphs(13, 2))
    target, seen = tmp_path / "new folder" / "d.npy", []

    def stop(rows: int) -> None:
        seen.append(rows)
        if sum(seen) >= rows_before_stop:
            raise Stop

    with pytest.raises(Stop):
        write_distance_matrix(comparison, target, advance=stop, block_rows=4)
    assert not target.exists()
    scratch = np.load(f"{target}.part", mmap_mode="r+")
    scratch[rows_before_stop:] = np.nan  # whatever a crash left behind
    scratch.flush()
    seen.clear()
    written = write_distance_matrix(comparison, target, advance=seen.append, block_rows=4)
    assert seen[0] == rows_before_stop
    assert sum(seen) == 20
    assert np.array_equal(written, distance_matrix(comparison))
    assert sorted(path.name for path in target.parent.iterdir()) == ["d.npy"]
    assert written.dtype == np.float32


def test_a_file_of_another_job_is_refused(tmp_path: Path) -> None:
    head, graphs = random_head("block norm"), random_graphs(20, 1)

    def stop(rows: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        write_distance_matrix(Comparison.prepare(head, graphs), tmp_path / "d.npy", advance=stop, block_rows=4)
    others = [
        Comparison.prepare(random_head("block norm", seed=1), graphs),
        Comparison.prepare(head, random_graphs(20, 2)),
        Comparison.prepare(head, graphs, view="steinhaus"),
        Comparison.prepare(head, graphs, certificates=np.arange(20).astype(str)),
    ]
    for other in others:
        with pytest.raises(InvalidArgument, match="other graphs or another model"):
            write_distance_matrix(other, tmp_path / "d.npy")
    (tmp_path / "d.npy.part.json").write_text("{")
    with pytest.raises(FileError, match="not a readable marker"):
        write_distance_matrix(Comparison.prepare(head, graphs), tmp_path / "d.npy")


def test_a_replaced_part_is_refused(tmp_path: Path) -> None:
    comparison = Comparison.prepare(random_head("block norm"), random_graphs(4))
    np.save(tmp_path / "d.npy.part", np.zeros((2, 2)))
    (tmp_path / "d.npy.part.npy").rename(tmp_path / "d.npy.part")
    marker = {"digest": comparison.digest(), "shape": [4, 4], "rows": 1}
    (tmp_path / "d.npy.part.json").write_text(json.dumps(marker))
    with pytest.raises(FileError, match="instead of float32"):
        write_distance_matrix(comparison, tmp_path / "d.npy")


def test_pairs_are_checked() -> None:
    comparison = Comparison.prepare(random_head("block norm"), random_graphs(4), random_graphs(6))
    assert pair_distances(comparison, []).shape == (0,)
    assert pair_distances(comparison, [[3, 5]]).shape == (1,)
    for pairs, message in (
        ([[0, 1], [4, 0]], r"pairs\[1\] is \(4, 0\); there are 4 rows and 6 columns"),
        ([[0, -1]], r"pairs\[0\]"),
        ([0, 1], r"shape \(n, 2\)"),
        ([[0.0, 1.0]], "integers"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            pair_distances(comparison, pairs)
