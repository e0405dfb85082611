"""An index on disk, with a model and without: round trips, damage, crashes, readers beside writers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import graphmetric as gm
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.index import graphs as index_graphs
from tests.search.conftest import HEADS


def answers(index: gm.GraphIndex, query: gm.Graph) -> list[tuple[object, float]]:
    return [(hit.id, hit.distance) for hit in index.search(query, 6)]


@pytest.fixture(scope="module", params=["model", "no model"])
def own_model(request: pytest.FixtureRequest, model: gm.GraphDistance) -> gm.GraphDistance | None:
    """The model of the indexes of this module."""
    return model if request.param == "model" else None


@pytest.fixture(scope="module")
def index(own_model: gm.GraphDistance | None, molecules: gm.GraphCollection) -> gm.GraphIndex:
    """Of the first hundred; the others are queries."""
    return gm.GraphIndex.build(own_model, molecules[:100])


@pytest.fixture(scope="module")
def saved(index: gm.GraphIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes") / "index"
    index.save(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
def test_round_trip(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, tmp_path: Path
) -> None:
    index = gm.GraphIndex.build(models[head], molecules[:50])
    index.save(tmp_path / "index")
    for loaded in (gm.GraphIndex.load(tmp_path / "index"), gm.GraphIndex.load(tmp_path / "index", model=models[head])):
        assert len(loaded) == 50
        assert answers(loaded, molecules[60]) == answers(index, molecules[60])
        assert loaded.graph(molecules[7].id) == molecules[7]
        assert loaded.graph(molecules[7].id).metadata == molecules[7].metadata
        loaded.verify()


def test_arrays_are_mapped(saved: Path) -> None:
    (held,) = gm.GraphIndex.load(saved)._open.graphs.segments
    for name in {"vectors", "edges", "histograms", "branches"} & held.segment.arrays.keys():
        assert isinstance(held.segment.arrays[name].base, np.memmap)


def test_building_into_a_folder_is_the_same(
    own_model: gm.GraphDistance | None,
    molecules: gm.GraphCollection,
    index: gm.GraphIndex,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Chunk after chunk, from an iterator, with columns that only later graphs have."""
    monkeypatch.setattr("graphmetric.index.building.CHUNK", 30)
    built = gm.GraphIndex.build(own_model, iter(molecules[:100]), out=tmp_path / "index")
    assert answers(built, molecules[104])[0][0] == answers(index, molecules[104])[0][0]
    assert np.allclose(
        [d for _, d in answers(built, molecules[104])], [d for _, d in answers(index, molecules[104])], atol=1e-5
    )
    mixed = [graph.replace(node_labels=None) if k < 40 else graph for k, graph in enumerate(molecules[:80])]
    again = gm.GraphIndex.build(own_model, iter(mixed), out=tmp_path / "index")
    assert [again.graph(graph.id) for graph in mixed] == mixed


@pytest.mark.slow
def test_changes_are_written_where_it_came_from(copy: Path, molecules: gm.GraphCollection) -> None:
    index = gm.GraphIndex.load(copy)
    before = set((copy / "segments").iterdir())
    index.remove(molecules[4].id)
    index.add(molecules[100:])
    index.save(copy)
    assert before < set((copy / "segments").iterdir())
    again = gm.GraphIndex.load(copy)
    assert again.ids == index.ids
    assert answers(again, molecules[4]) == answers(index, molecules[4])
    again.remove([graph.id for graph in molecules[10:60]])
    again.save(copy)
    assert len(list((copy / "segments").iterdir())) == 1  # so many were removed that one segment was made of all
    last = gm.GraphIndex.load(copy)
    assert last.ids == again.ids == [graph.id for k, graph in enumerate(molecules) if k != 4 and not 10 <= k < 60]
    assert last.graph(molecules[100].id).metadata == molecules[100].metadata
    assert last.search(molecules[100], 1, certified=True)[0].exact == 0


