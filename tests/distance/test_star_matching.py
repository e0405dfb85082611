"""The star matching: equal to brute force, a pseudo-metric, with a valid alignment and an admissible bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

import graphmetric as gm
from graphmetric.distance import HeadOptions, Matching, Representation, StarMatching
from graphmetric.distance.pair_distance import sum_block_norms
from graphmetric.errors import InvalidArgument
from tests.distance.random_representations import DIM, random_graphs
from tests.distance.test_coupling import represent
from tests.naive.star_matching_by_permutations import Star, star_distance

seeds = st.integers(0, 2**31)


def random_stars(
    count: int, seed: int, largest: int = 4, directed: bool = False, density: float = 0.5
) -> Representation:
    """Random graphs of 0 to ``largest`` nodes with states, and edges of two kinds."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, largest + 1, count)
    mask = torch.from_numpy(np.arange(largest) < sizes[:, None])
    relation = np.triu(
        rng.integers(1, 3, (count, largest, largest)) * (rng.random((count, largest, largest)) < density), 1
    )
    if directed:
        relation = relation * (rng.random(relation.shape) < 0.5) + relation.transpose(0, 2, 1)
    else:
        relation = relation + relation.transpose(0, 2, 1)
    there = torch.from_numpy(relation.astype(np.int32)) * mask[:, None] * mask[..., None]
    states = torch.from_numpy(rng.standard_normal((count, largest, DIM))) * mask[..., None]
    return represent(states, mask, there, directed=directed)


def random_star_head(seed: int) -> StarMatching:
    torch.manual_seed(seed)
    head = StarMatching(DIM).double().eval()
    with torch.no_grad():
        head.raw_price.normal_()
        head.per_weight.normal_(std=0.5)
    return head


def stars_of(head: StarMatching, graphs: Representation, k: int) -> list[Star]:
    """One graph by the formula of the head."""
    structure, half, quarter = graphs.structure, DIM // 2, DIM // 4
    assert structure is not None
    first, size = int(graphs.start[k]), int(graphs.size[k])
    rows, per_weight = graphs.rows[first : first + size].numpy(), head.per_weight.detach().numpy()
    halves: list[list[tuple[list[float], object]]] = [[] for _ in range(size)]
    for edge in range(int(structure.first[k]), int(structure.first[k] + structure.num_edges[k])):
        u, v = structure.ends[edge].tolist()
        for view, (i, j) in enumerate([(u, v), (v, u)]):
            weights = structure.weights[edge, view].numpy()
            state = rows[i, half : half + quarter] + rows[j, half + quarter :] + weights @ per_weight
            halves[i].append((state.tolist(), tuple(structure.views[edge, view].tolist())))
    return [Star(rows[i, :half].tolist(), halves[i]) for i in range(size)]


def all_distances(head: StarMatching, graphs: Representation) -> np.ndarray:
    n = graphs.num_graphs
    found = head.among(graphs, torch.cartesian_prod(torch.arange(n), torch.arange(n)))
    return found.detach().numpy().reshape(n, n)


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=seeds, directed=st.booleans())
def test_equals_every_bijection(seed: int, directed: bool) -> None:
    head, left, right = random_star_head(seed), *(random_stars(4, seed + k, directed=directed) for k in range(2))
    price = float(head.price.detach())
    expected = [star_distance(stars_of(head, left, k), stars_of(head, right, k), price) for k in range(4)]
    with torch.no_grad():
        assert head(left, right).numpy() == pytest.approx(np.array(expected), abs=1e-9)
    assert head(left, right).detach().numpy() == pytest.approx(np.array(expected), abs=1e-9)


@torch.no_grad()
@settings(max_examples=15)
@given(seed=seeds, directed=st.booleans())
def test_axioms(seed: int, directed: bool) -> None:
    head, graphs = random_star_head(seed), random_stars(9, seed, largest=7, directed=directed)
    d = all_distances(head, graphs)
    assert np.array_equal(d, d.T)
    assert not d.diagonal().any()
    assert (d[:, :, None] <= d[:, None, :] + d[None] + 1e-9).all()


