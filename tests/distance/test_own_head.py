"""A head of a user's own: docs/howto/own_head.md runs as it stands, and nothing but its class has to know it."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.distance import HEADS, DistanceHead, HeadOptions
from graphmetric.errors import InvalidArgument

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "own_head.md"


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    before = dict(HEADS)
    yield
    HEADS.clear()
    HEADS.update(before)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The names that the page has defined in the end; its outputs are compared with what it shows."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    failures: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=failures.append, clear_globs=False)
    assert result.attempted > 10
    assert result.failed == 0, "".join(failures)
    return test.globs


def test_the_page_trains_saves_loads_indexes_and_searches(example: dict[str, object]) -> None:
    model, graphs = example["again"], example["graphs"]
    assert isinstance(model, gm.GraphDistance)
    assert isinstance(graphs, gm.GraphCollection)
    assert model.head == HeadOptions("city-block", own={"start": 0.5})
    assert model.learned_.network.head.kind == "city-block"
    index = gm.GraphIndex.load("city-block-index")
    expected = np.sort(model.pairwise(graphs[:5], graphs), axis=1)[:, :10]
    results = index.search(graphs[:5], 10)
    assert [[hit.distance for hit in result] for result in results] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert sum(sum(result.report.stages.values()) for result in results) > 0  # skipped by their bounds
    near = index.range_search(graphs[0], float(expected[0, 4]) + 1e-4)
    assert [hit.distance for hit in near][:5] == pytest.approx(expected[0, :5], rel=1e-5, abs=1e-5)
    assert index.search(graphs[0], 3, certified=True)[0].exact == 0
    with pytest.raises(InvalidArgument, match="only heads that match nodes align them"):
        model.align(graphs[0], graphs[1])


def test_a_model_of_an_unknown_head_is_refused_with_what_to_do(example: dict[str, object]) -> None:
    del HEADS["city-block"]
    with pytest.raises(ValueError, match=r"no head 'city-block'.*Import the module of a head of your own first"):
        gm.GraphDistance.load("city-block-model")


def test_a_name_is_taken_once() -> None:
    with pytest.raises(InvalidArgument, match="Matching is already the head 'matching'"):

        class Other(DistanceHead, kind="matching"):
            pass
