"""Pairs whose matrices would not fit: bounds that take little memory, or an error of ours before the work."""

from __future__ import annotations

import tracemalloc
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import Graph, graph_edit_distance
from graphmetric.edit_distance import methods as branch
from graphmetric.edit_distance import scaling
from graphmetric.edit_distance._kernels.workspace import WorkspaceSize, allocate_workspace, count_bytes
from graphmetric.edit_distance.method import find_method, method_names
from graphmetric.errors import NotEnoughMemory
from tests.strategies import graphs

REPLACEABLE = [name for name in method_names() if find_method(name).replaceable]
letters = st.sampled_from("ab")


def star(nodes: int) -> Graph:
    return Graph(nodes, [(0, leaf) for leaf in range(1, nodes)])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Graph, Graph]:
    off = {"node_features": False, "node_texts": None, "node_images": False, "edge_weights": False}
    kind = graphs(max_nodes=4, node_labels=letters, edge_labels=letters, ids=None, metadata=None, always=True, **off)
    first = draw(kind)
    return first, draw(kind.filter(lambda second: second.directed == first.directed))


@pytest.mark.parametrize("name", REPLACEABLE)
def test_a_large_star_takes_little_memory(name: str) -> None:
    large, small = star(20_000), star(3)
    graph_edit_distance(star(4), small, method=name)  # compiles
    tracemalloc.start()
    result = graph_edit_distance(large, small, method=name)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 << 20
    assert result.exact
    assert result.upper == 2 * 19_997
    assert result.node_map is not None


@pytest.mark.parametrize("name", [name for name in method_names() if name not in REPLACEABLE and "hed" not in name])
def test_other_methods_refuse_before_they_start(name: str) -> None:
    with pytest.raises(NotEnoughMemory, match=f"method '{name}' needs about .* 20,000 and 3 nodes"):
        graph_edit_distance(star(20_000), star(3), method=name)


@settings(max_examples=50)
@given(pairs(), st.sampled_from([gm.EditCosts(), gm.EditCosts(node_substitute=3, edge_delete=0.5, edge_insert=1e12)]))
def test_bounds_in_little_memory_hold(pair: tuple[Graph, Graph], costs: gm.EditCosts) -> None:
    true = graph_edit_distance(*pair, costs=costs).upper
    with mock.patch.object(scaling, "MEMORY_LIMIT", 1), mock.patch.object(scaling, "_SMALL", -1):
        result = graph_edit_distance(*pair, costs=costs)
    assert result.lower <= true <= result.upper
    assert result.edit_path is not None
    assert result.exact or (result.note is not None and "too large" in result.note)
    assert result.edit_path.apply(pair[0]).num_nodes == pair[1].num_nodes


def test_large_pairs_do_not_keep_others_from_an_answer() -> None:
    found = gm.pairwise_edit_distances([star(20_000), star(3), Graph(3)], method="exact")
    assert found.exact.all()
    assert found.upper[1, 2] == 2


def test_memory_that_runs_out_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several pairs are tried with less room; one that cannot be solved even so is bounded without matrices."""
    solve, tried = branch.bound_branches, []

    def fail(*arguments: Any) -> None:
        tried.append(arguments[1].tolist())
        if [0, 1] in tried[-1]:
            raise MemoryError
        solve(*arguments)

    monkeypatch.setattr(branch, "bound_branches", fail)
    found = gm.pairwise_edit_distances([star(4), star(3), Graph(1)], method="branch")
    assert (found.lower[0, 1], found.upper[0, 1]) == (2, 2)
    assert found.lower[0, 2] == found.upper[0, 2] == 6
    assert [[0, 1]] in tried


@pytest.mark.parametrize(
    "size",
    [(30, 40, 60, 1, False, False), (9, 9, 8, 3, True, False), (3, 500, 800, 2, True, True), (100, 100, 50, 9, 0, 0)],
)
def test_the_estimate_is_close(size: tuple[int, int, int, int, bool, bool]) -> None:
    def bytes_of(part: object) -> int:
        return part.nbytes if isinstance(part, np.ndarray) else sum(map(bytes_of, part))  # type: ignore[call-overload]

    wanted = WorkspaceSize(*size)
    assert float(count_bytes(wanted)) == pytest.approx(bytes_of(allocate_workspace(wanted)), rel=0.1)
