"""Padded batches and ragged tables hold the same graphs."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from graphmetric.distance import Representation
from graphmetric.errors import InvalidArgument
from tests.distance.random_representations import HEADS, random_graphs, random_head, states_of


class Padded(NamedTuple):
    z: Tensor
    states: Tensor
    mask: Tensor


def pad(graphs: Representation, width: int) -> Padded:
    states = graphs.rows.new_zeros(graphs.num_graphs, width, graphs.rows.shape[1])
    mask = torch.arange(width) < graphs.size.unsqueeze(1)
    states[mask] = graphs.compacted().rows
    return Padded(graphs.z, states, mask)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("width", [6, 11])
def test_padding_does_not_matter(name: str, width: int) -> None:
    head, left, right = random_head(name), random_graphs(10, 1), random_graphs(10, 2)
    padded = Representation.from_padded(pad(left, width))
    assert torch.equal(head(padded, right), head(left, right))


def test_compacted_drops_padding_and_follows_the_order() -> None:
    graphs = random_graphs(10, 3)
    order = torch.tensor([7, 7, 0, 3])
    taken = Representation.from_padded(pad(graphs, 9)).take(order).compacted()
    assert len(taken.rows) == int(taken.size.sum())
    assert [states_of(taken, k) for k in range(4)] == [states_of(graphs, int(k)) for k in order]
    assert taken.compacted() is taken


def test_concatenated_batches_of_any_width() -> None:
    first, second = random_graphs(4, 1), random_graphs(5, 2)
    both = Representation.concatenate(
        [Representation.from_padded(pad(first, 6)), Representation.from_padded(pad(second, 8))]
    )
    assert [states_of(both, k) for k in range(9)] == [
        states_of(g, k) for g, n in ((first, 4), (second, 5)) for k in range(n)
    ]
    assert torch.equal(both.z, torch.cat([first.z, second.z]))


def test_gradients_flow_through_padding() -> None:
    graphs = pad(random_graphs(6, 1), 7)
    states = graphs.states.requires_grad_()
    left = Representation.from_padded(graphs)
    random_head("matching")(left, random_graphs(6, 2)).sum().backward()
    assert states.grad is not None
    assert not states.grad[~graphs.mask].any()
    assert bool((states.grad[graphs.mask] != 0).any())


def test_detached_has_no_gradient() -> None:
    graphs = random_graphs(3)
    graphs.rows.requires_grad_()
    assert not graphs.detached().rows.requires_grad


def test_refusals() -> None:
    padded = pad(random_graphs(3), 6)
    with pytest.raises(InvalidArgument, match="a mask has gaps"):
        Representation.from_padded(padded._replace(mask=torch.arange(6).expand(3, 6) % 2 == 1))
    with pytest.raises(InvalidArgument, match=r"got shapes \(3, 8\), \(3, 6, 8\) and \(3, 5\)"):
        Representation.from_padded(padded._replace(mask=padded.mask[:, :5]))
    with pytest.raises(InvalidArgument, match="cannot concatenate nothing"):
        Representation.concatenate([])
