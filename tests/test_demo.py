"""The demo: what it writes and claims, and that a stopped one goes on."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric import demo as module
from graphmetric.cli import main
from graphmetric.demo import QUICK, claim_folder, load_molecules, run_demo, square_matrix
from graphmetric.errors import FileError
from graphmetric.formats.distance_matrices import read_matrix
from graphmetric.graphs.collection import certificates
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.search import GraphIndex

pytestmark = pytest.mark.slow  # every test needs a training


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished demo: its folder and what it said. Read-only."""
    out, lines = tmp_path_factory.mktemp("finished") / "demo", list[str]()
    run_demo(out, QUICK, lines.append, n_jobs=1)
    return out, "\n".join(lines)


def test_every_step_is_told_and_timed(demo: tuple[Path, str]) -> None:
    out, text = demo
    for number in range(1, module.STEPS + 1):
        assert f"[{number}/{module.STEPS}] " in text
    assert text.count(" s)\n") == module.STEPS
    assert "graphmetric train " in text
    assert "BROKEN" not in text
    assert max(len(line.replace(str(out), "demo")) for line in text.splitlines()) <= 110


def test_everything_is_written(demo: tuple[Path, str]) -> None:
    out, text = demo
    assert str(out / "report.html") in text
    for name in ("report.html", "nearest.svg", "nearest-proven.svg", "edits.svg"):
        ElementTree.parse(out / name)
    graphs = load_molecules(QUICK.graphs).graphs
    model = gm.GraphDistance.load(out / "model")
    assert model.distance(graphs[0], graphs[0]) == 0
    data = load_molecules(QUICK.graphs)
    assert len(GraphIndex.load(out / "index")) == len(data.train) + len(data.val)


def test_repair_made_a_metric_that_is_no_farther_from_the_truth(demo: tuple[Path, str]) -> None:
    out, _ = demo
    before, after = read_matrix(out / "matrix.csv"), read_matrix(out / "matrix-repaired.csv")
    molecules = load_molecules(QUICK.graphs)
    chosen = np.sort(molecules.test)[: QUICK.matrix]
    assert before.ids == after.ids == tuple(str(molecules.graphs[int(k)].id) for k in chosen)
    excess = after.matrix[:, :, None] - after.matrix[:, None, :] - after.matrix[None, :, :]
    assert excess.max() <= 1e-9
    assert (before.matrix[:, :, None] - before.matrix[:, None, :] - before.matrix[None, :, :]).max() > 0.1
    exact = gm.pairwise_edit_distances(molecules.graphs[chosen]).distances
    assert np.linalg.norm(after.matrix - exact) < np.linalg.norm(before.matrix - exact)


def test_unseen_graphs_are_unseen() -> None:
    molecules = load_molecules(QUICK.graphs)
    found = certificates(molecules.graphs)
    assert len(set(found)) == len(molecules.graphs)
    parts = [set(part.tolist()) for part in molecules.split]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(molecules.graphs)
    assert abs(len(molecules.graphs) - (QUICK.graphs or 0)) <= 2


def test_square_matrix_is_that_of_the_graphs() -> None:
    graphs = load_molecules(QUICK.graphs).graphs[:12]
    pairs = np.column_stack(np.triu_indices(12, 1))
    found = gm.pairwise_edit_distances(graphs, pairs=pairs)
    labels = PairBounds(pairs, found.lower, found.upper)
    chosen = np.array([2, 3, 7, 11])
    assert np.array_equal(square_matrix(labels, chosen), gm.pairwise_edit_distances(graphs[chosen]).distances)


def test_stopped_demo_goes_on(
    demo: tuple[Path, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = demo
    weights = (out / "model" / "model.safetensors").read_bytes()

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setattr(module, "evaluate_model", stop)
    with pytest.raises(SystemExit, match="130"):
        main(["demo", "--quick", "--jobs", "1", "--out", str(out)])
    said = capsys.readouterr()
    assert "goes on where it was" in said.err
    assert "kept from an earlier run" in said.out
    assert (out / "model" / "model.safetensors").read_bytes() == weights


def test_foreign_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FileError, match="other things"):
        claim_folder(tmp_path, QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(FileError, match="is a file"):
        claim_folder(tmp_path / "thesis.tex", QUICK)
    claim_folder(tmp_path / "new", QUICK)
    claim_folder(tmp_path / "new", QUICK)
    with pytest.raises(FileError, match="other options"):
        claim_folder(tmp_path / "new", replace(QUICK, steps=21))
    (tmp_path / "new" / "demo.json").write_text("{")
    with pytest.raises(FileError, match="cannot be read"):
        claim_folder(tmp_path / "new", QUICK)


def test_the_demo_prints_json(demo: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = demo
    main(["demo", "--quick", "--jobs", "1", "--out", str(out), "--json"])
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert (report["out"], report["data"]) == (str(out), "molecules")
    assert report["scores"]["raw"]["mae"] > 0
    assert "[1/7] Read the molecules" in said.err
