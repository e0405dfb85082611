"""The coupling distance: a linear programme, a pseudo-metric, and at first the relaxed edit distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.distance import Comparison, Coupling, Matching, Representation, coupling, distance_matrix
from graphmetric.distance.coupling import ANSWERING
from graphmetric.errors import InvalidArgument
from graphmetric.model import HeadOptions
from tests.distance.random_representations import random_coupled, represent
from tests.naive.coupling_by_linear_programme import LabelledStates, coupling_distance, one_image_distance

DIM = 4
seeds = st.integers(0, 2**31)


def graph_of(graphs: Representation, k: int) -> LabelledStates:
    """One graph, prepared by a head."""
    structure = graphs.structure
    assert structure is not None
    assert structure.states is not None
    first, size = int(graphs.start[k]), int(graphs.size[k])
    rows = graphs.rows[first : first + size].detach().numpy()
    nodes = [
        (tuple(codes), row) for codes, row in zip(structure.labels[first : first + size].tolist(), rows, strict=True)
    ]
    arcs = {}
    for edge in range(int(structure.first[k]), int(structure.first[k] + structure.num_edges[k])):
        u, v = structure.ends[edge].tolist()
        for view, arc in enumerate([(u, v), (v, u)]):
            arcs[arc] = tuple(structure.views[edge, view].tolist()), structure.states[edge, view].detach().numpy()
    return LabelledStates(nodes, arcs)


def random_head(seed: int, fractions: bool = True, scale: float = 0.5, one_image: bool = False) -> Coupling:
    torch.manual_seed(seed)
    head = Coupling(DIM, fractions, one_image).double().eval()
    with torch.no_grad():
        head.raw_prices.uniform_(-1, 1)
        head.scale_of_states.fill_(scale)
        head.weight.normal_(std=0.2)
        for layer in (head.leaving, head.entering):
            layer.weight.normal_(std=0.3)
    return head


def solve(
    head: Coupling, left: Representation, right: Representation, programme: Callable[..., float] = coupling_distance
) -> np.ndarray:
    """By the naive programme."""
    node, edge = head.prices.tolist()
    one, other = head.prepare(left), head.prepare(right)
    pairs = range(one.num_graphs)
    return np.array([programme(graph_of(one, k), graph_of(other, k), node, edge) for k in pairs])


@torch.no_grad()
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("spread", [0.2, 1.5])
def test_is_the_linear_programme(directed: bool, spread: float) -> None:
    head = random_head(3)
    left, right = (random_coupled(20, seed, spread=spread, directed=directed) for seed in range(2))
    exact, found = solve(head, left, right), head(left, right).numpy()
    assert (found <= exact + 1e-4).all()
    assert (found >= exact - ANSWERING.tolerance * np.maximum(1, exact / 10) - 1e-4).all()


@torch.no_grad()
@settings(max_examples=10)
@given(seed=seeds, one_image=st.booleans())
def test_whole_edits_are_rounded_up(seed: int, one_image: bool) -> None:
    fractions, whole = random_head(seed), random_head(seed, fractions=False, one_image=one_image)
    left, right = random_coupled(4, seed), random_coupled(4, seed + 1)
    programme = one_image_distance if one_image else coupling_distance
    exact, found = solve(fractions, left, right, programme), whole(left, right).numpy()
    clear = np.abs(exact - np.rint(exact)) > 2e-3
    assert np.array_equal(found[clear], np.ceil(exact[clear]))


@torch.no_grad()
def test_one_image_of_each_node_tells_a_ring_from_two() -> None:
    """Parts of a node can be in both triangles, so that a ring of six looks like two of three."""
    mask, states = torch.ones(1, 6, dtype=torch.bool), torch.zeros(1, 6, DIM, dtype=torch.float64)
    rings = []
    for length in (6, 3):
        matrix = np.zeros((1, 6, 6), dtype=np.int32)
        for k in range(6):
            after = k // length * length + (k + 1) % length
            matrix[0, k, after] = matrix[0, after, k] = 1
        rings.append(represent(states, mask, torch.from_numpy(matrix)))
    several, one = Coupling(DIM).double().eval(), Coupling(DIM, one_image=True).double().eval()
    assert float(several(*rings)) == 0
    (exact,) = solve(one, *rings, one_image_distance)
    assert float(one(*rings)) == np.ceil(exact - 2e-3) > 0
    with pytest.raises(InvalidArgument, match="whole edits only"):
        HeadOptions("coupling", fractions=True, one_image=True).build(DIM)


@torch.no_grad()
@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
def test_one_image_of_each_node_at_unit_prices(directed: bool) -> None:
    head = Coupling(DIM, one_image=True).double().eval()
    left, right = (random_coupled(40, seed, largest=6, directed=directed) for seed in range(2))
    assert np.array_equal(head(left, right).numpy(), np.ceil(solve(head, left, right, one_image_distance) - 2e-3))


@torch.no_grad()
@settings(max_examples=10)
@given(seed=seeds, kind=st.sampled_from(["fractions", "whole", "one image"]), directed=st.booleans())
def test_axioms(seed: int, kind: str, directed: bool) -> None:
    fractions = kind == "fractions"
    head = random_head(seed, fractions, one_image=kind == "one image")
    graphs = random_coupled(9, seed, directed=directed)
    places = torch.cartesian_prod(torch.arange(9), torch.arange(9))
    d = head.among(graphs, places).reshape(9, 9)
    assert torch.equal(d, d.T)
    assert not d.diagonal().any()
    assert (d >= 0).all()
    excess = d.unsqueeze(2) - d.unsqueeze(1) - d.unsqueeze(0)
    assert excess.max() <= (
        2 * max(head.tolerance, head.relative_tolerance * float(d.max())) + 1e-5 if fractions else 0
    )


@torch.no_grad()
@settings(max_examples=10)
@given(seed=seeds, directed=st.booleans())
def test_the_numbering_of_nodes_does_not_matter(seed: int, directed: bool) -> None:
    rng, k = np.random.default_rng(seed), 5
    relation = rng.integers(1, 3, (k, k)) * (rng.random((k, k)) < 0.5)
    if not directed:
        relation = np.triu(relation) + np.triu(relation, 1).T
    states, tag, order = rng.standard_normal((k, DIM)), rng.integers(1, 3, k), rng.permutation(k)
    mask = torch.ones(1, k, dtype=torch.bool)
    one, other = (
        represent(
            torch.from_numpy(h)[None], mask, torch.from_numpy(r.astype(np.int32))[None],
            tag=torch.from_numpy(t)[None], directed=directed,
        )
        for h, r, t in ((states, relation, tag), (states[order], relation[np.ix_(order, order)], tag[order]))
    )  # fmt: skip
    assert float(random_head(1)(one, other)) <= 1e-5
    third = random_coupled(1, seed + 1, directed=directed)
    assert float(random_head(1)(one, third)) == pytest.approx(float(random_head(1)(other, third)), abs=0.04)


@pytest.mark.parametrize("fractions", [True, False])
def test_starts_at_the_relaxed_edit_distance(fractions: bool) -> None:
    graphs = gm.load_dataset("molecules").graphs[:12]
    known = np.full((12, 12), np.nan)
    known[0, 1] = known[1, 0] = 3
    head = HeadOptions("coupling", fractions=fractions)
    model = gm.GraphDistance("small", head=head, max_steps=0, random_state=0).fit(graphs, known)
    matrix = model.pairwise(graphs)
    for i, j in ((0, 1), (2, 7), (5, 11), (3, 4)):
        relaxed = float(gm.relaxed_edit_distance(graphs[i], graphs[j], tolerance=1e-3))
        if fractions:
            assert relaxed - 0.03 <= matrix[i, j] <= relaxed + 0.01
        else:
            assert matrix[i, j] == math.ceil(relaxed - 2e-3)


def test_directions_and_labels_of_edges_count() -> None:
    mask, states = torch.ones(1, 2, dtype=torch.bool), torch.zeros(1, 2, DIM, dtype=torch.float64)
    ways = {name: torch.tensor([matrix], dtype=torch.int32) for name, matrix in {
        "none": [[0, 0], [0, 0]], "there": [[0, 1], [0, 0]], "back": [[0, 0], [1, 0]], "both": [[0, 1], [1, 0]],
        "other": [[0, 2], [0, 0]], "loop": [[1, 1], [0, 0]],
    }.items()}  # fmt: skip
    graphs = {name: represent(states, mask, way, directed=True) for name, way in ways.items()}
    head = Coupling(DIM).double().eval()

    def distance(one: str, other: str) -> float:
        with torch.no_grad():
            return float(head(graphs[one], graphs[other]))

    assert distance("there", "back") == 0  # the same graph, seen from the other node
    assert [distance("there", name) for name in ("none", "both", "other", "loop")] == [1, 1, 1, 1]
    assert distance("none", "both") == 2


@torch.no_grad()
@settings(max_examples=10)
@given(seed=seeds)
def test_never_below_the_matching_of_the_states(seed: int) -> None:
    head, left, right = random_head(seed), random_coupled(12, seed), random_coupled(12, seed + 1)
    one, other = head.prepare(left), head.prepare(right)
    assert (head(left, right) >= Matching().compare(one, other) - 0.02 * (1 + head(left, right) / 10)).all()


def test_gradient_is_that_of_the_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against differences of the linear programme, where the minimum is smooth."""
    monkeypatch.setattr(coupling, "ANSWERING", ANSWERING._replace(tolerance=1e-5, relative=0.0))
    head, graphs = random_head(2), random_coupled(6, 3)
    graphs.rows.requires_grad_()
    left, right = graphs.take(slice(0, 3)), graphs.take(slice(3, 6))
    head(left, right).sum().backward()
    assert graphs.rows.grad is not None

    def total() -> float:
        with torch.no_grad():
            return float(solve(head, left, right).sum())

    used = np.flatnonzero(graphs.rows.detach().abs().sum(1).numpy())
    parameters = [(graphs.rows, (int(row), 1)) for row in used[:4]]
    parameters += [(head.raw_prices, (0,)), (head.raw_prices, (1,)), (head.leaving.weight, (0, 1)), (head.weight, (2,))]
    for parameter, place in parameters:
        assert parameter.grad is not None
        sides = []
        for step in (1e-4, -2e-4):
            with torch.no_grad():
                parameter[place] += step
            sides.append(total())
        with torch.no_grad():
            parameter[place] += 1e-4
        assert float(parameter.grad[place]) == pytest.approx((sides[0] - sides[1]) / 2e-4, abs=5e-3)


