"""Searches within a limit that sinks: any order, any copies, any interruption, the same nearest graphs."""

from __future__ import annotations

import time
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import NearestSearch, nearest
from graphmetric.edit_distance._kernels.nearest import SIZE, CandidateBounds, admit_maps, allocate_nearest
from graphmetric.edit_distance.nearest import EncodedCandidates
from graphmetric.graphs import collection
from graphmetric.graphs.collection import identity_keys
from graphmetric.index.building import as_bytes
from graphmetric.index.graphs import Selection, number_classes
from tests.naive.nearest_graphs import limit_after, nearest_copies

COUNT = 30
UNIT = gm.EditCosts()


@pytest.fixture(scope="module")
def some(molecules: gm.GraphCollection) -> gm.GraphCollection:
    return molecules[:COUNT]


@pytest.fixture(scope="module")
def distances(some: gm.GraphCollection, molecules: gm.GraphCollection) -> np.ndarray:
    return gm.pairwise_edit_distances(molecules[100:104], some).distances


def searched(
    molecules: gm.GraphCollection,
    row: int,
    order: list[int],
    copies: list[int],
    wanted: int,
    at_once: bool,
    costs: gm.EditCosts = UNIT,
) -> NearestSearch:
    """A search without bounds to begin with, by weights that differ."""
    queries, some = molecules[100:104], molecules[:COUNT]
    shared = EncodedCandidates.of(queries, some, costs) if at_once else None

    def encode(numbers: np.ndarray) -> EncodedCandidates:
        return shared or EncodedCandidates.of(queries[row : row + 1], some[numbers], costs, numbers)

    search = NearestSearch(
        np.zeros(COUNT),
        weights(),
        np.array(copies),
        some.sizes,
        min(wanted, sum(copies)),
        queries[row].num_nodes,
        encode,
        row=row if at_once else 0,
        deadline=time.monotonic() + 1e6,
    )
    search.run(np.array(order[: 2 * wanted]))
    return search


def weights() -> np.ndarray:
    return 1.0 + np.arange(COUNT) % 5


@settings(max_examples=25)
@given(
    st.integers(0, 3),
    st.permutations(range(COUNT)),
    st.lists(st.integers(1, 4), min_size=COUNT, max_size=COUNT),
    st.integers(1, 40),
    st.booleans(),
    st.booleans(),
)
def test_the_nearest_in_any_order(
    molecules: gm.GraphCollection,
    distances: np.ndarray,
    row: int,
    order: list[int],
    copies: list[int],
    wanted: int,
    at_once: bool,
    hard: bool,
) -> None:
    """Graphs that count as hard are mapped by a beam search and bounded by their branches before."""
    with mock.patch.object(nearest, "LARGEST_EASY", 0 if hard else 12):
        search = searched(molecules, row, order, copies, wanted, at_once)
    found, _ = search.found
    rates = distances[row] / weights()
    ours = nearest_copies(rates[found].tolist(), [copies[g] for g in found.tolist()], search.wanted)
    assert ours == nearest_copies(rates.tolist(), copies, search.wanted)
    assert (search.bounds.upper[found] == distances[row][found]).all()
    assert (search.bounds.lower <= distances[row]).all()
    assert not search.open.any()


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(
    "costs",
    [
        gm.EditCosts(node_substitute=1e14, edge_delete=0.1),
        gm.EditCosts(node_substitute=np.pi, node_insert=np.e, edge_substitute=2**0.5),
        gm.EditCosts(node_delete=np.inf),
        gm.EditCosts(node_delete=np.inf, node_insert=np.inf, node_substitute=1e-9, edge_insert=1e12),
        gm.EditCosts(node_delete=1e15, node_insert=1e-12),
    ],
)
def test_costs_of_any_magnitude(molecules: gm.GraphCollection, costs: gm.EditCosts, hard: bool) -> None:
    queries, some = molecules[100:104], molecules[:COUNT]
    true = gm.pairwise_edit_distances(queries, some, costs=costs)
    assert true.exact.all()
    for row in range(4):
        with mock.patch.object(nearest, "LARGEST_EASY", 0 if hard else 12):
            search = searched(molecules, row, list(range(COUNT)), [1] * COUNT, 5, row % 2 == 0, costs)
        found, distances = search.found[0], true.upper[row]
        best = np.sort(distances / weights())[: min(5, int(np.isfinite(distances).sum()))]
        assert (search.bounds.lower <= distances * (1 + 1e-9)).all()
        assert (search.bounds.upper >= distances * (1 - 1e-9)).all()
        assert (distances / weights())[found] == pytest.approx(best, rel=1e-9)
        assert not search.open.any()


