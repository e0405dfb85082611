"""What heads promise holds, for random graphs and random weights; what they do not promise fails somewhere."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.distance import (
    METRIC,
    Axiom,
    Comparison,
    ConcaveHead,
    Representation,
    SquaredFC,
    View,
    distance_matrix,
)
from graphmetric.distance.pair_distance import CONCAVE, DistanceHead
from tests.distance.random_representations import DIM, HEADS, Coarse, from_rows, random_graphs, random_head

ROUNDING = 1e-9
seeds = st.integers(0, 2**31)
every_head = pytest.mark.parametrize("name", HEADS)
METRICS = [*(name for name in HEADS if HEADS[name]().is_metric), "coarse"]


def metric_head(name: str, seed: int) -> DistanceHead:
    return Coarse(DIM).double().eval() if name == "coarse" else random_head(name, seed)


def excess_of(d: torch.Tensor, head: DistanceHead | None = None) -> torch.Tensor:
    """[i, j, k] = d(i, j) - d(i, k) - d(j, k), less what the head declares that the two sides may be too short."""
    sides = d if head is None else d + head.tolerance
    return d.unsqueeze(2) - sides.unsqueeze(1) - sides.unsqueeze(0)


def all_distances(head: DistanceHead, graphs: Representation) -> torch.Tensor:
    n = graphs.num_graphs
    with torch.no_grad():
        return head.batch_distances(graphs, torch.cartesian_prod(torch.arange(n), torch.arange(n))).reshape(n, n)


def worst_violation(head: DistanceHead, graphs: Representation) -> tuple[float, int]:
    """The largest violation relative to the largest distance, and how many are clearly positive."""
    d = all_distances(head, graphs)
    excess = excess_of(d)
    return float(excess.max() / d.max()), int((excess > 1e-6 * d.max()).sum())


@pytest.mark.slow
@every_head
@settings(max_examples=10)
@given(seed=seeds)
def test_symmetric_to_the_last_bit(name: str, seed: int) -> None:
    head, left, right = random_head(name, seed), random_graphs(12, seed), random_graphs(12, seed + 1)
    assert Axiom.SYMMETRIC in head.axioms
    assert torch.equal(head(left, right), head(right, left))
    left.rows.requires_grad_()
    assert torch.equal(head(left, right), head(right, left))


@pytest.mark.slow
@every_head
@settings(max_examples=10)
@given(seed=seeds)
def test_never_negative_and_zero_on_equal(name: str, seed: int) -> None:
    head, left, right = random_head(name, seed, torch.float32), *(random_graphs(12, seed + k) for k in range(2))
    left, right = (side._replace(z=side.z.float(), rows=side.rows.float()) for side in (left, right))
    assert head.axioms >= {Axiom.NON_NEGATIVE, Axiom.ZERO_ON_EQUAL}
    assert bool((head(left, right) >= 0).all())
    assert not head(left, left).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_triangle_inequality_within_the_declared_tolerance(name: str, spread: float, seed: int) -> None:
    head = metric_head(name, seed)
    d = all_distances(head, random_graphs(24, seed, spread=spread))  # 13,824 triples
    assert float(excess_of(d, head).max()) <= ROUNDING * float(d.max())


def test_what_heads_declare() -> None:
    assert not any(HEADS[name]().tolerance for name in HEADS)
    assert Coarse(DIM).guarantee().endswith("triangle inequality within 0.04 edits")
    assert HEADS["matching"]().guarantee().endswith("zero on isomorphic graphs, triangle inequality")
    assert Coarse(DIM).guarantee(strict=True).startswith("a metric: ")
    assert HEADS["paper"]().guarantee(strict=True) == (
        "symmetric, zero exactly on isomorphic graphs; not guaranteed: triangle inequality"
    )


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("view", ["raw", "steinhaus"])
@settings(max_examples=5)
@given(seed=seeds, spread=st.sampled_from([1e-3, 0.1, 1.0, 10.0]))
def test_strict_distances_are_metrics_without_a_tolerance(name: str, view: View, seed: int, spread: float) -> None:
    """What is added between graphs that differ is more than two sides may be too short."""
    head = metric_head(name, seed)
    graphs = random_graphs(12, seed, spread=spread)
    names = [f"graph {k % 9}" for k in range(12)]
    graphs = graphs.take(torch.arange(12) % 9)
    d = torch.from_numpy(distance_matrix(Comparison.prepare(head, graphs, view=view, certificates=names))).double()
    assert torch.equal(d == 0, torch.tensor([[a == b for b in names] for a in names]))
    assert float(excess_of(d).max()) <= 2e-7 * float(d.max())  # the matrix has single precision


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


@pytest.mark.slow
@every_head
def test_float32_matrices_of_many_graphs_are_metrics_up_to_rounding(name: str) -> None:
    graphs = random_graphs(60, seed=5)
    graphs = graphs._replace(z=graphs.z.float(), rows=graphs.rows.float())
    head = random_head(name, dtype=torch.float32)
    d = torch.from_numpy(distance_matrix(Comparison.prepare(head, graphs)))
    assert torch.equal(d, d.T)
    assert not d.diagonal().any()
    if head.is_metric:
        assert float(excess_of(d, head).max()) <= 1e-5 * float(d.max())
