"""Vectors from the workers of an executor: the same to the last bit, and each worker reads the model once."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.learned import learned_distance as module
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.learned.model_folder import pack_model


@pytest.fixture(scope="module")
def model() -> LearnedDistance:
    return LearnedDistance.load("molecules")


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:300]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("graphmetric.model.CHUNK", "graphmetric.learned.learned_distance.CHUNK"):
        monkeypatch.setattr(place, 16)
    module._model_slot.cache_clear()


@pytest.mark.usefixtures("small_chunks")
def test_threads_give_the_same_and_read_the_model_once(model: LearnedDistance, molecules: gm.GraphCollection) -> None:
    expected = model.embed(molecules)
    reads = mock.Mock(wraps=module.unpack_model)
    with ThreadPoolExecutor(1) as pool, mock.patch.object(module, "unpack_model", reads):
        assert np.array_equal(model.embed(molecules, pool), expected)
        assert np.array_equal(model.embed(molecules[:0], pool), expected[:0])
    assert reads.call_count == 1


@pytest.mark.usefixtures("small_chunks")
def test_a_worker_without_the_model_is_sent_it(model: LearnedDistance, molecules: gm.GraphCollection) -> None:
    """A worker that joins late gets a task without the model, says so, and gets it again with it."""
    work, asked = module._embed_in_worker, []

    def forget(digest: str, files: tuple[bytes, bytes] | None, graphs: gm.GraphCollection) -> object:
        asked.append(files is not None)
        if len(asked) == 10:
            module._model_slot.cache_clear()
        return work(digest, files, graphs)

    with ThreadPoolExecutor(1) as pool, mock.patch.object(module, "_embed_in_worker", forget):
        found = model.embed(molecules, pool)
    assert np.array_equal(found, model.embed(molecules))
    assert asked[9:11] == [False, False]
    assert asked[-1]


@pytest.mark.slow
def test_processes_give_the_same(model: LearnedDistance, molecules: gm.GraphCollection) -> None:
    estimator = gm.GraphDistance.load("molecules")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        assert np.array_equal(estimator.embed(molecules, executor=pool), model.embed(molecules))


def test_what_arrives_damaged_is_refused(model: LearnedDistance, molecules: gm.GraphCollection) -> None:
    module._model_slot.cache_clear()
    text, weights = pack_model(model.network, model._config())
    changed = weights[:-1] + bytes([weights[-1] ^ 1])
    with pytest.raises(FileError, match=r"model\.safetensors: was changed"):
        module._embed_in_worker(model.digest, (text, changed), molecules)
    with pytest.raises(FileError, match="may be cut"):
        module._embed_in_worker(model.digest, (text[:-9], weights), molecules)
    with pytest.raises(InvalidArgument, match="another model"):
        module._embed_in_worker("0" * 32, (text, weights), molecules)


def test_other_things_are_no_executors(model: LearnedDistance, molecules: gm.GraphCollection) -> None:
    with pytest.raises(InvalidArgument, match="dask"):
        model.embed(molecules, "a cluster")
