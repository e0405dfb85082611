"""Our threads: the same results for any number of them, and the user's own setting of torch untouched."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import graphmetric as gm
from graphmetric._foundation.threads import allowed_threads, map_in_threads, thread_limit
from graphmetric.errors import InvalidArgument
from tests.clocks import NOT_FOR_EVER

USERS = 3
"""Threads that the user of these tests has set."""


@pytest.fixture(autouse=True)
def users_setting() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(USERS)
    yield
    assert torch.get_num_threads() == USERS
    torch.set_num_threads(before)


def in_another_thread(ask: Callable[[], int]) -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result()


def test_torch_has_one_thread_inside_and_the_users_own_everywhere_else() -> None:
    assert allowed_threads() == USERS
    with thread_limit(2):
        assert (torch.get_num_threads(), allowed_threads()) == (1, 2)
        assert in_another_thread(torch.get_num_threads) == USERS
        with thread_limit(5):
            assert (torch.get_num_threads(), allowed_threads()) == (1, 5)
        assert (torch.get_num_threads(), allowed_threads()) == (1, 2)
    assert (torch.get_num_threads(), allowed_threads()) == (USERS, USERS)
    assert in_another_thread(torch.get_num_threads) == USERS


def test_the_setting_is_back_after_an_error() -> None:
    with pytest.raises(KeyError), thread_limit(2):
        raise KeyError
    assert (torch.get_num_threads(), allowed_threads()) == (USERS, USERS)
    with pytest.raises(InvalidArgument, match="threads must be 1 or more; got 0"), thread_limit(0):
        pass


def test_threads_that_come_and_go_do_not_disturb_each_other() -> None:
    """One enters while another is inside, and leaves after it: a plain set and restore would leave 1 behind."""
    inside, leave = threading.Event(), threading.Event()

    def first() -> int:
        with thread_limit(2):
            inside.set()
            leave.wait(NOT_FOR_EVER)
        return torch.get_num_threads()

    def second() -> int:
        inside.wait(NOT_FOR_EVER)
        with thread_limit(2):
            leave.set()
        return torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        assert [found.result() for found in [pool.submit(first), pool.submit(second)]] == [USERS, USERS]


def test_workers_start_no_threads_of_their_own() -> None:
    barrier = threading.Barrier(3, timeout=NOT_FOR_EVER)  # broken unless there are three threads at a time

    def look(item: int) -> tuple[int, int, int]:
        barrier.wait()
        return item, torch.get_num_threads(), allowed_threads()

    with thread_limit(3):
        assert map_in_threads(look, range(6)) == [(item, 1, 1) for item in range(6)]


def test_parallel_parts_are_taken_one_by_one_where_they_are_few() -> None:
    with thread_limit(4):
        assert map_in_threads(lambda _: allowed_threads(), range(3), parts_are_parallel=True) == [4, 4, 4]
        assert map_in_threads(lambda _: allowed_threads(), range(4), parts_are_parallel=True) == [1, 1, 1, 1]


def test_an_error_in_a_thread_comes_out() -> None:
    with thread_limit(2), pytest.raises(ZeroDivisionError):
        map_in_threads(lambda item: 1 // item, [1, 0, 2])


@pytest.mark.slow
@pytest.mark.parametrize("head", ["matching", "block-norm", "squared-fc"])
def test_results_are_the_same_to_the_last_bit_for_any_number_of_threads(head: str) -> None:
    graphs = gm.load_dataset("molecules").graphs[:300]
    found = []
    for n_jobs in (1, 2, 3):
        model = gm.GraphDistance("small", head=head, max_steps=3, label_budget=300, n_jobs=n_jobs).fit(graphs[:40])
        index = gm.GraphIndex.build(model, graphs)
        hits = [(hit.id, hit.distance) for hit in index.search(graphs[7], k=9)]
        weights = [tensor.numpy() for tensor in model.model_.state_dict().values()]
        found.append([model.embed(graphs), model.pairwise(graphs[:150]), np.array(hits), *weights])
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


SILENT = """
import os
import graphmetric as gm
graphs = gm.load_dataset("molecules").graphs[:300]
gm.GraphDistance, gm.GraphIndex  # imported here, with libraries that have threads of their own
before = len(os.listdir("/proc/self/task"))
model = gm.GraphDistance.load("molecules").set_params(n_jobs=1)
model.embed(graphs), model.pairwise(graphs[:100]), model.distance(graphs[0], graphs[1])
gm.GraphIndex.build(model, graphs).search(graphs[0], k=3)
model.set_params(warm_start=True, max_steps=2, label_budget=100).fit(graphs[:40])
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of threads")
def test_no_thread_is_started_for_one_job() -> None:
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 0
