"""Services that several tests share: molecules with the model in the box, and graphs that take for ever."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import graphmetric as gm
from graphmetric.learned.learned_distance import LearnedDistance
from tests.serve.running import FOR_EVER, Running, hard_graphs, running


@pytest.fixture(scope="session")
def molecules() -> gm.GraphIndex:
    graphs = gm.load_dataset("molecules").graphs[:120]
    kept = [graph.replace(metadata={**graph.metadata, "half": k % 2}) for k, graph in enumerate(graphs)]
    return gm.GraphIndex.build(LearnedDistance.load("molecules", 1), kept, reading=graphs.reading)


@pytest.fixture(scope="session")
def served(molecules: gm.GraphIndex) -> Iterator[Running]:
    """Molecules with a model."""
    with running(molecules) as found:
        yield found


@pytest.fixture(scope="session")
def hard() -> gm.GraphIndex:
    return gm.GraphIndex.build(hard_graphs(12))


@pytest.fixture
def busy(hard: gm.GraphIndex) -> Iterator[Running]:
    """Hard graphs without a model; one worker, one that may wait."""
    with running(hard, workers=1, waiting=1, time_limit=FOR_EVER) as found:
        yield found
