"""Labels that a fit makes for itself: true ones, within the budget, and none that validation graphs had a part in."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphmetric as gm
from graphmetric import training
from graphmetric.graphs.collection import GraphCollection
from graphmetric.training import TrainingOptions
from graphmetric.training.mini_batches import MiniBatches
from graphmetric.training.supervision import LabelBudget, Supervision, label_some_pairs, make_supervision
from tests.edit_distance.hard_graphs import sparse


@pytest.fixture(scope="module")
def molecules() -> GraphCollection:
    return gm.load_dataset("molecules").graphs[:60]


def supervise(own: GraphCollection, val: GraphCollection, amount: int | str = 800, **how: Any) -> Supervision:
    return make_supervision(own, val, LabelBudget(amount, n_jobs=1, **how), edits=5, seed=0)


def test_labels_are_true_and_within_the_budget(molecules: GraphCollection) -> None:
    found = supervise(molecules[:50], molecules[50:])
    for labels in (found.training, found.validation):
        truth = gm.pairwise_edit_distances(found.graphs, pairs=labels.pairs)
        assert labels.lower.tolist() == labels.upper.tolist() == truth.distances.tolist()
    anchored = len(found.training.graphs) - 1
    assert 0.95 * 800 <= len(found.training) - anchored + len(found.validation) <= 800
    assert len(found.validation) == 80
    assert found.mutated == 12  # a third of a group of 38
    assert found.cpu_seconds > 0


def test_validation_pairs_are_of_a_held_out_graph_and_a_training_graph_as_it_is(molecules: GraphCollection) -> None:
    """Neither a mutation nor the empty graph: weights are chosen for what they are used for."""
    found = supervise(molecules[:50], molecules[50:])
    own, held_out = ({graph.id for graph in part} for part in (molecules[:50], molecules[50:]))
    for one, other in found.validation.pairs.tolist():
        assert found.graphs[one].id in own
        assert found.graphs[other].id in held_out


@pytest.mark.parametrize(("count", "amount"), [(40, 800), (12, "auto")])
def test_nothing_of_the_validation_graphs_gets_into_training(
    molecules: GraphCollection, count: int, amount: int | str
) -> None:
    """The same training graphs beside entirely different validation graphs: all that is trained on is the same."""
    stars = GraphCollection(gm.Graph(30, [(0, k) for k in range(1, n)], node_labels=["?"] * 30) for n in range(10, 30))
    one, other = (supervise(molecules[:count], val, amount) for val in (molecules[40:], stars))
    assert one.training.digest() == other.training.digest()
    assert one.mutated == other.mutated > 0
    trained = int(one.training.graphs.max()) + 1
    assert one.graphs[:trained] == other.graphs[:trained]
    assert one.graphs[trained:] != other.graphs[trained:]
    assert (one.validation.pairs[:, 1] >= trained).all()


def test_a_fit_beside_other_validation_graphs_takes_the_same_steps(
    molecules: GraphCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the last weights kept instead of the best, the models are the same, features included."""
    original = training.train_model

    def keep_last(*given: Any, **rest: Any) -> Any:
        return original(*given, **rest | {"validation": None})

    monkeypatch.setattr(training, "train_model", keep_last)
    strange = [gm.Graph(9, [(0, k) for k in range(1, n)], node_labels=["?"] * 9) for n in range(2, 7)]
    models = []
    for val in (list(molecules[40:45]), strange):
        model = gm.GraphDistance("small", max_steps=5, label_budget=300, n_jobs=1)
        models.append(model.fit([*molecules[:40], *val], val=range(40, 45)))
    one, other = (model.pairwise(molecules[:40]) for model in models)
    assert np.array_equal(one, other)


def test_time_that_runs_out_ends_the_labels(molecules: GraphCollection, tmp_path: Path) -> None:
    """What was labelled before still makes groups, and a second run, which finds it done, ends at the same label."""
    budget = LabelBudget("0.001s", n_jobs=1, store=tmp_path)
    pairs = budget.pairs_for(molecules[:50])
    first, second = (make_supervision(molecules[:50], molecules[50:], budget, 5, 0) for _ in range(2))
    assert first.training.digest() == second.training.digest()
    assert first.cpu_seconds == second.cpu_seconds > 0.001
    assert 0 < len(first.training) < pairs
    assert (tmp_path / "training-00").exists()
    assert not (tmp_path / "training-19").exists()
    assert len(first.validation) > 0


STOPPED_LABELLING = """
import sys
from graphmetric.edit_distance import pairwise
from tests.training.test_computed import label_some_graphs
pairwise._SAVE_EVERY = 0.1
print("labelling", flush=True)
label_some_graphs(sys.argv[1])
"""


