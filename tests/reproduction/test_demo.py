"""The tour: what it writes and claims, and that a stopped one goes on."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.cli import main
from graphmetric.edit_distance import Labels
from graphmetric.errors import FileError
from graphmetric.formats.distance_matrices import read_matrix
from graphmetric.graphs.collection import certificates
from graphmetric.reproduction import demo as run
from graphmetric.reproduction.demo import QUICK, TourFolder, gather_material, run_tour, square_matrix
from graphmetric.search import GraphIndex


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished tour: its folder and what it said. Read-only."""
    out, lines = tmp_path_factory.mktemp("tour") / "demo", list[str]()
    run_tour(out, QUICK, lines.append, n_jobs=1)
    return out, "\n".join(lines)


@pytest.mark.slow
def test_every_step_is_told_and_timed(tour: tuple[Path, str]) -> None:
    out, text = tour
    for number in range(1, run.STEPS + 1):
        assert f"[{number}/{run.STEPS}] " in text
    assert text.count(" s)\n") == run.STEPS
    assert "graphmetric train " in text
    assert "BROKEN" not in text
    assert max(len(line.replace(str(out), "demo")) for line in text.splitlines()) <= 110


def test_everything_is_written(tour: tuple[Path, str]) -> None:
    out, text = tour
    assert str(out / "report.html") in text
    for name in ("report.html", "nearest.svg", "nearest-proven.svg", "edits.svg"):
        ElementTree.parse(out / name)
    graphs = gather_material(QUICK.graphs).graphs
    model = gm.GraphDistance.load(out / "model")
    assert model.distance(graphs[0], graphs[0]) == 0
    assert len(GraphIndex.load(out / "index")) == len(gather_material(QUICK.graphs).seen)


def test_repair_made_a_metric_that_is_no_farther_from_the_truth(tour: tuple[Path, str]) -> None:
    out, _ = tour
    before, after = read_matrix(out / "matrix.csv"), read_matrix(out / "matrix-repaired.csv")
    material = gather_material(QUICK.graphs)
    chosen = material.unseen[: QUICK.matrix]
    assert before.ids == after.ids == tuple(str(material.graphs[int(k)].id) for k in chosen)
    excess = after.matrix[:, :, None] - after.matrix[:, None, :] - after.matrix[None, :, :]
    assert excess.max() <= 1e-9
    assert (before.matrix[:, :, None] - before.matrix[:, None, :] - before.matrix[None, :, :]).max() > 0.1
    exact = gm.pairwise_edit_distances(material.graphs[chosen]).distances
    assert np.linalg.norm(after.matrix - exact) < np.linalg.norm(before.matrix - exact)


def test_unseen_graphs_are_unseen() -> None:
    material = gather_material(QUICK.graphs)
    found = certificates(material.graphs)
    assert len(set(found)) == len(material.graphs)
    assert not set(material.seen) & set(material.unseen)
    assert set(material.validating) < set(material.seen)
    assert len(material.seen) + len(material.unseen) == len(material.graphs)
    assert abs(len(material.graphs) - (QUICK.graphs or 0)) <= 2


def test_square_matrix_is_that_of_the_graphs() -> None:
    graphs = gather_material(QUICK.graphs).graphs[:12]
    pairs = np.column_stack(np.triu_indices(12, 1))
    found = gm.pairwise_edit_distances(graphs, pairs=pairs)
    labels = Labels(pairs, found.lower, found.upper)
    chosen = np.array([2, 3, 7, 11])
    assert np.array_equal(square_matrix(labels, chosen), gm.pairwise_edit_distances(graphs[chosen]).distances)


def test_stopped_tour_goes_on(
    tour: tuple[Path, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = tour
    weights = (out / "model" / "model.safetensors").read_bytes()

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setattr(run, "evaluate_model", stop)
    with pytest.raises(SystemExit, match="130"):
        main(["demo", "--quick", "--jobs", "1", "--out", str(out)])
    said = capsys.readouterr()
    assert "goes on where it was" in said.err
    assert "kept from an earlier run" in said.out
    assert (out / "model" / "model.safetensors").read_bytes() == weights


def test_foreign_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FileError, match="other things"):
        TourFolder.claim(tmp_path, QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(FileError, match="is a file"):
        TourFolder.claim(tmp_path / "thesis.tex", QUICK)
    TourFolder.claim(tmp_path / "new", QUICK)
    TourFolder.claim(tmp_path / "new", QUICK)
    with pytest.raises(FileError, match="other options"):
        TourFolder.claim(tmp_path / "new", replace(QUICK, steps=21))
    (tmp_path / "new" / "demo.json").write_text("{")
    with pytest.raises(FileError, match="cannot be read"):
        TourFolder.claim(tmp_path / "new", QUICK)
