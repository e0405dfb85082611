"""The command as a user meets it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphmetric import Graph, __version__, read_graphs, write_graphs
from graphmetric.cli import COMMANDS, doctor
from graphmetric.errors import EXTRAS
from tests.command_line import run
from tests.edit_distance.hard_graphs import sparse


@pytest.fixture
def two_graphs(tmp_path: Path) -> Path:
    path = tmp_path / "two.jsonl"
    write_graphs([Graph(3, [(0, 1)], node_labels="CCO"), Graph(3, [(2, 1)], node_labels="OCC")], path)
    return path


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[1].strip().endswith(__version__)
    code, text, _ = run(capsys, "--help")
    assert code == 0
    assert "Examples:" in text
    for name in COMMANDS:
        assert name in text
        assert run(capsys, name, "--help")[0] == 0


def test_info_counts_classes(capsys: pytest.CaptureFixture[str], two_graphs: Path) -> None:
    code, text, _ = run(capsys, "info", str(two_graphs), "--json")
    report = json.loads(text)
    assert code == 0
    assert (report["graphs"], report["isomorphism_classes"]) == (2, 1)
    assert report["node_labels"] == {"C": 4, "O": 2}
    assert report["size_histogram"] == {"3": 2}
    assert any("copies of another" in sentence for sentence in report["unusual"])
    assert any("not connected" in sentence for sentence in report["unusual"])
    code, text, _ = run(capsys, "info", str(two_graphs))
    assert code == 0
    assert "isomorphism classes" in text


@pytest.mark.parametrize(
    ("name", "graphs", "classes"), [("AIDS700nef", 700, 667), ("LINUX", 1000, 89), ("IMDBMulti", 1500, 387)]
)
def test_info_on_benchmarks(
    capsys: pytest.CaptureFixture[str], shared_data: Path, name: str, graphs: int, classes: int
) -> None:
    for arguments in ([name, "--root", str(shared_data)], [str(shared_data / f"{name}.json")]):
        report = json.loads(run(capsys, "info", *arguments, "--json")[1])
        assert (report["graphs"], report["isomorphism_classes"]) == (graphs, classes)


def test_convert_keeps_graphs_and_says_what_is_lost(
    capsys: pytest.CaptureFixture[str], two_graphs: Path, tmp_path: Path
) -> None:
    target = tmp_path / "two.gmg"
    code, text, _ = run(capsys, "convert", str(two_graphs), str(target))
    assert code == 0
    assert "2 graphs written" in text
    report = json.loads(run(capsys, "convert", str(two_graphs), str(target), "--json")[1])
    assert report == {"graphs": 2, "out": str(target)}
    assert list(read_graphs(target)) == list(read_graphs(two_graphs))
    write_graphs([Graph(1, node_texts=["words"])], tmp_path / "text.gmg")
    code, _, errors = run(capsys, "convert", str(tmp_path / "text.gmg"), str(tmp_path / "text.tve"))
    assert code == 0
    assert "note:" in errors
    assert "texts" in errors


def test_ged_tells_and_draws(capsys: pytest.CaptureFixture[str], two_graphs: Path, tmp_path: Path) -> None:
    picture = tmp_path / "edits.svg"
    code, text, _ = run(capsys, "ged", f"{two_graphs}:0", "molecules:3", "--plot", str(picture))
    assert code == 0
    assert "(exact)" in text
    assert "delete edge" in text or "insert edge" in text
    assert picture.read_text().startswith("<svg")
    report = json.loads(run(capsys, "ged", f"{two_graphs}:0", f"{two_graphs}:1", "--json")[1])
    assert (report["upper"], report["exact"], report["edits"]) == (0, True, [])
    report = json.loads(run(capsys, "ged", "CCO", "CCN", "--smiles", "--method", "hed", "--json")[1])
    assert (report["upper"], report["node_map"]) == (None, None)


def test_ged_relaxed_tells_its_answer_beside_the_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("C1CCCCC1", "C1CC1.C1CC1", "--smiles", "--method", "relaxed:0.01")
    text = run(capsys, "ged", *pair)[1]
    assert "distance  between 0 and 4\nanswer    0\n" in text
    assert " steps\n" in text
    report = json.loads(run(capsys, "ged", *pair, "--json")[1])
    assert (report["value"], report["note"], report["method"]) == (0, None, "relaxed")


def test_ged_counts_edges_outside_of_a_common_subgraph(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("CCO", "C=CO", "--smiles")
    text = run(capsys, "ged", *pair, "--distance", "mces")[1]
    assert text.startswith("distance  2 (exact)\ncommon    1 of 2 and 2 edges\n")
    assert "  2 O -> 2 O" in text
    told = json.loads(run(capsys, "ged", *pair, "--distance", "weighted-mces", "--json")[1])
    assert (told["upper"], told["exact"], told["size"], told["similarity"]) == (1, True, 2, 1)
    assert told["common_edges"] == [[[0, 1], [0, 1]], [[1, 2], [1, 2]]]
    told = json.loads(run(capsys, "ged", *pair, "--distance", "mces", "--ignore", "edge_labels", "--json")[1])
    assert (told["upper"], told["node_map"]) == (0, [0, 1, 2])


@pytest.mark.parametrize("option", [["--method", "beam:10"], ["--plot", "edits.svg"]])
def test_options_for_edits_are_refused_for_common_edges(capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    code, _, errors = run(capsys, "ged", "molecules:0", "molecules:1", "--distance", "mces", *option)
    assert code == 2
    assert f"{option[0]} " in errors
    assert "leave out --distance mces" in errors


def test_label_fills_a_folder_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["label", "molecules", "--pairs", "random:50", "--out", str(tmp_path / "labels"), "--json"]
    first, second = (json.loads(run(capsys, *arguments)[1]) for _ in range(2))
    assert (first["pairs"], first["exact"]) == (second["pairs"], second["exact"]) == (50, 1.0)


@pytest.mark.slow
def test_label_says_how_many_labels_are_only_bounds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_graphs([sparse(40, seed) for seed in range(3)], tmp_path / "graphs.jsonl")
    label = ["label", tmp_path / "graphs.jsonl", "--time-limit", "0.01", "--jobs", "1", "--out", tmp_path / "labels"]
    assert "3 pairs of 3 graphs: 0 exact, 3 only bounds" in run(capsys, *label)[1]
    told = json.loads(run(capsys, *label, "--json")[1])
    assert (told["exact_pairs"], told["pairs_with_bounds"], told["exact"]) == (0, 3, 0)


@pytest.mark.parametrize("limit", ["soon", "-1", "nan"])
def test_wrong_time_limits_are_explained(capsys: pytest.CaptureFixture[str], limit: str) -> None:
    code, _, errors = run(capsys, "ged", "molecules:0", "molecules:1", "--time-limit", limit)
    assert code == 2
    assert "none" in errors


def test_a_time_limit_can_be_lifted(capsys: pytest.CaptureFixture[str]) -> None:
    assert "(exact)" in run(capsys, "ged", "molecules:0", "molecules:1", "--time-limit", "none")[1]


@pytest.mark.slow
def test_interrupted_labelling_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "graphmetric", "label", "molecules", "--pairs", "all", "--jobs", "1"]
    rows = tmp_path / "work" / "results.rows"

    def start_and_wait(size: int) -> subprocess.Popen[str]:
        job = subprocess.Popen([*command, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True)
        while (not rows.exists() or rows.stat().st_size <= size) and job.poll() is None:
            time.sleep(0.01)
        return job

    job = start_and_wait(0)
    job.send_signal(signal.SIGSTOP)  # so that it is not finished while this is asked
    code, _, said = run(capsys, *command[3:], "--out", tmp_path)
    assert code == 1
    assert f"another job is at work in {tmp_path} (process {job.pid})" in said
    job.send_signal(signal.SIGINT)
    job.send_signal(signal.SIGCONT)
    _, errors = job.communicate()
    assert job.returncode == 130
    assert "Traceback" not in errors
    kept = rows.read_bytes()
    assert len(kept) >= 56
    job = start_and_wait(len(kept))
    job.kill()
    job.communicate()
    assert rows.read_bytes().startswith(kept)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info", "no-such-file.json"], "no-such-file.json"),
        (["info", "AIDS700nef", "--root", "."], "AIDS700nef"),
        (["convert", "molecules", "out.nonsense"], "nonsense"),
        (["nonsense"], "nonsense"),
        (["ged", "molecules", "molecules:0"], "holds 973 graphs; choose one as molecules:0"),
        (["ged", "molecules:973", "molecules:0"], "molecules:973 does not exist"),
        (["ged", "C1", "C", "--smiles"], "C1"),
        (["ged", "molecules:0", "molecules:1", "--method", "magic"], "magic"),
        (["label", "molecules", "--pairs", "some", "--out", "labels"], "some"),
        (["info"], "SOURCE"),
    ],
)
def test_wrong_use_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = run(capsys, *arguments)
    assert code != 0
    assert said in errors
    assert "Traceback" not in errors


def test_doctor_finds_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run(capsys, "doctor", "--json")[1])
    assert report["packages"]["numpy"]
    assert report["compiled loops"] == "work"
    assert report["extras"].keys() == EXTRAS.keys()
    assert {name for packages in report["extras"].values() for name in packages} <= report["packages"].keys()
    text = run(capsys, "doctor")[1]
    assert "numba" in text
    assert all(f"[{extra}]" in text for extra in EXTRAS)


def test_doctor_says_how_to_install_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda package: None if package == "safetensors" else "1.0")
    line = next(line for line in run(capsys, "doctor")[1].splitlines() if "[learn]" in line)
    assert line.endswith("jaxtyping 1.0, safetensors not installed: pip install 'graphmetric[learn]'")


def test_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graphmetric", "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip().endswith(__version__), done.stderr


def test_a_command_that_moved_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, errors = run(capsys, "reproduce", "table1", "--root", "data/")
    assert (code, text) == (2, "")
    assert "install graphmetric-research and run `graphmetric-research EXPERIMENT`" in " ".join(errors.split())


def test_help_lists_each_option_once_and_no_argument(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "ged", "--help")[1]
    own, _, shared = text.partition("Options for reading graphs:")
    assert "--method" in own
    assert "--skip-bad" in shared
    lines = [line.split() for line in text.partition("Options:")[2].splitlines()]
    assert [line for line in lines if line and line[0] in ("FIRST", "SECOND")] == []
    assert len([line for line in lines if line[:1] == ["--root"]]) == 1