def test_answers_are_as_exact_where_gradients_flow() -> None:
    head, graphs = random_head(0), random_coupled(8, 5, largest=10)
    left, right = graphs.take(slice(0, 4)), graphs.take(slice(4, 8))
    with torch.no_grad():
        answers = head(left, right)
    assert torch.equal(head.eval()(left, right).detach(), answers)
    assert not torch.equal(head.train()(left, right).detach(), answers)


def test_alignment_follows_edges_where_states_do_not_tell() -> None:
    """Two paths with equal states but for one end: the other nodes are matched along the path."""
    size, order = 5, [2, 0, 4, 1, 3]
    states = torch.zeros(1, size, DIM, dtype=torch.float64)
    tag = torch.ones(1, size, dtype=torch.int64)
    tag[0, 0] = 2
    path = torch.diag_embed(torch.ones(size - 1, dtype=torch.int32), offset=1)
    path, mask = path + path.T, torch.ones(1, size, dtype=torch.bool)
    one = represent(states, mask, path[None], tag=tag)
    other = represent(states, mask, path[order][:, order][None], tag=tag[:, order])
    head = Coupling(DIM).double()
    for left, right, expected in (
        (one, other, [order.index(k) for k in range(size)]),
        (other, one, order),
    ):
        with torch.no_grad():
            assert head.align(head.prepare(left), head.prepare(right)) == [tuple(expected)]


