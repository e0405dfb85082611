"""Tags: what they may be, and their lasting forms."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_key, label_to_json

atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
tags = st.recursive(atoms, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@given(st.lists(tags))
def test_column_holds_values_and_types(values: list) -> None:
    column = LabelColumn.from_values(values)
    assert [(type(v), v) for v in column] == [(type(v), v) for v in values]


@given(st.lists(st.lists(tags, max_size=4), max_size=4))
def test_concatenation_is_that_of_lists(parts: list[list]) -> None:
    joined = LabelColumn.concatenate([LabelColumn.from_values(part) for part in parts])
    assert list(joined) == [value for part in parts for value in part]


@given(tags)
def test_json_gives_the_tag_back(tag) -> None:
    again = label_from_json(json.loads(json.dumps(label_to_json(tag))))
    assert (type(again), again) == (type(tag), tag)


@given(tags, tags)
def test_keys_are_equal_exactly_when_tags_are(a, b) -> None:
    assert (label_key(a) == label_key(b)) == (a == b)


@pytest.mark.parametrize("a", [1, 1.0, True])
def test_numbers_that_are_equal_share_a_key(a) -> None:
    assert label_key((a, "x")) == label_key((1, "x"))


def test_integers_that_python_cannot_write_are_refused() -> None:
    with pytest.raises(InvalidGraph, match="20001 bits"):
        LabelColumn.from_values([1 << 20_000])


def test_numpy_scalars_become_python_values() -> None:
    assert [type(v) for v in LabelColumn.from_values([np.int64(3), np.str_("a")])] == [int, str]


def test_what_has_no_lasting_form_is_refused_only_when_it_must_last() -> None:
    column = LabelColumn.from_values([frozenset("ab")])
    assert len(column) == 1
    with pytest.raises(InvalidGraph, match="no lasting form"):
        label_to_json(frozenset("ab"))
    with pytest.raises(InvalidGraph, match="no lasting form"):
        label_key(frozenset("ab"))


@pytest.mark.parametrize("data", [{}, {"a": 1}, {"bytes": "%%"}, {"float": "nan"}, [1], {"tuple": 3}, float("nan")])
def test_malformed_json_tags_are_refused(data) -> None:
    with pytest.raises(InvalidGraph):
        label_from_json(data)


@pytest.mark.parametrize("depth", [17, 100])
def test_what_is_too_deep_to_read_is_not_written(depth: int) -> None:
    tag: object = 1
    for _ in range(depth):
        tag = (tag,)
    for lasting_form in (label_to_json, label_key):
        with pytest.raises(InvalidGraph, match="up to 16 deep"):
            lasting_form(tag)


def test_deep_nesting_is_refused_not_recursed() -> None:
    data: object = 1
    for _ in range(10_000):
        data = {"tuple": [data]}
    with pytest.raises(InvalidGraph):
        label_from_json(data)
