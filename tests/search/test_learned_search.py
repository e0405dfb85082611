"""Searches by the learned distance find what looking at every graph finds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.distance.pair_distance import vector_distances
from graphmetric.errors import InvalidArgument, MissingExtra
from graphmetric.index.folder import lists as inverted_lists
from graphmetric.index.folder.lists import InvertedLists
from graphmetric.search.learned_search import smallest
from tests.naive.nearest_graphs import nearest_by_scan
from tests.search.conftest import HEADS

VIEWS = ("raw", "steinhaus", "paper")


@pytest.mark.slow
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


def renumbered(graph: gm.Graph, rng: np.random.Generator) -> gm.Graph:
    return graph.relabeled(rng.permutation(graph.num_nodes))


def disguised(graph: gm.Graph, how: str, rng: np.random.Generator) -> gm.Graph:
    """The graph with something else that the models do not see: bond types, or other names of an unknown element."""
    if how == "bonds":
        return graph.replace(edge_labels=rng.choice(["single", "double"], graph.num_edges).tolist())
    names = {"unknown": str(rng.choice(["Xx", "Yy", "Zz"]))}
    return graph.replace(node_labels=[names.get(str(label), label) for label in graph.node_labels or ()])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:graphs have edge labels")
@pytest.mark.parametrize("head", HEADS)
@settings(max_examples=12)
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_many_copies_are_ranked_by_position(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, data: st.DataObject, seed: int
) -> None:
    """In several segments, some removed, with conditions, k anywhere within the ties: as a scan of all graphs says."""
    rng, model = np.random.default_rng(seed), models[head]
    kinds = molecules[data.draw(st.lists(st.integers(0, 109), unique=True, min_size=1, max_size=4))]
    disguise = data.draw(st.sampled_from(["none", "bonds", "unknown"]))
    if disguise == "unknown":
        kinds = gm.GraphCollection(
            [graph.replace(node_labels=["unknown", *(graph.node_labels or ())[1:]]) for graph in kinds]
        )
    classes = rng.integers(0, len(kinds), data.draw(st.integers(1, 150)))
    groups = rng.integers(0, 2, len(classes))
    graphs = [
        disguised(renumbered(kinds[int(k)], rng), disguise, rng).replace(id=f"{n}", metadata={"group": int(g)})
        for n, (k, g) in enumerate(zip(classes, groups, strict=True))
    ]
    first = data.draw(st.integers(0, len(graphs)))
    index = gm.GraphIndex.build(model, graphs[:first])
    index.add(graphs[first:])
    alive = rng.random(len(graphs)) < data.draw(st.sampled_from([0.3, 0.9, 1.1]))
    index.remove([f"{n}" for n in np.flatnonzero(~alive)])
    query = disguised(renumbered(kinds[0], rng), disguise, rng) if data.draw(st.booleans()) else molecules[109]
    view = data.draw(st.sampled_from(VIEWS))
    near = dict(enumerate(model.pairwise([query], kinds, view=view)[0].tolist()))
    apart = np.diff(np.sort(list(near.values())))
    where, distinct = data.draw(st.sampled_from([None, {"group": 1}])), data.draw(st.booleans())
    if where is not None and not (groups[alive] == 1).any():
        where = None
    allowed = alive if where is None else alive & (groups == 1)
    k = data.draw(st.integers(1, 12))
    found = index.search(query, k, view=view, where=where, distinct=distinct)
    assert sum(found.report.stages.values()) <= found.report.graphs
    precision = 1e-4
    if (apart < precision).any():  # kinds that the model does not tell apart: their order is one of rounding
        return
    if distinct:
        copies = gm.isomorphism_classes(graphs)
        allowed = np.array([allowed[n] and not (allowed & (copies == copies[n]))[:n].any() for n in range(len(graphs))])
    expected = nearest_by_scan(classes, near, allowed, k)
    assert [int(str(hit.id)) for hit in found] == expected
    within = index.range_search(query, found[-1].distance, view=view, where=where, distinct=distinct) if found else []
    assert [hit.id for hit in within][: len(found)] == [hit.id for hit in found]
    limited = index.search(query, k, view=view, where=where, distinct=distinct, num_candidates=k)
    if limited.report.exact:
        assert [hit.id for hit in limited] == [hit.id for hit in found]
    distances, positions = model.kneighbors([query], graphs, k=min(k, len(graphs)), view=view)
    assert positions[0].tolist() == nearest_by_scan(classes, near, [True] * len(graphs), min(k, len(graphs)))
    assert (np.diff(distances[0]) >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
def test_nine_hundred_copies(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones are found, with lists of vectors and without, and a graph found again is at distance 0."""
    rng = np.random.default_rng(0)
    graphs = [renumbered(molecules[5], rng).replace(id=n) for n in range(900)]
    graphs += [molecules[k].replace(id=900 + k) for k in range(20)]
    query = renumbered(molecules[5], rng)
    for lists_from in (10**6, 800):
        monkeypatch.setattr(inverted_lists, "LISTS_FROM", lists_from)
        index = gm.GraphIndex.build(models[head], graphs)
        found = index.search(query, 5)
        assert [(hit.id, hit.distance) for hit in found] == [(n, 0.0) for n in range(5)]
        assert [hit.id for hit in index.search(query, 5, num_candidates=50)] == list(range(5))
        index.remove(range(3))
        assert [hit.id for hit in index.search(query, 898)] == [*range(3, 900), 905]
        assert len(index.range_search(query, 0.0)) == 898
    assert models[head].kneighbors([query], graphs, k=5)[1].tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:graphs have edge labels")
