"""The matching distance: equal to brute force and to scipy, with a valid alignment and an admissible bound."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from graphmetric.distance import Matching, Representation
from graphmetric.distance import matching as matching_module
from graphmetric.distance.matching import principal_axes, sort_along_axes
from graphmetric.distance.pair_distance import StoredGraphs, sum_block_norms
from graphmetric.errors import InvalidArgument
from tests.distance.random_representations import DIM, from_rows, random_graphs, states_of
from tests.naive.matching_by_permutations import matching_distance

small_numbers = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0, 3.0])  # many ties
states = st.lists(st.tuples(small_numbers, small_numbers), max_size=4)


def as_graph(nodes: list[tuple[float, float]], dtype: torch.dtype = torch.float64) -> Representation:
    return from_rows(torch.tensor(nodes, dtype=dtype).reshape(-1, 2), torch.tensor([len(nodes)]))


def scipy_distance(left: np.ndarray, right: np.ndarray) -> float:
    size = max(len(left), len(right))
    padded = [np.pad(side, ((0, size - len(side)), (0, 0))) for side in (left, right)]
    cost = np.linalg.norm(padded[0][:, None] - padded[1][None], axis=-1)
    return float(cost[linear_sum_assignment(cost)].sum())


@pytest.mark.slow
@given(states, states)
def test_equals_every_bijection(left: list[tuple[float, float]], right: list[tuple[float, float]]) -> None:
    expected = matching_distance(left, right, dim=2)
    a, b = as_graph(left), as_graph(right)
    assert float(Matching()(a, b)) == pytest.approx(expected, abs=1e-12)
    a.rows.requires_grad_()
    assert float(Matching()(a, b).detach()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("largest", [3, 12, 60])
def test_equals_scipy_on_the_padded_problem(largest: int, dtype: torch.dtype) -> None:
    left, right = (random_graphs(150, seed, largest, dtype=dtype) for seed in range(2))
    expected = [
        scipy_distance(*(np.array(states_of(side, k)).reshape(-1, DIM) for side in (left, right))) for k in range(150)
    ]
    tolerance = 1e-6 if dtype == torch.float32 else 1e-12
    assert Matching()(left, right).numpy() == pytest.approx(np.array(expected), rel=tolerance)
    left.rows.requires_grad_()
    assert Matching()(left, right).detach().numpy() == pytest.approx(np.array(expected), rel=tolerance)


def test_heads_add_up() -> None:
    left, right = random_graphs(30, 1), random_graphs(30, 2)
    half = DIM // 2
    pieces = [
        [side._replace(rows=side.rows[:, cut]) for side in (left, right)] for cut in (slice(half), slice(half, None))
    ]
    expected = sum(Matching()(*piece) for piece in pieces)
    assert torch.allclose(Matching(heads=2)(left, right), expected, rtol=1e-12)
    left.rows.requires_grad_()
    assert torch.allclose(Matching(heads=2)(left, right), expected, rtol=1e-12)


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.sampled_from([1, 2, 4]))
def test_pooled_bound_is_admissible(seed: int, heads: int) -> None:
    left, right = random_graphs(60, seed), random_graphs(60, seed + 1)
    head = Matching(heads)
    assert torch.allclose(head.index_vectors(left), left.z)
    bound = sum_block_norms(head.index_vectors(left) - head.index_vectors(right), heads)
    assert bool((bound <= head(left, right) + 1e-12).all())
    assert bool((bound > 0).any())


def test_alignment_attains_the_distance() -> None:
    left, right = random_graphs(60, 4), random_graphs(60, 5)
    distances = Matching()(left, right).tolist()
    for k, node_map in enumerate(Matching().align(left, right)):
        rows, columns = (np.array(states_of(side, k)).reshape(-1, DIM) for side in (left, right))
        used = [j for j in node_map if j is not None]
        assert len(node_map) == len(rows)
        assert len(set(used)) == len(used) == min(len(rows), len(columns))
        cost = sum(np.linalg.norm(rows[i] - (0 if j is None else columns[j])) for i, j in enumerate(node_map))
        cost += sum(np.linalg.norm(columns[j]) for j in range(len(columns)) if j not in used)
        assert cost == pytest.approx(distances[k], rel=1e-12)


def test_alignment_of_a_renumbered_graph_is_the_renumbering() -> None:
    rows = torch.randn(7, DIM, generator=torch.Generator().manual_seed(0))
    order = [3, 0, 6, 1, 5, 2, 4]
    graph, renumbered = (from_rows(side, torch.tensor([7])) for side in (rows, rows[order]))
    assert Matching().align(renumbered, graph) == [tuple(order)]
    assert float(Matching()(renumbered, graph)) == 0


def test_chunks_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = random_graphs(100, 6), random_graphs(100, 7)
    threads = torch.get_num_threads()
    expected, aligned = Matching()(left, right), Matching().align(left, right)
    monkeypatch.setattr(matching_module, "CHUNK", 7)
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            assert torch.equal(Matching()(left, right), expected)
            assert Matching().align(left, right) == aligned
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_states_that_are_not_finite_end_and_show(value: float) -> None:
    head = Matching()
    left, right = random_graphs(20, 8), random_graphs(20, 9)
    left.rows[left.start[left.size > 0][0]] = value
    distances = head.compare(left, right)
    assert int(distances.isnan().sum()) == 1
    left.rows.requires_grad_()
    assert int((~head(left, right).isfinite()).sum()) == 1


def test_graphs_that_are_named_twice() -> None:
    """A batch may repeat graphs, and an empty graph may begin where the next one does."""
    head = Matching()
    graphs = random_graphs(12, 3, largest=4)
    assert bool((graphs.size == 0).any())
    chosen = torch.cartesian_prod(torch.arange(12), torch.arange(12))
    table = head.compare(graphs.unsqueeze(1), graphs.unsqueeze(0))
    repeated = head.compare(graphs.take(chosen[:, 0]), graphs.take(chosen[:, 1]))
    assert torch.equal(table.flatten(), repeated)


def test_broadcasting_is_all_pairs() -> None:
    left, right = random_graphs(5, 10), random_graphs(7, 11)
    table = Matching().compare(left.unsqueeze(1), right.unsqueeze(0))
    rows, columns = torch.cartesian_prod(torch.arange(5), torch.arange(7)).T
    assert torch.equal(table.flatten(), Matching()(left.take(rows), right.take(columns)))


def test_half_precision_and_batches_without_nodes() -> None:
    left, right = random_graphs(20, 12, dtype=torch.float32), random_graphs(20, 13, dtype=torch.float32)
    halves = [side._replace(rows=side.rows.bfloat16()) for side in (left, right)]
    assert Matching()(*halves).dtype == torch.bfloat16
    assert torch.allclose(Matching()(*halves).float(), Matching()(left, right), rtol=0.05, atol=0.05)
    nothing = from_rows(torch.empty(0, DIM), torch.zeros(20, dtype=torch.int64))
    norms = torch.linalg.vector_norm(left.rows, dim=1)
    paid = torch.zeros(20).index_add(0, torch.repeat_interleave(left.size), norms)
    assert torch.allclose(Matching()(left, nothing), paid)
    assert not Matching()(nothing, nothing).any()


def test_large_graphs_and_no_graphs() -> None:
    graphs = random_graphs(2, seed=3, largest=300)
    assert Matching()(graphs, graphs.take(torch.tensor([1, 0]))).unique().numel() == 1
    assert Matching()(graphs.take(slice(0, 0)), graphs.take(slice(0, 0))).shape == (0,)


def test_refusals() -> None:
    graphs = random_graphs(3)
    with pytest.raises(InvalidArgument, match="at least one head; got 0"):
        Matching(heads=0)
    with pytest.raises(InvalidArgument, match="width 8 cannot be cut into 3"):
        Matching(heads=3)(graphs, graphs)
    with pytest.raises(InvalidArgument, match="got 3 and 2"):
        Matching()(graphs, graphs.take(slice(0, 2)))


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0, 1, 2, 5, 40, 900]), max_size=8), st.integers(0, 2**31))
def test_states_rise_along_each_axis(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = rng.integers(-3, 4, (sum(sizes), 6)).astype(np.float32)
    basis = principal_axes(states, 4)
    assert np.allclose(basis.T @ basis, np.eye(4), atol=1e-5)
    found = sort_along_axes(states, np.array(sizes, dtype=np.int64), basis)
    along = np.einsum("ki,ij->kj", states, basis)  # rounded alike; @ rounds by the number of threads
    runs = np.split(along, np.cumsum(sizes)[:-1]) if sizes else []
    assert np.array_equal(found, np.concatenate([np.empty((0, 4)), *(np.sort(run, axis=0) for run in runs)]))


@pytest.mark.parametrize("sorted_along_axes", [False, True])
def test_bounds_of_an_index_are_raised_and_stay_bounds(sorted_along_axes: bool) -> None:
    graphs = random_graphs(120, 6, largest=16, dtype=torch.float32, spread=0.1)
    head = Matching().eval()
    arrays = head.index_arrays(graphs)
    if sorted_along_axes:
        basis = principal_axes(arrays["states"], 4)
        arrays |= {"basis": basis, "axes": sort_along_axes(arrays["states"], graphs.size.numpy(), basis)}
    chosen = torch.arange(1, 120)
    query, stored = graphs.take(slice(0, 1)), graphs.take(chosen)
    gaps = head.gaps(arrays["vectors"][0], arrays["vectors"][1:])
    bounds = head.tighten(gaps, query, StoredGraphs(graphs, arrays), chosen)
    distances = head.compare(query, stored).numpy()
    assert (bounds >= gaps).all()
    assert (bounds > gaps + 0.1).any() == sorted_along_axes
    assert (bounds <= distances + 1e-5 * (1 + distances)).all()


def test_nothing_is_aligned_with_nothing() -> None:
    nothing = random_graphs(2, 0).take(slice(0, 0))
    assert Matching().align(nothing, nothing) == []
