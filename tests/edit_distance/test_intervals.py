"""Quick intervals: bounds that hold after any number of steps, and maps that attain the upper one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance import QuickInterval
from graphmetric.graphs.collection import GraphCollection
from tests.edit_distance.hard_graphs import sparse
from tests.strategies import graphs

letters = st.sampled_from("ab")
PLAIN = {"node_features": False, "node_texts": None, "node_images": False, "edge_weights": False}


@st.composite
def pairs_of_graphs(draw) -> tuple[gm.Graph, gm.Graph]:
    kind = graphs(max_nodes=6, node_labels=letters, edge_labels=letters, ids=None, metadata=None, always=True, **PLAIN)
    first = draw(kind)
    return first, draw(kind.filter(lambda second: second.directed == first.directed))


@given(pairs_of_graphs(), st.integers(0, 12), st.integers(0, 2))
def test_the_interval_holds_after_any_number_of_steps(pair: tuple[gm.Graph, gm.Graph], steps: int, shifts: int) -> None:
    found = gm.graph_edit_distance(*pair, method=QuickInterval(steps, shifts))
    assert found.lower <= gm.graph_edit_distance(*pair).upper <= found.upper
    assert found.edit_path is not None
    assert len(found.edit_path) == found.upper
    reached = found.edit_path.apply(pair[0])
    assert reached.replace(node_labels=reached.node_labels or ()).is_isomorphic(pair[1])


@pytest.mark.parametrize("costs", [gm.EditCosts(), gm.EditCosts(edge_delete=3, edge_insert=3, edge_substitute=1.5)])
def test_further_steps_raise_the_lower_bound(costs: gm.EditCosts) -> None:
    """On graphs whose bounds do not meet at the first look."""
    some = GraphCollection(sparse(14, seed) for seed in range(12))
    pairs = np.arange(12).reshape(6, 2)
    true = gm.pairwise_edit_distances(some, pairs=pairs, costs=costs)
    assert true.exact.all()
    lower = []
    for steps in (1, 90, 300):
        found = gm.pairwise_edit_distances(some, pairs=pairs, costs=costs, method=QuickInterval(steps, 1))
        assert np.all(found.lower <= true.upper)
        assert np.all(true.upper <= found.upper)
        lower.append(found.lower.mean())
    assert lower[0] < lower[1] <= lower[2]
