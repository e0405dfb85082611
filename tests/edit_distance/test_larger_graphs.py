"""Graphs of more than a dozen nodes, of all kinds: the search with the dual bound beside that with the branch bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.edit_distance import methods

LIMIT = gm.ExactSearch(node_limit=20_000)
TOLERANCE = 2e-9  # of both bounds, where costs must be rounded


def random_graph(rng: np.random.Generator, directed: bool, columns: set[str]) -> gm.Graph:
    n, density = int(rng.integers(13, 17)), rng.choice([0.08, 0.12, 0.3])
    edges = [
        (u, v)
        for u in range(n)
        for v in range(n)
        if (directed or u <= v) and rng.random() < density * (1 - 0.7 * (u == v))
    ]
    made: dict[str, Any] = {
        "node_labels": rng.integers(0, 3, n).tolist(),
        "edge_labels": rng.integers(0, 2, len(edges)).tolist(),
        "edge_weights": rng.choice([0.5, 1.0, np.pi], len(edges)),
        "node_features": rng.normal(size=(n, 2)).round(1),
    }
    return gm.Graph(n, edges, directed=directed, **{name: made[name] for name in columns})


def random_costs(rng: np.random.Generator, columns: set[str]) -> gm.EditCosts:
    names = ("node_substitute", "node_delete", "node_insert", "edge_substitute", "edge_delete", "edge_insert")
    prices = {name: float(rng.choice([0, 0.25, 0.5, 1, 1, 2, 3, np.e])) for name in names}
    if rng.random() < 0.2:
        prices["node_substitute"] = np.inf
    by_distance = "node_features" in columns and rng.random() < 0.5
    return gm.EditCosts(**prices, feature_distance="euclidean" if by_distance else None)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_all_kinds_of_graphs_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    names = ("node_labels", "edge_labels", "edge_weights", "node_features")
    columns, directed = {name for name in names if rng.random() < 0.5}, bool(rng.integers(2))
    first, second = (random_graph(rng, directed, columns) for _ in range(2))
    costs = gm.EditCosts() if seed % 3 == 0 else random_costs(rng, columns)
    exact = gm.graph_edit_distance(first, second, costs=costs, method=LIMIT)
    others = [
        gm.graph_edit_distance(first, second, costs=costs, method=name) for name in ("dual:50", "refine:5", "branch")
    ]
    monkeypatch.setattr(methods, "dual_memory", lambda problem, pairs: np.full(len(pairs), 1e15))
    others.append(gm.graph_edit_distance(first, second, costs=costs, method=LIMIT))
    assert exact.lower <= exact.upper
    for other in others:
        assert other.lower <= exact.upper * (1 + TOLERANCE)
        assert exact.lower <= other.upper * (1 + TOLERANCE)
    assert others[0].lower >= others[2].lower * (1 - TOLERANCE)
    assert exact.edit_path is not None
    assert exact.edit_path.apply(first).is_isomorphic(second)
    if costs == gm.EditCosts() and not columns & {"edge_weights", "node_features"}:
        assert len(exact.edit_path) == exact.upper


def test_graphs_of_hundreds_of_nodes_that_differ_by_a_few_edits_are_recognised() -> None:
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 300, (360, 2))
    graph = gm.Graph(300, sorted({(min(u, v), max(u, v)) for u, v in ends.tolist() if u != v}), node_labels=[0] * 300)
    labels = [1] * 3 + [0] * 297
    changed = gm.Graph(300, graph.edges[4:], node_labels=labels).relabeled(rng.permutation(300))
    result = gm.graph_edit_distance(graph, changed, method=gm.ExactSearch(node_limit=1))
    refined = gm.graph_edit_distance(graph, changed, method="refine:1")
    assert result.lower <= 7 <= result.upper
    assert refined.upper <= 10