@pytest.mark.parametrize("head", HEADS)
def test_nine_hundred_graphs_that_the_model_does_not_tell_apart(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, tmp_path: Path
) -> None:
    """They differ in bond types, which the model ignores; rounding must not part them, in whatever batch they were."""
    rng = np.random.default_rng(0)
    graphs = [disguised(renumbered(molecules[5], rng), "bonds", rng).replace(id=n) for n in range(900)]
    others = [molecules[k].replace(id=900 + k) for k in range(20)]
    index = gm.GraphIndex.build(models[head], graphs[:500] + others)
    index.add(graphs[500:])
    index.save(tmp_path / "index")
    for opened in (index, gm.GraphIndex.load(tmp_path / "index")):
        found = opened.search(renumbered(molecules[5], rng), 901)
        assert [(hit.id, hit.distance) for hit in found] == [(n, 0.0) for n in [*range(500), 905, *range(500, 900)]]
        far = [hit for hit in opened.search(molecules[100], 920) if int(str(hit.id)) < 900]
        assert [hit.id for hit in far] == list(range(900))
        assert len({hit.distance for hit in far}) == 1
    assert models[head].kneighbors([molecules[100]], graphs, k=5)[1].tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_renumbered_copy_is_at_distance_zero_to_the_last_bit(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, view: gm.distance.View
) -> None:
    rng, model, graphs = np.random.default_rng(1), models[head], molecules[:25]
    copies = gm.GraphCollection([renumbered(graph, rng) for graph in graphs])
    assert not np.diagonal(model.pairwise(copies[:10], graphs, view=view)).any()
    assert np.array_equal(model.pairwise(graphs[:10], view=view), model.pairwise(copies[:10], view=view))
    assert model.distance(graphs[3], copies[3], view) == 0.0
    both = model.embed(graphs[:20] + copies)
    assert np.array_equal(both[:20], both[20:40])
    index = gm.GraphIndex.build(model, graphs)
    assert all(result[0].distance == 0.0 for result in index.search(copies, 1, view=view))
    assert index.search(copies[7], 1, view=view)[0].distance == 0.0


