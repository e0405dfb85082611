"""Three scales of one distance, and the step from pseudo-metric to metric."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.distance import Comparison, distance_matrix, view_distances
from graphmetric.distance.comparison import PreparedGraphs, from_paper, to_paper
from graphmetric.edit_distance import normalized_distance, steinhaus_distance
from graphmetric.errors import InvalidArgument
from tests.distance.random_representations import DIM, HEADS, Coarse, random_graphs, random_head

METRIC_HEADS = [name for name in HEADS if HEADS[name]().is_metric]


def largest_violation(d: np.ndarray) -> float:
    return float((d[:, :, None] - d[:, None, :] - d[None, :, :]).max())


@pytest.mark.parametrize("name", METRIC_HEADS)
def test_views_of_a_raw_head(name: str) -> None:
    head, graphs = random_head(name), random_graphs(20, 1)
    raw, steinhaus, paper = (
        distance_matrix(Comparison.prepare(head, graphs, view=view)) for view in ("raw", "steinhaus", "paper")
    )
    with torch.no_grad():  # where gradients flow, nothing is rounded
        to_empty, nodes = head.distance_to_empty(graphs).numpy(), graphs.size.numpy()
    assert steinhaus == pytest.approx(steinhaus_distance(raw, to_empty), rel=1e-5, abs=1e-6)
    filled = np.add.outer(nodes, nodes) > 0
    assert paper[filled] == pytest.approx(normalized_distance(raw, nodes)[filled], rel=1e-5, abs=1e-6)
    assert not paper[~filled].any()
    assert steinhaus.max() <= 1


@pytest.mark.parametrize("name", METRIC_HEADS)
def test_steinhaus_of_a_metric_is_a_metric(name: str) -> None:
    head = random_head(name)
    d = distance_matrix(Comparison.prepare(head, random_graphs(30, 2), view="steinhaus"))
    assert largest_violation(d) <= 1e-6 + 2 * head.tolerance


def test_the_paper_view_of_a_metric_need_not_be_one() -> None:
    """Sizes 1, 50 and 1: from small to small over a large graph is a shortcut."""
    nodes, g = torch.tensor([1.0, 50, 1]), torch.tensor([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    paper = to_paper(g, nodes.unsqueeze(1), nodes)
    assert float(paper[0, 2]) > float(paper[0, 1] + paper[1, 2])


def test_a_head_on_the_papers_scale_goes_back_to_edits() -> None:
    head, graphs = random_head("paper"), random_graphs(10, 3, spread=0.2)
    paper, raw, steinhaus = (
        distance_matrix(Comparison.prepare(head, graphs, view=view)) for view in ("paper", "raw", "steinhaus")
    )
    n = graphs.size.numpy()
    assert raw == pytest.approx(-np.log1p(-paper.astype(float)) * np.add.outer(n, n) / 2, rel=1e-3, abs=1e-5)
    to_empty = from_paper(head.distance_to_empty(graphs), graphs.size, torch.zeros(10)).detach().numpy()
    assert steinhaus == pytest.approx(np.minimum(steinhaus_distance(raw, to_empty), 1), rel=1e-4, abs=1e-5)


@given(st.floats(0, 1e4), st.integers(0, 2000), st.integers(0, 2000))
def test_from_paper_inverts_to_paper_and_stays_finite(g: float, left: int, right: int) -> None:
    nodes = torch.tensor(float(left)), torch.tensor(float(right))
    back = float(from_paper(to_paper(torch.tensor(g, dtype=torch.float64), *nodes), *nodes))
    assert np.isfinite(back)
    if left + right > 0 and 2 * g / (left + right) < 15:
        assert back == pytest.approx(g, rel=1e-6)


def test_unknown_view() -> None:
    side = PreparedGraphs(random_graphs(1), torch.ones(1))
    with pytest.raises(InvalidArgument, match="unknown view 'cooked'; choose from raw, steinhaus, paper"):
        view_distances(torch.ones(1), "raw", "cooked", side, side)  # type: ignore[arg-type]


@settings(max_examples=25)
@given(st.lists(st.sampled_from("abc"), min_size=6, max_size=6), st.sampled_from(["matching", "block norm"]))
def test_strict_is_zero_exactly_on_equal_certificates(certificates: list[str], name: str) -> None:
    """Here the encoder sees no difference at all, so certificates alone decide."""
    head = random_head(name)
    graphs = random_graphs(1, largest=3, seed=1).take(torch.zeros(6, dtype=torch.int64))
    d = distance_matrix(Comparison.prepare(head, graphs, certificates=np.array(certificates)))
    equal = np.equal.outer(certificates, certificates)
    assert not d[equal].any()
    assert d[~equal] == pytest.approx(head.epsilon)
    assert largest_violation(d) <= 1e-9


def test_strict_metric_on_real_distances_and_views() -> None:
    head, graphs = random_head("matching"), random_graphs(20, 5)
    names = np.array([f"certificate {k}" for k in range(20)])
    plain = distance_matrix(Comparison.prepare(head, graphs))
    strict = distance_matrix(Comparison.prepare(head, graphs, certificates=names, epsilon=0.5))
    assert strict == pytest.approx(plain + 0.5 * (1 - np.eye(20)), rel=1e-6)
    for view in ("raw", "steinhaus"):
        d = distance_matrix(Comparison.prepare(head, graphs, view=view, certificates=names, epsilon=0.5))
        assert largest_violation(d) <= 1e-5
    assert d.max() <= 1


def test_strict_of_pairs_and_of_a_matrix() -> None:
    head, left, right = random_head("matching"), random_graphs(2, 1), random_graphs(2, 2)
    plain = Comparison.prepare(head, left, right).table(slice(0, 2), slice(0, 2))
    names = {"certificates": ["x", "y"], "other_certificates": ["x", "z"]}
    strict = Comparison.prepare(head, left, right, epsilon=1, **names)
    expected = torch.where(torch.tensor([[False, True], [True, True]]), plain + 1, 0.0)
    assert torch.equal(strict.table(slice(0, 2), slice(0, 2)), expected)
    assert torch.equal(strict.of_pairs(torch.tensor([[0, 0], [1, 1]])), expected.diagonal())


def test_refusals() -> None:
    graphs, pair, head = random_graphs(3), random_graphs(2), random_head("block norm")
    with pytest.raises(InvalidArgument, match="3 certificates for 2 graphs"):
        Comparison.prepare(head, pair, pair, certificates=["a", "b"], other_certificates=["a", "b", "c"])
    with pytest.raises(InvalidArgument, match="certificates form lists"):
        Comparison.prepare(head, graphs, certificates=[["a", "b", "c"]])
    with pytest.raises(InvalidArgument, match=r"epsilon must be at least 0\.04, twice the tolerance"):
        Comparison.prepare(Coarse(DIM), graphs, certificates=list("abc"), epsilon=1e-4)
    with pytest.raises(InvalidArgument, match="2 certificates for 3 graphs"):
        Comparison.prepare(head, graphs, certificates=["a", "b"])
    with pytest.raises(InvalidArgument, match="give those of both"):
        Comparison.prepare(head, graphs, graphs, certificates=["a", "b", "c"])
