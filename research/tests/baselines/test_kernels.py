"""Graph kernels against their definitions, and the laws they promise."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given, settings

from graphmetric import load_dataset
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric_research.baselines.kernels import (
    DeepGraphKernel,
    GraphKernel,
    Graphlet,
    MultiscaleLaplacian,
    WassersteinWeisfeilerLehman,
    WeisfeilerLehmanSubtree,
    wasserstein_distances,
)
from research.tests.baselines.labelled_tasks import plain, tagged_graphs, unlabelled_task
from research.tests.naive.graph_kernels import (
    graphlet_shares,
    multiscale_laplacian_kernel,
    wasserstein_distance,
    wl_subtree_kernel,
)

KERNELS: list[Callable[[], GraphKernel]] = [
    Graphlet,
    WeisfeilerLehmanSubtree,
    WassersteinWeisfeilerLehman,
    MultiscaleLaplacian,
    DeepGraphKernel,
]
NEED_GRAPHS = [MultiscaleLaplacian, DeepGraphKernel]


def value(kernel: GraphKernel, g: Graph, h: Graph) -> float:
    return float(kernel.evaluate(GraphCollection([g]), GraphCollection([h])).cross[0, 0])


@given(tagged_graphs(), tagged_graphs())
def test_subtree_kernel_counts_equal_strings(g: Graph, h: Graph) -> None:
    for rounds in (0, 2):
        assert value(WeisfeilerLehmanSubtree(rounds), g, h) == wl_subtree_kernel(plain(g), plain(h), rounds)


@given(tagged_graphs(), tagged_graphs())
def test_normalised_distance(g: Graph, h: Graph) -> None:
    both = [wl_subtree_kernel(plain(a), plain(b), 3) for a, b in ((g, h), (g, g), (h, h))]
    found = WeisfeilerLehmanSubtree().predict(GraphCollection([g]), GraphCollection([h]))[0, 0]
    assert found == pytest.approx(sqrt(2 - 2 * min(1, both[0] / sqrt(both[1] * both[2]))), abs=1e-6)


@given(tagged_graphs(), tagged_graphs())
@settings(max_examples=30)
def test_graphlet_kernel_by_enumeration(g: Graph, h: Graph) -> None:
    expected = 0.0
    for size in (3, 4):
        left, right = graphlet_shares(plain(g), size), graphlet_shares(plain(h), size)
        expected += sum(share * right.get(shape, 0) for shape, share in left.items())
    assert value(Graphlet((3, 4)), g, h) == pytest.approx(expected)


def test_numbers_of_shapes_and_counts_of_five_nodes() -> None:
    graph = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 5), (2, 5)])
    shares = Graphlet((5,)).count_shares(graph)
    assert len(shares) == 34
    assert [len(Graphlet((k,)).count_shares(graph)) for k in (2, 3, 4)] == [2, 4, 11]
    expected = graphlet_shares(plain(graph), 5)
    assert sorted(shares[shares > 0]) == pytest.approx(sorted(expected.values()))


def test_sampled_graphlets_are_close_to_counted_ones() -> None:
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(rng.random((20, 20)) < 0.3, 1))
    graph = Graph(20, pairs)
    counted, sampled = Graphlet().count_shares(graph), Graphlet(most_subsets=100).count_shares(graph)
    assert 0 < np.abs(counted - sampled).max() < 0.015
    assert sampled.sum() == pytest.approx(3)


@pytest.mark.parametrize("sizes", [(), (1,), (3, 6)])
def test_graphlets_of_other_sizes_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgument, match="2 to 5 nodes"):
        Graphlet(sizes)


@given(tagged_graphs(), tagged_graphs())
def test_closed_form_is_the_cheapest_transport(g: Graph, h: Graph) -> None:
    expected = wasserstein_distance(plain(g), plain(h), 2)
    assert wasserstein_distances(GraphCollection([g]), GraphCollection([h]), 2)[0, 0] == pytest.approx(expected)
    assert value(WassersteinWeisfeilerLehman(2, decay=3.0), g, h) == pytest.approx(exp(-3 * expected))


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_multiscale_laplacian_of_a_pair_by_the_formula(levels: int) -> None:
    g = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)], node_labels="aabab")
    h = Graph(4, [(0, 1), (0, 2), (0, 3)], node_labels="abac")
    kernel = MultiscaleLaplacian(levels, directions=9, anchors=9, eta=0.3, gamma=0.2).fit(unlabelled_task([g, h]))
    expected = multiscale_laplacian_kernel(plain(g), plain(h), levels, eta=0.3, gamma=0.2)
    assert 0.01 < expected < 0.99
    assert value(kernel, g, h) == pytest.approx(expected, rel=1e-6)


def test_degrees_stand_in_for_tags() -> None:
    path, star = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (0, 2), (0, 3)])
    tagged = [path.replace(node_labels=[1, 2, 2, 1]), star.replace(node_labels=[3, 1, 1, 1])]
    kernels = [MultiscaleLaplacian().fit(unlabelled_task(pair)) for pair in ([path, star], tagged)]
    assert value(kernels[0], path, star) == pytest.approx(value(kernels[1], *tagged), rel=1e-6)


def test_colours_that_occur_together_are_alike() -> None:
    """N and O never share a graph, but both occur with C; S does not, and has only its like."""
    corpus = [Graph(3, node_labels=tags) for tags in ("CCN", "CCO", "CCN", "CCO", "SSS", "SSS")]
    kernel = DeepGraphKernel(rounds=0, dimensions=2).fit(unlabelled_task(corpus))
    nitrogen, oxygen, sulphur = (GraphCollection([Graph(1, node_labels=tag)]) for tag in "NOS")
    assert kernel.predict(nitrogen, oxygen)[0, 0] < 0.5 < kernel.predict(nitrogen, sulphur)[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["molecules", "programs"])
def test_kernels_are_positive_semidefinite_and_symmetric(kernel: Callable[[], GraphKernel], name: str) -> None:
    graphs = load_dataset(name).graphs[:70]
    distances = kernel().fit(unlabelled_task(graphs[:40])).predict(graphs, graphs)
    np.testing.assert_allclose(distances, distances.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(distances), 0, atol=1e-6)
    assert np.linalg.eigvalsh(1 - distances**2 / 2).min() > -1e-9 * len(graphs)
    assert distances.max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_isomorphic_graphs_are_at_distance_zero(kernel: Callable[[], GraphKernel]) -> None:
    rng = np.random.default_rng(1)
    graphs = load_dataset("molecules").graphs[:30]
    moved = GraphCollection([graph.relabeled(rng.permutation(graph.num_nodes)) for graph in graphs])
    fitted = kernel().fit(unlabelled_task(graphs))
    distances = fitted.predict(graphs, moved)
    np.testing.assert_array_equal(np.diag(distances), 0)
    np.testing.assert_allclose(distances, fitted.predict(graphs, graphs), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_distance_depends_on_its_two_graphs_only(kernel: Callable[[], GraphKernel]) -> None:
    graphs = load_dataset("programs").graphs[:12]
    fitted = kernel().fit(unlabelled_task(graphs[:6]))
    alone = fitted.predict(graphs[3:4], graphs[8:9])
    np.testing.assert_allclose(alone, fitted.predict(graphs[:6], graphs[6:])[3:4, 2:3], atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_empty_graph_is_far_from_others_and_at_itself(kernel: Callable[[], GraphKernel]) -> None:
    molecules = load_dataset("molecules").graphs[:20]
    graphs = GraphCollection([Graph(0), molecules[7]])
    distances = kernel().fit(unlabelled_task(molecules)).predict(graphs, graphs)
    assert distances[0, 0] == 0
    assert distances[0, 1] == pytest.approx(distances[1, 0])
    assert distances[0, 1] > 0.1


@pytest.mark.parametrize("kernel", NEED_GRAPHS)
def test_what_is_not_fitted_says_so(kernel: Callable[[], GraphKernel]) -> None:
    with pytest.raises(InvalidArgument, match="not fitted"):
        kernel().predict(GraphCollection([Graph(1)]), GraphCollection([Graph(1)]))


def test_seed_draws_the_anchors() -> None:
    graphs = load_dataset("molecules").graphs[:40]
    first, again, other = (
        MultiscaleLaplacian(anchors=5).fit(unlabelled_task(graphs, seed)).predict(graphs, graphs) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
