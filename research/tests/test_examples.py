"""The examples that compare with baselines run and show what they claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import isomorphism_classes
from tests.test_examples import QUICK, load_example

METHODS = [
    "size-difference, neighbours",
    "labels-and-degrees, neighbours",
    "wl-subtree, neighbours",
    "wl-subtree, SVM",
    "wwl, neighbours",
    "learned, neighbours",
    "learned, SVM",
]


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
