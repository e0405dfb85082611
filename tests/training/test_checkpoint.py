"""Trainings that are stopped go on to the same weights, and foreign or broken files are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from graphmetric.errors import FileError, InvalidArgument, TrainingDiverged
from graphmetric.estimator import GraphDistance
from graphmetric.features import FeatureOptions, FeatureTable, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from graphmetric.training import TrainingResult, holds_unfinished_work, train_model
from graphmetric.training.checkpoint import digest_of
from tests.training.small_sets import MATCHING, PAPER, QUICK, Stopped, new_model, same_weights, small_set, stop_after

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_random_moments_it_reaches_the_same_weights(tmp_path: Path) -> None:
    script = ROOT / "tests" / "training" / "killed_training.py"
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "5"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int((tmp_path / "kills.txt").read_text(encoding="utf-8")) >= 3
    expected, found = (load_file(tmp_path / f"{name}.safetensors") for name in ("in-peace", "killed"))
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def train(folder: Path | None, seed: int = 0, **more) -> tuple[TrainingResult, object]:
    data, model = small_set(MATCHING), new_model(MATCHING)
    arguments = {"validation": data.validation, "seed": seed, "folder": folder, "checkpoint_seconds": 0} | more
    return train_model(model, data.table, data.labels, replace(QUICK, steps=40), **arguments), model


@pytest.mark.slow
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
        train_model(new_model(MATCHING, seed=5), data.table, data.labels, replace(QUICK, steps=40), folder=tmp_path)


def table_with_everything() -> FeatureTable:
    """Two graphs that use every column, so that no field of the table is None or constant."""
    random = np.random.default_rng(0)
    graphs = [
        Graph(
            3, [(0, 1), (1, 2)], directed=directed, node_labels=list("CNO"), edge_labels=["single", "double"],
            edge_weights=[0.5, 2.0], node_features=random.normal(size=(3, 2)), node_texts=["one two", "two", "three"],
            node_images=random.integers(0, 255, (3, 2, 2, 1), dtype=np.uint8),
        )
        for directed in (False, True)
    ]  # fmt: skip
    return GraphFeaturizer(FeatureOptions(return_steps=2)).fit(graphs).transform(graphs)


def leaves_of(record: object) -> list[tuple[str, ...]]:
    """Paths to all arrays and values of nested records."""
    if isinstance(record, tuple) and hasattr(record, "_fields"):
        names = record._fields
    elif is_dataclass(record):
        names = [own.name for own in fields(record)]
    else:
        return [()]
    return [(name, *rest) for name in names for rest in leaves_of(getattr(record, name))]


def with_other_value(record: object, path: tuple[str, ...]) -> object:
    """The record with one leaf changed as little as possible."""
    if not path:
        if isinstance(record, np.ndarray):
            changed = record.copy()
            changed.flat[-1] = changed.flat[-1] ^ True if changed.dtype == bool else changed.flat[-1] + 1
            return changed
        if isinstance(record, str):
            return f"{record}?"
        return (9, 9, 9) if isinstance(record, tuple) else not record if isinstance(record, bool) else record + 1
    name, *rest = path
    part = with_other_value(getattr(record, name), tuple(rest))
    return record._replace(**{name: part}) if hasattr(record, "_replace") else replace(record, **{name: part})


@pytest.mark.parametrize("path", leaves_of(table_with_everything()), ids=".".join)
def test_whatever_enters_the_model_tells_trainings_apart(path: tuple[str, ...]) -> None:
    table = table_with_everything()
    assert digest_of(table) == digest_of(table_with_everything())
    assert digest_of(with_other_value(table, path)) != digest_of(table)


def test_what_cannot_be_digested_is_refused_instead_of_left_out() -> None:
    for unknown in (object(), np.array(["a", None], dtype=object), {1, 2}):
        with pytest.raises(TypeError, match="no digest of"):
            digest_of([unknown])


@pytest.mark.parametrize("column", ["node_features", "edge_labels"])
def test_other_attributes_are_another_training(tmp_path: Path, column: str) -> None:
    values = [[[float(k)]] * 2 if column == "node_features" else ["ab"[k % 2]] for k in range(6)]
    distances = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    model = GraphDistance("small", max_steps=1, checkpoint=tmp_path, validation_fraction=0.0, n_jobs=1)
    model.fit([Graph(2, [(0, 1)], **{column: value}) for value in values], distances)
    with pytest.raises(InvalidArgument, match="another training: its graphs differ"):
        model.fit([Graph(2, [(0, 1)], **{column: value}) for value in reversed(values)], distances)


def test_a_training_that_diverged_leaves_nothing_to_go_on_from(tmp_path: Path) -> None:
    data = small_set(MATCHING)
    for step in range(2):  # the second finds nothing of the first
        model = new_model(MATCHING)
        wild = replace(QUICK, learning_rate=1e4, clip_norm=None, warmup=0, optimizer="adam", steps=40 + step)
        with pytest.raises(TrainingDiverged):
            train_model(model, data.table, data.labels, wild, folder=tmp_path, checkpoint_seconds=0)
        assert not holds_unfinished_work(tmp_path)
    train_model(new_model(MATCHING), data.table, data.labels, replace(QUICK, steps=5), folder=tmp_path)
    assert holds_unfinished_work(tmp_path)


@pytest.mark.slow
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
    train_model(model, data.table, data.labels, replace(QUICK, steps=7), folder=tmp_path)
    tensors = load_file(tmp_path / "checkpoint.safetensors")
    for name, weights in model.named_parameters():
        assert tensors[f"optimizer.{name}/step"].item() == 7
        assert tensors[f"optimizer.{name}/exp_avg"].shape == weights.shape
        assert np.all(tensors[f"optimizer.{name}/exp_avg_sq"].numpy() >= 0)
