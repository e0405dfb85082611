"""Saved models: the same answers after loading, and nothing but our own files is accepted or removed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

import graphmetric as gm
from graphmetric.errors import FileError
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned import model_folder
from graphmetric.learned.model_card import describe_model
from graphmetric.model import HeadOptions
from graphmetric.training import preset

QUICK: dict[str, Any] = {"preset": "small", "max_steps": 3, "label_budget": 40, "n_jobs": 1}


@pytest.fixture(scope="module")
def molecules() -> GraphCollection:
    return gm.load_dataset("molecules").graphs[:12]


@pytest.fixture(scope="module")
def model(molecules: GraphCollection) -> gm.GraphDistance:
    return gm.GraphDistance(**QUICK).fit(molecules)


@pytest.fixture(scope="module")
def original(model: gm.GraphDistance, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a saved model."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    model.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(original: dict[str, bytes], tmp_path: Path) -> Path:
    """A saved model to do harm to."""
    return put(original, tmp_path / "model")


def put(files: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the configuration and give it the digest that belongs to it, as someone who means harm would."""
    config = json.loads((folder / "config.json").read_text())
    change(config)
    config["sha256"] = model_folder._digest(config)
    (folder / "config.json").write_text(json.dumps(config))


def exchange_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load((folder / "model.safetensors").read_bytes())
    change(tensors)
    data = save(tensors)
    (folder / "model.safetensors").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    rewrite(folder, lambda config: config["weights"].update(bytes=len(data), sha256=digest))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        QUICK,
        QUICK
        | {"strict": True, "head": HeadOptions("concave", hidden=(4,), bases=("matching",)), "random_state": None},
        QUICK | {"preset": preset("small"), "random_state": np.random.RandomState(1)},
        {"preset": "paper", "epochs": 1, "pretrain": True, "label_budget": 40, "n_jobs": 1},
    ],
    ids=["small", "concave", "own options", "paper"],
)
def test_same_answers_after_loading(options: dict[str, Any], molecules: GraphCollection, tmp_path: Path) -> None:
    fitted = gm.GraphDistance(**options).fit(molecules)
    fitted.save(tmp_path / "model")
    loaded = gm.GraphDistance.load(tmp_path / "model")
    for view in ("raw", "steinhaus", "paper"):
        assert np.array_equal(fitted.pairwise(molecules, view=view), loaded.pairwise(molecules, view=view))  # type: ignore[arg-type]
    assert np.array_equal(fitted.embed(molecules), loaded.embed(molecules))
    assert loaded.report_ == fitted.report_
    expected = fitted.get_params()
    if not isinstance(expected["random_state"], int):
        expected["random_state"] = None
    assert loaded.get_params() == expected
    loaded.save(tmp_path / "again")
    for path in (tmp_path / "model").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_attributes_of_all_kinds_are_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"node_labels": [1, ("a", b"x")], "node_texts": ["to be", "or"], "edge_labels": [2.5]}
    columns |= {"node_features": rng.normal(size=(2, 3)), "node_images": rng.integers(0, 9, (2, 2, 2, 1), np.uint8)}
    several = [gm.Graph(2, [(0, 1)], edge_weights=[0.3], **columns), gm.Graph(3, [(0, 1)]), gm.Graph(0)]
    fitted = gm.GraphDistance(**QUICK).fit(several)
    fitted.save(tmp_path / "model")
    assert np.array_equal(gm.GraphDistance.load(tmp_path / "model").pairwise(several), fitted.pairwise(several))


def test_a_loaded_model_needs_graphs_to_search_in(folder: Path, molecules: GraphCollection) -> None:
    loaded = gm.GraphDistance.load(folder)
    with pytest.raises(ValueError, match="does not hold its training graphs"):
        loaded.kneighbors(molecules)
    assert loaded.kneighbors(molecules, molecules, k=1)[1].shape == (12, 1)


@pytest.mark.parametrize(
    ("exact", "pairs", "said"),
    [
        (
            0.10994,
            0,
            ["| Training pairs with a known distance | 11.0 %, of the others only bounds", "nothing was held out"],
        ),
        (
            1.0,
            30,
            ["| Training pairs with a known distance | 100.0 % |", "| Pairs | 30, of which only bounds are known"],
        ),
    ],
)
def test_the_card_tells_shares_in_percent_and_what_was_held_out(
    folder: Path, exact: float, pairs: int, said: list[str]
) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["report"]["labels"] |= {"exact": exact, "validation_pairs": pairs}
    config["report"]["validation"] = None
    card = describe_model(config, "a pseudo-metric")
    assert all(part in card for part in said), card
    assert ("nothing was held out" in card) == (pairs == 0)


