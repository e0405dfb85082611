"""The examples run and show what they claim."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parents[1] / "examples"
QUICK: dict[str, Any] = {"count": 60, "max_steps": 60, "label_budget": 1000, "n_jobs": 1}


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {"clustering", "neighbours", "embedding_map"}


def test_clustering(capsys: pytest.CaptureFixture[str]) -> None:
    dense, tree = load_example("clustering").main(**QUICK)
    assert len(dense) == len(tree) == 60
    assert set(tree) == set(range(5))
    assert "DBSCAN" in capsys.readouterr().out


def test_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert load_example("neighbours").main(**QUICK) > 0.5
    assert capsys.readouterr().out.count("exact") == 5


def test_embedding_map(tmp_path: Path) -> None:
    with threadpool_limits(1):  # a thousand tiny steps, whose threads would wait for each other on a busy machine
        places = load_example("embedding_map").main(str(tmp_path / "map.svg"), **QUICK)
    assert places.shape == (60, 2)
    assert np.isfinite(places).all()
    assert "<svg" in (tmp_path / "map.svg").read_text()
