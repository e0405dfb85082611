"""Muon against torch's own, against singular values, and within a training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

from graphmetric.training import train_model
from graphmetric.training.optimizer import Muon, orthogonalize
from tests.training.small_sets import (
    MATCHING,
    QUICK,
    Stopped,
    new_model,
    same_weights,
    small_set,
    stop_after,
)

MUON = replace(QUICK, optimizer="muon", steps=40)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_singular_values_come_near_one_and_vectors_stay(rows: int, more: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    right = np.linalg.qr(rng.standard_normal((rows + more, rows)))[0]
    values = rng.uniform(0.05, 1, rows) * 10 ** rng.uniform(-3, 3)
    found = orthogonalize(torch.from_numpy((left * values) @ right.T)[None])[0].numpy()
    core = left.T @ found @ right
    assert np.abs(core - np.diag(np.diag(core))).max() < 1e-6
    assert ((np.diag(core) > 0.6) & (np.diag(core) < 1.3)).all()


def test_steps_are_those_of_torch() -> None:
    random = torch.Generator().manual_seed(0)
    shapes = [(8, 24), (24, 8), (8, 24), (16, 16)]
    ours, theirs = ([nn.Parameter(torch.full(shape, 0.1)) for shape in shapes] for _ in range(2))
    own = Muon(ours, lr=0.01, weight_decay=0.1)
    twin = torch.optim.Muon(theirs, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for _ in range(5):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, generator=random)
            other.grad = one.grad.clone()
        own.step()
        twin.step()
    for one, other in zip(ours, theirs, strict=True):
        moved = (other - 0.1).norm()
        assert (one - other).norm() < 0.03 * moved  # torch rounds to bfloat16
        assert moved > 0.01


def test_a_matrix_without_gradient_stays() -> None:
    still, moved = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(2, 3))
    moved.grad = torch.ones(2, 3)
    Muon([still, moved], lr=0.1).step()
    assert torch.equal(still, torch.ones(2, 3))
    assert not torch.equal(moved, torch.ones(2, 3))


@pytest.mark.slow
def test_a_training_learns_and_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    data, in_peace, resumed = small_set(MATCHING), new_model(MATCHING), new_model(MATCHING)
    result = train_model(in_peace, data.table, data.labels, MUON)
    assert result.history[-1]["loss"] < 0.8 * result.history[0]["loss"]
    with pytest.raises(Stopped):
        train_model(
            new_model(MATCHING),
            data.table,
            data.labels,
            MUON,
            folder=tmp_path,
            checkpoint_seconds=0,
            report=stop_after(20),
        )
    train_model(resumed, data.table, data.labels, MUON, folder=tmp_path, checkpoint_seconds=0)
    assert same_weights(in_peace, resumed)
    saved = load_file(tmp_path / "checkpoint.safetensors")
    remembered = {name.rpartition("/")[2] for name in saved if name.startswith("optimizer.encoder.layers.0.")}
    assert remembered == {"momentum", "step", "exp_avg", "exp_avg_sq"}
    assert "optimizer.encoder.output.weight/exp_avg" in saved
