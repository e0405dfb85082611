"""train, distance and embed as a user meets them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.cli import main
from graphmetric.formats.distance_matrices import read_matrix
from graphmetric.training.supervision import MOST_MUTATIONS
from tests.command_line import run

QUICK = ("--preset", "small", "--steps", "5", "--label-budget", "80", "--jobs", "1")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of graphs and nothing else."""
    folder = tmp_path_factory.mktemp("graphs")
    for k, graph in enumerate(gm.load_dataset("molecules").graphs[:12]):
        gm.write_graphs([graph], folder / f"{k:02d}.json")
    return folder


@pytest.fixture(scope="module")
def model(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    main(["train", str(source), "--out", str(folder), *QUICK])
    return folder


def test_a_folder_of_graphs_is_enough(
    capsys: pytest.CaptureFixture[str], source: Path, model: Path, tmp_path: Path
) -> None:
    assert sorted(path.name for path in model.iterdir()) == ["MODEL_CARD.md", "config.json", "model.safetensors"]
    code, text, errors = run(capsys, "train", str(source), "--out", str(tmp_path / "model"), *QUICK)
    assert code == 0, errors
    assert "learned from 11 graphs" in text
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()


def test_budgets_of_time_and_mutations(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    spend = ("--label-budget", "0.05s", "--mutation-edits", "2", "--json")
    code, text, errors = run(capsys, "train", str(source), "--out", str(tmp_path / "model"), *QUICK, *spend)
    assert code == 0, errors
    labels = json.loads(text)["labels"]
    assert 0 < labels["mutated_graphs_in_training_pairs"] <= MOST_MUTATIONS * 11
    assert labels["mutated_graphs_in_training_pairs"] < labels["graphs_in_training_pairs"]
    card = (tmp_path / "model" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "| Mutated graphs in training pairs |" in card
    assert "| CPU seconds |" in card
    code, _, errors = run(capsys, "train", str(source), "--out", str(tmp_path / "x"), *QUICK, "--label-budget", "soon")
    assert code == 1
    assert "such as '90s'" in errors


def test_labels_of_the_label_command(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    labels, out = str(tmp_path / "labels"), str(tmp_path / "model")
    assert run(capsys, "label", str(source), "--pairs", "random:30", "--out", labels, "--jobs", "1")[0] == 0
    code, text, errors = run(capsys, "train", str(source), "--labels", labels, "--out", out, *QUICK, "--json")
    assert code == 0, errors
    report = json.loads(text)
    assert report["labels"]["origin"] == "given"
    assert report["labels"]["training_pairs"] + report["labels"]["validation_pairs"] == 30
    code, _, errors = run(capsys, "train", "molecules", "--labels", labels, "--out", str(tmp_path / "other"), *QUICK)
    assert code == 1
    assert "12 other graphs" in errors


def test_a_model_learns_from_another(
    capsys: pytest.CaptureFixture[str], source: Path, model: Path, tmp_path: Path
) -> None:
    taught = ("train", str(source), "--teacher", str(model), "--head", "block-norm", "--out", str(tmp_path / "vectors"))
    code, text, errors = run(capsys, *taught, *QUICK)
    assert code == 0, errors
    assert f"(measured by {model})" in text
    assert "measured by a teacher" in (tmp_path / "vectors" / "MODEL_CARD.md").read_text(encoding="utf-8")
    code, _, errors = run(capsys, *taught, *QUICK, "--labels", str(tmp_path))
    assert code == 1
    assert "give one of them" in errors


def test_what_is_ignored_in_training_is_ignored_ever_after(
    capsys: pytest.CaptureFixture[str], source: Path, model: Path, tmp_path: Path
) -> None:
    ignoring, idx = tmp_path / "model", tmp_path / "index"
    assert run(capsys, "train", source, "--out", ignoring, *QUICK, "--ignore", "node_labels")[0] == 0
    assert gm.GraphDistance.load(ignoring).costs == gm.EditCosts(ignore=frozenset({"node_labels"}))
    assert "unit costs without node_labels" in (ignoring / "MODEL_CARD.md").read_text(encoding="utf-8")
    code, text, errors = run(capsys, "evaluate", ignoring, source, "--queries", "4", "--jobs", "1")
    assert code == 0, errors
    assert "unit costs without node_labels, by the exact search" in " ".join(text.split())
    code, _, errors = run(capsys, "evaluate", model, source, "--ignore", "node_labels")
    assert (code, "trained for edit distances at unit costs, so it cannot be" in errors) == (1, True)
    run(capsys, "index", ignoring, source, "--out", idx)
    asked = ("search", idx, source / "03.json", "-k", "4", "--json", "--certified")
    found, same = (json.loads(run(capsys, *asked, *more)[1]) for more in ((), ("--ignore", "node_labels")))
    graphs = gm.read_graphs(source)
    exact = sorted(
        gm.graph_edit_distance(graphs[3], g, costs=gm.GraphDistance.load(ignoring).costs).upper for g in graphs
    )
    assert [hit["exact"] for hit in found["hits"]] == [hit["exact"] for hit in same["hits"]] == exact[:4]
    assert "goes with --certified" in run(capsys, "search", idx, source / "03.json", "--ignore", "node_labels")[2]
    labels = tmp_path / "labels"
    run(capsys, "label", source, "--out", labels, "--ignore", "node_labels", "--jobs", "1")
    code, _, errors = run(capsys, "train", source, "--labels", labels, "--out", tmp_path / "x", *QUICK)
    assert (code, "the labels hold distances at EditCosts(ignore=" in errors) == (1, True)
    code, _, errors = run(capsys, "evaluate", model, source, "--labels", labels)
    assert (code, "the labels hold distances at EditCosts(ignore=" in errors) == (1, True)


@pytest.mark.filterwarnings("ignore:graphs have edge labels")  # bonds of a SMILES, which the model does not know
@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_all_pairs_go_into_a_file(
    capsys: pytest.CaptureFixture[str], source: Path, model: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"distances{suffix}"
    _, text, _ = run(capsys, "distance", str(model), str(source), "--out", str(out))
    stored, graphs = read_matrix(out), gm.read_graphs(source)
    assert f"{len(graphs)} graphs" in text
    report = json.loads(run(capsys, "distance", str(model), str(source), "--out", str(out), "--json")[1])
    assert report == {"graphs": len(graphs), "view": "raw", "out": str(out)}
    expected = gm.GraphDistance.load(model).pairwise(graphs)
    assert np.array_equal(stored.matrix.astype(np.float32), expected)


def test_distance_is_that_of_the_model(capsys: pytest.CaptureFixture[str], source: Path, model: Path) -> None:
    a, b = source / "00.json", source / "03.json"
    learned = gm.GraphDistance.load(model)
    g, h = (gm.read_graphs(path)[0] for path in (a, b))
    for view in ("raw", "steinhaus", "paper"):
        report = json.loads(run(capsys, "distance", str(model), str(a), str(b), "--view", view, "--json")[1])
        assert report == {"distance": learned.distance(g, h, view), "view": view}  # type: ignore[arg-type]
    assert float(run(capsys, "distance", str(model), f"{source}:0", f"{source}:0")[1]) == 0
    _, text, errors = run(capsys, "distance", str(model), "CCO", "OCC", "--smiles", "--align")
    assert "takes 0 edits" in text
    assert errors.startswith("note: graphs have edge labels (such as bond types), the training graphs had none")
    assert errors.count("\n") == 1
    report = json.loads(run(capsys, "distance", str(model), str(a), str(b), "--align", "--json")[1])
    assert len(report["node_map"]) == g.num_nodes
    assert report["edits"] >= gm.graph_edit_distance(g, h).upper


def test_vectors_in_both_formats(capsys: pytest.CaptureFixture[str], source: Path, model: Path, tmp_path: Path) -> None:
    graphs = gm.read_graphs(source)
    expected = gm.GraphDistance.load(model).set_params(n_jobs=1).embed(graphs)
    for name in ("vectors.npy", "vectors.csv"):
        code, text, _ = run(capsys, "embed", str(model), str(source), "--out", str(tmp_path / name), "--jobs", "1")
        assert code == 0
        assert "12 vectors of 32 numbers" in text
        _, text, _ = run(capsys, "embed", str(model), str(source), "--out", str(tmp_path / name), "--json")
        assert json.loads(text) == {"vectors": 12, "width": 32, "out": str(tmp_path / name)}
    assert np.array_equal(np.load(tmp_path / "vectors.npy"), expected)
    header, *rows = csv.reader((tmp_path / "vectors.csv").read_text().splitlines())
    assert header[:2] == ["id", "z0"]
    assert [row[0] for row in rows] == [str(graph.id) for graph in graphs]
    assert np.array_equal(np.array([row[1:] for row in rows], dtype=np.float32), expected)


def test_interrupted_training_goes_on(
    capsys: pytest.CaptureFixture[str], source: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    command = ["train", str(source), "--out", str(tmp_path / "model"), *QUICK]
    with monkeypatch.context() as patch:
        patch.setattr(gm.GraphDistance, "_log", stop)
        code, _, errors = run(capsys, *command)
    assert code == 130
    assert "--resume" in errors
    code, _, errors = run(capsys, "distance", str(tmp_path / "model"), f"{source}:0", f"{source}:1")
    assert code == 1
    assert "unfinished" in errors
    assert run(capsys, *command)[0] == 1
    assert run(capsys, *command, "--resume")[0] == 0
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    assert not (tmp_path / "model" / "checkpoint").exists()


def test_a_finished_model_is_not_replaced_unasked(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path
) -> None:
    command = ["train", str(source), "--out", str(tmp_path / "model"), *QUICK]
    assert run(capsys, *command)[0] == 0
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    for more in ([], ["--resume"]):
        code, _, errors = run(capsys, *command, *more)
        assert code == 1
        assert "--overwrite" in errors
    assert run(capsys, *command, "--overwrite", "--seed", "1")[0] == 0
    assert (tmp_path / "model" / "model.safetensors").read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "no-such-folder", "--out", "model"], "no-such-folder"),
        (["train", "molecules", "--out", "model", "--preset", "huge"], "huge"),
        (["train", "molecules", "--out", "occupied"], "mine.txt"),
        (["train", "molecules"], "--out"),
        (["train", "molecules", "--labels", "no-labels", "--out", "model"], "no-labels"),
        (["distance", "no-model", "molecules:0", "molecules:1"], "not a folder of a model"),
        (["distance", "MODEL", "molecules", "molecules:1"], "holds 973 graphs"),
        (["distance", "MODEL", "molecules"], "give two graphs, or one source"),
        (["distance", "MODEL", "molecules", "--out", "matrix.txt"], "matrix.txt"),
        (["distance", "MODEL", "molecules:0", "molecules:1", "--view", "square"], "square"),
        (["embed", "MODEL", "molecules", "--out", "vectors.txt"], ".npy or .csv"),
        (["embed", "no-model", "molecules", "--out", "vectors.npy"], "not a folder of a model"),
    ],
)
def test_wrong_use_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: Path,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "mine.txt").touch()
    code, _, errors = run(capsys, *(str(model) if argument == "MODEL" else argument for argument in arguments))
    assert code != 0
    assert said in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_without_torch_the_message_has_the_pip_command() -> None:
    code = "import sys; sys.modules['torch'] = None; from graphmetric.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "embed", "model", "molecules", "--out", "v.npy"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith("needs torch, which is not installed: pip install 'graphmetric[learn]'")


@pytest.mark.slow
def test_help_does_not_wait_for_torch() -> None:
    names = "train, learned"
    code = f"import sys; from graphmetric.cli import {names}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_held_out_graphs_are_never_learned_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graphs = gm.load_dataset("molecules").graphs[:24]
    copies = [graph.relabeled(range(graph.num_nodes)[::-1]).replace(id=f"copy {k}") for k, graph in enumerate(graphs)]
    gm.write_graphs([*graphs, *copies], tmp_path / "graphs.jsonl")
    gm.write_graphs(copies[:4], tmp_path / "test.jsonl")
    train = ["train", str(tmp_path / "graphs.jsonl"), *QUICK, "--json"]
    code, text, errors = run(capsys, *train, "--out", tmp_path / "a", "--holdout", "0.25", "--validation", "0")
    assert code == 0, errors
    report = json.loads(text)
    assert report["held_out"]["graphs"] >= 12
    assert report["held_out"]["graphs"] % 2 == 0  # with their copies
    assert report["graphs"]["training_graphs"] == 48 - report["held_out"]["graphs"]
    assert "## On held-out graphs" in (tmp_path / "a" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert gm.GraphDistance.load(tmp_path / "a").report_["held_out"] == report["held_out"]
    code, text, errors = run(
        capsys, *train, "--out", tmp_path / "b", "--holdout", tmp_path / "test.jsonl", "--validation", "0"
    )
    assert code == 0, errors
    report = json.loads(text)
    assert (report["held_out"]["graphs"], report["graphs"]["training_graphs"]) == (4, 40)
    assert "8 graphs are copies of held-out graphs" in errors


@pytest.mark.parametrize(
    ("holdout", "said"),
    [("1.5", "above 0 and below 1"), ("nan", "above 0 and below 1"), ("no-file.json", "no-file.json")],
)
def test_what_cannot_be_held_out(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path, holdout: str, said: str
) -> None:
    code, _, errors = run(capsys, "train", source, "--out", tmp_path / "x", *QUICK, "--holdout", holdout)
    assert code == 1
    assert said in errors
    code, _, errors = run(capsys, "train", source, "--out", tmp_path / "x", *QUICK, "--holdout", source)
    assert code == 1
    assert "leaves 0 graphs to learn from" in errors
