"""The edge matching distance: near the linear programme that defines it, never above; a metric up to its tolerance."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.distance import Comparison, EdgeMatching, Matching, Representation, distance_matrix, edge_matching
from graphmetric.distance.edge_matching import ANSWERING
from graphmetric.errors import InvalidArgument
from tests.naive.edge_matching_by_linear_programme import edge_matching_distance

seeds = st.integers(0, 2**31)


def random_linked(count: int, seed: int, largest: int = 6, spread: float = 1.0) -> Representation:
    """Random graphs of 0 to ``largest`` nodes with random states."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, largest + 1, count)
    k = max(1, int(sizes.max()))
    mask = torch.from_numpy(np.arange(k) < sizes[:, None])
    upper = np.triu(rng.random((count, k, k)) < 0.4, 1)
    adjacency = (
        torch.from_numpy((upper | upper.transpose(0, 2, 1)).astype(np.float64)) * mask[:, None] * mask[..., None]
    )
    states = spread * torch.from_numpy(rng.standard_normal((count, k, 4))) * mask[..., None]
    return Representation.from_padded(_Padded(states.sum(dim=1), states, mask), adjacency)


class _Padded:
    def __init__(self, z: torch.Tensor, states: torch.Tensor, mask: torch.Tensor) -> None:
        self.z, self.states, self.mask = z, states, mask


def parts_of(graphs: Representation, k: int) -> tuple[np.ndarray, np.ndarray]:
    """States and adjacency of one graph."""
    assert graphs.links is not None
    first, size = int(graphs.start[k]), int(graphs.size[k])
    adjacency = np.zeros((size, size))
    for i, row in enumerate(graphs.links[first : first + size].tolist()):
        adjacency[i, [j for j in row if j >= 0]] = 1
    return graphs.rows[first : first + size].detach().numpy(), adjacency


def with_price(price: float) -> EdgeMatching:
    head = EdgeMatching()
    with torch.no_grad():
        head.raw_price.fill_(float(np.log(np.expm1(price))))
    return head