def test_another_model_is_refused(copy: Path, models: dict[str, gm.GraphDistance]) -> None:
    if gm.GraphIndex.load(copy).model is None:
        with pytest.raises(InvalidArgument, match="has no model"):
            gm.GraphIndex.load(copy, model=models["block-norm"])
        return
    with pytest.raises(InvalidArgument, match="another model"):
        gm.GraphIndex.load(copy, model=models["block-norm"])
    (folder,) = copy.glob("model-*")
    shutil.rmtree(folder)
    models["block-norm"].save(folder)
    with pytest.raises(FileError, match=r"another model .* or was built by another version .*: build the index again"):
        gm.GraphIndex.load(copy)


def test_a_writer_that_came_too_late(copy: Path, molecules: gm.GraphCollection) -> None:
    first, second = gm.GraphIndex.load(copy), gm.GraphIndex.load(copy)
    first.remove(molecules[1].id)
    first.save(copy)
    second.remove(molecules[2].id)
    with pytest.raises(FileError, match="load it again"):
        second.save(copy)


def test_a_folder_of_something_else_is_left_alone(index: gm.GraphIndex, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(FileError, match=r"mine\.txt"):
        index.save(tmp_path)
    with pytest.raises(FileError, match=r"no index\.json"):
        gm.GraphIndex.load(tmp_path)
    with pytest.raises(FileError, match="is a file"):
        index.save(tmp_path / "mine.txt")


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (".lock", "MODEL_CARD.md"))


def test_cut_files_are_refused(copy: Path) -> None:
    for path in files_of(copy):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with pytest.raises(FileError):
            gm.GraphIndex.load(copy, verify=False)
        path.write_bytes(whole)
    assert len(gm.GraphIndex.load(copy)) == 100