def test_the_filter_spares_most_graphs(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    """Far graphs, here with many more nodes, are never matched."""
    labels = np.random.default_rng(0).choice(["C", "N"], (300, 60))
    far = [gm.Graph(60, [(v, v + 1) for v in range(59)], node_labels=row.tolist()) for row in labels]
    index = gm.GraphIndex.build(model, [*molecules[:20], *far])
    result = index.search(molecules[3], 5)
    assert result.report.evaluated_fraction < 0.25
    assert sum(result.report.stages.values()) == round(320 * (1 - result.report.evaluated_fraction))


@pytest.mark.parametrize("head", ["matching", "block-norm"])
def test_range_equals_full_scan(models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str) -> None:
    graphs, query = molecules[:100], molecules[105]
    index = gm.GraphIndex.build(models[head], graphs)
    (row,) = models[head].pairwise([query], graphs)
    for radius in (0.0, float(np.median(row)) + 1e-3, 1e6):
        result = index.range_search(query, radius)
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
    few = index.search(molecules[101], 5, num_candidates=6)
    assert not few.report.exact
    assert few.report.stages["the limit on candidates"] >= 40
    assert sum(few.report.stages.values()) == 94
    best = index.search(molecules[101], 5)
    assert all(a.distance >= b.distance - 1e-6 for a, b in zip(few, best, strict=True))
    assert index.search(molecules[101], 5, num_candidates=100).report.exact


@pytest.mark.parametrize("head", ["matching", "block-norm"])
@pytest.mark.parametrize("candidates", [5, 8, 20, 100])
def test_a_limited_search_that_says_exact_is(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, candidates: int
) -> None:
    """It looks at so many graphs at most, and knows whether bounds exclude all others."""
    index = gm.GraphIndex.build(models[head], molecules[:100])
    for query in molecules[100:]:
        found = index.search(query, 5, num_candidates=candidates, distinct=True)
        best = index.search(query, 5, exhaustive=True, distinct=True)
        assert round(found.report.graphs * found.report.evaluated_fraction) <= candidates
        if found.report.exact:
            assert [hit.distance for hit in found] == [hit.distance for hit in best]


def test_a_block_norm_is_its_own_bound(models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection) -> None:
    """Vectors are the distance, so little more than the answers is measured."""
    index = gm.GraphIndex.build(models["block-norm"], molecules[:100])
    assert index.search(molecules[101], 5).report.evaluated_fraction < 0.6


def test_lists_of_faiss_find_near_vectors() -> None:
    pytest.importorskip("faiss")
    vectors = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    lists = InvertedLists.build(vectors)
    mask = np.zeros(len(vectors), dtype=bool)
    mask[::2] = True
    for query in vectors[:20]:
        distances = vector_distances(vectors, query)
        assert len(set(lists.nearest(query, 50, None)) & set(smallest(distances, 10).tolist())) >= 8
        assert mask[lists.nearest(query, 50, mask)].all()


def test_scan_sums_norms_of_blocks() -> None:
    rng = np.random.default_rng(1)
    vectors, query = rng.normal(size=(40, 12)).astype(np.float32), rng.normal(size=12).astype(np.float32)
    for blocks in (1, 2, 3):
        pieces = (vectors - query).reshape(40, blocks, -1)
        assert np.allclose(vector_distances(vectors, query, blocks), np.linalg.norm(pieces, axis=2).sum(1), rtol=1e-5)


def test_fewer_graphs_than_asked_for(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    small = gm.GraphIndex.build(model, molecules[:3])
    assert len(small.search(molecules[5], 10)) == 3
    empty = gm.GraphIndex.build(model, [])
    assert len(empty) == len(empty.search(molecules[5])) == len(empty.search(molecules[5], certified=True)) == 0
    assert len(empty.range_search(molecules[5], 1.0)) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 0}, "k must be a whole number, 1 or more; got 0"),
        ({"k": 2.5}, "k must be a whole number, 1 or more; got 2.5"),
        ({"k": "3"}, "k must be a whole number, 1 or more; got '3'"),
        ({"k": True}, "k must be a whole number"),
        ({"num_candidates": 12.5}, "num_candidates must be a whole number"),
        (
            {"where": {"class": 1, "colour": "red"}},
            "no graph of the index has metadata 'colour'; the keys are: 'class'",
        ),
        ({"certified": True, "where": {"colour": "red"}}, "no graph of the index has metadata 'colour'"),
        ({"certified": True, "costs": {"node_delete": 2}}, "costs must be graphmetric.EditCosts"),
        ({"certified": True, "time_limit": "soon"}, "time_limit"),
        ({"k": 5, "num_candidates": 3}, "at least k = 5"),
        ({"k": 5, "num_candidates": 30, "exhaustive": True}, "omit num_candidates"),
        ({"view": "square"}, "square"),
        ({"where": 3}, "mapping"),
        ({"certified": True, "time_limit": -1.0}, "time_limit"),
        ({"certified": True, "view": "steinhaus", "costs": gm.EditCosts(node_delete=2)}, "unit costs"),
    ],
)
def test_wrong_arguments(
    index: gm.GraphIndex, molecules: gm.GraphCollection, options: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(said)):
        index.search(molecules[0], **options)  # type: ignore[call-overload]


def test_other_wrong_arguments(index: gm.GraphIndex, model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    for radius in (-1, float("nan"), "far", None):
        with pytest.raises(InvalidArgument, match="radius must be a number that is not negative"):
            index.range_search(molecules[0], radius)  # type: ignore[arg-type]
    for k in (0, 2.5, "3"):
        with pytest.raises(InvalidArgument, match="k must be"):
            model.kneighbors(molecules[:1], molecules, k=k)  # type: ignore[arg-type]
    for seed in (-5, 1.5, "seed"):
        with pytest.raises(InvalidArgument, match="random_state must be a whole number, 0 or more"):
            gm.GraphDistance("small", random_state=seed).fit(molecules[:5])  # type: ignore[arg-type]
    assert len(index.search(molecules[0], np.int64(3))) == 3
    bare = gm.GraphIndex.build(model, [graph.replace(metadata=None) for graph in molecules[:3]])
    with pytest.raises(InvalidArgument, match="'class'; its graphs have no metadata"):
        bare.search(molecules[0], where={"class": 1})


def test_hits_as_records(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    result = index.search(molecules[17], 3)
    records = result.to_records()
    assert [record["rank"] for record in records] == [1, 2, 3]
    assert records[0] == {"rank": 1, "id": molecules[17].id, "distance": 0.0, **molecules[17].metadata}
    proven = index.search(molecules[17], 3, certified=True).to_records()
    assert list(proven[0]) == ["rank", "id", "distance", "exact", "lower", "upper", "proven", *molecules[17].metadata]
    assert index.search(molecules[17], where={"class": 99}).to_records() == []
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(MissingExtra, match=r"graphmetric\[pandas\]"):
            result.to_pandas()
    else:
        assert result.to_pandas().to_dict("records") == records