def test_graphs_too_large_to_be_searched(molecules: gm.GraphCollection, distances: np.ndarray) -> None:
    """Pairs of which both have more than seven nodes have bounds from their branches only."""
    large = mock.patch.object(nearest, "LARGEST_SEARCHED", 7), mock.patch.object(nearest, "LARGEST_EASY", 0)
    with large[0], large[1]:
        search = searched(molecules, 0, list(range(COUNT)), [1] * COUNT, 10, True)
    assert len(search.found[0]) == 10
    assert (search.bounds.lower <= distances[0]).all()
    assert (search.bounds.upper >= distances[0]).all()
    searchable = molecules[:COUNT].sizes <= 7
    assert not search.open[searchable].any()
    assert search.open[~searchable].any()


def test_interruptions_change_nothing(
    molecules: gm.GraphCollection, distances: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that end after every few steps, in the middle of a pair."""
    monkeypatch.setattr(nearest, "_SLICE", 3)
    for row in range(4):
        search = searched(molecules, row, list(range(COUNT)), [1] * COUNT, 10, True)
        found = np.sort(distances[row][search.found[0]] / weights()[search.found[0]])
        assert found.tolist() == np.sort(distances[row] / weights())[:10].tolist()


@settings(max_examples=100)
@given(st.data(), st.integers(1, 6))
def test_the_limit_is_that_of_the_last_wanted(data: st.DataObject, wanted: int) -> None:
    copies = data.draw(st.lists(st.integers(1, 3), min_size=6, max_size=6))
    weight = [1.0, 2.0, 4.0, 1.0, 2.0, 8.0]
    offers = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9).map(float)), max_size=20))
    bounds = CandidateBounds.begin(np.zeros(6), np.array(weight), np.array(copies))
    kept_graphs = allocate_nearest(wanted, 1)
    for number, (graph, upper) in enumerate(offers):
        admit_maps(bounds, kept_graphs, np.array([graph]), np.array([upper]), np.array([[number]]))
        assert kept_graphs.limit[0] == limit_after(offers[: number + 1], weight, copies, wanted)
    kept = kept_graphs.graphs[: kept_graphs.status[SIZE]]
    assert len(set(kept.tolist())) == len(kept)
    for place, graph in enumerate(kept.tolist()):
        assert offers[kept_graphs.maps[place, 0]] == (graph, bounds.upper[graph])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.data())
def test_distinct_graphs_among_some(names: list[int], data: st.DataObject) -> None:
    certificates = np.random.default_rng(0).integers(0, 256, size=(6, 16), dtype=np.uint8)
    certificates[1, :8] = certificates[0, :8]  # alike in one half only
    classes = number_classes(certificates[names])
    chosen = sorted(data.draw(st.sets(st.integers(0, len(names) - 1), min_size=1)))
    distinct = Selection.among(np.array(chosen), classes[chosen])
    groups: dict[int, list[int]] = {}
    for position in chosen:
        groups.setdefault(names[position], []).append(position)
    asked = data.draw(st.lists(st.integers(0, len(groups) - 1), unique=True, min_size=1))
    positions, places = distinct.spread(np.array(asked))
    members = [(position, place) for place, k in enumerate(asked) for position in list(groups.values())[k]]
    assert sorted(zip(positions.tolist(), places.tolist(), strict=True)) == sorted(members)
    assert distinct.first.tolist() == [group[0] for group in groups.values()]
    assert distinct.copies.tolist() == [len(group) for group in groups.values()]
    assert distinct.find(np.array(chosen[::-1])).tolist() == [list(groups).index(names[p]) for p in chosen[::-1]]


def test_graphs_too_regular_for_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are taken for equal only if nothing at all tells them apart."""
    monkeypatch.setattr(collection, "certificates_within", lambda graphs, budget=0: [None] * len(graphs))
    graphs = [
        gm.Graph(2, [(0, 1)], node_features=[[1.0], [2.0]]),
        gm.Graph(2, [(0, 1)], node_features=[[1.0], [3.0]]),
        gm.Graph(2, [(0, 1)], node_features=[[1.0], [2.0]]),
    ]
    assert number_classes(as_bytes(identity_keys(gm.GraphCollection(graphs)))).tolist() in ([1, 2, 1], [2, 1, 2])
