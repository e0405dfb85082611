"""Price lists."""

from __future__ import annotations

import json
import math

import pytest

from graphmetric.edit_distance import EditCosts
from graphmetric.errors import InvalidArgument


def test_the_default_is_one_for_everything() -> None:
    assert EditCosts().is_unit
    assert EditCosts(ignore={"edge_labels"}).is_unit
    assert not EditCosts(node_delete=2).is_unit
    assert not EditCosts(node_delete=2).is_symmetric
    assert repr(EditCosts(edge_insert=3)) == "EditCosts(edge_insert=3)"


@pytest.mark.parametrize(
    ("costs", "problem"),
    [
        (EditCosts(), None),
        (EditCosts(node_delete=2), "node costs are not symmetric"),
        (EditCosts(node_substitute=3), "a node edit costs more than two edits that do the same"),
        (EditCosts(node_substitute=0), "some node edits cost nothing"),
        (EditCosts(node_substitute={("a", "b"): 2, ("b", "c"): 0.5, ("a", "c"): 0.5}), "more than two edits"),
    ],
)
def test_says_why_it_is_no_metric(costs: EditCosts, problem: str | None) -> None:
    found = costs.node_metric_problem(["a", "b", "c"])
    assert (found is None) if problem is None else (problem in str(found))


def test_edges_have_axioms_too() -> None:
    assert EditCosts().edge_metric_problem(["1", "2"]) is None
    assert "edge" in str(EditCosts(edge_insert=2).edge_metric_problem(["1", "2"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node_delete": -1}, "node_delete is -1"),
        ({"node_delete": float("nan")}, "node_delete is nan"),
        ({"edge_insert": "dear"}, "edge_insert is 'dear'"),
        ({"node_insert": {"C": True}}, r"node_insert\['C'\] is True"),
        ({"ignore": {"colour"}}, r"ignore names \['colour'\]"),
        ({"feature_distance": "cosine"}, "feature_distance is 'cosine'"),
        ({"weight_scale": -2}, "weight_scale is -2"),
    ],
)
def test_refuses_what_is_no_price(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        EditCosts(**arguments)


@pytest.mark.parametrize(
    "costs",
    [
        EditCosts(),
        EditCosts(node_substitute=0.5, edge_delete=math.inf, ignore=frozenset({"edge_labels", "node_texts"})),
        EditCosts(node_substitute={("C", 1): 0.5, (None, (2, "x")): 0.7}, node_delete={"C": 2, 1: math.inf}),
        EditCosts(feature_distance="euclidean", feature_scale=3, weight_scale=0.1),
    ],
)
def test_costs_survive_json(costs: EditCosts) -> None:
    assert EditCosts.from_dict(json.loads(json.dumps(costs.to_dict(), allow_nan=False))) == costs


@pytest.mark.parametrize("damage", [{"ignore": 3}, {"node_delete": "much"}, {"node_substitute": [["C", 1]]}, None])
def test_damaged_costs_are_refused(damage: dict[str, object] | None) -> None:
    plain = None if damage is None else EditCosts().to_dict() | damage
    with pytest.raises(InvalidArgument, match="costs"):
        EditCosts.from_dict(plain)


def test_costs_of_both_directions() -> None:
    assert EditCosts(node_substitute={("a", "b"): 1, ("b", "a"): 1}).is_symmetric
    assert not EditCosts(edge_substitute={("a", "b"): 1, ("b", "a"): 2}).is_symmetric
    assert not EditCosts(node_insert=2).is_symmetric
    assert str(EditCosts()) == "unit costs"
    assert str(EditCosts(ignore=frozenset({"edge_labels"}))) == "unit costs without edge_labels"
