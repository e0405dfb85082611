"""Small models and indexes that the tests of this folder share; none of them is changed."""

from __future__ import annotations

import pytest

import graphmetric as gm
from graphmetric.model import HeadOptions

HEADS = ("matching", "coupling", "block-norm", "squared-fc", "concave")


@pytest.fixture(scope="session")
def molecules() -> gm.GraphCollection:
    """A hundred molecules, with classes as metadata."""
    graphs = gm.load_dataset("molecules").graphs[:110]
    return gm.GraphCollection([graph.replace(metadata={"class": k % 3}) for k, graph in enumerate(graphs)])


@pytest.fixture(scope="session")
def models(molecules: gm.GraphCollection) -> dict[str, gm.GraphDistance]:
    """One for each head, hardly trained."""
    steps = dict.fromkeys(HEADS, 3) | {"matching": 20}
    return {
        head: gm.GraphDistance(
            "small", head=HeadOptions(head, fractions=True), max_steps=steps[head], label_budget=200, n_jobs=1
        ).fit(molecules[:50])
        for head in HEADS
    }


@pytest.fixture(scope="session")
def model(models: dict[str, gm.GraphDistance]) -> gm.GraphDistance:
    return models["matching"]


@pytest.fixture(scope="session")
def index(model: gm.GraphDistance, molecules: gm.GraphCollection) -> gm.GraphIndex:
    """Of the first hundred; the others are queries."""
    return gm.GraphIndex.build(model, molecules[:100])
