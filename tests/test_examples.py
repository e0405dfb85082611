"""The examples and the notebooks run and show what they claim."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))
WITH_RESEARCH = ["classification", "clustering"]
"""Examples that need graphmetric-research, whose tests have them."""
QUICK: dict[str, Any] = {"count": 60, "max_steps": 60, "label_budget": 1000, "n_jobs": 1}


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    names = ["embedding_map", "neighbours", "own_molecules", "workflows", *WITH_RESEARCH]
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(names)


@pytest.mark.parametrize("name", WITH_RESEARCH)
def test_examples_that_need_research_say_so(name: str) -> None:
    assert "graphmetric-research" in (FOLDER / f"{name}.py").read_text(encoding="utf-8").split('"""')[1]


@pytest.mark.slow
def test_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert load_example("neighbours").main(**QUICK) > 0.5
    assert capsys.readouterr().out.count("exact") == 5


@pytest.mark.slow
def test_embedding_map(tmp_path: Path) -> None:
    with threadpool_limits(1):  # a thousand tiny steps, whose threads would wait for each other on a busy machine
        places = load_example("embedding_map").main(str(tmp_path / "map.svg"), **QUICK)
    assert places.shape == (60, 2)
    assert np.isfinite(places).all()
    assert "<svg" in (tmp_path / "map.svg").read_text()


@pytest.mark.slow
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


@pytest.mark.slow
def test_workflows(capsys: pytest.CaptureFixture[str]) -> None:
    example = load_example("workflows")
    assert example.main(variants=6, max_steps=60, n_jobs=1) >= 0.8
    assert "proven to be nearest: order " in capsys.readouterr().out
    workflow = example.read_workflow("a>b, b>c, a>c", "name")
    assert (workflow.node_labels, workflow.directed) == (("a", "b", "c"), True)
    assert sorted(workflow.edges.tolist()) == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_was_run_from_top_to_bottom(path: Path) -> None:
    assert path.stat().st_size < 300_000
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
    assert ">proven<" in str(outputs)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell in one name space, as a notebook does, but without one."""
    if path.stem == "molecules":
        pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), names)
    assert all(hit.proven for hit in names["hits"])
