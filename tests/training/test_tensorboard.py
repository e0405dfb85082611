"""Curves for TensorBoard, read back from the event file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

import graphmetric as gm
from graphmetric.errors import MissingExtra


def read_scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Records of an event file: length, checksum, message, checksum."""
    found: dict[str, list[tuple[int, float]]] = {}
    for path in folder.glob("events.*"):
        data = path.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            event = Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


@pytest.mark.slow
def test_the_curves_are_those_of_the_history(tmp_path: Path) -> None:
    molecules = gm.load_dataset("molecules").graphs[:30]
    model = gm.GraphDistance("small", max_steps=120, label_budget=300, n_jobs=1, tensorboard=tmp_path / "curves")
    history = model.fit(molecules).report_["history"]
    found = read_scalars(tmp_path / "curves")
    for name in ("loss", "validation", "learning_rate"):
        steps, values = zip(*found[name], strict=True)
        assert list(steps) == [record["step"] for record in history]
        np.testing.assert_allclose(values, [record[name] for record in history], rtol=1e-6)


def test_a_missing_extra_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtra, match=r"pip install .*graphmetric\[tensorboard\]"):
        gm.GraphDistance("small", tensorboard=tmp_path).fit(gm.load_dataset("molecules").graphs[:3])
