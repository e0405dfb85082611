"""An index without a model: certified searches, no torch, and a model that is added later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.index.folder import segment_files
from graphmetric.index.folder.store import _digest
from tests.command_line import run
from tests.search.test_index_files import in_a_process_killed_at

WITHOUT_TORCH = """
import sys
for name in ("torch", "sklearn", "safetensors", "faiss"):
    sys.modules[name] = None
import graphmetric as gm
from graphmetric.cli import main
folder, query = sys.argv[1:]
graphs = gm.load_dataset("molecules").graphs[:40]
index = gm.GraphIndex.build(graphs, out=folder)
index.add([graphs[3].replace(id="again")])
index.remove(graphs[5].id)
index.save(folder)
found = gm.GraphIndex.load(folder, verify=True)
assert [hit.exact for hit in found.search(graphs[3], 2)] == [0.0, 0.0]
assert len(found) == 40 and found.model is None
assert "edits" in str(found.explain(graphs[3], graphs[4].id))
try:
    found.add_model("molecules")
except gm.errors.MissingExtra as error:
    assert "graphmetric[learn]" in str(error)
else:
    raise AssertionError
main(["search", folder, query, "-k", "2", "--json"])
"""


@pytest.fixture(scope="module")
def bare(molecules: gm.GraphCollection, kept_in: str) -> gm.GraphIndex:
    """Of the first hundred; the others are queries."""
    return gm.GraphIndex.build(molecules[:100])


FACTS: tuple[Any, ...] = (1, 1.0, True, 0, "1", None, "a", [1, 2], {"b": 1}, float("nan"))


def test_conditions_are_those_of_python(molecules: gm.GraphCollection, kept_in: str) -> None:
    """With values of all kinds, in two segments, as a plain look at the metadata of each graph has it."""
    rng = np.random.default_rng(0)
    graphs = [
        graph.replace(metadata={key: FACTS[rng.integers(high)] for key, high in (("plain", 7), ("any", len(FACTS)))})
        if rng.random() < 0.8
        else graph.replace(metadata={})
        for graph in molecules[:60]
    ]
    index = gm.GraphIndex.build(graphs[:40])
    index.search(graphs[0], 1, where={"plain": 1})  # what it keeps of the first segment must not be taken for all
    index.add(graphs[40:])
    for where in [*({key: value} for key in ("plain", "any") for value in FACTS), {"plain": 1, "any": "a"}]:
        holds = [all(key in g.metadata and g.metadata[key] == want for key, want in where.items()) for g in graphs]
        found = index.search(molecules[70], k=60, where=where, time_limit=None)
        assert {hit.id for hit in found} == {graph.id for graph, holding in zip(graphs, holds, strict=True) if holding}


def test_torch_is_not_needed(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "index"), "molecules:3"]
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    hits = json.loads(done.stdout)["hits"]
    assert [hit["proven"] for hit in hits] == [True, True]


def test_answers_are_those_of_an_index_with_a_model(
    index: gm.GraphIndex, bare: gm.GraphIndex, molecules: gm.GraphCollection
) -> None:
    for view in ("raw", "steinhaus", "paper"):
        for query in molecules[100:104]:
            ours, theirs = bare.search(query, 6, view=view), index.search(query, 6, view=view, certified=True)
            assert [hit.exact for hit in ours] == [hit.exact for hit in theirs]
            assert all(hit.proven for hit in ours)


def test_what_needs_a_model_says_so(
    bare: gm.GraphIndex, model: gm.GraphDistance, molecules: gm.GraphCollection
) -> None:
    assert repr(bare) == "GraphIndex(100 graphs, no model)"
    with pytest.raises(InvalidArgument, match="has no model"):
        bare.search(molecules[3], certified=False)
    with pytest.raises(InvalidArgument, match="has no model"):
        bare.range_search(molecules[3], 2.0, certified=False)
    with pytest.raises(InvalidArgument, match="omit num_candidates"):
        bare.search(molecules[3], num_candidates=20)
    with pytest.raises(InvalidArgument, match="no view 'square'"):
        bare.search(molecules[3], view="square")  # type: ignore[call-overload]
    assert bare.explain(molecules[101], molecules[4].id).alignment.exact
    assert bare.search([]) == []


@pytest.mark.parametrize("wrong", [(), (None,), (3,), (None, None), ([gm.Graph(1)], [gm.Graph(1)])])
def test_what_is_not_graphs_is_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises(gm.errors.GraphMetricError):
        gm.GraphIndex.build(*wrong)  # type: ignore[call-overload]


def test_graphs_are_missing(model: gm.GraphDistance) -> None:
    for given in (model, model.learned_, gm.GraphDistance("small")):
        with pytest.raises(InvalidArgument, match=r"build\(model, graphs\)"):
            gm.GraphIndex.build(given)
    assert len(gm.GraphIndex.build(graphs=[gm.Graph(1)])) == 1  # type: ignore[call-overload]


def test_costs_are_kept(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    costs = gm.EditCosts(node_delete=2.0, node_insert=2.0, ignore=frozenset({"edge_labels"}))
    index = gm.GraphIndex.build(molecules[:20], costs=costs, out=tmp_path / "index")
    loaded = gm.GraphIndex.load(tmp_path / "index")
    assert index.costs == loaded.costs == costs
    found = loaded.search(molecules[101], 3)
    distances = gm.pairwise_edit_distances([molecules[101]], molecules[:20], costs=costs).upper[0]
    assert [hit.exact for hit in found] == np.sort(distances)[:3].tolist()
    plain = loaded.search(molecules[101], 20, costs=gm.EditCosts())
    assert [hit.exact for hit in plain] != [hit.exact for hit in loaded.search(molecules[101], 20)]
    assert gm.GraphIndex.build(molecules[:3]).costs == gm.EditCosts()
    with pytest.raises(InvalidArgument, match=r"graphmetric\.EditCosts"):
        gm.GraphIndex.build(molecules[:3], costs={"node_delete": 2})  # type: ignore[call-overload]


def test_editions(kept_in: str, bare: gm.GraphIndex, molecules: gm.GraphCollection, tmp_path: Path) -> None:
    assert (bare.edition is None) == (kept_in == "memory")
    index = gm.GraphIndex.build(molecules[:5], out=tmp_path / "index")
    loaded = gm.GraphIndex.load(tmp_path / "index")
    assert loaded.edition == index.edition is not None
    loaded.remove(molecules[1].id)
    loaded.save(tmp_path / "index")
    assert loaded.edition != index.edition
    assert gm.GraphIndex.load(tmp_path / "index").edition == loaded.edition


@pytest.mark.parametrize("head", ["matching", "block-norm", "squared-fc"])
@pytest.mark.parametrize("place", ["memory", "home", "elsewhere"])
def test_a_model_that_is_added_later(
    models: dict[str, gm.GraphDistance],
    molecules: gm.GraphCollection,
    tmp_path: Path,
    head: str,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The index is the one that the model would have made at first, without what was removed."""
    monkeypatch.setattr("graphmetric.index.building.CHUNK", 20)
    index = gm.GraphIndex.build(molecules[:30], out=tmp_path / "home")
    index.add(molecules[30:50])
    index.remove([molecules[7].id, molecules[40].id])
    out = None if place == "memory" else tmp_path / place
    index.add_model(models[head], out=out)
    if out is None:
        index.save(tmp_path / "home")
        out = tmp_path / "home"
    kept = molecules[[k for k in range(50) if k not in (7, 40)]]
    whole = gm.GraphIndex.build(models[head], kept)
    for changed in (index, gm.GraphIndex.load(out, verify=True)):
        assert changed.ids == whole.ids
        assert changed.model is not None
        for query in molecules[100:103]:
            ours, theirs = changed.search(query, 48), whole.search(query, 48)
            assert {hit.id for hit in ours} == {hit.id for hit in theirs}
            assert np.allclose([h.distance for h in ours], [h.distance for h in theirs], rtol=1e-4, atol=1e-4)
    assert len(list((out / "segments").iterdir())) == 1
    assert len(list(out.glob("model-*"))) == 1
    index.add_model(models[head])  # nothing to do
    with pytest.raises(InvalidArgument, match="another model"):
        index.add_model(models["concave"])


