"""Certified searches of more than two seconds show how far they are, unless the caller does."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graphmetric as gm
from graphmetric._foundation import progress as progress_module
from graphmetric._foundation.progress import announce, verbose_progress
from tests.command_line import run
from tests.edit_distance.hard_graphs import sparse


@pytest.fixture(scope="module")
def trees() -> gm.GraphIndex:
    return gm.GraphIndex.build([sparse(12, seed) for seed in range(8)])


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return what is on standard error; the clock goes on by a minute whenever progress reads it."""
    minutes = count()
    monkeypatch.setattr(progress_module, "_is_logged", lambda: False)  # pytest logs
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: 60.0 * next(minutes)))
    return lambda: capsys.readouterr().err


@pytest.mark.parametrize(
    "search", [lambda index, query: index.search(query, 3), lambda index, query: index.range_search(query, 4)]
)
def test_a_search_shows_its_progress(search: Any, trees: gm.GraphIndex, shown: Callable[[], str]) -> None:
    search(trees, trees.graphs[0])
    assert re.match(r"certified search: \d+ s(, \d of 8 graphs are undecided.*)?\n", shown())
    search(trees, list(trees.graphs[:3]))
    assert re.match(r"certified search: \d of 3 queries, .* left\n", shown())


def test_the_number_of_undecided_graphs_is_shown(shown: Callable[[], str]) -> None:
    trees = gm.GraphIndex.build([sparse(40, seed) for seed in range(7)])
    trees.range_search(sparse(40, 8), 60, time_limit=0.5)
    assert re.search(r"^certified search: \d+ s, 7 of 7 graphs are undecided, none of them nearer than", shown(), re.M)


def test_a_caller_who_watches_or_wants_silence_shows_it(trees: gm.GraphIndex, shown: Callable[[], str]) -> None:
    trees.search(trees.graphs[0], 3, callback=lambda _: False)
    with verbose_progress(False):
        trees.search(list(trees.graphs), 3)
    assert shown() == ""


def test_a_command_shows_it_once(
    trees: gm.GraphIndex, capsys: pytest.CaptureFixture[str], shown: Callable[[], str], tmp_path: Path
) -> None:
    trees.save(tmp_path / "idx")
    gm.write_graphs(trees.graphs[:3], tmp_path / "queries.gmg")
    code, _, errors = run(capsys, "search", tmp_path / "idx", tmp_path / "queries.gmg", "--out", tmp_path / "hits.csv")
    assert code == 0
    assert re.match(r"(search: .*\n)+$", errors)


def test_requests_of_a_service_show_nothing(shown: Callable[[], str]) -> None:
    from graphmetric.serve.lanes import Lane

    lane = Lane("certified", 1, 0)
    try:
        lane.submit(lambda: announce("searching")).result()
    finally:
        lane.close()
    assert shown() == ""
