"""Searches by the learned distance find what looking at every graph finds."""

from __future__ import annotations

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.search.vector_index import ListIndex, scan, smallest
from tests.search.conftest import HEADS

VIEWS = ("raw", "steinhaus", "paper")


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("view", VIEWS)
def test_exact_search_equals_full_scan(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, view: gm.distance.View
) -> None:
    graphs, queries = molecules[:100], molecules[100:]
    index = gm.GraphIndex.build(models[head], graphs)
    full = models[head].pairwise(queries, graphs, view=view)
    for result, row in zip(index.search(queries, 7, view=view), full, strict=True):
        order = np.argsort(row, kind="stable")[:7]
        assert np.allclose([hit.distance for hit in result], row[order], rtol=1e-4, atol=1e-5)
        for hit in result:
            position = next(k for k, graph in enumerate(graphs) if graph.id == hit.id)
            assert hit.distance == pytest.approx(row[position], rel=1e-4, abs=1e-5)
        assert result.report.exact


def test_the_filter_spares_most_graphs(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    """Far graphs, here with many more nodes, are never matched."""
    far = [gm.Graph(60, [(v, v + 1) for v in range(59)], node_labels=["C"] * 60) for _ in range(300)]
    index = gm.GraphIndex.build(model, [*molecules[:20], *far])
    result = index.search(molecules[3], 5)
    assert result.report.refined < 0.25
    assert sum(result.report.stages.values()) == round(320 * (1 - result.report.refined))


@pytest.mark.parametrize("head", ["matching", "block-norm"])
def test_range_equals_full_scan(models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str) -> None:
    graphs, query = molecules[:100], molecules[105]
    index = gm.GraphIndex.build(models[head], graphs)
    (row,) = models[head].pairwise([query], graphs)
    for radius in (0.0, float(np.median(row)) + 1e-3, 1e6):
        result = index.range(query, radius)
        assert len(result) == int((row <= radius).sum())
        assert [hit.distance for hit in result] == sorted(hit.distance for hit in result)


def test_strict_distances_are_kept(molecules: gm.GraphCollection) -> None:
    graphs = molecules[:30]
    model = gm.GraphDistance("small", strict=True, max_steps=5, label_budget=100, n_jobs=1).fit(graphs)
    index = gm.GraphIndex.build(model, graphs)
    (row,) = model.pairwise([molecules[40]], graphs)
    found = index.search(molecules[40], 30)
    assert np.allclose([hit.distance for hit in found], np.sort(row), rtol=1e-4, atol=1e-6)
    assert index.search(graphs[4].relabeled(np.arange(graphs[4].num_nodes)[::-1]), 1)[0].distance == 0.0


def test_few_candidates_are_said_to_be_approximate(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    few = index.search(molecules[101], 5, candidates=6)
    assert not few.report.exact
    assert few.report.stages["the limit on candidates"] >= 40
    assert sum(few.report.stages.values()) == 94
    best = index.search(molecules[101], 5)
    assert all(a.distance >= b.distance - 1e-6 for a, b in zip(few, best, strict=True))
    assert index.search(molecules[101], 5, candidates=100).report.exact


@pytest.mark.parametrize("head", ["matching", "block-norm"])
@pytest.mark.parametrize("candidates", [5, 8, 20, 100])
def test_a_limited_search_that_says_exact_is(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, candidates: int
) -> None:
    """It looks at so many graphs at most, and knows whether bounds exclude all others."""
    index = gm.GraphIndex.build(models[head], molecules[:100])
    for query in molecules[100:]:
        found, best = index.search(query, 5, candidates=candidates), index.search(query, 5, exact=True)
        assert round(100 * found.report.refined) <= candidates
        if found.report.exact:
            assert [hit.distance for hit in found] == [hit.distance for hit in best]


def test_a_block_norm_is_its_own_bound(models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection) -> None:
    """Vectors are the distance, so little more than the answers is measured."""
    index = gm.GraphIndex.build(models["block-norm"], molecules[:100])
    assert index.search(molecules[101], 5).report.refined < 0.6


def test_lists_of_faiss_find_near_vectors() -> None:
    pytest.importorskip("faiss")
    vectors = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    lists = ListIndex.build(vectors)
    mask = np.zeros(len(vectors), dtype=bool)
    mask[::2] = True
    for query in vectors[:20]:
        distances = scan(vectors, query)
        assert len(set(lists.nearest(query, 50, None)) & set(smallest(distances, 10).tolist())) >= 8
        assert mask[lists.nearest(query, 50, mask)].all()


def test_scan_sums_norms_of_blocks() -> None:
    rng = np.random.default_rng(1)
    vectors, query = rng.normal(size=(40, 12)).astype(np.float32), rng.normal(size=12).astype(np.float32)
    for blocks in (1, 2, 3):
        pieces = (vectors - query).reshape(40, blocks, -1)
        assert np.allclose(scan(vectors, query, blocks), np.linalg.norm(pieces, axis=2).sum(1), rtol=1e-5)


def test_fewer_graphs_than_asked_for(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    small = gm.GraphIndex.build(model, molecules[:3])
    assert len(small.search(molecules[5], 10)) == 3
    empty = gm.GraphIndex.build(model, [])
    assert len(empty) == len(empty.search(molecules[5])) == len(empty.search(molecules[5], certified=True)) == 0
    assert len(empty.range(molecules[5], 1.0)) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": 5, "candidates": 3}, "at least k = 5"),
        ({"k": 5, "candidates": 30, "exact": True}, "leave out candidates"),
        ({"view": "square"}, "square"),
        ({"where": 3}, "mapping"),
        ({"certified": True, "time_limit": -1.0}, "time_limit"),
        ({"certified": True, "view": "steinhaus", "costs": gm.EditCosts(node_delete=2)}, "unit costs"),
    ],
)
def test_wrong_arguments(
    index: gm.GraphIndex, molecules: gm.GraphCollection, options: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        index.search(molecules[0], **options)  # type: ignore[call-overload]
