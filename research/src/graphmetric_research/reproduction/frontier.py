"""How good every method is for the time it takes, learned or not: measured alike, in one table and one figure.

Each method is asked for the distances of one query to the whole database at a time. Its CPU time is measured in the
same run, on one thread, after everything is compiled; what is done once per graph, such as encoding it, is told apart.
The figure adds the share of one query in that, since a new query meets a database that is encoded already.

Methods go through the queries side by side, and what is done is kept, so that a run can be stopped and continued, and
all methods have about the same queries at every moment.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtrit

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric._foundation.options import parse_json
from graphmetric._foundation.progress import progress
from graphmetric.distance import distance_matrix, pair_distances
from graphmetric.edit_distance import EditCosts, EditDistanceMethod, ExactSearch, RelaxedDistance
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.method import as_method
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric_research.baselines import build_baseline
from graphmetric_research.baselines.floors import CountVectors, Floor
from graphmetric_research.baselines.kernels import count_colours
from graphmetric_research.reproduction.at_size import (
    Floats,
    Part,
    Positions,
    SizedBenchmark,
    SizedSet,
    draw_random_pairs,
    load_sized_benchmark,
    score_benchmark,
    score_pairs,
)
from graphmetric_research.reproduction.runner import (
    LabelPlan,
    measured_graphs,
    train_models,
    training_graphs,
    without_copies,
)

Compare = Callable[[Positions], dict[str, Floats]]
"""Distances of (n, 2) pairs: position of the query, position in the database. The keys end the name of the method,
since one search may answer in several ways, such as by its upper bound and by the middle of its bounds."""
Result = dict[str, Any]
"""One line of the results: a method on a benchmark."""

PANELS = ("AIDS700nef", "AIDS42k-15-40", "AIDS42k-45-55")
"""Benchmarks of 10, 25 and 50 nodes, the panels of the figure."""
RESULTS = "results.jsonl"
_SPREAD = ("rho", "p@10", "mae", "rmse")
"""Scores of which a method that was trained several times shows each value."""


class Contender(ABC):
    """A method that takes part."""

    name: str
    family: str
    """What kind of method it is, which is its colour in the figure."""

    @abstractmethod
    def prepare(self, queries: GraphCollection, database: GraphCollection) -> Compare:
        """Do what is done once per graph; returns the comparison of pairs."""

    @property
    def settings(self) -> str:
        """Everything that its answers depend on besides the graphs."""
        return repr(self)


@dataclass(frozen=True)
class EngineContender(Contender):
    """A method of the engine. The name of what it guarantees comes first, the middle of its bounds beside it."""

    name: str
    family: str
    method: EditDistanceMethod

    def prepare(self, queries: GraphCollection, database: GraphCollection) -> Compare:
        problem = encode(queries, database, EditCosts())

        def compare(pairs: Positions) -> dict[str, Floats]:
            found = self.method.bounds(problem, pairs)
            if isinstance(self.method, RelaxedDistance):
                rounded = {} if self.method.round_up else {", rounded up": np.ceil(found.value - 1e-9)}
                return {"": found.value} | rounded
            has_both = found.node_map is not None and self.method.guarantee != "estimate" and found.lower.any()
            middle = {", middle": (found.lower + found.upper) / 2} if has_both else {}
            return {"": found.value} | middle

        return compare


@dataclass(frozen=True)
class FloorContender(Contender):
    """A lower bound from counts alone."""

    floor: str
    family: str = "counts"

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.floor

    def prepare(self, queries: GraphCollection, database: GraphCollection) -> Compare:
        floor = build_baseline(self.floor)
        assert isinstance(floor, Floor)
        counts, start = CountVectors.of(queries + database), len(queries)

        def compare_row(row: int, columns: Positions) -> Floats:
            found: Floats = floor.combine(counts.compare(np.array([row]), start + columns))[0]
            return found

        return lambda pairs: {"": _by_row(pairs, compare_row)}


@dataclass(frozen=True)
class ColourContender(Contender):
    """The L1 distance of how often each Weisfeiler-Lehman colour occurs, over all rounds: a pseudo-metric."""

    rounds: int
    family: str = "counts"

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"colour counts, {self.rounds} rounds"

    def prepare(self, queries: GraphCollection, database: GraphCollection) -> Compare:
        counts = count_colours(queries + database, self.rounds).counts
        rows, columns = csr_array(counts[: len(queries)]), csr_array(counts[len(queries) :])
        row_sums, column_sums = (np.asarray(side.sum(axis=1)).ravel() for side in (rows, columns))

        def compare_row(row: int, chosen: Positions) -> Floats:
            part = columns if len(chosen) == columns.shape[0] else columns[chosen]
            own = rows[[row]].toarray()[0]
            common = csr_array((np.minimum(part.data, own[part.indices]), part.indices, part.indptr), part.shape)
            found: Floats = row_sums[row] + column_sums[chosen] - 2.0 * np.asarray(common.sum(axis=1)).ravel()
            return found

        return lambda pairs: {"": _by_row(pairs, compare_row)}


@dataclass(frozen=True)
class LearnedContender(Contender):
    """A trained distance, from the folder of a model or by the name of one in the box.

    Models of one name are trainings of the same method with different seeds, and share a line of the results.
    """

    name: str
    model: str
    family: str = "learned"

    @cached_property
    def learned(self) -> LearnedDistance:
        return LearnedDistance.load(self.model, n_jobs=1)

    @property
    def settings(self) -> str:
        return f"{self.name} {self.learned.digest}"

    def prepare(self, queries: GraphCollection, database: GraphCollection) -> Compare:
        learned = self.learned
        comparison = learned.compare(queries, database)

        def compare_row(row: int, columns: Positions) -> Floats:
            with learned.limited_threads():
                if len(columns) == len(database):
                    one = replace(comparison, left=comparison.left.take(slice(row, row + 1)))
                    found = distance_matrix(one)[0]
                else:
                    found = pair_distances(comparison, np.column_stack([np.full(len(columns), row), columns]))
            return np.asarray(found, dtype=np.float64)

        return lambda pairs: {"": _by_row(pairs, compare_row)}


def _by_row(pairs: Positions, compare_row: Callable[[int, Positions], Floats]) -> Floats:
    """Compare each query with its own part of the database, all columns in rising order if it is all of it."""
    found = np.empty(len(pairs))
    for row in np.unique(pairs[:, 0]):
        places = np.flatnonzero(pairs[:, 0] == row)
        found[places] = compare_row(int(row), pairs[places, 1])
    return found


def _engine(family: str, *names: str) -> tuple[EngineContender, ...]:
    return tuple(EngineContender(name, family, as_method(name, time_limit=None)) for name in names if name != "exact")


def _searched(nodes: int) -> EngineContender:
    return EngineContender(f"exact, {nodes:,} nodes", "exact search", ExactSearch(node_limit=nodes))


CONTENDERS: tuple[Contender, ...] = (
    *(FloorContender(name) for name in ("size-difference", "label-counts", "degree-sequences", "labels-and-degrees")),
    *(ColourContender(rounds) for rounds in (1, 2, 3)),
    *_engine("assignment", "hed", "branch", "hungarian", "vj"),
    *_engine("beam and local search", "beam:1", "beam:10", "beam:100", "local:0", "local:10", "local:100"),
    *_engine("dual bound", "dual:25", "dual:50", "dual:100", "dual:200", "dual:400", "refine:1", "refine:10"),
    *_engine("relaxed distance", "relaxed:0.5", "relaxed:0.2", "relaxed:0.05", "relaxed:round_up"),
    *(_searched(nodes) for nodes in (300, 1_000, 3_000, 10_000)),
)  # fmt: skip
"""The methods without learning."""


@dataclass(frozen=True, slots=True)
class SizeOptions:
    """How the benchmarks of real size are run."""

    out: Path
    """Folder for the truth, the answers, the results and the figure; what is there is not done again."""
    root: str | None = None
    part: Part = "test"
    queries: int | None = None
    """The first queries of each benchmark; by default the number that belongs to it."""
    threads: int = 1
    """Threads for the truth; methods are measured on one."""
    only: tuple[str, ...] = ()
    """Only methods whose names contain one of these words, besides models that are given; a whole name chooses that
    method alone."""
    train: tuple[str, ...] = ()
    """Presets to train on the training graphs of each benchmark, and to measure beside the other methods."""
    train_on: str | SizedSet | None = None
    """Train on the training graphs of this benchmark instead, without those that are copies of others."""
    seeds: int = 3
    """Trainings of each preset."""
    labels: LabelPlan = field(default_factory=LabelPlan)

    @property
    def models(self) -> Path:
        """The folder of the trained models and their labels."""
        return self.out / "models"

    @property
    def truth(self) -> Path:
        """The folder of the true distances."""
        return self.out / "truth"


@dataclass(eq=False)
class _Answers:
    """What one method has answered so far, query by query, and the file that keeps it."""

    path: Path
    variants: tuple[str, ...] = ()
    values: dict[str, list[Floats]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    """CPU seconds of each query."""
    per_graph: float = 0.0

    @classmethod
    def read(cls, path: Path) -> _Answers:
        if not path.exists():
            return cls(path)
        with np.load(path, allow_pickle=False) as kept:
            variants = tuple(kept["variants"].tolist())
            values = {
                variant: [row.astype(np.float64) for row in kept[f"values{k}"]] for k, variant in enumerate(variants)
            }
            return cls(path, variants, values, kept["seconds"].tolist(), float(kept["per_graph"]))

    def add(self, found: dict[str, Floats], seconds: float) -> None:
        self.variants = tuple(found)
        for variant, row in found.items():
            self.values.setdefault(variant, []).append(row)
        self.seconds.append(seconds)
        make_folder(self.path.parent)
        kept: dict[str, Any] = {
            "variants": np.array(self.variants),
            "seconds": self.seconds,
            "per_graph": self.per_graph,
            **{f"values{k}": np.array(self.values[name], np.float32) for k, name in enumerate(self.variants)},
        }
        with atomic_write(self.path) as file:
            np.savez_compressed(file, **kept)


def run_at_size(sets: Sequence[str | SizedSet], contenders: Iterable[Contender], options: SizeOptions) -> list[Result]:
    """Measure all methods on all benchmarks; returns the lines of the results, which are also written.

    Lines of methods and benchmarks that were not asked for this time stay. Presets to train are trained first.
    """
    chosen = _chosen(contenders, options.only)
    for each in sets:
        trained = _train_contenders(each, options)
        benchmark = load_sized_benchmark(
            each, options.truth, root=options.root, part=options.part, queries=options.queries, threads=options.threads
        )
        _keep_results(options.out, join_seeds(_measure_rankings(benchmark, [*chosen, *trained], options)))
    return read_results(options.out)


def _train_contenders(chosen: str | SizedSet, options: SizeOptions) -> list[Contender]:
    """The presets to train as methods, one for each seed."""
    if not options.train:
        return []
    graphs, addition = training_graphs(options.train_on or chosen, options.root), ""
    if options.train_on is not None and options.train_on != chosen:
        graphs = without_copies(graphs, measured_graphs(chosen, options.root))
        addition = f", trained on {_name_of(options.train_on)}"
    seeds = range(options.seeds)
    folders = train_models(graphs, options.train, options.models, seeds, options.labels, options.threads)
    return [LearnedContender(name + addition, str(model)) for name, found in folders.items() for model in found]


def _name_of(chosen: str | SizedSet) -> str:
    return chosen if isinstance(chosen, str) else chosen.name


def run_random_pairs(
    sets: Sequence[str | SizedSet], contenders: Iterable[Contender], options: SizeOptions
) -> list[Result]:
    """Score random pairs of each database by their errors alone, as GRAIL does."""
    chosen = _chosen(contenders, options.only)
    for each in sets:
        benchmark = load_sized_benchmark(each, options.truth, root=options.root, queries=1, threads=options.threads)
        pairs, lower, upper = draw_random_pairs(benchmark, options.truth, options.threads)
        lines = list[Result]()
        taking_part = [*chosen, *_train_contenders(each, options)]
        with progress(f"{benchmark.name}, random pairs", len(taking_part), "methods") as bar:
            for contender in taking_part:
                compare = contender.prepare(benchmark.database, benchmark.database)
                compare(pairs[:2])  # compiles
                clock = time.process_time()
                found = compare(pairs)
                per_pair = 1e6 * (time.process_time() - clock) / len(pairs)
                about = {"benchmark": benchmark.name, "protocol": "random pairs", "family": contender.family}
                for variant, values in found.items():
                    scores = score_pairs(values, lower, upper)
                    lines.append({**about, "method": contender.name + variant, **scores, "us per pair": per_pair})
                bar.advance(1, contender.name)
        _keep_results(options.out, join_seeds(lines))
    return read_results(options.out)


def join_seeds(lines: Iterable[Result]) -> list[Result]:
    """One line for each method: means over its trainings, if it has several, and the values of each of them."""
    grouped = dict[tuple[str, str, str], list[Result]]()
    for line in lines:
        grouped.setdefault(_key(line), []).append(line)
    return [_mean_line(group) for group in grouped.values()]


def _mean_line(group: list[Result]) -> Result:
    if len(group) == 1:
        return group[0]
    numbers = {name: [line[name] for line in group] for name, value in group[0].items() if isinstance(value, float)}
    spread = {f"{name} of seeds": [float(f"{x:.4g}") for x in numbers[name]] for name in _SPREAD if name in numbers}
    means = {name: float(np.mean(values)) for name, values in numbers.items()}
    return group[0] | means | {"seeds": len(group)} | spread


def _chosen(contenders: Iterable[Contender], words: Sequence[str]) -> list[Contender]:
    """The methods with one of the words in their names, or all if there are none; models are given to be measured."""
    listed = list(contenders)
    names = {each.name for each in listed}
    found = [
        each
        for each in listed
        if not words or any(word == each.name if word in names else word.lower() in each.name.lower() for word in words)
    ]
    if not found:
        raise InvalidArgument(
            f"no method has {' or '.join(words)} in its name; there are: {', '.join(c.name for c in listed)}"
        )
    return [each for each in listed if each in found or isinstance(each, LearnedContender)]


def _measure_rankings(benchmark: SizedBenchmark, contenders: list[Contender], options: SizeOptions) -> list[Result]:
    size, folder = len(benchmark.database), options.out / "answers" / f"{benchmark.name}-{benchmark.part}"
    graphs = len(benchmark.queries) + size
    answers = {each: _Answers.read(folder / f"{_file_name(each)}.npz") for each in contenders}
    ready = dict[Contender, Compare]()
    with progress(f"{benchmark.name}, {benchmark.part}", len(benchmark.queries) * len(contenders), "rankings") as bar:
        for query in range(len(benchmark.queries)):
            pairs = np.column_stack([np.full(size, query), np.arange(size)])
            for each in contenders:
                kept = answers[each]
                if len(kept.seconds) <= query:
                    if each not in ready:
                        clock = time.process_time()
                        ready[each] = each.prepare(benchmark.queries, benchmark.database)
                        ready[each](pairs[:2])  # compiles
                        clock = time.process_time()
                        each.prepare(benchmark.queries, benchmark.database)
                        kept.per_graph = (time.process_time() - clock) / graphs
                    clock = time.process_time()
                    found = ready[each](pairs)
                    kept.add(found, time.process_time() - clock)
                bar.advance(1, each.name)
    return [line for each in contenders for line in _score(benchmark, each, answers[each])]


def _score(benchmark: SizedBenchmark, contender: Contender, answers: _Answers) -> Iterable[Result]:
    size = len(benchmark.database)
    per_pair, per_graph = (
        1e6 * x for x in (np.sum(answers.seconds) / (size * len(answers.seconds)), answers.per_graph)
    )
    for variant in answers.variants:
        predicted = np.array(answers.values[variant])[: len(benchmark.queries)]
        yield {
            "benchmark": benchmark.name,
            "protocol": "ranking" if benchmark.part == "test" else f"ranking, {benchmark.part}",
            "method": contender.name + variant,
            "family": contender.family,
            **score_benchmark(predicted, benchmark),
            "us per pair": per_pair,
            "us per graph": per_graph,
            "us": per_pair + per_graph / size,
            "database": size,
            "mean nodes": benchmark.mean_nodes,
            "proven": benchmark.proven,
        }


def _file_name(contender: Contender) -> str:
    words = "-".join("".join(c if c.isalnum() else " " for c in contender.name).split())
    return f"{words}-{blake2b(contender.settings.encode(), digest_size=6).hexdigest()}"


def read_results(out: Path) -> list[Result]:
    """The lines that earlier runs have written into a folder."""
    path = out / RESULTS
    if not path.exists():
        return []
    try:
        lines = [parse_json(line) for line in path.read_bytes().splitlines() if line]
        return [line for line in lines if _key(line)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"cannot be read as results: {error}", path) from None


def _key(line: Result) -> tuple[str, str, str]:
    return line["benchmark"], line["protocol"], line["method"]


def _keep_results(out: Path, lines: Iterable[Result]) -> None:
    """Replace the lines of the same methods on the same benchmarks, and keep all others."""
    kept = {_key(line): line for line in read_results(out)} | {_key(line): _rounded(line) for line in lines}
    make_folder(out)
    with atomic_write(out / RESULTS) as file:
        file.write("".join(json.dumps(line) + "\n" for line in kept.values()).encode())


def _rounded(line: Result) -> Result:
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in line.items()}


class _Column(NamedTuple):
    title: str
    key: str
    form: str
    error: str = ""
    """The key of its standard error over queries; empty without one."""

    def cell(self, line: Result) -> str:
        """The value, with half of its interval over queries where that is known."""
        if self.key not in line:
            return ""
        value = format(line[self.key], self.form)
        if self.error not in line or line["queries"] < 2:
            return value
        return f"{value} ± {half_interval(line[self.error], line['queries']):{self.form}}"


def half_interval(error: float, queries: int) -> float:
    """Half of the 95 % interval of a mean over queries, by Student's t, from its standard error."""
    return float(stdtrit(queries - 1, 0.975)) * error


