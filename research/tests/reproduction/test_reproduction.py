"""Experiments: what a method may see, how it is scored, and that a stopped one goes on."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import score_rankings
from graphmetric_research.baselines import TrainingTask
from graphmetric_research.reproduction import make_experiment, run_experiment
from graphmetric_research.reproduction.benchmark import (
    _THREE,
    REPAIRS,
    TOLERANCE,
    Benchmark,
    Prediction,
    known_for,
    load_benchmark,
    repair_prediction,
    score_repaired,
)
from graphmetric_research.reproduction.experiments import EXPERIMENTS, GB_DISTANCE, Experiment, Row, check_claims
from graphmetric_research.reproduction.runner import RunOptions
from graphmetric_research.run_record import RunRecord


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    data = gm.load_dataset("molecules")
    chosen = np.concatenate([data.train[:24], data.val[:8], data.test[:8]])
    graphs = data.graphs[chosen]
    distances = gm.pairwise_edit_distances(graphs).distances
    parts = np.arange(24), np.arange(24, 32), np.arange(32, 40)
    return Benchmark("few", graphs, *parts, gm.isomorphism_classes(graphs), distances, "exact", "as given")


def _score(prediction: Prediction, benchmark: Benchmark, protocol: str) -> RunRecord:
    return score_repaired(repair_prediction(prediction, benchmark, "none"), benchmark, protocol)


def test_a_method_sees_no_test_graph_and_no_pair_of_validation_graphs(benchmark: Benchmark) -> None:
    protocol = benchmark.protocol("paper")
    task = TrainingTask.of_protocol(protocol, benchmark.graphs, benchmark.distances, seed=0, threads=1)
    assert [graph.id for graph in task.graphs] == [benchmark.graphs[k].id for k in range(32)]
    assert task.training.pairs.max() < 24
    assert (task.validation.pairs >= 24).sum(axis=1).tolist() == [1] * (8 * 24)
    for labels in (task.training, task.validation):
        assert np.array_equal(labels.lower, benchmark.distances[tuple(labels.pairs.T)])


def test_the_truth_itself_scores_perfectly(benchmark: Benchmark) -> None:
    matrix = benchmark.to_paper_scale(benchmark.distances)
    record = _score(Prediction("truth", matrix, {}, 0, 1.0, 1.0), benchmark, "A")
    assert record.scores["rho"] == pytest.approx(1)
    assert record.scores["mse"] == 0
    assert record.scores["mae"] == pytest.approx(0, abs=1e-9)
    assert record.axioms is not None
    assert record.axioms["unseparated"] == 0


def test_scores_are_those_of_the_test_rows(benchmark: Benchmark) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random(benchmark.distances.shape)
    record = _score(Prediction("noise", matrix, {}, 0, 1.0, 1.0), benchmark, "A")
    rows, columns = benchmark.test, np.arange(32)
    expected = score_rankings(
        matrix[np.ix_(rows, columns)], benchmark.to_paper_scale(benchmark.distances)[rows][:, columns]
    )
    assert record.scores["rho"] == pytest.approx(expected.rho)


def test_pairs_of_other_sizes_can_be_left_out(benchmark: Benchmark) -> None:
    matrix = np.random.default_rng(0).random(benchmark.distances.shape)
    prediction = Prediction("noise", matrix, {}, 0, 1.0, 1.0)
    record = _score(prediction, benchmark, "A, similar sizes")
    true, sizes = benchmark.to_paper_scale(benchmark.distances), benchmark.graphs.sizes
    errors = [
        (matrix[i, j] - true[i, j]) ** 2 for i in benchmark.test for j in range(32) if abs(sizes[i] - sizes[j]) < 3
    ]
    assert record.protocol == "A, similar sizes"
    assert 0 < len(errors) < 8 * 32
    assert record.scores["mse"] == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("repair", [name for name in REPAIRS if name != "none"])
def test_repairs_give_metrics_and_keep_what_is_fixed(benchmark: Benchmark, repair: str) -> None:
    rng = np.random.default_rng(1)
    true = benchmark.to_paper_scale(benchmark.distances)
    noisy = np.clip(true + np.triu(0.2 * rng.standard_normal(true.shape), 1), 0, 1)
    noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
    known = np.full_like(true, np.nan)
    known[:24, :24] = true[:24, :24]
    fixed = REPAIRS[repair](noisy, known)
    assert (fixed[:, :, None] <= fixed[:, None, :] + fixed[None, :, :].transpose(0, 2, 1) + TOLERANCE).all()
    if repair == "known fixed, fixing":
        assert np.array_equal(fixed[:24, :24], true[:24, :24])
    if repair == "fixing":
        assert not np.array_equal(fixed[:24, :24], true[:24, :24])


def test_what_was_given_holds_for_copies_and_nothing_else_is_known(benchmark: Benchmark) -> None:
    test, train = int(benchmark.test[0]), int(benchmark.train[3])
    assert benchmark.classes[test] not in benchmark.classes[[*benchmark.train, *benchmark.val]]
    true = benchmark.to_paper_scale(benchmark.distances)
    plain = known_for("known, closure", benchmark)
    assert np.array_equal(np.flatnonzero(~np.isnan(plain).all(axis=1)), np.sort(benchmark.train))
    assert np.isnan(
        np.delete(known_for("given, closure", benchmark)[test], benchmark.classes == benchmark.classes[test])
    ).all()

    classes = benchmark.classes.copy()
    classes[test] = classes[train]
    known = known_for("given, closure", replace(benchmark, classes=classes))
    assert known[test, train] == 0
    for side in (benchmark.train, benchmark.val):
        others = side[classes[side] != classes[train]]
        assert np.array_equal(known[test, others], true[train, others])
    beyond = [k for k in benchmark.test if not np.isin(classes[k], classes[[*benchmark.train, *benchmark.val]])]
    assert np.isnan(known[test, beyond]).all()


def test_leak_free_benchmark_has_no_class_twice(tmp_path: Path) -> None:
    whole = load_benchmark("programs", limit=200, store=tmp_path)
    honest = load_benchmark("programs", split="leak-free", limit=200, store=tmp_path)
    assert len(np.unique(honest.classes)) == len(honest.classes) < len(whole.classes)
    assert honest.protocol_names == ("leak-free",)
    assert honest.distances.shape == (len(honest.graphs),) * 2
    first, second = 3, 11
    exact = gm.graph_edit_distance(honest.graphs[first], honest.graphs[second])
    assert honest.distances[first, second] == exact.upper


def test_every_experiment_builds_its_rows() -> None:
    for name in EXPERIMENTS:
        experiment = make_experiment(name)
        assert len({row.name for row in experiment.rows}) == len(experiment.rows)
        for row in experiment.rows:
            assert row.build(quick=True).scale in ("raw", "paper")
            assert row.configuration(quick=False) != row.configuration(quick=True)
    with pytest.raises(InvalidArgument, match="table1"):
        make_experiment("table2")


def test_k_of_the_paper_s_model_is_printed_for_each_data_set() -> None:
    """Section 5.1: "input portal size: k = 10 (AIDS and LINUX) and k = 50 (IMDB)"."""
    rows = {row.name: row for row in make_experiment("ablation").rows}
    paper, free = rows[GB_DISTANCE], rows["k of the largest training graph"]
    for name, k in {"AIDS700nef": 10, "LINUX": 10, "IMDBMulti": 50, "molecules": None}.items():
        assert paper.options(name)[0].features.k_max == k
        assert paper.configuration(name, quick=False)["model"]["features"]["k_max"] == k
        assert free.options(name)[0].features.k_max is None
        assert Row("base", preset="base").options(name)[0].features.k_max is None


def test_rows_of_the_ablation_change_one_thing() -> None:
    paper, *others = make_experiment("ablation").rows
    before = _settings(paper)
    for row in others:
        after = _settings(row)
        assert len([name for name in before if before[name] != after[name]]) == 1, row.name


def _settings(row: Row) -> dict[tuple[str, str], object]:
    """All options of a model by part and name."""
    model, training = row.options("IMDBMulti")
    parts = {"encoder": model.encoder, "features": model.features, "head": model.head, "training": training}
    return {(part, each.name): getattr(chosen, each.name) for part, chosen in parts.items() for each in fields(chosen)}


def test_a_second_run_reads_the_records_of_the_first(tmp_path: Path) -> None:
    rows = (
        Row("floor", baseline="size-difference", learns=False),
        Row("tiny", training={"epochs": 10, "pretraining": None}),
    )
    experiment = Experiment("try", "A try", rows, ("programs",), protocols=("A",), repairs=("none",))
    options = RunOptions(tmp_path, seeds=(0,), quick=True, limit=60)
    first = run_experiment(experiment, options)
    assert {record.method for record in first} == {"floor", "tiny"}
    dates = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("records/*.json")}
    assert run_experiment(experiment, options) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("records/*.json")} == dates
    assert "floor" in (tmp_path / "try" / "report.md").read_text()
    (kept,) = (tmp_path / "models").iterdir()  # the baseline has none, and no unfinished work is left
    assert gm.GraphDistance.load(kept).report_["training"]["steps"] > 0
    with pytest.raises(InvalidArgument, match="floor, tiny"):
        run_experiment(experiment, RunOptions(tmp_path, only=("absent",)))


def test_a_whole_name_chooses_one_row_and_a_word_all_that_contain_it(tmp_path: Path) -> None:
    rows = (Row("sizes", baseline="size-difference", learns=False), Row("sizes, twice", baseline="size-difference"))
    experiment = Experiment("try", "A try", rows, ("programs",), protocols=("A",))
    options = RunOptions(tmp_path, seeds=(0,), limit=40)
    assert {record.method for record in run_experiment(experiment, replace(options, only=("sizes",)))} == {"sizes"}
    assert len(run_experiment(experiment, replace(options, only=("size",)))) == 2


def _record(method: str, rho: float, precision: float, broken: int = 0, dataset: str = "AIDS700nef") -> RunRecord:
    axioms = {"triangles": {"count": broken, "share": 0.0, "worst": 0.0}}
    scores = {"rho": rho, "tau": rho, "p@10": precision}
    return RunRecord(
        method, dataset, "paper", scores, axioms, {}, {"random_state": 0}, {"python": "3"}, 1.0, 1.0, "2026-01-01"
    )


def test_claims_are_decided_by_the_numbers() -> None:
    records = [
        _record(GB_DISTANCE, 0.7, 0.4, broken=9),
        _record(f"{GB_DISTANCE} + fixing", 0.7, 0.4),
        _record(f"{GB_DISTANCE} + known, fixing", 0.75, 0.41),
        _record("Beam", 0.6, 0.5),
        _record("GCNMax", 0.5, 0.6),
    ]
    held = {claim.text: claim.held for claim in check_claims(records)}
    assert held["GB-Distance is better than the earlier networks in tau"]
    assert not held["GB-Distance is better than the earlier networks in p@10"]
    assert held["triangle fixing improves rho"]
    assert not held["triangle fixing improves p@10"]
    assert held["after fixing, the distances keep the triangle inequality"]
    assert not held["Beam, a search, is nearer to the truth than what is learned (rho)"]
    assert check_claims(records[3:]) == []


def test_the_best_known_distance_is_the_upper_bound_that_comes_with_a_data_set(
    shared_data: Path, tmp_path: Path
) -> None:
    found = load_benchmark("IMDBMulti", truth="best known", limit=150, root=str(shared_data), store=tmp_path)
    assert not np.isnan(found.distances).any()
    sizes = found.graphs.sizes
    first, second = np.flatnonzero(sizes == 7)[:2].tolist()
    assert found.distances[first, second] == gm.graph_edit_distance(found.graphs[first], found.graphs[second]).upper
    assert (found.distances >= np.abs(sizes[:, None] - sizes)).all()
    assert make_experiment("protocol-a").protocols_of("IMDBMulti") == ("A", "A, similar sizes")
    assert make_experiment("protocol-a").protocols_of("LINUX") == ("A",)


def test_no_experiment_asks_for_exact_distances_where_they_take_days() -> None:
    for name in EXPERIMENTS:
        assert make_experiment(name).truth_of("IMDBMulti") != "exact"
        assert make_experiment(name).truth_of("AIDS700nef") == "exact"


def test_mean_of_three_is_the_mean_and_the_same_for_copies(tmp_path: Path) -> None:
    found = load_benchmark("programs", truth="mean of three", limit=30, store=tmp_path)
    first, second = np.unique(found.classes, return_index=True)[1][:2]
    both = [
        np.mean([gm.graph_edit_distance(found.graphs[i], found.graphs[j], method=name).upper for name in _THREE])
        for i, j in ((first, second), (second, first))
    ]
    assert found.distances[first, second] == pytest.approx(np.mean(both))
    same = found.classes[:, None] == found.classes[None, :]
    assert (found.distances[same] == 0).all()
    assert same.sum() > len(found.classes)


def test_known_distances_that_are_no_metric_are_repaired_before_they_are_kept() -> None:
    predicted = np.full((4, 4), 0.5) - 0.5 * np.eye(4)
    known = np.full((4, 4), np.nan)
    known[:3, :3] = [[0, 0.9, 0.1], [0.9, 0, 0.1], [0.1, 0.1, 0]]
    fixed = REPAIRS["known fixed, fixing"](predicted, known)
    assert (fixed[:, :, None] <= fixed[:, None, :] + fixed[None, :, :].transpose(0, 2, 1) + TOLERANCE).all()
    assert fixed[0, 1] == pytest.approx(0.9 - 0.7 / 3, abs=1e-3)  # each side of the triangle gives a third
