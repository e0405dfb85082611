"""``graphmetric evaluate`` as a user meets it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import graphmetric as gm
from graphmetric.report import evaluate_model
from tests.command_line import run

QUICK = ("--queries", "5", "--label-budget", "500", "--jobs", "1")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "my graphs.json"
    gm.write_graphs(gm.load_dataset("molecules").graphs[:30], path)
    return path


@pytest.fixture(scope="module")
def model(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    model = gm.GraphDistance("small", max_steps=20, label_budget=200, n_jobs=1)
    model.fit(gm.read_graphs(source)).save(folder)
    return folder


@pytest.mark.slow
def test_table_and_report(capsys: pytest.CaptureFixture[str], model: Path, source: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    code, text, errors = run(capsys, "evaluate", str(model), str(source), *QUICK, "--report", str(report))
    assert code == 0, errors
    found = evaluate_model(model, gm.read_graphs(source), queries=5, label_budget=500, n_jobs=1)
    paper, raw = found.scores_by_name()
    (line,) = (line for line in text.splitlines() if line.split()[:1] == ["rho"])
    alone = found.to_dict()["size_alone"]
    assert line.split() == ["rho", f"{paper['rho']:.3f}", f"{raw['rho']:.3f}", f"{alone['rho']:.3f}"]
    assert "100.0% proven" in text
    assert "triangle inequality" in text
    assert "queries are graphs that the model was fitted to" in text
    assert text.endswith(f"report in {report}\n")
    page = report.read_text(encoding="utf-8")
    assert f"{raw['mae']:.3f} edits" in page
    command = shlex.join(["graphmetric", "evaluate", str(model), str(source), *QUICK, "--report", str(report)])
    assert command == _code_of(page)


def _code_of(page: str) -> str:
    """The command at the end of the page."""
    return unescape(page.rpartition("<pre><code>")[2].partition("</code>")[0])


def test_json_is_the_evaluation(capsys: pytest.CaptureFixture[str], model: Path, source: Path) -> None:
    code, text, errors = run(capsys, "evaluate", str(model), str(source), *QUICK, "--seed", "2", "--json")
    assert code == 0, errors
    found = evaluate_model(model, gm.read_graphs(source), queries=5, label_budget=500, n_jobs=1, seed=2)
    assert json.loads(text) == {**found.to_dict(), "data": str(source), "report": None} | {
        "date": json.loads(text)["date"]
    }


def test_a_data_set_by_name_has_its_split(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    report = json.loads(run(capsys, "evaluate", str(model), "molecules", *QUICK, "--json")[1])
    assert (report["queries"], report["database"]) == (5, 100)
    assert report["data"] == "molecules"
    assert "protocol A" in run(capsys, "evaluate", str(model), "molecules", *QUICK)[1]


def test_labels_of_the_label_command(
    capsys: pytest.CaptureFixture[str], model: Path, source: Path, tmp_path: Path
) -> None:
    labels = str(tmp_path / "labels")
    assert run(capsys, "label", str(source), "--out", labels, "--jobs", "1")[0] == 0
    report = json.loads(run(capsys, "evaluate", str(model), str(source), "--labels", labels, *QUICK, "--json")[1])
    assert report["truth"] == "given with the graphs"
    assert report["pairs"] == 5 * 29
    code, _, errors = run(capsys, "evaluate", str(model), "molecules", "--labels", labels)
    assert code == 1
    assert "30 other graphs" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-model", "molecules"], "not a folder of a model"),
        (["MODEL", "no-such-folder"], "no-such-folder"),
        (["MODEL", "molecules", "--queries", "0"], "queries"),
        (["MODEL", "molecules", "--label-budget", "0"], "label-budget"),
        (["MODEL", "molecules", "--labels", "no-labels"], "no-labels"),
    ],
)
def test_wrong_use_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], model: Path, arguments: list[str], said: str
) -> None:
    code, _, errors = run(capsys, "evaluate", *(str(model) if word == "MODEL" else word for word in arguments))
    assert code != 0
    assert said in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_help_does_not_wait_for_torch() -> None:
    code = "import sys; from graphmetric.cli import learned; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
