"""Price lists."""

from __future__ import annotations

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