def label_some_graphs(store: str | Path | None = None) -> Supervision:
    """A second or two of work, as in a fit of larger graphs."""
    graphs = GraphCollection(sparse(30, seed) for seed in range(24))
    return make_supervision(graphs[:20], graphs[20:], LabelBudget(200, n_jobs=2, store=store), edits=3, seed=0)


@pytest.mark.slow
def test_labelling_that_is_killed_again_and_again_accumulates_and_ends_the_same(tmp_path: Path) -> None:
    expected, saved = label_some_graphs(), 0
    for _ in range(3):
        command = [sys.executable, "-c", STOPPED_LABELLING, str(tmp_path)]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert job.stdout is not None
        job.stdout.readline()
        while job.poll() is None and _saved_bytes(tmp_path) <= saved:
            time.sleep(0.01)
        job.kill()
        job.communicate()
        assert _saved_bytes(tmp_path) >= saved
        saved = _saved_bytes(tmp_path)
    assert saved > 0
    found = label_some_graphs(tmp_path)
    assert found.training.digest() == expected.training.digest()
    assert found.validation.digest() == expected.validation.digest()


def _saved_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("results.rows"))


def test_a_fit_says_how_many_labels_are_only_bounds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    graphs = GraphCollection(sparse(40, seed) for seed in range(5))
    found = make_supervision(graphs[:4], graphs[4:], LabelBudget(8, n_jobs=1), edits=0, seed=0)
    bounds = int(
        (found.training.lower < found.training.upper).sum() + (found.validation.lower < found.validation.upper).sum()
    )
    assert bounds > 0
    assert f"{bounds} only bounds" in caplog.text


def test_steps_over_several_groups_hold_many_pairs() -> None:
    many = GraphCollection(gm.Graph(3, [(0, 1)], node_labels=[k % 40, k // 40, 0]) for k in range(1_000))
    found = supervise(many[:990], many[990:], 180_000)
    batches = MiniBatches(found.training, TrainingOptions(graphs_per_step=96), seed=0)
    assert batches.in_blocks
    counts = [len(batches.at(step).pairs) for step in range(batches.steps_per_epoch)]
    assert np.mean(counts) > 0.75 * 96 * 95 / 2


def test_scores_need_fewer_pairs(molecules: GraphCollection) -> None:
    assert len(label_some_pairs(molecules[:20], LabelBudget("auto", n_jobs=1), seed=0)) == 190
    assert len(label_some_pairs(molecules[:20], LabelBudget(50, n_jobs=1), seed=0)) == 50


def test_the_report_says_what_was_used(molecules: GraphCollection) -> None:
    model = gm.GraphDistance("small", max_steps=2, label_budget=300, n_jobs=1).fit(molecules)
    told = model.report_["labels"]
    assert told["graphs_in_training_pairs"] == 24  # 23 of a group and its empty graph
    assert told["mutated_graphs_in_training_pairs"] == 7
    assert told["training_pairs"] == 23 * 22 // 2 + 23
    assert told["validation_pairs"] == 30
    assert told["exact"] == 1.0
    assert told["cpu_seconds"] >= 0
    none = gm.GraphDistance("small", max_steps=2, label_budget=300, mutation_edits=0, n_jobs=1).fit(molecules)
    assert none.report_["labels"]["mutated_graphs_in_training_pairs"] == 0


def test_a_teacher_labels_training_pairs_and_edit_distances_choose_the_weights(molecules: GraphCollection) -> None:
    sizes: list[int] = []

    def teacher(graphs: GraphCollection) -> np.ndarray:
        sizes.append(len(graphs))
        return np.abs(graphs.sizes[:, None] - graphs.sizes[None, :]).astype(np.float32)

    own, val = molecules[:50], molecules[50:]
    found = make_supervision(own, val, LabelBudget(800, n_jobs=1), edits=5, seed=0, teacher=teacher)
    one, other = found.training.pairs.T
    taught = np.abs(found.graphs.sizes[one] - found.graphs.sizes[other])
    anchored = found.graphs.sizes[one] * found.graphs.sizes[other] == 0
    assert np.array_equal(found.training.lower[~anchored], taught[~anchored])
    assert anchored.sum() == sum(sizes)  # the empty graph needs no teacher
    assert len(found.training) == sum(n * (n - 1) // 2 for n in sizes) + sum(sizes) > 10 * 800
    assert np.array_equal(found.training.lower, found.training.upper)
    truth = gm.pairwise_edit_distances(found.graphs, pairs=found.validation.pairs)
    assert found.validation.lower.tolist() == truth.distances.tolist()
    assert "teacher" in found.origin
