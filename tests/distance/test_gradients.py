"""Analytic gradients of every head, view and loss against finite differences, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from graphmetric.distance import Matching, Representation, interval_loss
from graphmetric.distance.comparison import from_paper, to_paper, to_steinhaus
from graphmetric.distance.masked_loss import masked_loss
from tests.distance.random_representations import DIM, HEADS, from_rows, random_graphs, random_head


def split(rows: Tensor, size: Tensor) -> tuple[Representation, Representation]:
    graphs = from_rows(rows, size)
    half = len(size) // 2
    return graphs.take(slice(0, half)), graphs.take(slice(half, None))


@pytest.mark.parametrize("name", HEADS)
def test_gradient_in_the_states(name: str) -> None:
    head, size = random_head(name), torch.tensor([3, 2, 0, 2, 3, 2])
    rows = torch.randn(int(size.sum()), DIM, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda rows: head(*split(rows, size)), (rows,))


@pytest.mark.parametrize("name", [name for name in HEADS if list(HEADS[name]().parameters())])
def test_gradient_in_the_weights(name: str) -> None:
    head, left, right = random_head(name), random_graphs(5, 1), random_graphs(5, 2)
    names, weights = zip(*head.named_parameters(), strict=True)

    def distances(*values: Tensor) -> Tensor:
        return torch.func.functional_call(head, dict(zip(names, values, strict=True)), (left, right))

    assert gradcheck(distances, tuple(weight.detach().requires_grad_() for weight in weights), fast_mode=True)


@pytest.mark.parametrize("name", HEADS)
def test_equal_graphs_do_not_pull(name: str) -> None:
    """Distances have a corner at 0; its gradient must be finite, and is chosen to be 0."""
    head, rows = random_head(name), torch.randn(6, DIM, dtype=torch.float64, requires_grad=True)
    graphs = from_rows(rows, torch.tensor([2, 4]))
    gradients = torch.autograd.grad(head(graphs, graphs).sum(), [rows, *head.parameters()], allow_unused=True)
    assert all(gradient is None or not gradient.any() for gradient in gradients)


def test_gradient_of_matching_pulls_partners_together() -> None:
    rows = torch.tensor([[0.0, 0.0], [10.0, 0.0], [10.0, 3.0], [0.0, 4.0]], requires_grad=True)
    left, right = split(rows, torch.tensor([2, 2]))
    distance = Matching()(left, right)
    distance.sum().backward()
    assert float(distance.detach()) == 7
    assert rows.grad is not None
    assert rows.grad.tolist() == [[0, -1], [0, -1], [0, 1], [0, 1]]


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_gradient_of_the_losses(p: float) -> None:
    torch.manual_seed(0)
    distances = torch.rand(6, 6, dtype=torch.float64, requires_grad=True)
    truth = torch.rand(6, 6, dtype=torch.float64)
    truth[1, 2:5] = torch.nan
    weights = torch.rand(6, 6, dtype=torch.float64)
    assert gradcheck(lambda d: masked_loss(d, truth, weights, p), (distances,))
    assert gradcheck(lambda d: masked_loss(d, truth, weights, p, mean=True), (distances,))
    lower = torch.rand(6, 6, dtype=torch.float64)
    upper = (lower + 0.3).masked_fill(lower > 0.8, torch.inf)
    assert gradcheck(lambda d: interval_loss(d, lower, upper, weights, p), (distances,))


def test_losses_of_perfect_predictions_have_no_gradient() -> None:
    distances = torch.rand(5, dtype=torch.float64, requires_grad=True)
    truth = distances.detach().clone()
    for loss in (masked_loss(distances, truth, torch.ones_like(truth)), interval_loss(distances, truth, truth)):
        assert not torch.autograd.grad(loss, distances)[0].any()


def test_gradient_of_the_views() -> None:
    raw, left, right = (torch.rand(5, dtype=torch.float64).add(0.1).requires_grad_() for _ in range(3))
    nodes = torch.tensor([1.0, 2, 3, 4, 5], dtype=torch.float64)
    assert gradcheck(lambda *values: to_steinhaus(*values), (raw.detach().mul(0.1).requires_grad_(), left, right))
    assert gradcheck(lambda g: to_paper(g, nodes, nodes + 1), (raw,))
    assert gradcheck(lambda d: from_paper(d, nodes, nodes + 1), (raw.detach().mul(0.5).requires_grad_(),))
    nothing = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(to_steinhaus(nothing, nothing, nothing), nothing)[0].isfinite()
