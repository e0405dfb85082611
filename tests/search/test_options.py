"""One record holds and checks the keywords of searches, in Python and over HTTP."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.search.options import RangeKeywords, RangeOptions, RemoteKeywords, SearchKeywords, SearchOptions


@pytest.mark.parametrize(("record", "keywords"), [(RangeOptions, RangeKeywords), (SearchOptions, SearchKeywords)])
def test_keywords_are_the_fields_of_the_record(record: Any, keywords: Any) -> None:
    hints = get_type_hints(record)
    assert get_type_hints(keywords) == {field.name: hints[field.name] for field in fields(record)}
    assert get_type_hints(RemoteKeywords).items() <= hints.items()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"view": "edits"}, "no view 'edits'; there are: raw"),
        ({"time_limit": -1}, "time_limit must be a number of seconds"),
        ({"costs": 3}, "costs must be"),
        ({"limits": {"rings": 1}}, "rings"),
        ({"callback": 1}, "callback must be a function"),
        ({"view": "steinhaus", "costs": gm.EditCosts(node_insert=2.0)}, "for unit costs"),
        ({"num_candidates": 3}, "omit num_candidates"),
    ],
)
def test_wrong_options_are_refused_before_a_search(given: dict[str, Any], message: str) -> None:
    index = gm.GraphIndex.build(gm.load_dataset("molecules").graphs[:3])
    with pytest.raises(InvalidArgument, match=message):
        index.search(0, 3, **given)  # type: ignore[call-overload]


def test_a_keyword_that_a_search_does_not_have() -> None:
    index = gm.GraphIndex.build(gm.load_dataset("molecules").graphs[:3])
    with pytest.raises(TypeError, match="num_candidates"):
        index.range_search(index.graphs[0], 3, num_candidates=5)  # type: ignore[call-overload]
