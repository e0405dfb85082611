"""The pool of training graphs and mutations, by the exact engine."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.edits import MutableGraph
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training.supervision import (
    LARGEST_GROUP,
    MOST_MUTATIONS,
    SMALLEST_GROUP,
    Mutator,
    TrainingPool,
    plan_groups,
    sample_pool,
)
from tests.strategies import exact, graphs


@pytest.fixture(scope="module")
def molecules() -> GraphCollection:
    return gm.load_dataset("molecules").graphs[:60]


def draw(training: GraphCollection, pairs: int, edits: int = 5, seed: int = 0) -> TrainingPool:
    return sample_pool(training, pairs, edits, np.random.default_rng(seed))


def mutations_of(pool: TrainingPool) -> GraphCollection:
    return pool.graphs[len(pool.drawn) : len(pool.drawn) + len(pool.origins)]


@pytest.mark.parametrize(("pairs", "edits"), [(1, 5), (40, 5), (1500, 5), (1500, 2), (10**6, 3), (1500, 0), (10**6, 0)])
def test_a_pool_is_training_graphs_mutations_and_empty_graphs(
    molecules: GraphCollection, pairs: int, edits: int
) -> None:
    pool = draw(molecules, pairs, edits)
    own = len(pool.drawn)
    assert len(set(pool.drawn.tolist())) == own
    assert [exact(graph) for graph in pool.graphs[:own]] == [exact(graph) for graph in molecules[pool.drawn]]
    assert pool.graphs.sizes[own + len(pool.origins) :].tolist() == [0] * len(pool.groups)
    assert len(pool.pairs()) <= pairs
    members = np.concatenate(pool.groups).tolist()
    assert sorted(members) == list(range(own + len(pool.origins)))  # groups are disjoint and hold everything
    assert (len(pool.origins) > 0) == (edits > 0 and pairs > 1)
    assert np.bincount(pool.origins, minlength=1).max() <= MOST_MUTATIONS
    for group in pool.groups:
        made = group[group >= own]
        assert set(pool.origins[made - own].tolist()) <= set(group.tolist())


@pytest.mark.parametrize("edits", [1, 3, 5])
def test_mutations_are_near_their_origins_and_like_the_data(molecules: GraphCollection, edits: int) -> None:
    pool = draw(molecules, 3000, edits)
    atoms = {label for graph in molecules for label in graph.node_labels or ()}
    for origin, graph in zip(pool.origins.tolist(), mutations_of(pool), strict=True):
        assert gm.graph_edit_distance(pool.graphs[origin], graph).upper <= edits
        assert graph.num_nodes <= molecules.sizes.max()
        assert MutableGraph(graph).is_connected()
        assert set(graph.node_labels or ()) <= atoms


def test_pairs_are_those_within_groups_and_grow_member_by_member(molecules: GraphCollection) -> None:
    pool = draw(molecules, 900)
    pairs = pool.pairs().tolist()
    expected = {tuple(sorted(pair)) for group in pool.groups for pair in combinations(group.tolist(), 2)}
    assert len(pairs) == len(expected)
    assert set(map(tuple, pairs)) == expected
    (group,) = pool.groups
    first = group[:10].tolist()
    assert {frozenset(pair) for pair in pairs[:45]} == {frozenset(pair) for pair in combinations(first, 2)}


def test_the_edits_behind_mutations_are_upper_bounds(molecules: GraphCollection) -> None:
    pool = draw(molecules, 1500)
    pairs = pool.pairs()
    true = gm.pairwise_edit_distances(pool.graphs, pairs=pairs, n_jobs=1)
    nothing = PairBounds(pairs, np.zeros(len(pairs)), np.full(len(pairs), 99.0))
    found = pool.bound_by_edits(nothing)
    assert (found.upper >= true.upper).all()
    own = len(pool.drawn)
    families = np.concatenate([np.arange(own), pool.origins])
    related = families[pairs[:, 0]] == families[pairs[:, 1]]
    assert related.sum() >= len(pool.origins)
    assert ((found.upper < 99) == related).all()
    from_origin = related & (pairs[:, 0] == families[pairs[:, 1]])
    assert (found.upper[from_origin] == pool.edits[pairs[from_origin, 1] - own]).all()
    assert (
        pool.bound_by_edits(PairBounds(pairs, true.lower, true.upper)).digest()
        == PairBounds(pairs, true.lower, true.upper).digest()
    )


def test_distances_to_the_empty_graph_are_right(molecules: GraphCollection) -> None:
    pool = draw(molecules, 60)
    known = pool.label_empty_graphs()
    truth = gm.pairwise_edit_distances(pool.graphs, pairs=known.pairs)
    assert known.lower.tolist() == known.upper.tolist() == truth.distances.tolist()
    assert len(known) == sum(map(len, pool.groups))


def test_pools_are_functions_of_the_seed(molecules: GraphCollection) -> None:
    one, same, other = (draw(molecules, 500, seed=seed) for seed in (1, 1, 2))
    assert one.graphs == same.graphs
    assert one.pairs().tolist() == same.pairs().tolist()
    assert one.graphs != other.graphs


def test_no_two_graphs_of_a_pool_are_copies() -> None:
    distinct = gm.load_dataset("programs").graphs[:30]
    pool = draw(distinct + GraphCollection(graph.relabeled(range(graph.num_nodes)[::-1]) for graph in distinct), 2000)
    classes = gm.isomorphism_classes(pool.graphs[: len(pool.graphs) - len(pool.groups)])
    assert len(set(classes.tolist())) == len(classes)
    assert len(pool.drawn) == len(set(gm.isomorphism_classes(distinct).tolist()))


def test_frequent_labels_stay_frequent() -> None:
    atoms = ["C"] * 98 + ["N", "O"]
    chain = GraphCollection([gm.Graph(100, [(i, i + 1) for i in range(99)], node_labels=atoms)])
    mutator, rng = Mutator(chain, 1), np.random.default_rng(0)
    made = [mutator.mutate(gm.Graph(1, node_labels=["S"]), rng) for _ in range(200)]
    relabeled = [one.graph.node_labels[0] for one in made if one is not None and one.graph.num_nodes == 1]
    assert set(relabeled) <= {"C", "N", "O"}
    assert relabeled.count("C") > 0.8 * len(relabeled) > 0


@given(graphs=st.integers(1, 10**6), pairs=st.integers(1, 10**7), mutations=st.booleans())
def test_plans_stay_within_the_budget_and_do_not_waste_it(graphs: int, pairs: int, mutations: bool) -> None:
    count, size = plan_groups(graphs, pairs, mutations=mutations)
    available = (1 + MOST_MUTATIONS if mutations else 1) * graphs
    assert count >= 1
    assert 1 <= size <= LARGEST_GROUP
    assert count * size * (size - 1) // 2 <= pairs
    assert (count - 1) * size < available
    if count > 1 and pairs >= count * SMALLEST_GROUP**2 // 2:
        assert size >= min(SMALLEST_GROUP, available // count)
    one_more = count * (size + 1) * size // 2
    assert one_more > pairs or size == LARGEST_GROUP or count * size >= available


@pytest.mark.parametrize(
    ("graphs", "pairs", "count", "size"),
    [
        (560, 900_000, 1, 1342),  # a small collection: one group, filled up with mutations
        (560, 1_154_440, 1, 1520),
        (100, 900_000, 1, 1100),  # all the mutations there may be
        (2_000, 900_000, 4, 671),  # as large as they may be with nearly all graphs in one
        (100_000, 900_000, 734, 50),  # as many graphs as can be seen
        (100_000, 2_700, 2, 52),  # a small budget
    ],
)
def test_plans(graphs: int, pairs: int, count: int, size: int) -> None:
    assert plan_groups(graphs, pairs, mutations=True) == (count, size)


def test_several_groups_of_a_large_collection() -> None:
    many = GraphCollection(gm.Graph(4, [(0, 1), (1, 2)], node_labels=[k, 0, 0, 0]) for k in range(2_000))
    pool = draw(many, 200_000)
    count, size = plan_groups(2_000, 200_000, mutations=True)
    assert len(pool.groups) == count > 1
    assert all(size - size // 3 <= len(group) <= size for group in pool.groups)  # less the mutations that are copies
    assert len(pool.drawn) == min(2_000, count * (size - size // 3))
    assert len(set(pool.drawn.tolist())) == len(pool.drawn)


@pytest.mark.slow
@given(several=st.lists(graphs(max_nodes=4, direction=False), min_size=1, max_size=5), seed=st.integers(0, 9))
@settings(max_examples=60)
def test_any_collection_has_a_pool(several: list[gm.Graph], seed: int) -> None:
    """Labels, weights, vectors, texts and images, in some graphs and not in others; loops and empty graphs."""
    pool = draw(GraphCollection(several), 200, seed=seed)
    for origin, graph in zip(pool.origins.tolist(), mutations_of(pool), strict=True):
        assert gm.graph_edit_distance(pool.graphs[origin], graph).upper <= 5
        assert MutableGraph(graph).is_connected() or not MutableGraph(pool.graphs[origin]).is_connected()


def test_directed_graphs_stay_directed() -> None:
    arcs = GraphCollection(gm.Graph(n, [(k, k + 1) for k in range(n - 1)], directed=True) for n in range(2, 9))
    pool = draw(arcs, 300)
    assert len(pool.origins) > 0
    assert all(graph.directed for graph in pool.graphs)


def test_where_nothing_can_be_mutated_nothing_is() -> None:
    alone = GraphCollection([gm.Graph(1), gm.Graph(1)])
    pool = draw(alone, 100)
    assert len(pool.origins) == 0
    assert len(pool.drawn) == 1  # the other is a copy
    assert len(pool.pairs()) == 0


def test_large_vocabularies_are_drawn_from() -> None:
    named = GraphCollection(gm.Graph(3, [(0, 1)], node_labels=[3 * k, 3 * k + 1, 3 * k + 2]) for k in range(300))
    made = [Mutator(named, 1).mutate(named[0], np.random.default_rng(seed)) for seed in range(200)]
    labels = {label for one in made if one is not None for label in one.graph.node_labels or ()}
    assert len(labels) > 30
    assert labels <= set(range(900))


@pytest.mark.parametrize("edits", [-1, 2.5, True, None])
def test_wrong_numbers_of_edits_are_explained(molecules: GraphCollection, edits: Any) -> None:
    with pytest.raises(InvalidArgument, match="mutation_edits must be"):
        draw(molecules, 10, edits)
