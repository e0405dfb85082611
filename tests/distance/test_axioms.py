"""What heads promise holds, for random graphs and random weights; what they do not promise fails somewhere."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.distance import METRIC, Axiom, Comparison, ConcaveHead, Representation, SquaredFC, distance_matrix
from graphmetric.distance.concave_head import CONCAVE
from graphmetric.distance.pair_distance import PairDistance
from tests.distance.random_representations import DIM, HEADS, from_rows, random_graphs, random_head

ROUNDING = 1e-9
seeds = st.integers(0, 2**31)
every_head = pytest.mark.parametrize("name", HEADS)


def worst_violation(head: PairDistance, graphs: Representation) -> tuple[float, int]:
    """The largest d(i, j) - d(i, k) - d(k, j) relative to the largest distance, and how many are clearly positive."""
    n = graphs.num_graphs
    pairs = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    d = head.among(graphs, pairs).detach().reshape(n, n)
    excess = d.unsqueeze(2) - d.unsqueeze(1) - d.unsqueeze(0)  # [i, j, k] = d(i, j) - d(i, k) - d(j, k)
    return float(excess.max() / d.max()), int((excess > 1e-6 * d.max()).sum())


@every_head
@settings(max_examples=10)
@given(seed=seeds)
def test_symmetric_to_the_last_bit(name: str, seed: int) -> None:
    head, left, right = random_head(name, seed), random_graphs(12, seed), random_graphs(12, seed + 1)
    assert Axiom.SYMMETRIC in head.axioms
    assert torch.equal(head(left, right), head(right, left))
    left.rows.requires_grad_()
    assert torch.equal(head(left, right), head(right, left))


@every_head
@settings(max_examples=10)
@given(seed=seeds)
def test_never_negative_and_zero_on_equal(name: str, seed: int) -> None:
    head, left, right = random_head(name, seed, torch.float32), *(random_graphs(12, seed + k) for k in range(2))
    left, right = (side._replace(z=side.z.float(), rows=side.rows.float()) for side in (left, right))
    assert head.axioms >= {Axiom.NON_NEGATIVE, Axiom.ZERO_ON_EQUAL}
    assert bool((head(left, right) >= 0).all())
    assert not head(left, left).any()


@pytest.mark.parametrize("name", [name for name in HEADS if HEADS[name]().is_metric])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_triangle_inequality_of_metrics(name: str, spread: float, seed: int) -> None:
    worst, _ = worst_violation(random_head(name, seed), random_graphs(24, seed, spread=spread))  # 13,824 triples
    assert worst <= ROUNDING


@pytest.mark.parametrize("name", ["paper", "deep paper", "concave of paper"])
def test_the_paper_violates_the_triangle_inequality(name: str) -> None:
    head = random_head(name)
    assert head.axioms == METRIC - {Axiom.TRIANGLE_INEQUALITY}
    on_a_line = 0.01 * torch.arange(10.0, dtype=torch.float64).unsqueeze(1) * torch.ones(DIM, dtype=torch.float64)
    graphs = from_rows(on_a_line, torch.ones(10, dtype=torch.int64))
    worst, count = worst_violation(head, graphs)
    assert worst > 0.1
    assert count > 100


def test_which_heads_are_metrics() -> None:
    assert {name for name in HEADS if not HEADS[name]().is_metric} == {"paper", "deep paper", "concave of paper"}
    assert SquaredFC(DIM).scale == "paper"
    assert {HEADS[name]().scale for name in HEADS if "of" in name or "norm" in name or "match" in name} == {"raw"}


@pytest.mark.parametrize("concave", CONCAVE)
@settings(max_examples=10)
@given(seed=seeds)
def test_concave_heads_are_monotone_and_subadditive(concave: str, seed: int) -> None:
    torch.manual_seed(seed)
    head = ConcaveHead(DIM, hidden=(5, 4), concave=concave).double()  # type: ignore[arg-type]
    u, v = 10 ** torch.empty(2, 50, DIM, dtype=torch.float64).uniform_(-4, 2)
    at_u, at_v, at_sum = (_head_of_vectors(head, vectors) for vectors in (u, v, u + v))
    assert bool((at_sum >= torch.maximum(at_u, at_v) * (1 - 1e-12)).all())
    assert bool((at_sum <= (at_u + at_v) * (1 + 1e-12)).all())


def _head_of_vectors(head: ConcaveHead, vectors: torch.Tensor) -> torch.Tensor:
    graphs = from_rows(vectors, torch.ones(len(vectors), dtype=torch.int64))
    return head(graphs, from_rows(torch.zeros_like(vectors), graphs.size)).detach()


@pytest.mark.parametrize("concave", CONCAVE)
def test_concave_functions(concave: str) -> None:
    phi = CONCAVE[concave]  # type: ignore[index]
    s = torch.linspace(0, 20, 2001, dtype=torch.float64)
    exact = {"saturating": 1 - (-s).exp(), "log1p": (1 + s).log(), "sqrt": s.sqrt(), "ratio": s / (1 + s)}[concave]
    assert torch.allclose(phi(s), exact, atol=2e-3 if concave == "sqrt" else 1e-12)
    assert phi(s)[0] == 0
    assert bool((phi(s).diff() > 0).all())
    assert bool((phi(s).diff().diff() < 0).all())


@every_head
def test_views_of_a_graph_and_the_empty_one(name: str) -> None:
    head, graphs = random_head(name), random_graphs(8, seed=3)
    nothing = graphs.empty_graph().take(torch.zeros(8, dtype=torch.int64))
    assert torch.allclose(head.distance_to_empty(graphs), head(graphs, nothing))
    assert torch.equal(head.distance_to_empty(graphs.empty_graph()), torch.zeros(1, dtype=torch.float64))


@every_head
def test_float32_matrices_of_many_graphs_are_metrics_up_to_rounding(name: str) -> None:
    graphs = random_graphs(60, seed=5)
    graphs = graphs._replace(z=graphs.z.float(), rows=graphs.rows.float())
    head = random_head(name, dtype=torch.float32)
    d = torch.from_numpy(distance_matrix(Comparison.prepare(head, graphs)))
    assert torch.equal(d, d.T)
    assert not d.diagonal().any()
    if head.is_metric:
        assert float((d.unsqueeze(2) - d.unsqueeze(1) - d.unsqueeze(0)).max()) <= 1e-5 * float(d.max())
