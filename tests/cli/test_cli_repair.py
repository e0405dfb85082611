"""repair as a user meets it, and GraphDistance.pairwise(repair=True)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import graphmetric as gm
from graphmetric.cli import cli
from graphmetric.errors import InvalidArgument
from graphmetric.formats.distance_matrices import read_matrix, write_matrix
from graphmetric.metric_repair import triangle_violations
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.command_line import run

BROKEN = np.array([[0, 1, 5, 2], [1, 0, 1, 2], [5, 1, 0, 2], [2, 2, 2, 0]], dtype=float)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    write_matrix(path, BROKEN, ids=("w", "x", "y", "z"))
    return path


@pytest.mark.slow
def test_summary_and_matrix(capsys: pytest.CaptureFixture[str], broken: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "out.csv", tmp_path / "repair.svg"
    code, text, errors = run(capsys, "repair", broken, out, "--figure", picture, "--jobs", "1")
    assert code == 0, errors
    assert "before    2 of 12 triangle inequalities violated (16.667%), deepest 3" in text
    assert "no triangle inequality is violated" in text
    assert "moved     " in text
    assert "of 6 pairs" in text
    assert "nearest   in L2" in text
    stored = read_matrix(out)
    assert stored.ids == ("w", "x", "y", "z")
    assert np.array_equal(stored.matrix, triangle_fixing(BROKEN).matrix)
    assert picture.read_text().startswith("<?xml")


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_known_distances_are_kept(capsys: pytest.CaptureFixture[str], broken: Path, tmp_path: Path, norm: str) -> None:
    known = tmp_path / "known.csv"
    known.write_text("id,w,x,y,z\nw,,,1.5,\nx,,,,\ny,,,,\nz,,,,\n")
    code, text, errors = run(
        capsys, "repair", broken, tmp_path / "out.npz", "--known", known, "--norm", norm, "--json", "--jobs", "1"
    )
    assert code == 0, errors
    report = json.loads(text)
    assert report["known_pairs"] == 1
    assert report["converged"]
    assert report["norm"] == norm
    stored = read_matrix(tmp_path / "out.npz")
    assert stored.matrix[0, 2] == stored.matrix[2, 0] == 1.5
    assert stored.ids == ("w", "x", "y", "z")
    assert triangle_violations(stored.matrix, tolerance=1e-6).count == 0


def test_the_bound_of_the_least_possible_objective_is_stated_as_it_holds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.exponential(size=(40, 40)), 1)
    given, out = tmp_path / "in.npy", tmp_path / "out.npy"
    write_matrix(given, upper + upper.T)
    least = triangle_fixing(upper + upper.T, tolerance=1e-9).objective
    code, text, errors = run(capsys, "repair", given, out, "--time-limit", 0.000001)
    assert code == 0, errors
    found, bound = re.findall(r"objective (\S+); the least possible is at least (\S+)", text)[0]
    assert float(bound) <= least < float(found) / 1.1
    code, text, errors = run(capsys, "repair", given, out, "--time-limit", 0.000001, "--json")
    report = json.loads(text)
    assert report["lower_bound"] <= least < report["objective"] / 1.1


def test_form_and_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given, out, weights = tmp_path / "in.npy", tmp_path / "out.npy", tmp_path / "weights.npy"
    write_matrix(given, BROKEN / 5, condensed=True)
    np.save(weights, np.where(BROKEN == 5, 1e6, 1.0))
    code, text, errors = run(
        capsys, "repair", given, out, "--weights", weights, "--bounds", 0, 0.9, "--tolerance", "1e-8", "--json"
    )
    assert code == 0, errors
    assert np.load(out).shape == (6,)
    assert read_matrix(out).matrix[0, 2] == pytest.approx(0.9, abs=1e-4)
    assert json.loads(text)["max_violation"] <= 1e-8
    code, text, errors = run(capsys, "repair", given, out, "--decrease-only")
    assert code == 0, errors
    assert "nowhere above" in text
    assert read_matrix(out).matrix[0, 2] == pytest.approx(0.4)


def test_a_limit_that_stops_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    upper = np.triu(generator.random((120, 120)), 1)
    np.save(tmp_path / "in.npy", upper + upper.T)
    out = tmp_path / "out.npy"
    code, _, errors = run(capsys, "repair", tmp_path / "in.npy", out, "--time-limit", "1e-9", "--jobs", "1")
    assert code == 0
    assert "note: stopped before" in errors
    assert triangle_violations(np.load(out)).count == 0


WRONG = {
    "asymmetric.csv": ("0,1\n2,0\n", "asymmetric.csv: the matrix is not symmetric: [0, 1] = 1 but [1, 0] = 2"),
    "unknown.csv": ("0,\n,0\n", "unknown.csv: the matrix[0, 1] = nan"),
    "negative.csv": ("0,-1\n-1,0\n", "negative.csv: the matrix[0, 1] = -1 is negative"),
    "text.csv": ("0,1\n1,no\n", "text.csv: line 2: column 2: 'no' is not a number"),
    "picture.png": ("", "distance matrices are files .npy, .npz, .csv, .parquet"),
    "array.npy": ("not numpy", "array.npy: is not a readable numpy array"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    content, message = WRONG[name]
    (tmp_path / name).write_text(content)
    code, _, errors = run(capsys, "repair", tmp_path / name, tmp_path / "out.npy")
    assert code == 1
    assert errors.startswith("Error: ")
    assert message in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "out.npy").exists()


def test_wrong_companions_and_targets(capsys: pytest.CaptureFixture[str], broken: Path, tmp_path: Path) -> None:
    small, other = tmp_path / "small.csv", tmp_path / "other.csv"
    write_matrix(small, np.zeros((2, 2)))
    write_matrix(other, BROKEN, ids=("w", "x", "?", "z"))
    out = tmp_path / "out.npy"
    assert "small.csv: has 2 items; IN has 4" in run(capsys, "repair", broken, out, "--known", small)[2]
    assert "item 2 is '?'; in IN it is 'y'" in run(capsys, "repair", broken, out, "--weights", other)[2]
    assert "contradict each other" in run(capsys, "repair", broken, out, "--known", broken)[2]
    assert "got suffix '.txt'" in run(capsys, "repair", broken, tmp_path / "out.txt")[2]
    assert "a figure is a file .png" in run(capsys, "repair", broken, out, "--figure", tmp_path / "a.txt")[2]
    assert "cannot be read" in run(capsys, "repair", tmp_path / "none.npy", out)[2]
    assert "time_limit" in run(capsys, "repair", broken, out, "--norm", "l1", "--time-limit", 1)[2]
    assert not out.exists()


def test_help_has_examples() -> None:
    text = CliRunner().invoke(cli, ["repair", "--help"]).output
    assert "--known measured.csv" in text
    assert "--decrease-only" in text


def test_estimator_repairs_what_its_view_breaks() -> None:
    molecules = gm.load_dataset("molecules").graphs[:20]
    model = gm.GraphDistance("small", max_steps=5, label_budget=80, n_jobs=1, head="squared-fc").fit(molecules)
    plain = model.pairwise(molecules)
    assert triangle_violations(plain).count > 0
    repaired = model.pairwise(molecules, repair=True)
    assert triangle_violations(repaired).count == 0
    assert np.array_equal(repaired, triangle_fixing(plain).matrix)
    known = np.full(plain.shape, np.nan)
    known[0, 1] = known[1, 0] = 7.5
    assert model.pairwise(molecules, repair=True, known=known)[0, 1] == 7.5
    scaled = model.pairwise(molecules, view="paper", repair=True)
    assert triangle_violations(scaled).count == 0
    assert scaled.max() <= 1
    with pytest.raises(InvalidArgument, match="neither b nor out"):
        model.pairwise(molecules, molecules, repair=True)
    with pytest.raises(InvalidArgument, match="repair=True"):
        model.pairwise(molecules, known=known)
    with pytest.raises(InvalidArgument, match="known has shape"):
        model.pairwise(molecules, repair=True, known=np.zeros((3, 3)))


def test_a_time_limit_gives_a_metric_and_says_that_it_is_not_the_nearest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    upper = np.triu(np.random.default_rng(0).random((400, 400)), 1)
    write_matrix(tmp_path / "in.npy", upper + upper.T)
    code, text, errors = run(
        capsys, "repair", tmp_path / "in.npy", tmp_path / "out.npy", "--time-limit", "0.01", "--json"
    )
    assert code == 0, errors
    assert not json.loads(text)["converged"]
    assert "stopped before the certificate" in errors
    assert triangle_violations(read_matrix(tmp_path / "out.npy").matrix).count == 0


@pytest.mark.parametrize(
    ("cell", "said"), [("", "= nan is not known"), ("inf", "= inf is not finite"), ("-3", "is neg")]
)
def test_the_file_with_a_wrong_number_is_named(
    capsys: pytest.CaptureFixture[str], broken: Path, tmp_path: Path, cell: str, said: str
) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(f"0,1,{cell}\n1,0,2\n{cell},2,0\n")
    code, _, errors = run(capsys, "repair", wrong, tmp_path / "out.csv")
    assert code == 1
    assert "wrong.csv: the matrix[0, 2]" in errors
    assert said in errors
    if cell:
        (tmp_path / "three.csv").write_text("0,1,2\n1,0,2\n2,2,0\n")
        code, _, errors = run(capsys, "repair", tmp_path / "three.csv", tmp_path / "out.csv", "--known", wrong)
        assert code == 1
        assert "wrong.csv: known[0, 2]" in errors


def test_weights_of_any_size_give_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_matrix(tmp_path / "in.csv", BROKEN)
    weights = np.array([[0, 1e38, 1, 1], [1e38, 0, 1e-38, 1], [1, 1e-38, 0, 1], [1, 1, 1, 0]])
    write_matrix(tmp_path / "weights.csv", weights)
    code, text, errors = run(
        capsys, "repair", tmp_path / "in.csv", tmp_path / "out.csv", "--weights", tmp_path / "weights.csv", "--json"
    )
    assert code == 0, errors
    assert all(np.isfinite(value) for value in json.loads(text).values() if isinstance(value, float))
    repaired = read_matrix(tmp_path / "out.csv").matrix
    assert triangle_violations(repaired).count == 0
    assert repaired[0, 1] == pytest.approx(1)
    write_matrix(tmp_path / "weights.csv", np.where(weights == 1e38, 1e300, weights))
    code, _, errors = run(
        capsys, "repair", tmp_path / "in.csv", tmp_path / "out.csv", "--weights", tmp_path / "weights.csv"
    )
    assert code == 1
    assert "weights must be symmetric, positive and from 1e-40 to 1e+40" in errors