def test_a_model_that_cannot_encode_the_graphs_changes_nothing(model: gm.GraphDistance) -> None:
    graphs = [gm.Graph(n, [(0, 1)], directed=True) for n in (2, 3, 4)]
    index = gm.GraphIndex.build(graphs)
    with pytest.raises(InvalidArgument, match="directed"):
        index.add_model(model)
    assert index.model is None
    assert [hit.exact for hit in index.search(graphs[0])] == [0.0, 1.0, 2.0]


def test_a_model_for_an_index_that_was_changed(
    model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path: Path
) -> None:
    first = gm.GraphIndex.build(molecules[:5], out=tmp_path / "index")
    second = gm.GraphIndex.load(tmp_path / "index")
    first.remove(molecules[1].id)
    first.save(tmp_path / "index")
    with pytest.raises(FileError, match="load it again"):
        second.add_model(model, out=tmp_path / "index")
    assert second.model is None
    assert len(second) == 5
    assert gm.GraphIndex.load(tmp_path / "index").model is None


@pytest.mark.slow
def test_kill_9_while_a_model_is_added(model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    gm.GraphIndex.build(molecules[:10], out=folder)
    index, seen = gm.GraphIndex.load(folder), set()
    for step in range(1, 80):
        killed = in_a_process_killed_at(step, lambda: index.add_model(model, out=folder))
        found = gm.GraphIndex.load(folder, verify=True)
        seen.add(found.model is None)
        assert found.search(molecules[3], 1)[0].id == molecules[3].id
        if not killed or found.model is not None:
            break
    assert seen == {True, False}


def describe_anew(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Change the description of an index and give it a right digest."""
    plain = json.loads((folder / "index.json").read_text())
    plain.pop("sha256")
    change(plain)
    (folder / "index.json").write_text(json.dumps({**plain, "sha256": _digest(plain)}))


@pytest.mark.parametrize("version", [1, 9])
def test_an_index_of_another_version_is_refused(version: int, molecules: gm.GraphCollection, tmp_path: Path) -> None:
    gm.GraphIndex.build(molecules[:10], out=tmp_path / "index")
    describe_anew(tmp_path / "index", lambda plain: plain.update(version=version))
    with pytest.raises(FileError, match=f"has version {version}; .* reads versions 2 and 3: build the index again"):
        gm.GraphIndex.load(tmp_path / "index")


@pytest.mark.parametrize("name", ["histograms", "branches"])
def test_a_segment_without_its_bounds_is_refused(name: str, molecules: gm.GraphCollection, tmp_path: Path) -> None:
    gm.GraphIndex.build(molecules[:10], out=tmp_path / "index")
    (description,) = (tmp_path / "index" / "segments").glob("*/segment.json")
    described = json.loads(description.read_text())
    del described["arrays"][name]
    description.write_text(json.dumps(described))
    digest = segment_files._digest_of(description.read_bytes())
    describe_anew(tmp_path / "index", lambda plain: plain["segments"][0].update(digest=digest))  # type: ignore[index]
    with pytest.raises(FileError, match=f"lacks {name}; build the index again"):
        gm.GraphIndex.load(tmp_path / "index")


def test_a_segment_without_vectors_does_not_serve_a_model(
    model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    gm.GraphIndex.build(molecules[:10], out=folder)
    digest = model.learned_.digest
    describe_anew(folder, lambda plain: plain.update(model=digest))
    model.save(folder / f"model-{digest[:16]}")
    with pytest.raises(FileError, match="lacks to_empty, vectors"):
        gm.GraphIndex.load(folder)


def test_on_the_command_line(
    model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def data(*arguments: object) -> Any:
        code, out, err = run(capsys, *arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    graphs, folder = tmp_path / "graphs.jsonl", tmp_path / "idx"
    gm.write_graphs(molecules[:20], graphs)
    model.save(tmp_path / "model")
    assert data("index", graphs, "--out", folder, "--ignore", "edge_labels")["model"] is False
    found = data("search", folder, f"{graphs}:3", "-k", 2)
    assert [hit["proven"] for hit in found["hits"]] == [True, True]
    assert found["counts"].endswith("but edge_labels")
    assert data("index", "add-model", folder, tmp_path / "model", "--jobs", 1)["graphs"] == 20
    learned = data("search", folder, f"{graphs}:3", "-k", 2)["hits"]
    assert all("proven" not in hit for hit in learned)
    assert len(data("search", folder, f"{graphs}:3", "--within", 1)["hits"]) >= 1
    code, _, err = run(capsys, "index", "a", "b", "c", "--out", tmp_path / "other")
    assert code != 0
    assert "got 3 arguments" in err