@torch.no_grad()
def test_axioms_around_nodes_with_many_edges() -> None:
    """Cliques of 7 to 14 nodes: edges count in full, in part, or not at all."""
    head, sizes = random_star_head(3), torch.arange(7, 15)
    mask = torch.arange(14) < sizes[:, None]
    relation = (mask[:, None] & mask[..., None] & ~torch.eye(14, dtype=torch.bool)).to(torch.int32)
    states = torch.randn(8, 14, DIM, dtype=torch.float64) * mask[..., None]
    graphs = represent(states, mask, relation)
    d = all_distances(head, graphs)
    assert np.array_equal(d, d.T)
    assert (d[:, :, None] <= d[:, None, :] + d[None] + 1e-9).all()
    nodes = all_distances(Matching(), graphs._replace(rows=graphs.rows[:, : DIM // 2]))  # type: ignore[arg-type]
    assert d[-1, -2] == pytest.approx(nodes[-1, -2])  # 13 and 14 nodes: the edges do not count
    assert (d[:5, :5] + np.eye(5) > nodes[:5, :5] + 0.1).all()


def test_hubs_count_as_in_the_definition() -> None:
    """Hubs of 2 and of 9 to 12 edges, whose shares of 1, 3/4, ..., 0 are as the twin has them (few leaves there)."""
    head = random_star_head(1)
    price = float(head.price.detach())
    edges = [0] * 9 + [1]
    halves = [([0.5 * kind, 1.0], kind) for kind in edges]
    one, other = Star([1.0, 2.0], halves[:9]), Star([1.0, 2.0], [])
    assert star_distance([one], [other], price) == pytest.approx(
        0.75 * sum(np.hypot(*state) + price for state, _ in halves[:9])
    )
    states = torch.zeros(1, 10, DIM, dtype=torch.float64)
    states[0, :, DIM // 2] = 1.0
    relation = torch.zeros(1, 10, 10, dtype=torch.int32)
    relation[0, 0, 1:] = relation[0, 1:, 0] = 1
    hub = represent(states, torch.ones(1, 10, dtype=torch.bool), relation)
    with torch.no_grad():
        head.per_weight.zero_()
        assert float(head.distance_to_empty(hub)) == pytest.approx(0.75 * 9 * (1 + price) + 9 * (1 + price))
    assert float(head.distance_to_empty(hub).detach()) == pytest.approx(0.75 * 9 * (1 + price) + 9 * (1 + price))


@torch.no_grad()
@settings(max_examples=15)
@given(seed=seeds, directed=st.booleans())
def test_sums_of_states_are_a_lower_bound(seed: int, directed: bool) -> None:
    head, graphs = random_star_head(seed), random_stars(9, seed, largest=14, directed=directed, density=0.8)
    vectors = head.index_vectors(graphs)
    assert head.vector_blocks == 2
    bounds = sum_block_norms(vectors[:, None] - vectors[None], 2).numpy()
    assert (bounds <= all_distances(head, graphs) + 1e-9).all()
    assert vectors.shape == (9, DIM)


@torch.no_grad()
@settings(max_examples=10)
@given(seed=seeds)
def test_never_below_the_matching_of_the_nodes(seed: int) -> None:
    head, graphs = random_star_head(seed), random_stars(8, seed, largest=9)
    nodes = Matching().among(
        graphs._replace(rows=graphs.rows[:, : DIM // 2]), torch.cartesian_prod(*[torch.arange(8)] * 2)
    )
    assert (all_distances(head, graphs) >= nodes.numpy().reshape(8, 8) - 1e-9).all()


@pytest.mark.parametrize("directed", [False, True])
def test_gradients(directed: bool) -> None:
    head, graphs = random_star_head(5), random_stars(6, 5, largest=5, directed=directed)
    pairs = torch.tensor([[0, 1], [2, 3], [4, 5], [1, 4]])

    def distances(rows: torch.Tensor, price: torch.Tensor, per_weight: torch.Tensor) -> torch.Tensor:
        given = {"raw_price": price, "per_weight": per_weight}
        found: torch.Tensor = torch.func.functional_call(
            head, given, (graphs._replace(rows=rows).take(pairs[:, 0]), graphs._replace(rows=rows).take(pairs[:, 1]))
        )
        return found

    parameters = (part.detach().clone().requires_grad_() for part in (graphs.rows, head.raw_price, head.per_weight))
    assert gradcheck(distances, tuple(parameters))


def test_alignment_follows_edges_where_nodes_do_not_tell() -> None:
    """A path whose nodes are all alike, but which is drawn in another order: ends go to ends."""
    head = StarMatching(4).double()
    states = torch.ones(2, 4, 4, dtype=torch.float64)
    relation = torch.zeros(2, 4, 4, dtype=torch.int32)
    for graph, path in enumerate([(0, 1, 2, 3), (2, 0, 3, 1)]):
        for u, v in itertools.pairwise(path):
            relation[graph, u, v] = relation[graph, v, u] = 1
    graphs = head.prepare(represent(states, torch.ones(2, 4, dtype=torch.bool), relation))
    (found,) = head.align(graphs.take(torch.tensor([0])), graphs.take(torch.tensor([1])))
    assert {found[0], found[3]} == {2, 1}


@torch.no_grad()
def test_the_order_of_edges_and_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    head, left, right = random_star_head(2), random_graphs(60, 1), random_graphs(60, 2)
    expected = head(left, right)
    monkeypatch.setattr("graphmetric.distance.matching.CHUNK", 7)
    assert torch.equal(head(left, right), expected)
    structure = left.structure
    assert structure is not None
    turned = structure._replace(
        ends=structure.ends.flip(1), views=structure.views.flip(1), weights=structure.weights.flip(1)
    )
    assert head(left._replace(structure=turned), right).numpy() == pytest.approx(expected.numpy(), abs=1e-9)


def test_states_that_are_not_finite_give_nan() -> None:
    head, graphs = random_star_head(0), random_stars(2, 1, largest=4)
    broken = graphs._replace(rows=torch.full_like(graphs.rows, torch.nan), size=torch.tensor([3, 4]))
    assert bool(torch.isnan(head.among(broken, torch.tensor([[0, 1]]))).all())


def test_what_it_cannot_do() -> None:
    with pytest.raises(InvalidArgument, match="cuts states into quarters; their width is 6"):
        HeadOptions("star-matching").build(6)
    graphs = random_graphs(2)._replace(structure=None)
    with pytest.raises(InvalidArgument, match="needs graphs that were encoded with their labels and edges"):
        StarMatching(DIM).double()(graphs, graphs)


def test_isomorphic_graphs_are_at_zero() -> None:
    graphs = gm.load_dataset("molecules").graphs[:20]
    model = gm.GraphDistance("small", head="star-matching", max_steps=5, label_budget=100, n_jobs=1).fit(graphs)
    rng = np.random.default_rng(0)
    for graph in graphs[:5]:
        assert model.distance(graph, graph.relabeled(rng.permutation(graph.num_nodes))) == 0
