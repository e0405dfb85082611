"""One small model, and what is measured of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphmetric as gm
from graphmetric.report import ModelEvaluation, evaluate_model


@pytest.fixture(scope="session")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:60]


@pytest.fixture(scope="session")
def model(molecules: gm.GraphCollection) -> gm.GraphDistance:
    """Hardly trained, fitted to the first forty."""
    return gm.GraphDistance("small", max_steps=20, label_budget=200, n_jobs=1).fit(molecules[:40])


@pytest.fixture(scope="session")
def model_folder(model: gm.GraphDistance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def evaluation(model: gm.GraphDistance, molecules: gm.GraphCollection) -> ModelEvaluation:
    return evaluate_model(model, molecules, queries=12, name="sixty molecules")
