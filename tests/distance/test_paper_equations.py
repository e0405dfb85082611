"""Eq. 9, 10 and 11 against literal transcriptions, and interval supervision."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.distance import SquaredFC, interval_loss, mask_weights, proximity_weights
from graphmetric.distance.masked_loss import masked_loss
from graphmetric.errors import InvalidArgument
from tests.distance.random_representations import DIM, random_graphs, random_head
from tests.naive import paper_distance_and_loss as printed

known_or_not = st.one_of(st.none(), st.floats(0, 1))


@pytest.mark.parametrize("name", ["paper", "deep paper"])
def test_distance_of_equation_9(name: str) -> None:
    head, left, right = random_head(name), random_graphs(20, 1, spread=0.2), random_graphs(20, 2, spread=0.2)
    assert isinstance(head, SquaredFC)
    layers = [layer.weight.tolist() for layer in head.layers]
    expected = [printed.distance(a, b, layers) for a, b in zip(left.z.tolist(), right.z.tolist(), strict=True)]
    assert head(left, right).tolist() == pytest.approx(expected, abs=1e-12)


def test_small_distances_keep_their_digits() -> None:
    graphs = random_graphs(1, spread=0)._replace(z=torch.full((1, DIM), 1e-9, dtype=torch.float64))
    head = random_head("paper")
    (weight,) = head.parameters()
    expected = 1e-18 * torch.nn.functional.softplus(weight.detach()).sum()
    assert head.distance_to_empty(graphs).tolist() == pytest.approx([expected.item()], rel=1e-9)


@given(
    st.data(), st.integers(1, 5), st.sampled_from([1.0, 1.5, 2.0, 4.0]), st.floats(0, 1), st.sampled_from([1.0, 1e3])
)
def test_loss_of_equations_10_and_11(data: st.DataObject, size: int, p: float, alpha: float, beta: float) -> None:
    truth = data.draw(st.lists(st.lists(known_or_not, min_size=size, max_size=size), min_size=size, max_size=size))
    predicted = data.draw(
        st.lists(st.lists(st.floats(0, 1), min_size=size, max_size=size), min_size=size, max_size=size)
    )
    expected_mask = printed.mask(truth, alpha, beta)
    known = torch.tensor(
        [[math.nan if value is None else value for value in row] for row in truth], dtype=torch.float64
    )
    weights = mask_weights(~known.isnan(), torch.eye(size, dtype=torch.bool), alpha, beta).double()
    assert weights.numpy() == pytest.approx(np.array(expected_mask), rel=1e-6)
    exact = torch.tensor(expected_mask, dtype=torch.float64)
    loss = masked_loss(torch.tensor(predicted, dtype=torch.float64), known, exact, p)
    assert float(loss) == pytest.approx(printed.loss(predicted, truth, expected_mask, p), rel=1e-9, abs=1e-30)


def test_infinite_p_is_the_largest_error_and_mean_is_free_of_the_size() -> None:
    distances, truth = torch.tensor([0.1, 0.5, 0.9]), torch.tensor([0.2, 0.1, 0.9])
    ones = torch.ones(3)
    assert float(masked_loss(distances, truth, ones, p=math.inf)) == pytest.approx(0.4)
    assert float(masked_loss(distances, truth, ones, p=2, mean=True)) ** 2 == pytest.approx((0.01 + 0.16) / 3)
    twice = [torch.cat([part, part]) for part in (distances, truth, ones)]
    assert float(masked_loss(*twice, mean=True)) == pytest.approx(float(masked_loss(distances, truth, ones, mean=True)))


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50), st.floats(0, 50), st.floats(0.1, 5)), min_size=1),
    st.sampled_from([1.0, 2.0, 3.0]),
)
def test_interval_loss_is_the_distance_to_the_interval(rows: list[tuple[float, ...]], p: float) -> None:
    expected, total = 0.0, 0.0
    for d, a, b, weight in rows:
        low, high = min(a, b), max(a, b)
        outside = low - d if d < low else d - high if d > high else 0.0
        expected += weight * outside**p
        total += weight
    d, a, b, weight = torch.tensor(rows, dtype=torch.float64).T
    loss = interval_loss(d, torch.minimum(a, b), torch.maximum(a, b), weight, p)
    assert float(loss) == pytest.approx(expected / total, rel=1e-9, abs=1e-30)


def test_a_label_is_an_interval_of_one_point() -> None:
    distances, truth = torch.rand(20), torch.rand(20)
    assert float(interval_loss(distances, truth, truth)) == pytest.approx(float(((distances - truth) ** 2).mean()))
    nothing_known = torch.zeros(20), torch.full((20,), torch.inf)
    assert float(interval_loss(distances, *nothing_known)) == 0


def test_near_pairs_weigh_more() -> None:
    assert proximity_weights(torch.tensor([0.0, 2, 4, 8]), halving=2).tolist() == [1, 0.5, 0.25, 0.0625]


def test_refusals() -> None:
    one = torch.ones(1)
    for wrong, message in (
        (lambda: mask_weights(one > 0, one > 0, alpha=2), r"alpha must lie in \[0, 1\]; got 2"),
        (lambda: mask_weights(one > 0, one > 0, beta=-1), "beta must not be negative"),
        (lambda: mask_weights(one > 0, torch.ones(2) > 0), "one shape"),
        (lambda: masked_loss(one, one, one, p=0.5), "p must be at least 1; got 0.5"),
        (lambda: masked_loss(one, torch.ones(2), one), "one shape"),
        (lambda: interval_loss(one, 2 * one, one), "pair 0 has lower bound 2 and upper bound 1"),
        (lambda: interval_loss(one, one * torch.nan, one), "neither be NaN"),
        (lambda: interval_loss(one, one, one, p=math.inf), "p must be finite"),
        (lambda: proximity_weights(one, halving=0), "halving must be positive"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            wrong()
