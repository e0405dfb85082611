"""All pairs: the same numbers as one by one, each question once, nothing lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

import graphmetric as gm
from graphmetric import EditCosts, Graph, pairwise_edit_distances
from graphmetric.edit_distance import pairwise as pairwise_module
from graphmetric.edit_distance.store import fingerprint
from graphmetric.errors import InvalidArgument


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:40]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise_module, "CHUNK", 100)


def test_is_the_distance_of_each_pair(molecules: gm.GraphCollection) -> None:
    few = molecules[:8]
    together = pairwise_edit_distances(few)
    one_by_one = [[gm.graph_edit_distance(g, h).upper for h in few] for g in few]
    assert together.distances.tolist() == one_by_one
    assert np.array_equal(np.asarray(together), together.distances)
    assert "100.0% proven" in repr(together)


def test_is_a_metric(molecules: gm.GraphCollection) -> None:
    distances = pairwise_edit_distances(molecules, n_jobs=2).distances
    assert np.array_equal(distances, distances.T)
    assert (np.diag(distances) == 0).all()
    assert (distances[:, :, None] <= distances[:, None, :] + distances[None, :, :]).all()
    classes = gm.isomorphism_classes(molecules)
    assert np.array_equal(distances == 0, classes[:, None] == classes[None, :])


def test_shapes_follow_the_question(molecules: gm.GraphCollection) -> None:
    full = pairwise_edit_distances(molecules[:6]).distances
    assert np.array_equal(pairwise_edit_distances(molecules[:2], molecules[2:6]).distances, full[:2, 2:])
    chosen = pairwise_edit_distances(molecules, pairs=[[5, 0], [3, 3], [0, 5]])
    assert chosen.upper.tolist() == [full[5, 0], 0, full[0, 5]]
    assert chosen.computed == 2
    assert pairwise_edit_distances(molecules[:3], molecules[3:6], pairs=[[2, 1]]).upper[0] == full[2, 4]
    assert pairwise_edit_distances(molecules, pairs=[]).upper.shape == (0,)
    assert pairwise_edit_distances([]).distances.shape == (0, 0)


def test_copies_are_computed_once(molecules: gm.GraphCollection) -> None:
    rng = np.random.default_rng(0)
    copies = [g.relabeled(rng.permutation(g.num_nodes)) for g in molecules[:5] for _ in range(4)]
    result = pairwise_edit_distances(copies)
    assert result.computed == 15
    single = pairwise_edit_distances(molecules[:5]).distances
    assert np.array_equal(result.distances, np.kron(single, np.ones((4, 4))))


def test_unsymmetric_costs_are_not_mirrored() -> None:
    costs = EditCosts(node_delete=1, node_insert=3)
    distances = pairwise_edit_distances([Graph(1), Graph(2)], costs=costs).distances
    assert distances.tolist() == [[0, 3], [1, 0]]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_any_backend_gives_the_same(molecules: gm.GraphCollection, small_chunks: None, backend: str) -> None:
    expected = pairwise_edit_distances(molecules[:20])
    with joblib.parallel_config(backend=backend):
        assert np.array_equal(pairwise_edit_distances(molecules[:20], n_jobs=2).distances, expected.distances)


def test_store_is_filled_and_read(
    molecules: gm.GraphCollection, small_chunks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pairwise_edit_distances(molecules, store=tmp_path)
    assert len(list(tmp_path.glob("chunk-*.npz"))) == -(-first.computed // 100)
    monkeypatch.setattr(pairwise_module, "_solve_chunk", None)  # anything computed again would fail
    again = pairwise_edit_distances(molecules, store=tmp_path)
    assert np.array_equal(first.distances, again.distances)
    assert first.nodes_expanded == again.nodes_expanded


def test_damaged_chunks_are_computed_again(
    molecules: gm.GraphCollection, small_chunks: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = pairwise_edit_distances(molecules, store=tmp_path)
    chunk = tmp_path / "chunk-000001.npz"
    chunk.write_bytes(chunk.read_bytes()[:200])
    (tmp_path / "chunk-000002.npz").unlink()
    assert np.array_equal(pairwise_edit_distances(molecules, store=tmp_path).distances, first.distances)
    assert "damaged" in caplog.text


def test_a_store_refuses_another_job(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    pairwise_edit_distances(molecules[:4], store=tmp_path)
    for graphs, options, what in (
        (molecules[1:5], {}, "graphs"),
        (molecules[:4], {"costs": EditCosts(node_delete=2)}, "costs"),
        (molecules[:4], {"pairs": [[0, 1]]}, "pairs"),
        (molecules[:4], {"time_limit_per_pair": 1.0}, "method"),
    ):
        with pytest.raises(InvalidArgument, match=f"another job: .*{what}"):
            pairwise_edit_distances(graphs, store=tmp_path, **options)


def test_fingerprints_see_contents_not_vocabularies(molecules: gm.GraphCollection) -> None:
    assert fingerprint(molecules[:3]) == fingerprint(gm.GraphCollection(list(molecules[:3])))
    assert fingerprint(molecules[:3]) != fingerprint(molecules[1:4])
    assert fingerprint(gm.GraphCollection([Graph(1, node_labels="a")])) != fingerprint(
        gm.GraphCollection([Graph(1, node_labels="b")])
    )


KILLED_JOB = """
import sys
import graphmetric as gm
from graphmetric.edit_distance import pairwise
pairwise.CHUNK = 20
graphs = gm.load_dataset("molecules").graphs[:60]
gm.pairwise_edit_distances(graphs, store=sys.argv[1])
"""


def test_killed_and_started_again_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise_module, "CHUNK", 20)
    graphs = gm.load_dataset("molecules").graphs[:60]
    job = subprocess.Popen([sys.executable, "-c", KILLED_JOB, str(tmp_path)])
    while len(list(tmp_path.glob("chunk-*.npz"))) < 3 and job.poll() is None:
        time.sleep(0.002)
    job.send_signal(signal.SIGKILL)
    job.wait()
    resumed = pairwise_edit_distances(graphs, store=tmp_path)
    assert np.array_equal(resumed.distances, pairwise_edit_distances(graphs).distances)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [([[0, 40]], r"pairs\[0\] is \(0, 40\)"), ([[0.5, 1]], "integers of shape"), ([0, 1], "integers of shape")],
)
def test_wrong_pairs_are_explained(molecules: gm.GraphCollection, pairs: list, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        pairwise_edit_distances(molecules, pairs=pairs)


@pytest.mark.parametrize("name", ["AIDS700nef", "LINUX", "ALKANE"])
def test_known_distances_come_out(shared_data: Path, name: str) -> None:
    data = gm.load_dataset(name, root=shared_data)
    rng = np.random.default_rng(0)
    pairs = rng.integers(len(data.graphs), size=(4000, 2))
    result = pairwise_edit_distances(data.graphs, pairs=pairs)
    assert np.array_equal(result.distances, data.distances[pairs[:, 0], pairs[:, 1]])