@torch.no_grad()
def test_numbers_too_large_for_the_states_give_nan() -> None:
    graphs = random_coupled(4, 0, spread=1e30)
    assert torch.isnan(random_head(0)(graphs, graphs.take(torch.tensor([1, 2, 3, 0])))).any()
    k = int(graphs.size.argmax())
    graphs.rows[int(graphs.start[k])] = torch.nan
    assert torch.isnan(random_head(0)(graphs.take(slice(k, k + 1)), graphs.empty_graph()))


@torch.no_grad()
def test_says_what_did_not_converge() -> None:
    head, graphs = random_head(1), random_coupled(6, 4, largest=8)
    one, other = head.prepare(graphs.take(slice(0, 3))), head.prepare(graphs.take(slice(3, 6)))
    assert not head.answer(one, other).left_open.any()
    with mock.patch.object(coupling, "ANSWERING", ANSWERING._replace(steps=1)):
        early = head.answer(one, other)
    exact = solve(head, graphs.take(slice(0, 3)), graphs.take(slice(3, 6)))
    assert early.left_open.max() > 0
    assert (early.distances.numpy() <= exact + 1e-4).all()
    assert (early.distances.numpy() + np.maximum(early.left_open.numpy(), 0.04) >= exact - 1e-4).all()


def test_needs_edges() -> None:
    with pytest.raises(InvalidArgument, match="encoded with their labels and edges"):
        Coupling(DIM)(*(random_coupled(2, seed)._replace(structure=None) for seed in range(2)))
    states, mask = torch.ones(1, 2, 3), torch.ones(1, 2, dtype=torch.bool)
    with pytest.raises(InvalidArgument, match=r"shape \(1, 2, 2\); got \(1, 3, 3\)"):
        represent(states, mask, torch.ones(1, 3, 3))


@torch.no_grad()
def test_threads_do_not_matter() -> None:
    left, right = random_coupled(100, 1), random_coupled(100, 2)
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(random_head(0)(left, right))
    torch.set_num_threads(before)
    assert torch.equal(*found)


@torch.no_grad()
def test_a_matrix_tells_its_progress_often() -> None:
    finished: list[int] = []
    distance_matrix(Comparison.prepare(random_head(0), random_coupled(150, 5, largest=2)), advance=finished.append)
    assert finished == [64, 64, 22]
