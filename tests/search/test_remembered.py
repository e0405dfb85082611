"""Searches that continue what earlier ones have proven: the same answers, less work, nothing wrong after any change."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import NearestSearch
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.search import remembered
from graphmetric.search.hits import SearchProgress, SearchResult
from graphmetric.search.remembered import RememberedPairs, SearchMemory
from tests.edit_distance.hard_graphs import sparse
from tests.search.test_within import CUSTOM
from tests.strategies import graph_lists

RNG = np.random.default_rng(5)


@pytest.fixture
def bare(molecules: gm.GraphCollection, kept_in: str) -> gm.GraphIndex:
    return gm.GraphIndex.build(molecules[:100])


def listed(result: SearchResult) -> list[tuple[Any, ...]]:
    return [(hit.id, hit.exact, hit.lower, hit.upper, hit.proven) for hit in result]


def count_searches(ask: Any) -> int:
    """How many candidates are searched while something is asked."""
    searched = list[int]()
    inner = NearestSearch._search_part

    def counted(self: NearestSearch, encoded: Any, part: Any, is_hard: bool) -> None:
        searched.append(len(part))
        inner(self, encoded, part, is_hard)

    with mock.patch.object(NearestSearch, "_search_part", counted):
        ask()
    return sum(searched)


def test_asking_again_continues(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    query = molecules[104]
    first = count_searches(lambda: bare.range(query, 6, remember=True))
    again = query.relabeled(RNG.permutation(query.num_nodes))
    assert count_searches(lambda: bare.range(again, 6, remember=True)) == 0 < first
    assert count_searches(lambda: bare.range(again, 7, remember=True)) > 0
    assert count_searches(lambda: bare.range(query, 6)) == first
    assert count_searches(lambda: bare.range(query, 6, remember=True, costs=CUSTOM)) > 0


def test_watchers_see_what_is_remembered(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    found = len(bare.range(molecules[104], 6, remember=True))
    seen = list[tuple[int, int, int]]()

    def watch(progress: SearchProgress) -> None:
        seen.append((progress.found, progress.excluded, progress.open))

    bare.range(molecules[104], 6, remember=True, watch=watch)
    assert set(seen) <= {(found, 100 - found, 0)}
    bare.range(molecules[104], 8, remember=True, watch=watch)
    assert seen[-1][0] >= found > 0


@pytest.mark.parametrize("costs", [None, CUSTOM])
def test_answers_are_those_without_memory(
    bare: gm.GraphIndex, molecules: gm.GraphCollection, costs: gm.EditCosts | None
) -> None:
    """Whatever was asked before: other numbers, radii, views, conditions, numberings of the query, added copies."""
    fresh = gm.GraphIndex.build(molecules[:100])
    for query in molecules[100:104]:
        other = query.relabeled(RNG.permutation(query.num_nodes))
        for asked, k in ((query, 2), (other, 7), (query, 4)):
            options: dict[str, Any] = {"where": {"class": 1}, "costs": costs} if k == 4 else {"costs": costs}
            found, wanted = bare.search(asked, k, remember=True, **options), fresh.search(asked, k, **options)
            assert [hit.exact for hit in found] == [hit.exact for hit in wanted]
            found, wanted = bare.range(asked, k, remember=True, **options), fresh.range(asked, k, **options)
            assert listed(found) == listed(wanted)
            for hit in found:
                assert hit.edit_path is not None
                assert hit.edit_path.apply(asked).is_isomorphic(hit.graph)
    copy = molecules[3].relabeled(RNG.permutation(molecules[3].num_nodes)).replace(id="copy")
    for index in (bare, fresh):
        index.remove(molecules[3].id)
        index.add([copy])
    for query in molecules[100:104]:
        assert listed(bare.range(query, 6, remember=True)) == listed(fresh.range(query, 6))


@pytest.mark.slow
@settings(max_examples=30)
@given(graph_lists(min_size=2, max_size=8, max_nodes=5, direction=False, ids=None, metadata=None), st.data())
def test_any_graphs_in_any_order(graphs: list[gm.Graph], data: st.DataObject) -> None:
    index = gm.GraphIndex.build(graphs[1:], ids=range(len(graphs) - 1))
    (exact,) = gm.pairwise_edit_distances(graphs[:1], graphs[1:]).distances
    for radius in data.draw(st.lists(st.integers(0, 6), min_size=2, max_size=4)):
        numbering = data.draw(st.permutations(range(graphs[0].num_nodes)))
        query = graphs[0].relabeled(numbering) if numbering else graphs[0]
        result = index.range(query, radius, remember=True)
        wanted = sorted((distance, k) for k, distance in enumerate(exact.tolist()) if distance <= radius)
        assert [(hit.exact, hit.id) for hit in result] == wanted
        assert all(hit.edit_path is not None for hit in result)
        nearest = index.search(query, radius + 1, remember=True)
        assert [hit.exact for hit in nearest] == sorted(exact.tolist())[: radius + 1]


def test_unfinished_searches_go_on(tmp_path: Path) -> None:
    trees = [sparse(24, seed, labels=2) for seed in range(9)]
    index = gm.GraphIndex.build(trees[:8], ids=range(8))
    bounds = []
    for _ in range(3):
        result = index.range(trees[8], 40, time_limit=0.1, remember=True)
        bounds.append({hit.id: np.array([hit.lower, -hit.upper]) for hit in result})
        index.save(tmp_path / "idx")
        index = gm.GraphIndex.load(tmp_path / "idx")
    for earlier, later in pairwise(bounds):
        assert set(earlier) <= set(later)
        assert all((later[id] >= pair).all() for id, pair in earlier.items())


def test_what_is_remembered_is_saved(bare: gm.GraphIndex, molecules: gm.GraphCollection, tmp_path: Path) -> None:
    result = bare.range(molecules[104], 6, remember=True)
    bare.save(tmp_path / "idx")
    (file,) = (tmp_path / "idx").glob("remembered-*")
    loaded = gm.GraphIndex.load(tmp_path / "idx")
    loaded.verify()
    assert count_searches(lambda: loaded.range(molecules[104], 6, remember=True)) == 0
    assert listed(loaded.range(molecules[104], 6, remember=True)) == listed(result)
    loaded.range(molecules[105], 3, remember=True)
    loaded.save(tmp_path / "idx")
    (other,) = (tmp_path / "idx").glob("remembered-*")
    assert other.name != file.name
    unused = gm.GraphIndex.load(tmp_path / "idx")
    unused.save(tmp_path / "copy")
    copied = gm.GraphIndex.load(tmp_path / "copy")
    assert count_searches(lambda: copied.range(molecules[105], 3, remember=True)) == 0


@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "other"])
def test_a_damaged_file_is_ignored(
    bare: gm.GraphIndex, molecules: gm.GraphCollection, tmp_path: Path, damage: str
) -> None:
    wanted = listed(bare.range(molecules[104], 6, remember=True))
    bare.save(tmp_path / "idx")
    (file,) = (tmp_path / "idx").glob("remembered-*")
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        changed = content[:100] + bytes([content[100] ^ 1]) + content[101:]
        file.write_bytes({"cut": content[:-7], "changed": changed, "other": b""}[damage])
    index = gm.GraphIndex.load(tmp_path / "idx")
    with pytest.warns(UserWarning, match="searches begin without what was proven before"):
        assert listed(index.range(molecules[104], 6, remember=True)) == wanted
    with pytest.raises(FileError):
        index.verify()
    index.save(tmp_path / "idx")
    gm.GraphIndex.load(tmp_path / "idx").verify()


def test_only_what_was_written_is_read() -> None:
    for content in (b"no archive", b"PK\x03\x04", b""):
        with pytest.raises(ValueError, match=r"."):
            SearchMemory(partial(bytes, content)).check()
    memory = SearchMemory()
    with mock.patch.object(remembered, "VERSION", 9):
        later = memory.to_bytes()
    with pytest.raises(ValueError, match="version 9 is not 1"):
        SearchMemory(partial(bytes, later)).check()
    names = np.zeros((2, 2), dtype=np.uint64)
    pairs = RememberedPairs(
        names, np.zeros(1), np.ones(2), np.zeros(2, dtype=np.int8), np.zeros((2, 3), dtype=np.int32)
    )
    memory._queries["x"] = pairs
    with pytest.raises(ValueError, match="do not belong together"):
        SearchMemory(memory.to_bytes).check()


def test_the_oldest_queries_are_forgotten(bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    bare.range(molecules[104], 6, remember=True)
    size = sum(pairs.size for pairs in bare._memory._queries.values())
    with mock.patch.object(remembered, "LARGEST_MEMORY", size):
        bare.range(molecules[105], 2, remember=True)
    assert len(bare._memory) == 1
    assert count_searches(lambda: bare.range(molecules[105], 2, remember=True)) == 0


def test_wrong_use(index: gm.GraphIndex, bare: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    with pytest.raises(InvalidArgument, match="remember is for certified searches"):
        index.search(molecules[104], 3, remember=True)
    with pytest.raises(InvalidArgument, match="leave out limits or remember"):
        bare.search(molecules[104], 3, remember=True, limits={"ring": 0})
