"""Every method by name: bounds on the right side, maps that lead there, the published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import Graph, graph_edit_distance
from graphmetric.edit_distance.method import as_method, find_method, method_names
from graphmetric.errors import InvalidArgument
from tests.strategies import graphs

WITH_MAP = [name for name in method_names() if name not in ("hed", "published-hed")]
letters = st.sampled_from("ab")


@st.composite
def pairs(draw) -> tuple[Graph, Graph]:
    off = {"node_features": False, "node_texts": None, "node_images": False, "edge_weights": False}
    kind = graphs(max_nodes=5, node_labels=letters, edge_labels=letters, ids=None, metadata=None, always=True, **off)
    first = draw(kind)
    return first, draw(kind.filter(lambda second: second.directed == first.directed))


@pytest.mark.parametrize("name", method_names())
@given(pairs(), st.sampled_from([gm.EditCosts(), gm.EditCosts(node_substitute=3, edge_delete=0.5, edge_insert=2)]))
def test_bounds_hold_and_maps_lead_there(name: str, pair: tuple[Graph, Graph], costs: gm.EditCosts) -> None:
    first, second = pair
    true = graph_edit_distance(first, second, costs=costs).upper
    result = graph_edit_distance(first, second, method=name, costs=costs)
    assert result.lower <= true <= result.upper
    guarantee = find_method(name).guarantee
    if guarantee == "lower bound":
        assert result.value <= true
    elif guarantee == "upper bound":
        assert result.value == result.upper
    if name in WITH_MAP:
        reached = result.edit_path.apply(first)
        assert reached.replace(node_labels=reached.node_labels or ()).is_isomorphic(second)
        if costs.is_unit:
            assert len(result.edit_path) == result.upper


def test_more_effort_is_never_worse() -> None:
    molecules = gm.load_dataset("molecules").graphs[:30]
    by_effort = [gm.pairwise_edit_distances(molecules, method=f"local:{effort}").upper for effort in (0, 5, 50)]
    assert (by_effort[1] <= by_effort[0]).all()
    assert (by_effort[2] <= by_effort[1]).all()
    wide = gm.pairwise_edit_distances(molecules, method="beam:200").upper.mean()
    assert wide <= gm.pairwise_edit_distances(molecules, method="beam:2").upper.mean()


def test_an_answer_does_not_depend_on_the_company() -> None:
    molecules = gm.load_dataset("molecules").graphs[:12]
    for name in method_names():
        together = gm.pairwise_edit_distances(molecules, method=name).value
        alone = gm.pairwise_edit_distances(molecules, pairs=[[7, 3]], method=name).value
        assert together[7, 3] == alone[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beam:0", "width must be a whole number, 1 or more"),
        ("beam:1001", "1 to 1000 wide"),
        ("beam:x", "not a number"),
        ("hed:3", "not a number"),
        ("", "unknown method"),
    ],
)
def test_names_are_checked(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        as_method(text)


def test_a_time_limit_is_for_the_exact_search() -> None:
    with pytest.raises(InvalidArgument, match="beam takes none"):
        graph_edit_distance(Graph(1), Graph(1), method="beam:3", time_limit=1.0)


def test_small_numbers_may_be_written_with_an_exponent() -> None:
    assert as_method("relaxed:1e-3").tolerance == 0.001


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (gm.ExactSearch, "node_limit"),
        (gm.BeamSearch, "width"),
        (gm.LocalSearch, "effort"),
        (gm.LocalSearch, "random_state"),
        (gm.DualBound, "steps"),
        (gm.RefinedMap, "effort"),
        (gm.RelaxedDistance, "most_steps"),
    ],
)
def test_counts_are_integers(kind: type, name: str) -> None:
    """Kernels are compiled anew for every other type of number."""
    found = kind(**{name: np.int64(7)})
    assert type(getattr(found, name)) is int
    assert repr(found) == repr(kind(**{name: 7}))
    for wrong in (1.5, 1000.0, True, "7", -1):
        with pytest.raises(InvalidArgument, match=name):
            kind(**{name: wrong})


def test_limits_are_floats() -> None:
    assert repr(gm.ExactSearch(time_limit=2, upper_bound=5)) == repr(gm.ExactSearch(time_limit=2.0, upper_bound=5.0))
    assert repr(gm.RelaxedDistance(time_limit=2)) == repr(gm.RelaxedDistance(time_limit=2.0))
    for wrong in (-1, "soon", True, float("nan")):
        with pytest.raises(InvalidArgument, match="time_limit must be a number"):
            gm.ExactSearch(time_limit=wrong)