_COLUMNS = (
    _Column("rho", "rho", ".3f", "rho error"),
    _Column("tau", "tau", ".3f"),
    _Column("p@10", "p@10", ".3f", "p@10 error"),
    _Column("p@20", "p@20", ".3f"),
    _Column("MAE", "mae", ".2f"),
    _Column("RMSE", "rmse", ".2f"),
    _Column("exact hits", "exact hits", ".1%"),
    _Column("class right", "accuracy", ".0%"),
    _Column("queries", "queries", "d"),
    _Column("seeds", "seeds", "d"),
    _Column("us per pair", "us per pair", ".3g"),
    _Column("us per graph", "us per graph", ".3g"),
)


def write_report(out: Path) -> str:
    """All results as tables, one for each benchmark and protocol, quickest methods first; also as ``report.md``."""
    tables = dict[tuple[str, str], list[Result]]()
    for line in read_results(out):
        tables.setdefault((line["benchmark"], line["protocol"]), []).append(line)
    text = "\n".join(_table(*key, lines) for key, lines in tables.items())
    make_folder(out)
    with atomic_write(out / "report.md") as file:
        file.write(text.encode())
    return text


def _table(benchmark: str, protocol: str, lines: list[Result]) -> str:
    columns = [column for column in _COLUMNS if any(column.key in line for line in lines)]
    ranked = "rho" in {column.key for column in columns}
    best = {line["method"] for score in ("rho", "p@10") for line in find_frontier(lines, score)} if ranked else set()
    about = [f"{lines[0]['proven']:.1%} of the pairs proven"] if "proven" in lines[0] else []
    about += ["± is half of the 95 % interval over queries"] if ranked else []
    rows = [f"### {benchmark}, {protocol}", "", "; ".join(about), ""]
    rows += ["| method | " + " | ".join(column.title for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for line in sorted(lines, key=lambda line: line["us per pair"]):
        cells = [column.cell(line) for column in columns]
        name = f"**{line['method']}**" if line["method"] in best else line["method"]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    notes = [note for note in (*_describe_seeds(lines), _describe_open(lines)) if note]
    return "\n".join([*rows, "", *(part for note in notes for part in (note, ""))])


def _describe_seeds(lines: list[Result]) -> Iterable[str]:
    """The scores of each training of the methods whose rows are means."""
    for line in lines:
        parts = [
            f"{name} {', '.join(f'{value:.3f}' for value in line[f'{name} of seeds'])}"
            for name in _SPREAD
            if f"{name} of seeds" in line
        ]
        if parts:
            yield f"{line['method']}, {line['seeds']} seeds: {'; '.join(parts)}."


def _describe_open(lines: list[Result]) -> str:
    """How much the scores depend on where in their intervals the open distances are."""
    here = [line for line in lines if "rho, lower ends" in line]
    if not here:
        return ""
    rho = max(abs(line[f"rho, {end} ends"] - line["rho"]) for line in here for end in ("lower", "upper"))
    precision = max(line["p@10, at most"] - line["p@10, at least"] for line in here)
    return (
        f"With the lower or the upper ends of all open intervals no rho changes by more than {rho:.4f}, and no p@10 by "
        f"more than {precision:.4f}, wherever the open distances are in their intervals."
    )


def find_frontier(lines: Iterable[Result], score: str) -> list[Result]:
    """The methods that no other beats in the same time or less, quickest first."""
    found = list[Result]()
    for line in sorted(lines, key=lambda line: (line["us"], -line[score])):
        if not found or line[score] > found[-1][score]:
            found.append(line)
    return found
