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
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import isomorphism_classes

FOLDER = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))
QUICK: dict[str, Any] = {"count": 60, "max_steps": 60, "label_budget": 1000, "n_jobs": 1}
METHODS = [
    "size-difference, neighbours",
    "labels-and-degrees, neighbours",
    "wl-subtree, neighbours",
    "wl-subtree, SVM",
    "wwl, neighbours",
    "learned, neighbours",
    "learned, SVM",
]


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    names = ["classification", "clustering", "embedding_map", "neighbours", "own_molecules", "workflows"]
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == names


@pytest.mark.slow
@pytest.mark.parametrize("per_fold", [False, True])
def test_classification(per_fold: bool, capsys: pytest.CaptureFixture[str]) -> None:
    example = load_example("classification")
    found = example.main(count=60, folds=2, max_steps=20, per_fold=per_fold, label_budget=300, n_jobs=1)
    assert list(found) == METHODS
    assert all(accuracies.shape == (2,) for accuracies in found.values())
    assert found["wl-subtree, SVM"].mean() > 0.6
    assert capsys.readouterr().out.count("%") == 1 + 2 * len(METHODS)


def test_classification_chooses_within_the_training_part() -> None:
    """The matrix that tells the classes apart is chosen over one that misleads, whatever their order."""
    example, classes = load_example("classification"), np.arange(60) % 2
    telling = (classes[:, None] != classes[None, :]).astype(float)
    train, test = np.arange(40), np.arange(40, 60)
    for matrices in ([telling, 1 - telling], [1 - telling, telling]):
        assert example.score_fold(example.NEIGHBOURS, matrices, classes, train, test) == 1


def test_classification_knows_carbonyl_groups() -> None:
    has_carbonyl = load_example("classification").has_carbonyl
    path, bonds = [(0, 1), (1, 2)], ["single", "double"]
    assert has_carbonyl(gm.Graph(3, path, node_labels=list("CCO"), edge_labels=bonds))
    assert not has_carbonyl(gm.Graph(3, path, node_labels=list("OCC"), edge_labels=bonds))
    assert not has_carbonyl(gm.Graph(1, node_labels=["C"]))


@pytest.mark.parametrize(("example", "function"), [("classification", "main"), ("clustering", "compare_with_classes")])
def test_without_the_data_set(example: str, function: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert getattr(load_example(example), function)("MUTAG", root=str(tmp_path)) == {}
    assert "TU_MUTAG.npz" in capsys.readouterr().out


@pytest.mark.parametrize(("example", "function"), [("classification", "main"), ("clustering", "compare_with_classes")])
def test_without_classes(example: str, function: str) -> None:
    with pytest.raises(InvalidArgument, match="atlas has no classes"):
        getattr(load_example(example), function)("atlas")


def test_classes_of_a_tudataset(shared_data: Path) -> None:
    graphs, classes = load_example("classification").read_classes("MUTAG", str(shared_data), 500, leak_free=True)
    assert len(graphs) == len(classes) == len(set(isomorphism_classes(graphs).tolist()))
    graphs, classes = load_example("clustering").read_classes("MUTAG", str(shared_data))
    assert (len(graphs), np.unique(classes).tolist()) == (188, [-1, 1])


@pytest.mark.slow
def test_grouping_functions(capsys: pytest.CaptureFixture[str]) -> None:
    dense, nearest = load_example("clustering").group_functions(**QUICK)
    assert len(dense) == len(nearest) == 60
    assert set(nearest) == set(range(5))
    text = capsys.readouterr().out
    assert "DBSCAN" in text
    assert text.count(" edits from ") == 5


@pytest.mark.slow
def test_clusters_of_families() -> None:
    found = load_example("clustering").compare_with_classes(count=80, max_steps=60, label_budget=500, n_jobs=1)
    assert len(found) == 15
    assert found["learned, medoids"][0] > 0.15  # 0 is chance
    assert all(-1 <= rand <= 1 and information <= 1 for rand, information in found.values())


@given(
    arrays(np.float64, (6, 2), elements=st.integers(0, 9).map(float)),
    st.integers(1, 3),
)
def test_no_exchange_of_one_medoid_is_better(points: np.ndarray, number: int) -> None:
    distances = np.abs(points[:, None] - points[None, :]).sum(axis=2)

    def cost(medoids: list[int]) -> float:
        return float(distances[:, medoids].min(axis=1).sum())

    found = load_example("clustering").find_medoids(distances, number).tolist()
    assert len(found) == number
    for place in range(number):
        rest = found[:place] + found[place + 1 :]
        assert all(cost(found) <= cost([*rest, other]) for other in range(len(points)))


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