def test_changed_files_are_refused(copy: Path) -> None:
    for path in files_of(copy):
        whole = path.read_bytes()
        for place in (0, len(whole) // 2):
            changed = bytearray(whole)
            changed[place] ^= 0x11
            path.write_bytes(changed)
            with pytest.raises((FileError, InvalidArgument)):
                gm.GraphIndex.load(copy)
        path.write_bytes(whole)


def test_missing_files_are_named(copy: Path) -> None:
    (edges,) = copy.rglob("edges.bin")
    edges.unlink()
    with pytest.raises(FileError, match=r"edges\.bin"):
        gm.GraphIndex.load(copy)
    shutil.rmtree(copy / "segments")
    with pytest.raises(FileError, match=r"segment\.json"):
        gm.GraphIndex.load(copy)


@pytest.mark.parametrize(
    "change",
    [
        {"segments": [{"name": "../../x", "digest": "", "removed": []}]},
        {"version": 9},
        {"model": "../x"},
        {"model": "0123456789abcdef"},
        {"costs": {"node_delete": -1}},
    ],
)
def test_a_description_with_a_right_digest_is_not_believed(copy: Path, change: dict[str, object]) -> None:
    from graphmetric.index.folder.store import _digest

    plain = json.loads((copy / "index.json").read_text()) | change
    plain.pop("sha256")
    (copy / "index.json").write_text(json.dumps({**plain, "sha256": _digest(plain)}))
    with pytest.raises(FileError):
        gm.GraphIndex.load(copy)


def in_a_process_killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do the work in a fork that kills itself at its ``step``-th write through to the disk; whether it was killed."""
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)  # the threads of the parent are not in the fork, and it would wait for them
        left = [step]
        real = os.fsync

        def count_down(descriptor: int) -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            real(descriptor)

        os.fsync = count_down
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.slow
def test_kill_9_while_saving_leaves_the_old_or_the_new(copy: Path, molecules: gm.GraphCollection) -> None:
    index = gm.GraphIndex.load(copy)
    index.add(molecules[100:])
    sizes = []
    for step in range(1, 60):
        killed = in_a_process_killed_at(step, lambda: index.save(copy))
        found = gm.GraphIndex.load(copy)
        sizes.append(len(found))
        assert found.search(molecules[3], 1)[0].id == molecules[3].id
        if not killed:
            break
    assert set(sizes) == {100, 110}
    assert not killed
    assert len(list((copy / "segments").iterdir())) == 2  # what the killed ones left behind is gone


def test_kill_9_while_building_leaves_no_index(
    own_model: gm.GraphDistance | None, molecules: gm.GraphCollection, tmp_path: Path
) -> None:
    assert in_a_process_killed_at(3, lambda: gm.GraphIndex.build(own_model, molecules[:10], out=tmp_path / "index"))
    with pytest.raises(FileError, match="not finished"):
        gm.GraphIndex.load(tmp_path / "index")
    assert len(gm.GraphIndex.build(own_model, molecules[:10], out=tmp_path / "index")) == 10
    assert len(list((tmp_path / "index" / "segments").iterdir())) == 1


@pytest.mark.slow
def test_a_reader_beside_a_writer(copy: Path, molecules: gm.GraphCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer replaces the only segment again and again; every reader sees a whole index."""
    monkeypatch.setattr(index_graphs, "_MOST_SEGMENTS", 1)
    index = gm.GraphIndex.load(copy)
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        try:
            for k in range(100, 110):
                index.add([molecules[k]])
                index.save(copy)
                time.sleep(0.05)
        finally:
            os._exit(0)
    sizes, done = [], 0
    while not done:
        done, _ = os.waitpid(child, os.WNOHANG)
        found = gm.GraphIndex.load(copy)
        assert found.search(molecules[3], 1)[0].id == molecules[3].id
        sizes.append(len(found))
    assert sizes == sorted(sizes)
    assert sizes[-1] == 110


def test_two_writers_at_once(copy: Path, index: gm.GraphIndex) -> None:
    from graphmetric.index.folder.store import IndexFolder

    with IndexFolder(copy).writing(), pytest.raises(FileError, match="another process"):
        index.save(copy)


@pytest.mark.slow
def test_lists_are_kept_beside_large_segments(
    model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr("graphmetric.index.folder.lists.LISTS_FROM", 50)
    gm.GraphIndex.build(model, molecules[:60], out=tmp_path / "index")
    index = gm.GraphIndex.load(tmp_path / "index")
    index.remove(molecules[8].id)
    assert index.search(molecules[7], 1, num_candidates=20)[0].id == molecules[7].id
    assert molecules[8].id not in [hit.id for hit in index.search(molecules[8], 10, num_candidates=40)]
    assert answers(index, molecules[9])[0][0] == molecules[9].id
    (lists,) = tmp_path.rglob("lists.faiss")
    damaged = bytearray(lists.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    lists.write_bytes(damaged)
    with pytest.raises(FileError, match="digest is wrong"):
        gm.GraphIndex.load(tmp_path / "index", verify=False)
    monkeypatch.setattr("graphmetric.index.folder.lists.load_faiss", lambda: None)  # as where it is not installed
    scanned = gm.GraphIndex.build(model, molecules[:60])
    assert scanned.search(molecules[7], 1, num_candidates=20)[0].id == molecules[7].id


def test_an_index_with_proofs_of_the_last_version_is_read(copy: Path, molecules: gm.GraphCollection) -> None:
    description = json.loads((copy / "index.json").read_text())
    del description["sha256"]
    description["remembered"] = hashlib.sha256(b"proofs").hexdigest()
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()
    (copy / "index.json").write_text(json.dumps({**description, "sha256": digest}))
    (copy / f"remembered-{description['remembered'][:16]}").write_bytes(b"proofs")
    opened = gm.GraphIndex.load(copy, verify=True)
    opened.remove(molecules[0].id)
    opened.save(copy)
    assert len(gm.GraphIndex.load(copy)) == len(opened)
    assert not list(copy.glob("remembered-*"))
