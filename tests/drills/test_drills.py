"""A small run of the drills; the long one is a command of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.drills.damage import Kind, all_kinds, damage_at_random, damage_every_byte, nest_descriptions

KINDS = all_kinds()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_damaged_files_are_refused_or_harmless(kind: Kind, tmp_path: Path) -> None:
    most = 4 if "model" in kind.name else 30  # reading a model takes a tenth of a second
    for found in (
        damage_every_byte(kind, tmp_path / "bytes", Random(0), most),
        damage_at_random(kind, tmp_path / "random", Random(1), most),
    ):
        assert not found.failures, found.failures[0]
        assert sum(found.outcomes.values()) >= most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels", "blocks", "store", "model", "index", "index with model"])
def test_descriptions_that_are_nested_too_deeply_are_refused(name: str, tmp_path: Path) -> None:
    kind = next(kind for kind in KINDS if kind.name == name)
    found = nest_descriptions(kind, tmp_path)
    assert not found.failures, found.failures[0]
    assert set(found.outcomes) == {(name, "refused")}


@pytest.mark.slow
@pytest.mark.parametrize("only", ["label", "index", "two writers", "little memory"])
def test_killed_jobs_lose_nothing(only: str) -> None:
    script = Path(__file__).with_name("run_drills.py")
    command = [sys.executable, str(script), "--kills", "18", "--bytes", "1", "--inputs", "0", "--only", only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