def test_card_says_what_there_is_to_know(folder: Path) -> None:
    card = (folder / "MODEL_CARD.md").read_text()
    for part in ("GraphDistance.load", "Training graphs | 11", "edit distances at unit costs", torch.__version__):
        assert part in card
    assert "rank correlation" in card
    assert "| Counts | nodes, edges, node labels" in card
    assert "| Does not count | node features, node texts, node images" in card


@given(name=st.sampled_from(["model.safetensors", "config.json"]), place=st.floats(0, 1), change=st.integers(1, 255))
@settings(max_examples=40)
def test_a_changed_byte_is_noticed(
    original: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    place: float,
    change: int,
) -> None:
    data = bytearray(original[name])
    data[int(place * (len(data) - 1))] ^= change
    folder = put(original | {name: bytes(data)}, tmp_path_factory.mktemp("changed"))
    if name == "config.json" and is_same_json(bytes(data), original[name]):
        return  # one blank for another
    with pytest.raises(FileError, match=name):
        gm.GraphDistance.load(folder)


def is_same_json(a: bytes, b: bytes) -> bool:
    try:
        return bool(json.loads(a) == json.loads(b))
    except ValueError:
        return False


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_cut_short_is_refused(folder: Path, name: str, share: float) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileError, match=name):
        gm.GraphDistance.load(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda config: config.update(version=3), "version 3"),
        (lambda config: config.update(format="other"), "not the configuration"),
        (lambda config: config["model"]["encoder"].update(hidden_size=128), "does not fit"),
        (lambda config: config["model"]["encoder"].update(hidden_size=10**12), "does not fit"),
        (lambda config: config["model"]["encoder"].update(layers=10**9), "layers need more"),
        (lambda config: config["model"]["encoder"].update(layers=2), "in only one of them"),
        (lambda config: config["model"]["encoder"].update(layers="3"), "layers"),
        (lambda config: config["model"]["encoder"].update(more=1), "more"),
        (lambda config: config["model"].pop("head"), "head"),
        (lambda config: config.pop("features"), "features"),
        (lambda config: config["features"].update(version=9), "version 9"),
        (lambda config: config["features"]["parts"].update(roles=None), "damaged"),
        (lambda config: config.pop("weights"), "model.safetensors"),
        (lambda config: config["weights"].update(bytes="x"), "model.safetensors"),
        (lambda config: config["parameters"].update(colour="red"), "colour"),
        (lambda config: config.update(parameters=[1]), "config.json"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    rewrite(folder, change)
    with pytest.raises(FileError, match=said):
        gm.GraphDistance.load(folder)


def as_version_1(folder: Path, **options: dict[str, Any]) -> None:
    """Write the configuration as version 1 did, with the options that were removed since."""
    removed = {part: {**fields, **options.get(part, {})} for part, fields in model_folder._REMOVED.items()}

    def change(config: dict[str, Any]) -> None:
        config["version"] = 1
        config["features"]["options"].update(removed["features"])
        for part, fields in removed.items():
            config["model"].setdefault(part, {}).update(fields)
        config["model"].pop("training")

    rewrite(folder, change)


def test_version_1_is_read_without_the_options_that_were_removed(
    folder: Path, model: gm.GraphDistance, molecules: GraphCollection
) -> None:
    as_version_1(folder)
    again = gm.GraphDistance.load(folder)
    assert np.array_equal(again.pairwise(molecules), model.pairwise(molecules))
    assert again.model_.options == model.model_.options
    again.save(folder)
    assert json.loads((folder / "config.json").read_text())["version"] == model_folder.VERSION


def test_a_predictor_of_intervals_of_version_1_is_passed_over(
    folder: Path, model: gm.GraphDistance, molecules: GraphCollection
) -> None:
    as_version_1(folder)
    exchange_weights(folder, lambda tensors: tensors.update({"interval.bias": torch.zeros(2)}))
    rewrite(folder, lambda config: config.update(interval={"width": 8}))
    assert np.array_equal(gm.GraphDistance.load(folder).pairwise(molecules), model.pairwise(molecules))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"encoder": {"structural_bias": True}},
            r"encoder.structural_bias=True, which was removed: train the",
        ),
        ({"encoder": {"messages": "sum"}}, "encoder.messages='sum', which was removed"),
        ({"features": {"max_hops": 8}}, r"features.max_hops=8, .* or install the version .*, graphmetric \d"),
        ({"head": {"kind": "coupling", "fractions": True}}, r"use relaxed_edit_distance\(g, h, round_up=True\)"),
    ],
)
def test_version_1_is_refused_where_a_removed_option_had_an_effect(
    folder: Path, options: dict[str, dict[str, Any]], said: str
) -> None:
    as_version_1(folder, **options)
    with pytest.raises(FileError, match=said):
        gm.GraphDistance.load(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tensors: tensors.popitem(), "in only one of them"),
        (lambda tensors: tensors.update(more=torch.zeros(1)), "more"),
        (lambda tensors: tensors.update({key: value.double() for key, value in tensors.items()}), "float64"),
        (lambda tensors: next(iter(tensors.values())).fill_(torch.nan), "not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(folder: Path, change: Callable[[Any], object], said: str) -> None:
    exchange_weights(folder, change)
    with pytest.raises(FileError, match=said):
        gm.GraphDistance.load(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "nonsense", '{"format": NaN}', "\ud800"])
