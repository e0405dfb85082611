"""Trainings that are stopped go on to the same weights, and foreign or broken files are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from graphmetric.errors import FileError, InvalidArgument
from graphmetric.training import TrainingResult, fit
from tests.training.small_sets import MATCHING, PAPER, QUICK, Stopped, new_model, same_weights, small_set, stop_after

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments_it_reaches_the_same_weights(tmp_path: Path) -> None:
    script = ROOT / "tests" / "training" / "killed_training.py"
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "8"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int((tmp_path / "kills.txt").read_text(encoding="utf-8")) >= 3
    expected, found = (load_file(tmp_path / f"{name}.safetensors") for name in ("in-peace", "killed"))
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def train(folder: Path | None, seed: int = 0, **more) -> tuple[TrainingResult, object]:
    data, model = small_set(MATCHING), new_model(MATCHING)
    arguments = {"validation": data.validation, "seed": seed, "folder": folder, "checkpoint_seconds": 0} | more
    return fit(model, data.table, data.labels, replace(QUICK, steps=40), **arguments), model


def test_history_and_result_go_on_too(tmp_path: Path) -> None:
    expected, in_peace = train(None)
    with pytest.raises(Stopped):
        train(tmp_path, report=stop_after(20))
    with open(tmp_path / "history.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 30, "lo')  # as if killed while writing
    found, resumed = train(tmp_path)
    assert same_weights(in_peace, resumed)
    timeless = [[{**record, "seconds": 0} for record in result.history] for result in (expected, found)]
    assert timeless[0] == timeless[1]
    assert (tmp_path / "history.jsonl").read_text(encoding="utf-8").count("\n") == len(found.history) == 4
    assert (found.best_step, found.validation_loss) == (expected.best_step, expected.validation_loss)


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    _, first = train(tmp_path)
    told = []
    result, again = train(tmp_path, report=told.append)
    assert told == []
    assert result.steps == 40
    assert same_weights(first, again)


def test_the_folder_of_another_training_is_refused(tmp_path: Path) -> None:
    train(tmp_path)
    with pytest.raises(InvalidArgument, match="another training: its seed differ"):
        train(tmp_path, seed=1)
    data = small_set(MATCHING)
    with pytest.raises(InvalidArgument, match="its start, validation differ"):
        fit(new_model(MATCHING, seed=5), data.table, data.labels, replace(QUICK, steps=40), folder=tmp_path)


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "pickle"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: str) -> None:
    train(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    content = path.read_bytes()
    if damage == "pickle":
        torch.save({"state": 1}, path)
    else:
        path.write_bytes({"cut": content[: len(content) // 2], "garbage": content[::-1], "empty": b""}[damage])
    with pytest.raises(FileError, match="not a readable checkpoint, remove it to start again"):
        train(tmp_path)


def test_the_optimiser_is_saved_whole(tmp_path: Path) -> None:
    data, model = small_set(PAPER), new_model(PAPER)
    fit(model, data.table, data.labels, replace(QUICK, steps=7), folder=tmp_path)
    tensors = load_file(tmp_path / "checkpoint.safetensors")
    for name, weights in model.named_parameters():
        assert tensors[f"optimizer.{name}/step"].item() == 7
        assert tensors[f"optimizer.{name}/exp_avg"].shape == weights.shape
        assert np.all(tensors[f"optimizer.{name}/exp_avg_sq"].numpy() >= 0)
