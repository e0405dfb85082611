"""Small models and indexes that the tests of this folder share; none of them is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import graphmetric as gm
from graphmetric.model import HeadOptions

ON_BOTH_STORES = {
    "test_certified",
    "test_learned_search",
    "test_limits",
    "test_queries",
    "test_reading",
    "test_within",
    "test_without_model",
}
"""Modules whose tests run once with indexes in memory and folders, and once with indexes in PostgreSQL."""
HEADS = {
    "matching": HeadOptions("matching"),
    **{kind: HeadOptions(kind) for kind in ("block-norm", "squared-fc", "concave")},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__.rpartition(".")[2] in ON_BOTH_STORES:
        stores = ["memory", pytest.param("postgres", marks=pytest.mark.slow)]
        metafunc.parametrize("kept_in", stores, indirect=True, scope="session")


@pytest.fixture(scope="session", autouse=True)
def kept_in(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where an index is built that names no place: in memory, or in PostgreSQL."""
    kind: str = getattr(request, "param", "memory")
    if kind == "memory":
        yield kind
        return
    url, numbers = request.getfixturevalue("postgres_url"), count()
    build: Any = gm.GraphIndex.build

    def build_there(*given: Any, **options: Any) -> gm.GraphIndex:
        is_ours = os.environ["PYTEST_CURRENT_TEST"].startswith("tests/search/")  # a session outlasts this folder
        named = "out" in options or "store" in options or not is_ours
        place = {} if named else {"store": f"{url}&index=test-{next(numbers)}"}
        return build(*given, **options, **place)  # type: ignore[no-any-return]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gm.GraphIndex, "build", build_there)
        yield kind


@pytest.fixture(scope="session")
def molecules() -> gm.GraphCollection:
    """A hundred molecules, with classes as metadata."""
    graphs = gm.load_dataset("molecules").graphs[:110]
    marked = [graph.replace(metadata={"class": k % 3}) for k, graph in enumerate(graphs)]
    return gm.GraphCollection(marked, reading=graphs.reading)


@pytest.fixture(scope="session")
def models(molecules: gm.GraphCollection) -> dict[str, gm.GraphDistance]:
    """One for each head, hardly trained."""
    steps = dict.fromkeys(HEADS, 3) | {"matching": 20}
    return {
        name: gm.GraphDistance("small", head=head, max_steps=steps[name], label_budget=200, n_jobs=1).fit(
            molecules[:50]
        )
        for name, head in HEADS.items()
    }


@pytest.fixture(scope="session")
def model(models: dict[str, gm.GraphDistance]) -> gm.GraphDistance:
    return models["matching"]


@pytest.fixture(scope="session")
def index(model: gm.GraphDistance, molecules: gm.GraphCollection, kept_in: str) -> gm.GraphIndex:
    """Of the first hundred; the others are queries."""
    return gm.GraphIndex.build(model, molecules[:100])
