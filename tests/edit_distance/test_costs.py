"""Price lists."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from graphmetric._foundation.options import same_description
from graphmetric.edit_distance import EditCosts, graph_edit_distance
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.graph import Graph


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
        ({"node_delete": 1e-280}, "node_delete is 1e-280; a cost is 0 or above 1e-280"),
        ({"node_insert": {"C": 5e-324}}, r"node_insert\['C'\] is 5e-324"),
        ({"node_delete": float("nan")}, "node_delete is nan"),
        ({"edge_insert": "dear"}, "edge_insert is 'dear'"),
        ({"node_insert": {"C": True}}, r"node_insert\['C'\] is True"),
        ({"ignore": "edge_labels"}, "ignore must be a set or list of names; got 'edge_labels'"),
        ({"ignore": 3}, "ignore must be a set or list of names; got 3"),
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


def test_equal_costs_have_one_form() -> None:
    table = {("C", "N"): 1, ("C", "O"): 0.5, (None, 2): 2}
    given = EditCosts(node_delete=2, edge_insert=-0.0, node_substitute=table)
    other = EditCosts(node_delete=np.float64(2), edge_insert=0, node_substitute=dict(reversed(table.items())))
    assert given == other
    assert repr(given) == repr(other)
    assert math.copysign(1, given.edge_insert) == 1
    table["C", "N"] = 7
    assert given == other
    assert repr(EditCosts(node_delete=2.5, edge_delete=math.inf)) == "EditCosts(node_delete=2.5, edge_delete=inf)"


@pytest.mark.parametrize(
    "costs",
    [
        EditCosts(),
        EditCosts(node_delete=2),
        EditCosts(node_substitute={("C", "N"): 1, (2, None): 0.5}, edge_delete=math.inf, ignore={"edge_labels"}),
        EditCosts(feature_distance="euclidean", node_insert={b"x": 1, (1, ("y", -2.5)): 3}),
    ],
)
def test_texts_of_earlier_versions_are_known(costs: EditCosts) -> None:
    old = repr(costs)
    for new, before in {"=2)": "=2.0)", ": 1,": ": np.float64(1.0),", ": 3}": ": 3.0}"}.items():
        old = old.replace(new, before)
    assert same_description(old, repr(costs))
    assert not same_description(old, repr(EditCosts(node_delete=7)))


@pytest.mark.parametrize("text", ["", "EditCosts(", "__import__('os')", "a.b", 3, None, "(" * 1000, "EditCosts(**{})"])
def test_other_texts_are_only_compared(text: object) -> None:
    assert same_description(text, text)
    assert not same_description(text, repr(EditCosts()))


def test_the_costs_of_distances_of_features_are_checked() -> None:
    first, second = (Graph(1, node_features=[[value]]) for value in (0.0, 1e-290))
    with pytest.raises(InvalidArgument, match="costs 1e-290; a cost is 0 or above 1e-280"):
        graph_edit_distance(first, second, costs=EditCosts(feature_distance="euclidean"))


def test_ignored_attributes_and_numbers_with_a_distance_are_not_compared_for_equality() -> None:
    assert EditCosts().not_compared == frozenset()
    costs = EditCosts(ignore=["edge_labels"], feature_distance="euclidean", weight_scale=1.0)
    assert costs.not_compared == {"edge_labels", "node_features", "edge_weights"}


def test_wrong_costs_are_named() -> None:
    with pytest.raises(InvalidArgument, match=r"costs must be graphmetric\.EditCosts or None; got 2"):
        graph_edit_distance(Graph(1), Graph(2), costs=2)  # type: ignore[arg-type]
