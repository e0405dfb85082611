"""Encoding on a device: it is asked for nothing on the way, and the next features are made meanwhile.

No machine of the tests has a GPU. On the device "meta" tensors have shapes and no values, so whatever would make the
host wait for a GPU is an error there.
"""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import graphmetric as gm
from graphmetric._foundation.threads import as_device, prefetch_in_threads, thread_limit
from graphmetric.encoder import EncoderOptions
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureOptions, GraphFeaturizer
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.model import GraphDistanceNetwork, HeadOptions, ModelOptions
from graphmetric.report import evaluate_model
from graphmetric.training import preset
from tests.command_line import run


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:60]


OPTIONS = {
    "paper": ModelOptions(),
    **{name: preset(name)[0] for name in ("small", "base")},
    "everything": ModelOptions(
        EncoderOptions(
            hidden_size=16,
            layers=2,
            messages="typed",
            context=True,
            inputs=("attributes", "roles", "neighbourhood", "degree", "walks"),
        ),
        FeatureOptions(return_steps=4),
        HeadOptions("matching"),
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_device_is_asked_for_nothing(name: str, molecules: gm.GraphCollection, monkeypatch: Any) -> None:
    """From graphs to representations, in several chunks and batches; vectors come back once for each chunk."""
    monkeypatch.setattr("graphmetric.model.CHUNK", 25)
    featurizer = GraphFeaturizer(OPTIONS[name].features).fit(molecules)
    model = GraphDistanceNetwork.build(featurizer.schema, OPTIONS[name]).eval()
    expected = model.encode_graphs(featurizer, molecules)
    there = copy.deepcopy(model).to("meta")
    found = there.encode_graphs(featurizer, molecules)
    assert [part.shape for part in found[:4]] == [part.shape for part in expected[:4]]
    assert {part.device.type for part in found} == {"meta"}
    asked = []

    def cpu(tensor: torch.Tensor) -> torch.Tensor:
        asked.append(tensor.shape)
        return torch.zeros(tensor.shape)

    with mock.patch.object(torch.Tensor, "cpu", cpu):
        assert there.embed_graphs(featurizer, molecules).shape == expected.z.shape
    assert [shape[0] for shape in asked] == [25, 25, 10]


def test_asking_is_an_error_there() -> None:
    """What the test above relies on."""
    there = torch.zeros(3, dtype=torch.int64, device="meta")
    for ask in (bool, int, lambda t: t.tolist(), torch.nonzero, torch.repeat_interleave, lambda t: t.cpu()):
        with pytest.raises((NotImplementedError, RuntimeError)):
            ask(there if ask not in (bool, int) else there[0])  # type: ignore[operator]


def test_the_way_of_a_device_gives_the_same(molecules: gm.GraphCollection, monkeypatch: Any) -> None:
    """With prefetching, edges that the host finds, and rows that it arranges, on the CPU."""
    monkeypatch.setattr("graphmetric.model.CHUNK", 25)
    options = OPTIONS["everything"]
    featurizer = GraphFeaturizer(options.features).fit(molecules)
    model = GraphDistanceNetwork.build(featurizer.schema, options).eval()
    expected, vectors = model.encode_graphs(featurizer, molecules), model.embed_graphs(featurizer, molecules)

    class Elsewhere:
        """The CPU under another name."""

        type = "elsewhere"

    with (
        mock.patch.object(GraphDistanceNetwork, "device", Elsewhere()),
        mock.patch("graphmetric.model.send", lambda t, _: t),
    ):
        found, again = model.encode_graphs(featurizer, molecules), model.embed_graphs(featurizer, molecules)
    for ours, theirs in zip(found.compacted(), expected.compacted(), strict=True):
        assert torch.equal(ours, theirs)
    assert np.array_equal(again, vectors)


def test_features_are_made_ahead_by_other_threads() -> None:
    made, threads = [], set()

    def work(item: int) -> int:
        threads.add(threading.get_ident())
        made.append(item)
        if item == 7:
            raise LookupError("the seventh")
        return item

    with thread_limit(1):
        ready = prefetch_in_threads(work, range(20), ahead=3)
        taken = [next(ready)]
        for _ in range(200):
            if len(made) >= 4:
                break
            threading.Event().wait(0.01)
        assert sorted(made) == [0, 1, 2, 3]  # the one that is used, and no more than three others
        with pytest.raises(LookupError, match="the seventh"):
            taken.extend(ready)
    assert taken == list(range(7))
    assert threading.get_ident() not in threads


def test_devices_by_name(molecules: gm.GraphCollection) -> None:
    assert as_device("cpu") == torch.device("cpu")
    for name in ("meta", "nonsense", "cuda:99"):
        with pytest.raises(InvalidArgument, match="device"):
            as_device(name)


def test_the_device_reaches_the_model(
    molecules: gm.GraphCollection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everywhere a model is read, Python and command line; a device that is missing is named."""
    place = tmp_path / "idx"
    gm.GraphIndex.build(gm.GraphDistance.load("molecules", device="cpu").to("cpu"), molecules, out=place)
    vectors = tmp_path / "z.npy"
    for act in (
        lambda: gm.GraphDistance.load("molecules", device="cuda:77"),
        lambda: gm.GraphDistance.load("molecules").to("cuda:77"),
        lambda: LearnedDistance.load("molecules", device="cuda:77"),
        lambda: gm.GraphIndex.load(place, device="cuda:77"),
        lambda: evaluate_model("molecules", molecules, device="cuda:77"),
    ):
        with pytest.raises(InvalidArgument, match="device 'cuda:77' cannot be used here"):
            act()
    for command in (
        ("embed", "molecules", "molecules", "--out", vectors),
        ("distance", "molecules", "molecules:3", "molecules:8"),
        ("evaluate", "molecules", "molecules"),
        ("index", "molecules", "molecules", "--out", tmp_path / "new"),
        ("index", "add", place, "molecules", "--number"),
        ("index", "add-model", place, "molecules"),
        ("search", place, "molecules:3"),
        ("serve", place),
    ):
        code, _, said = run(capsys, *command, "--device", "cuda:77")
        assert code == 1, command
        assert "'cuda:77' cannot be used here" in said
    learned = LearnedDistance.load("molecules")
    assert learned.to("cpu") is learned
    there = learned.to("meta")
    assert (there.network.device.type, learned.network.device.type) == ("meta", "cpu")
