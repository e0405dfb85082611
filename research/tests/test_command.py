"""The command ``graphmetric-research``: its results, its errors and its examples."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from graphmetric.edit_distance.method import find_method
from graphmetric_research.cli import _EXPERIMENTS, main
from graphmetric_research.reproduction import EXPERIMENTS
from tests.command_line import run

ROOT = Path(__file__).parents[2]


def test_every_experiment_has_a_name_of_the_command() -> None:
    assert set(EXPERIMENTS) <= set(_EXPERIMENTS)


@pytest.mark.slow
def test_experiments_print_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    quick = ("--quick", "--limit", "30", "--datasets", "molecules", "--out", tmp_path, "--json")
    code, text, errors = run(capsys, "protocol-a", "--only", "size difference", *quick, program=main)
    assert code == 0, errors
    report = json.loads(text)
    assert report["out"] == str(tmp_path / "protocol-a")
    assert {record["dataset"] for record in report["runs"]} == {"molecules"}
    assert report["runs"][0]["scores"]["rho"] > 0
    assert report["claims"] == []
    report = json.loads(run(capsys, "figure2", *quick, program=main)[1])
    assert [Path(path).name for path in report["files"]] == ["figure2.svg", "figure2.json"]


def test_an_unknown_experiment_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run(capsys, "table2", program=main)
    assert code == 2
    assert "'table2' is not one of 'table1'" in errors


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "graphmetric_research", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("Usage: graphmetric-research [OPTIONS] EXPERIMENT")


def test_it_is_for_exactly_one_version_of_the_product() -> None:
    product, own = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "research")
    )
    assert own["version"] == product["version"]
    assert own["dependencies"] == [f"graphmetric[learn,plot]=={product['version']}"]


def test_its_methods_are_entry_points_of_the_product() -> None:
    """Those that are declared are those that are installed, each under the name of its class."""
    project = tomllib.loads((ROOT / "research" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (group,) = project["entry-points"]
    installed = {point.name: point.value for point in entry_points(group=group)}
    assert project["entry-points"][group].items() <= installed.items()
    assert all(find_method(name).name == name for name in project["entry-points"][group])