def test_hostile_json_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FileError, match=r"config\.json"):
        gm.GraphDistance.load(folder)


def test_what_is_no_model_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(FileError, match="not a folder of a model"):
        gm.GraphDistance.load(tmp_path / "nothing")
    (tmp_path / "half" / "checkpoint").mkdir(parents=True)
    with pytest.raises(FileError, match="unfinished"):
        gm.GraphDistance.load(tmp_path / "half")
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileError, match=r"model\.safetensors"):
        gm.GraphDistance.load(folder)


def test_saving_replaces_a_model_and_nothing_else(
    model: gm.GraphDistance, molecules: GraphCollection, folder: Path, tmp_path: Path
) -> None:
    other = gm.GraphDistance(**QUICK, random_state=5).fit(molecules)
    (folder / "checkpoint").mkdir()
    other.save(folder)
    assert np.array_equal(gm.GraphDistance.load(folder).embed(molecules), other.embed(molecules))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model"]
    assert sorted(path.name for path in folder.iterdir()) == ["MODEL_CARD.md", "config.json", "model.safetensors"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"notes\.txt"):
        model.save(folder)
    assert (folder / "notes.txt").exists()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="is a file"):
        model.save(tmp_path / "file")
    model.save(tmp_path / "new" / "deep" / "model")


@pytest.mark.parametrize("fails_at", [1, 2])
def test_failure_while_replacing_keeps_the_old_model(
    model: gm.GraphDistance, folder: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    before, rename, calls = {path.name: path.read_bytes() for path in folder.iterdir()}, os.rename, []

    def fail(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == fails_at:
            raise OSError("disk on fire")
        rename(*arguments)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(FileError, match="cannot be written: disk on fire"):
        model.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model"]


def test_kill_between_two_renames_leaves_the_old_model_findable(model: gm.GraphDistance, folder: Path) -> None:
    aside = folder.rename(folder.with_name(".model.replaced"))
    with pytest.raises(FileError, match=r"\.model\.replaced"):
        gm.GraphDistance.load(folder)
    gm.GraphDistance.load(aside)
    model.save(folder)
    assert not aside.exists()


SLIM = """
import sys
from graphmetric.cli import main
main(sys.argv[1:])
heavy = {"sklearn", "sympy", "torch._dynamo", "scipy.stats", "scipy.spatial", "faiss", "pandas", "networkx"}
print(sorted(heavy & sys.modules.keys()))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["distance", "molecules", "molecules:3", "molecules:8"], ["search", "INDEX", "molecules:3", "-k", "2"]]
)
def test_a_command_with_a_model_imports_no_more_than_it_needs(command: list[str], tmp_path: Path) -> None:
    """Each of these takes from a tenth of a second to more than a second, whatever is asked for."""
    index = tmp_path / "index"
    gm.GraphIndex.build(gm.GraphDistance.load("molecules"), gm.load_dataset("molecules").graphs[:20], out=index)
    arguments = [str(index) if word == "INDEX" else word for word in command]
    done = subprocess.run([sys.executable, "-c", SLIM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