@pytest.mark.parametrize("price", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_is_the_linear_programme(price: float, spread: float) -> None:
    head, left, right = with_price(price), *(random_linked(25, seed, spread=spread) for seed in range(2))
    with torch.no_grad():
        found = head(left, right).numpy()
    exact = np.array([edge_matching_distance(parts_of(left, k), parts_of(right, k), price) for k in range(25)])
    assert (found <= exact + 1e-5).all()
    assert (found >= exact - ANSWERING.tolerance * np.maximum(1, exact / 10) - 1e-5).all()


def test_is_the_linear_programme_on_molecules() -> None:
    data = gm.load_dataset("molecules")
    graphs, distances = data.graphs[:30], data.distances[:30, :30]
    model = gm.GraphDistance("small", head="edge-matching", max_steps=5, random_state=0).fit(graphs, distances)
    encoded = model.model_.encode_graphs(model.featurizer_, graphs)
    price = float(model.model_.head.price.detach())
    matrix = model.pairwise(graphs)
    for i, j in ((0, 1), (2, 17), (5, 29), (11, 4)):
        exact = edge_matching_distance(parts_of(encoded, i), parts_of(encoded, j), price)
        assert exact - ANSWERING.tolerance - 1e-4 <= matrix[i, j] <= exact + 1e-4


@settings(max_examples=10)
@given(seed=seeds, price=st.sampled_from([0.2, 1.0, 2.5]))
def test_axioms(seed: int, price: float) -> None:
    head, graphs = with_price(price), random_linked(9, seed)
    places = torch.cartesian_prod(torch.arange(9), torch.arange(9))
    with torch.no_grad():
        d = head.among(graphs, places).reshape(9, 9)
    assert torch.equal(d, d.T)
    assert not d.diagonal().any()
    assert (d >= 0).all()
    excess = d.unsqueeze(2) - d.unsqueeze(1) - d.unsqueeze(0)
    assert excess.max() <= 2 * ANSWERING.tolerance * max(1, float(d.max()) / 10) + 1e-6


@settings(max_examples=10)
@given(seed=seeds)
def test_copies_are_at_distance_zero(seed: int) -> None:
    graphs, rng = random_linked(6, seed), np.random.default_rng(seed)
    for k in range(6):
        states, adjacency = parts_of(graphs, k)
        order = rng.permutation(len(states))
        one, other = (
            Representation.from_padded(
                _Padded(torch.from_numpy(h).sum(0)[None], torch.from_numpy(h)[None], torch.ones(1, len(h), dtype=bool)),
                torch.from_numpy(a)[None],
            )
            for h, a in ((states, adjacency), (states[order], adjacency[np.ix_(order, order)]))
        )
        with torch.no_grad():
            assert float(with_price(1.0)(one, other)) <= 1e-9


def test_edges_alone_tell_graphs_apart() -> None:
    """A path and a hexagon; not a hexagon and two triangles, which only the states can tell apart."""
    states, mask = torch.ones(1, 6, 2, dtype=torch.float64), torch.ones(1, 6, dtype=bool)
    path = torch.diag_embed(torch.ones(5, dtype=torch.float64), offset=1)
    hexagon = path.clone()
    hexagon[0, 5] = 1
    triangles = torch.zeros(6, 6, dtype=torch.float64)
    for i, j in ((0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)):
        triangles[i, j] = 1
    encoded = [
        Representation.from_padded(_Padded(states.sum(1), states, mask), one[None])
        for one in (path, hexagon, triangles)
    ]
    head = with_price(1.0)
    with torch.no_grad():
        assert float(Matching()(encoded[0], encoded[1])) == 0
        assert float(head(encoded[0], encoded[1])) == pytest.approx(1, abs=0.02)
        assert float(head(encoded[1], encoded[2])) == pytest.approx(0, abs=1e-6)  # fractionally isomorphic


@settings(max_examples=10)
@given(seed=seeds)
def test_never_below_the_matching_of_the_states(seed: int) -> None:
    left, right = random_linked(12, seed), random_linked(12, seed + 1)
    with torch.no_grad():
        assert (with_price(1.0)(left, right) >= Matching()(left, right) - 1e-9).all()


@settings(max_examples=10)
@given(seed=seeds, price=st.sampled_from([0.01, 0.05, 0.3]))
def test_is_never_above_the_linear_programme(seed: int, price: float) -> None:
    """However early one looks: over-relaxed steps leave the prices that are allowed."""
    head, graphs = with_price(price), random_linked(8, seed, spread=0.2)
    early = ANSWERING._replace(look=10, tolerance=0.5)
    with torch.no_grad(), mock.patch.object(edge_matching, "ANSWERING", early):
        found = head(graphs.take(slice(0, 4)), graphs.take(slice(4, 8))).numpy()
    exact = [edge_matching_distance(parts_of(graphs, k), parts_of(graphs, k + 4), price) for k in range(4)]
    assert (found <= np.array(exact) + 1e-6).all()


def star(leaves: int, seed: int) -> Representation:
    """With a hub and leaves that are nearly alike."""
    states = 0.02 * torch.from_numpy(np.random.default_rng(seed).standard_normal((1, leaves + 1, 4)))
    adjacency = torch.zeros(1, leaves + 1, leaves + 1, dtype=torch.float64)
    adjacency[0, 0, 1:] = 1
    return Representation.from_padded(
        _Padded(states.sum(1), states, torch.ones(states.shape[:2], dtype=bool)), adjacency
    )


def test_is_the_linear_programme_of_hubs() -> None:
    price, left, right = 4.0, star(20, 0), star(22, 1)
    exact = edge_matching_distance(parts_of(left, 0), parts_of(right, 0), price)
    with torch.no_grad(), mock.patch.object(edge_matching, "ANSWERING", ANSWERING._replace(steps=5_000)):
        assert exact - 0.02 * max(1, exact / 10) <= float(with_price(price)(left, right)) <= exact + 1e-6


def test_a_loop_costs_an_edge() -> None:
    states, mask = torch.ones(1, 2, 3, dtype=torch.float64), torch.ones(1, 2, dtype=bool)
    edge = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    loop = edge + torch.tensor([[[1.0, 0.0], [0.0, 0.0]]], dtype=torch.float64)
    one, other = (Representation.from_padded(_Padded(states.sum(1), states, mask), each) for each in (edge, loop))
    assert other.links is not None
    assert other.links.tolist() == [[0, 0, 1], [0, -1, -1]]
    with torch.no_grad():
        assert float(with_price(0.7)(one, other)) == pytest.approx(0.7, abs=0.02)


def test_numbers_too_large_for_the_states_give_nan() -> None:
    states, mask = 1e30 * torch.eye(2)[None], torch.ones(1, 2, dtype=bool)
    edge = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    one, other = (Representation.from_padded(_Padded(h.sum(1), h, mask), edge) for h in (states, -states))
    with torch.no_grad():
        assert torch.isnan(with_price(0.7)(one, other)).all()


def test_an_adjacency_of_another_shape_is_refused() -> None:
    states, mask = torch.ones(1, 2, 3), torch.ones(1, 2, dtype=bool)
    with pytest.raises(InvalidArgument, match=r"shape \(1, 2, 2\); got \(1, 3, 3\)"):
        Representation.from_padded(_Padded(states.sum(1), states, mask), torch.ones(1, 3, 3))


def test_answers_are_as_exact_where_gradients_flow() -> None:
    head, graphs = with_price(0.6), random_linked(8, 5, largest=10)
    left, right = graphs.take(slice(0, 4)), graphs.take(slice(4, 8))
    with torch.no_grad():
        answers = head(left, right)
    assert torch.equal(head.eval()(left, right).detach(), answers)
    assert not torch.equal(head.train()(left, right).detach(), answers)


def test_training_sees_nearly_the_answers_of_larger_graphs_too() -> None:
    """Random trees of 30 nodes, in three kinds."""
    rng, nodes, count = np.random.default_rng(0), 30, 12
    adjacency = torch.zeros(count, nodes, nodes, dtype=torch.float64)
    for k in range(count):
        for child in range(1, nodes):
            parent = rng.integers(child)
            adjacency[k, child, parent] = adjacency[k, parent, child] = 1
    states = torch.eye(3, dtype=torch.float64)[torch.from_numpy(rng.integers(3, size=(count, nodes)))]
    mask = torch.ones(count, nodes, dtype=bool)
    graphs = Representation.from_padded(_Padded(states.sum(dim=1), states, mask), adjacency)
    head, left, right = with_price(0.6), graphs.take(slice(0, 6)), graphs.take(slice(6, 12))
    seen = head(left, right).detach()
    with torch.no_grad():
        assert (head(left, right) - seen).abs().max() < 0.2


def test_gradient_is_that_of_the_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against differences of the linear programme, where the minimum is smooth."""
    monkeypatch.setattr(edge_matching, "TRAINING", ANSWERING._replace(steps=100_000, tolerance=1e-7, relative=0.0))
    head, graphs = with_price(0.7), random_linked(6, 3)
    graphs.rows.requires_grad_()
    left, right = graphs.take(slice(0, 3)), graphs.take(slice(3, 6))
    head(left, right).sum().backward()
    assert graphs.rows.grad is not None
    assert head.raw_price.grad is not None

    def total(rows: torch.Tensor, raw_price: float) -> float:
        moved = graphs._replace(rows=rows)
        price = float(np.log1p(np.exp(raw_price)))
        return sum(edge_matching_distance(parts_of(moved, k), parts_of(moved, 3 + k), price) for k in range(3))

    step, raw = 1e-4, float(head.raw_price.detach())
    base = graphs.rows.detach()
    used = np.flatnonzero(base.abs().sum(1).numpy())
    for row in used[:6]:
        shift = torch.zeros_like(base)
        shift[row, 1] = step
        expected = (total(base + shift, raw) - total(base - shift, raw)) / (2 * step)
        assert float(graphs.rows.grad[row, 1]) == pytest.approx(expected, abs=2e-3)
    expected = (total(base, raw + step) - total(base, raw - step)) / (2 * step)
    assert float(head.raw_price.grad) == pytest.approx(expected, abs=2e-3)


@pytest.mark.slow
def test_alignment_follows_edges_where_states_do_not_tell() -> None:
    """Two paths with equal states but for one end: the other nodes are matched along the path."""
    size = 5
    states = torch.ones(1, size, 2, dtype=torch.float64)
    states[0, 0, 1] = 3
    order = [2, 0, 4, 1, 3]
    path = torch.diag_embed(torch.ones(size - 1, dtype=torch.float64), offset=1)
    path = path + path.T
    mask = torch.ones(1, size, dtype=bool)
    one = Representation.from_padded(_Padded(states.sum(1), states, mask), path[None])
    other = Representation.from_padded(_Padded(states.sum(1), states[:, order], mask), path[order][:, order][None])
    assert EdgeMatching().align(one, other) == [tuple(order.index(k) for k in range(size))]
    assert EdgeMatching().align(other, one) == [tuple(order)]


def test_states_that_are_not_finite_give_nan() -> None:
    graphs = random_linked(4, 0)
    graphs.rows[int(graphs.start[int(graphs.size.argmax())])] = torch.nan
    with torch.no_grad():
        k = int(graphs.size.argmax())
        assert torch.isnan(EdgeMatching()(graphs.take(slice(k, k + 1)), graphs.empty_graph()))


def test_needs_edges() -> None:
    with pytest.raises(InvalidArgument, match="encoded with their edges"):
        EdgeMatching()(*(random_linked(2, seed)._replace(links=None) for seed in range(2)))


def test_threads_do_not_matter() -> None:
    left, right = random_linked(100, 1), random_linked(100, 2)
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with torch.no_grad():
            found.append(EdgeMatching()(left, right))
    torch.set_num_threads(before)
    assert torch.equal(*found)


def test_a_matrix_tells_its_progress_often() -> None:
    graphs = random_linked(150, 5, largest=2)
    finished: list[int] = []
    with torch.no_grad():
        distance_matrix(Comparison.prepare(EdgeMatching(), graphs), advance=finished.append)
    assert finished == [64, 64, 22]
