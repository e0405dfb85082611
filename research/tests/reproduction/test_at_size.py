"""Benchmarks of real size: parts that share nothing, a truth that survives a stop, and methods measured alike."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import sem, spearmanr, t

import graphmetric as gm
from graphmetric.errors import FileError, InvalidArgument
from graphmetric_research.reproduction import frontier, runner
from graphmetric_research.reproduction.at_size import (
    SETS,
    SizedBenchmark,
    SizedSet,
    classify_nearest,
    deal_parts,
    load_sized_benchmark,
    score_benchmark,
    score_pairs,
)
from graphmetric_research.reproduction.figure import draw_frontier
from graphmetric_research.reproduction.frontier import (
    CONTENDERS,
    Result,
    SizeOptions,
    find_frontier,
    half_interval,
    join_seeds,
    read_results,
    run_at_size,
    run_random_pairs,
    write_report,
)
from graphmetric_research.reproduction.runner import (
    LabelPlan,
    measured_graphs,
    train_models,
    training_graphs,
    without_copies,
)

FEW = SizedSet("few", "molecules", 5, 8, queries=3, val_queries=2, dealt=(4, 20, 2, 10, 15))


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> SizedBenchmark:
    return load_sized_benchmark(FEW, tmp_path_factory.mktemp("truth"))


def test_parts_share_no_graph_and_no_isomorphism_class() -> None:
    graphs = gm.load_dataset("molecules").graphs
    parts = deal_parts(graphs, FEW)
    dealt = [parts.queries, parts.database, parts.val_queries, parts.val_database, parts.training]
    assert tuple(map(len, dealt)) == FEW.dealt
    chosen = graphs[np.concatenate(dealt)]
    assert len(set(gm.isomorphism_classes(chosen).tolist())) == sum(FEW.dealt)
    assert chosen.sizes.min() >= 5
    assert chosen.sizes.max() <= 8


def test_more_training_graphs_leave_the_test_part_alone() -> None:
    graphs = gm.load_dataset("molecules").graphs
    one, other = deal_parts(graphs, FEW), deal_parts(graphs, replace(FEW, dealt=(4, 20, 2, 10, 40)))
    assert np.array_equal(one.queries, other.queries)
    assert np.array_equal(one.database, other.database)


def test_a_set_with_too_few_graphs_says_so() -> None:
    with pytest.raises(InvalidArgument, match="different connected graphs of 9 to 9 nodes"):
        deal_parts(gm.load_dataset("atlas").graphs, replace(FEW, smallest=9, largest=9))


def test_a_missing_file_of_graphs_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"make_programs\.py --directed 4 100"):
        load_sized_benchmark("programs-20-60", tmp_path, root=str(tmp_path))


def test_a_set_without_distances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="atlas is not a benchmark of rankings"):
        load_sized_benchmark("atlas", tmp_path)


def test_every_listed_set_has_a_test_part() -> None:
    for each in SETS.values():
        assert each.dealt[0] >= each.queries
        assert each.dealt[2] >= each.val_queries or each.dealt[2] == 0


def test_the_truth_is_that_of_the_exact_search_and_is_kept(tmp_path: Path) -> None:
    first = load_sized_benchmark(FEW, tmp_path, queries=1)
    assert first.proven == 1
    stored = tmp_path / "few" / "test" / "query-000" / "results.rows"
    before = stored.read_bytes()
    both = load_sized_benchmark(FEW, tmp_path, queries=2)
    assert stored.read_bytes() == before
    assert np.array_equal(both.lower[:1], first.lower)
    assert np.array_equal(both.lower, gm.pairwise_edit_distances(both.queries, both.database).distances)


def test_the_truth_itself_scores_perfectly(benchmark: SizedBenchmark) -> None:
    scores = score_benchmark(benchmark.middle, benchmark)
    assert scores["rho"] == scores["tau"] == pytest.approx(1)
    assert scores["p@10"] == scores["exact hits"] == 1
    assert scores["mae"] == 0
    assert "p@10, at least" not in scores


def test_open_intervals_bound_the_scores(benchmark: SizedBenchmark) -> None:
    """Whatever the truth within the intervals is, the precision lies between the two that are reported."""
    rng = np.random.default_rng(0)
    opened = replace(benchmark, upper=benchmark.upper + rng.integers(0, 3, benchmark.upper.shape))
    predicted = benchmark.middle + rng.normal(0, 2, benchmark.middle.shape)
    scores = score_benchmark(predicted, opened)
    for _ in range(20):
        truth = rng.integers(opened.lower.astype(int), opened.upper.astype(int) + 1).astype(float)
        exact = score_benchmark(predicted, replace(benchmark, lower=truth, upper=truth))
        assert scores["p@10, at least"] <= exact["p@10"] <= scores["p@10, at most"]
    assert scores["p@10, at least"] < scores["p@10, at most"]
    assert scores["rho, lower ends"] != scores["rho, upper ends"]


def test_random_pairs_are_scored_by_their_errors() -> None:
    predicted, lower, upper = np.array([1.0, 4.0, 5.0]), np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 6.0])
    scores = score_pairs(predicted, lower, upper)
    assert scores["rmse"] == pytest.approx(np.sqrt(4 / 3))
    assert scores["exact hits"] == 0.5
    assert scores["proven"] == pytest.approx(2 / 3)


def test_the_nearest_vote_on_the_class() -> None:
    classes = np.array([0, 0, 1, 1, 1, 0])
    predicted = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 1.0, 2.0, 3.0, 4.0]])
    assert classify_nearest(predicted, np.array([1, 1]), classes) == 1
    assert classify_nearest(predicted, np.array([0, 1]), classes) == 0.5


def _named(*names: str) -> list[frontier.Contender]:
    found = {each.name: each for each in CONTENDERS}
    return [found[name] for name in names]


def _by_method(lines: list[Result]) -> dict[str, Result]:
    return {line["method"]: line for line in lines}


def test_methods_are_measured_and_a_second_run_computes_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = _named("labels-and-degrees", "colour counts, 1 rounds", "branch", "relaxed:0.05")
    options = SizeOptions(tmp_path)
    lines = _by_method(run_at_size([FEW], chosen, options))
    assert lines["relaxed:0.05, rounded up"]["rho"] > lines["branch"]["rho"] > 0
    assert lines["branch, middle"]["queries"] == 3
    assert all(line["us per pair"] > 0 for line in lines.values())
    for each in chosen:
        monkeypatch.setattr(type(each), "prepare", None)
    assert _by_method(run_at_size([FEW], chosen, options)) == lines
    assert _by_method(run_at_size([FEW], _named("branch"), options)) == lines


def test_counts_are_those_of_the_floor_and_of_the_colours(benchmark: SizedBenchmark) -> None:
    from graphmetric_research.baselines import build_baseline
    from graphmetric_research.baselines.kernels import count_colours

    queries, database = benchmark.queries, benchmark.database
    all_pairs = np.argwhere(np.ones(benchmark.lower.shape, dtype=bool))
    floor, colours = _named("labels-and-degrees", "colour counts, 2 rounds")
    expected = build_baseline("labels-and-degrees").predict(queries, database)
    assert np.array_equal(floor.prepare(queries, database)(all_pairs)[""].reshape(expected.shape), expected)
    counts = count_colours(queries + database, 2).counts.toarray()
    dense = np.abs(counts[: len(queries), None] - counts[None, len(queries) :]).sum(axis=2)
    compare = colours.prepare(queries, database)
    assert np.array_equal(compare(all_pairs)[""].reshape(dense.shape), dense)
    some = all_pairs[[41, 3, 7]]
    assert np.array_equal(compare(some)[""], dense[tuple(some.T)])


@pytest.mark.slow
def test_a_model_takes_part_like_any_method(tmp_path: Path) -> None:
    model = frontier.LearnedContender("molecules", "molecules")
    methods = [model, *_named("hed", "branch")]
    lines = _by_method(run_at_size([FEW], methods, SizeOptions(tmp_path, only=("hed",))))
    assert set(lines) == {"molecules", "hed"}  # a model that is given is not left out
    assert lines["molecules"]["family"] == "learned"
    assert lines["molecules"]["us per graph"] > 0
    assert lines["molecules"]["rho"] > lines["hed"]["rho"]
    pairs = _by_method(run_random_pairs([FEW], [model], SizeOptions(tmp_path)))
    assert pairs["molecules"]["rmse"] > 0


def test_random_pairs_have_lines_of_their_own(tmp_path: Path) -> None:
    lines = run_random_pairs([FEW], _named("branch", "exact, 300 nodes"), SizeOptions(tmp_path))
    exact = _by_method(lines)["exact, 300 nodes"]
    assert exact["protocol"] == "random pairs"
    assert exact["rmse"] <= _by_method(lines)["branch"]["rmse"]
    assert "RMSE" in write_report(tmp_path)


def test_the_report_has_intervals_over_queries(tmp_path: Path) -> None:
    line = _by_method(run_at_size([FEW], _named("branch"), SizeOptions(tmp_path)))["branch"]
    kept = next((tmp_path / "answers").rglob("branch*.npz"))
    truth = load_sized_benchmark(FEW, tmp_path / "truth")
    with np.load(kept) as answers:
        rho = [spearmanr(*row).statistic for row in zip(answers["values0"], truth.middle, strict=True)]
    low, high = t.interval(0.95, len(rho) - 1, loc=np.mean(rho), scale=sem(rho))
    assert half_interval(line["rho error"], line["queries"]) == pytest.approx((high - low) / 2, rel=1e-3)
    assert f"| {np.mean(rho):.3f} ± {(high - low) / 2:.3f} |" in write_report(tmp_path)
    assert "interval over queries" in write_report(tmp_path)


def test_unknown_words_name_the_methods(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"no method has nothing in its name; there are: size-difference"):
        run_at_size([FEW], CONTENDERS, SizeOptions(tmp_path, only=("nothing",)))


def test_the_frontier_is_what_no_quicker_method_beats() -> None:
    times, scores = (3.0, 1.0, 2.0, 4.0, 2.0), (0.9, 0.5, 0.8, 0.85, 0.7)
    lines: list[Result] = [{"us": time, "rho": score} for time, score in zip(times, scores, strict=True)]
    assert [line["us"] for line in find_frontier(lines, "rho")] == [1.0, 2.0, 3.0]


def test_damaged_results_are_named(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"benchmark": "few"}\n')
    with pytest.raises(FileError, match="cannot be read as results"):
        read_results(tmp_path)


@pytest.mark.slow
def test_the_figure_is_drawn_from_results_alone(tmp_path: Path) -> None:
    names = [("branch", "assignment"), ("beam:10", "beam and local search"), ("mine", "learned")]
    lines = [
        {"benchmark": "AIDS700nef", "protocol": "ranking", "method": name, "family": family, "rho": 0.5 + 0.1 * k,
         "p@10": 0.3 + 0.1 * k, "us": 10.0**k, "us per pair": 10.0**k, "mean nodes": 9.0, "database": 560}
        for k, (name, family) in enumerate(names)
    ]  # fmt: skip
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = draw_frontier(tmp_path).read_text(encoding="utf-8")
    assert all(name in text for name, _ in names)
    assert "9 nodes, 560 graphs ranked" in text
    with pytest.raises(InvalidArgument, match="run the benchmarks first"):
        draw_frontier(tmp_path, ["AIDS42k-15-40"])


def test_training_graphs_are_in_no_part_that_is_measured() -> None:
    learned_from, measured = training_graphs(FEW), measured_graphs(FEW)
    assert (len(learned_from), len(measured)) == (FEW.dealt[4], sum(FEW.dealt[:4]))
    assert len(without_copies(learned_from, measured)) == len(learned_from)


def test_copies_of_measured_graphs_are_left_out_of_training() -> None:
    """Another benchmark of the same molecules deals some to training that this one measures."""
    others = training_graphs(replace(FEW, name="others", smallest=4, dealt=(4, 10, 2, 10, 60)))
    measured = measured_graphs(FEW)
    kept = without_copies(others, measured)
    assert 0 < len(kept) < len(others)
    classes = gm.isomorphism_classes(measured + kept)
    assert not set(classes[: len(measured)].tolist()) & set(classes[len(measured) :].tolist())


def test_a_benchmark_without_training_graphs_says_so() -> None:
    with pytest.raises(InvalidArgument, match="few has no graphs for training; train on another benchmark"):
        training_graphs(replace(FEW, dealt=(4, 20, 0, 0, 0)))


def test_an_unknown_preset_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="there is no recipe 'tiny' for training; there are: small, base, pooled"):
        train_models(training_graphs(FEW), ["tiny"], tmp_path)


def test_trainings_of_one_name_share_a_line_with_means_and_spread() -> None:
    about = {"benchmark": "few", "protocol": "ranking", "method": "small", "family": "learned", "queries": 3}
    lines = [about | {"rho": rho, "mae": 2 * rho} for rho in (0.25, 0.75)]
    other = about | {"method": "branch", "rho": 0.5}
    joined, alone = join_seeds([*lines, other])
    assert alone == other
    assert (joined["rho"], joined["mae"], joined["seeds"], joined["queries"]) == (0.5, 1.0, 2, 3)
    assert joined["rho of seeds"] == [0.25, 0.75]


def test_presets_are_trained_measured_and_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {name: replace(row, training={"steps": 2}) for name, row in runner.RECIPES.items()}
    monkeypatch.setattr(runner, "RECIPES", short)
    options = SizeOptions(tmp_path, train=("small",), seeds=2, labels=LabelPlan(60, 3, 5))
    lines = _by_method(run_at_size([FEW], _named("branch"), options))
    assert lines["small"]["seeds"] == 2
    assert lines["small"]["rho of seeds"][0] != lines["small"]["rho of seeds"][1]
    assert "small, 2 seeds: rho" in write_report(tmp_path)
    models = [gm.GraphDistance.load(path.parent) for path in options.models.glob("small-*/config.json")]
    assert len(models) == 2
    assert all(model.report_["labels"]["origin"].startswith("computed") for model in models)
    monkeypatch.setattr(gm.GraphDistance, "fit", None)
    assert _by_method(run_at_size([FEW], _named("branch"), options)) == lines
    elsewhere = replace(FEW, name="larger", smallest=9, largest=9, dealt=(2, 12, 0, 0, 0), queries=1)
    carried = _by_method(run_at_size([elsewhere], _named("branch"), replace(options, train_on=FEW)))
    assert carried["small, trained on few"]["benchmark"] == "larger"
