"""The examples run and show what they claim."""

from __future__ import annotations

import importlib.util
import sys
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
    names = ["clustering", "embedding_map", "neighbours", "own_molecules", "workflows"]
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == names


def test_clustering(capsys: pytest.CaptureFixture[str]) -> None:
    dense, tree = load_example("clustering").main(**QUICK)
    assert len(dense) == len(tree) == 60
    assert set(tree) == set(range(5))
    text = capsys.readouterr().out
    assert "DBSCAN" in text
    assert text.count(" edits apart, like ") == 5


def test_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert load_example("neighbours").main(**QUICK) > 0.5
    assert capsys.readouterr().out.count("exact") == 5


def test_embedding_map(tmp_path: Path) -> None:
    with threadpool_limits(1):  # a thousand tiny steps, whose threads would wait for each other on a busy machine
        places = load_example("embedding_map").main(str(tmp_path / "map.svg"), **QUICK)
    assert places.shape == (60, 2)
    assert np.isfinite(places).all()
    assert "<svg" in (tmp_path / "map.svg").read_text()


def test_own_molecules(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    assert len(set(load_example("own_molecules").main(max_steps=40, n_jobs=1))) == 5
    text = capsys.readouterr().out
    assert "dopamine, 4 edits" in text
    assert text.count("delete node") == 2


def test_own_molecules_without_rdkit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    assert load_example("own_molecules").main() == []
    assert "pip install" in capsys.readouterr().out


def test_workflows(capsys: pytest.CaptureFixture[str]) -> None:
    example = load_example("workflows")
    assert example.main(variants=6, max_steps=60, n_jobs=1) >= 0.8
    assert "proven to be nearest: order " in capsys.readouterr().out
    workflow = example.read_workflow("a>b, b>c, a>c", "name")
    assert (workflow.node_labels, workflow.directed) == (("a", "b", "c"), True)
    assert sorted(workflow.edges.tolist()) == [[0, 1], [0, 2], [1, 2]]
