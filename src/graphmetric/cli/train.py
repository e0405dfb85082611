"""``graphmetric train``.

``graphmetric train --holdout``: graphs that training never sees, and how good the model is on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import check_writable
from graphmetric.cli.options import FRACTION, JOBS, SECONDS, SEED, costs_of, ignore_option
from graphmetric.cli.sources import Reading, open_source, reading_options, warn_of_unequal_numbers
from graphmetric.cli.terminal import say, say_json
from graphmetric.errors import GraphMetricError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.splits import hold_out_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphmetric.cli.sources import Source
    from graphmetric.edit_distance import Labels
    from graphmetric.estimator import GraphDistance
    from graphmetric.graphs.collection import GraphCollection

_FEWEST = 3
"""Graphs to learn from, and to be ranked."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """All graphs, those of them that are learned from, and those that measure the model."""

    graphs: GraphCollection
    labels: Labels | None
    """Known distances among them."""
    train: NDArray[np.int64]
    held: NDArray[np.int64]

    @property
    def training(self) -> GraphCollection:
        """The graphs to learn from."""
        return self.graphs[self.train]

    def labels_of_training(self) -> Labels | None:
        """What is known of their distances."""
        return None if self.labels is None else self.labels.among(self.train)


def hold_out(graphs: GraphCollection, labels: Labels | None, given: str, reading: Reading, seed: int) -> HeldOut:
    """Part the graphs by ``--holdout``: a fraction of them, or a file; no class of isomorphic graphs is in both parts.

    Graphs to learn from that are copies of a graph of the file are left out.
    """
    fraction = _as_fraction(given)
    if fraction is not None:
        held = hold_out_classes(isomorphism_classes(graphs), fraction, seed)
        train = np.setdiff1d(np.arange(len(graphs)), held)
    else:
        count, others = len(graphs), open_source(given, reading).graphs
        graphs = GraphCollection([*graphs, *others])
        held = np.arange(count, len(graphs))
        classes = isomorphism_classes(graphs)
        train = np.flatnonzero(~np.isin(classes[:count], classes[count:]))
        if copies := count - len(train):
            say(f"note: {copies:,} graphs are copies of held-out graphs and are not learned from", err=True)
    if not len(held) or len(train) < _FEWEST:
        raise InvalidArgument(
            f"--holdout {given} leaves {len(train)} graphs to learn from and {len(held)} to measure on; "
            f"{_FEWEST} and 1 are needed at least, and isomorphic graphs stay together"
        )
    return HeldOut(graphs, labels, train, held)


def measure_held_out(model: GraphDistance, trial: HeldOut, n_jobs: int, seed: int) -> bool:
    """Let the held-out graphs rank the training graphs and note the scores in the model's report.

    Returns whether that could be done. What cannot be measured is told, and the model is kept.
    """
    from graphmetric.report import evaluate_model

    try:
        found = evaluate_model(
            model, trial.graphs, distances=trial.labels, train=trial.train, n_jobs=n_jobs, seed=seed, name="held-out"
        )
    except GraphMetricError as error:
        say(f"note: the held-out graphs could not be measured: {error}", err=True)
        return False
    _, scores = found.scores_by_name()
    named = {"rank correlation": "rho", "tau": "tau", "mean absolute error in edits": "mae"}
    named |= {f"share of the {name[2:]} nearest found": name for name in scores if name[2:].isdecimal()}
    model.report_["held_out"] = {
        "graphs": len(trial.held),
        "queries": len(found.task.queries),
        "ranked_training_graphs": len(found.task.database),
        "pairs": found.pairs,
        "true_distances": found.truth_source,
        **{title.replace(" ", "_"): scores[name] for title, name in named.items() if name in scores},
    }
    return True


def describe_held_out(report: dict[str, Any]) -> str:
    """One line of the scores."""
    error, correlation = (report.get(name) for name in ("mean_absolute_error_in_edits", "rank_correlation"))
    shown = [f"mean error {error:.2f} edits"] if error is not None else []
    shown += [f"rank correlation {correlation:.3f}"] if correlation is not None else []
    return f"{report['graphs']:,} graphs, " + ", ".join([*shown, f"by {report['pairs']:,} pairs"])


def _as_fraction(given: str) -> float | None:
    """The number, or None for the name of a file."""
    try:
        number = float(given)
    except ValueError:
        return None
    if Path(given).exists():
        return None
    if not 0 < number < 1 or math.isnan(number):
        raise InvalidArgument(f"--holdout takes a fraction above 0 and below 1, or a file of graphs; got {given}")
    return number


EPILOG = """\b
Examples:
  graphmetric train my-graphs/ --out model/
  graphmetric train molecules --preset small --out model/
  graphmetric train my-graphs/ --label-budget 10min --out model/
  graphmetric train my-graphs/ --labels labels/ --out model/ --strict
  graphmetric train my-graphs/ --holdout 0.2 --out model/
Stopped by Ctrl-C or a crash, the same command with --resume goes on where it was.
"""


@click.command(epilog=EPILOG, short_help="Learn a distance from a folder of graphs.")
@click.argument("source")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder for the model.")
@click.option("--labels", type=click.Path(file_okay=False), help="Folder of `graphmetric label`; else labels are made.")
@click.option(
    "--preset", default="base", show_default=True, help="paper, small (minutes), base or large (half an hour)."
)
@click.option("--head", help="Another distance: matching, edge-matching, block-norm, concave or squared-fc.")
@click.option("--strict", is_flag=True, help="Distance 0 only between isomorphic graphs.")
@ignore_option(" The model does not see it, and evaluate and search --certified leave it out, too.")
@click.option("--pretrain/--no-pretrain", default=None, help="Pre-train the encoder; else as the preset says.")
@click.option(
    "--label-budget",
    default="auto",
    show_default=True,
    help="What to spend on labels where there are none: a number of pairs, or CPU time such as 90s, 10min or 2h.",
)
@click.option(
    "--mutation-edits",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Learn from mutations of the graphs, too, of at most so many edits; 0 for none.",
)
@click.option("--time-limit", type=SECONDS, help="Seconds per pair after which a label is bounds.")
@click.option("--steps", type=click.IntRange(1), help="Steps of training instead of the preset's.")
@click.option(
    "--validation",
    type=FRACTION,
    default=0.1,
    show_default=True,
    help="Fraction of graphs that only choose weights.",
)
@click.option(
    "--holdout",
    metavar="FRACTION|FILE",
    help="Keep graphs and their copies out of training, and measure the model on them: a fraction such as 0.2, or a "
    "file of graphs.",
)
@click.option("--tensorboard", type=click.Path(file_okay=False), help="Folder for curves that TensorBoard shows.")
@click.option("--resume", is_flag=True, help="Go on with a training that was stopped.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is there, once the new one is trained.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 is one per core.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or mps.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of everything that is drawn.")
@reading_options
@click.option("--all", "all_graphs", is_flag=True, help="Learn from the test part of a data set, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    source: str,
    out: str,
    labels: str | None,
    holdout: str | None,
    resume: bool,
    overwrite: bool,
    reading: Reading,
    all_graphs: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Learn a distance from the graphs of SOURCE: a file, a folder or a data set.

    Without --labels, edit distances are computed first, of pairs of graphs and of mutations of them. Of a data set with
    a split, only the training graphs are learned from, the validation graphs choose the weights, and the test graphs
    are left for `graphmetric evaluate`. Of your own graphs, --holdout keeps some out, and all that are isomorphic to
    them; in the end they rank the training graphs, and the model card says how well.
    """
    from graphmetric.estimator import GraphDistance

    check_writable(out, folder=True)
    checkpoint = _claim(Path(out), resume, overwrite)
    opened = open_source(source, reading)
    graphs, distances, val = _without_test_part(opened, labels, all_graphs)
    if distances is None:
        warn_of_unequal_numbers(graphs, how.get("ignore", ()))
    trial = None
    if holdout is not None:
        if val is not None:
            raise InvalidArgument(
                f"{source} has a test part, which is kept out of training: measure on it by `graphmetric evaluate`, or "
                "add --all to hold out other graphs"
            )
        trial = hold_out(graphs, distances, holdout, reading, how["seed"])
        graphs, distances = trial.training, trial.labels_of_training()
    costs = costs_of(how["ignore"])
    model = GraphDistance(
        how["preset"],
        head=how["head"],
        strict=how["strict"],
        pretrain=how["pretrain"],
        label_budget=how["label_budget"],
        costs=costs,
        mutation_edits=how["mutation_edits"],
        time_limit=how["time_limit"],
        max_steps=how["steps"],
        validation_fraction=how["validation"],
        n_jobs=how["jobs"],
        device=how["device"],
        random_state=how["seed"],
        checkpoint=checkpoint,
        tensorboard=how["tensorboard"],
        verbose=True,
    )
    try:
        model.fit(graphs, distances, val)
    except KeyboardInterrupt:
        say(
            f"nothing is lost: the same command with --resume goes on from {checkpoint} and does at most the last half "
            "minute again",
            err=True,
        )
        raise
    model.save(out)
    if trial is not None and measure_held_out(model, trial, how["jobs"], how["seed"]):
        model.save(out)
    _tell(model, out, as_json)


def _without_test_part(
    opened: Source, labels: str | None, all_graphs: bool
) -> tuple[GraphCollection, Labels | None, NDArray[np.int64] | None]:
    """Graphs, what is known of their distances, and which of them validate where a data set says so."""
    import numpy as np

    from graphmetric.edit_distance import read_labels

    known = None if labels is None else read_labels(labels, opened.graphs)
    data = opened.dataset
    if data is None or all_graphs:
        return opened.graphs, known, None
    kept = np.sort(np.concatenate([data.train, data.val]))
    return opened.graphs[kept], known and known.among(kept), np.searchsorted(kept, data.val)


def _claim(out: Path, resume: bool, overwrite: bool) -> Path:
    """The folder for unfinished work; raises where something would be lost or mixed up."""
    from graphmetric.learned.model_folder import CHECKPOINT, CONFIG, check_replaceable
    from graphmetric.training import holds_unfinished_work

    check_replaceable(out)
    checkpoint = out / CHECKPOINT
    unfinished = holds_unfinished_work(checkpoint)
    if unfinished and not resume:
        raise InvalidArgument(
            f"{out} holds an unfinished training, or the labels of one that failed: go on with it by --resume, or "
            f"remove {checkpoint} to start again"
        )
    if not unfinished and (out / CONFIG).exists() and not overwrite:
        done = "its training has finished; " if resume else ""
        raise InvalidArgument(f"{out} holds a model already: {done}use --overwrite to replace it, or another folder")
    return checkpoint


def _tell(model: GraphDistance, out: str, as_json: bool) -> None:
    report = {key: value for key, value in model.report_.items() if key != "history"}
    if as_json:
        say_json({"out": out, **report})
        return
    labels, done, found = report["labels"], report["training"], report["validation"]
    say(
        f"learned from {report['graphs']['training_graphs']:,} graphs{_mutated(labels)} and "
        f"{labels['training_pairs']:,} pairs{_bounds(labels)} in {done['seconds']:.0f} s ({done['steps']:,} steps)"
    )
    if found is not None:
        say(f"validation: mean error {found['mean_absolute_error_in_edits']:.2f} edits{_correlation(found)}")
    if "held_out" in report:
        say(f"held out: {describe_held_out(report['held_out'])}")
    say(f"model in {out}; try: graphmetric distance {out} A B")


def _bounds(labels: dict[str, Any]) -> str:
    exact = round(labels["exact"] * labels["training_pairs"])
    only_bounds = labels["training_pairs"] - exact
    return f" ({exact:,} exact distances, {only_bounds:,} only bounds)" if only_bounds else " (all exact distances)"


def _mutated(labels: dict[str, Any]) -> str:
    count = labels["mutated_graphs_in_training_pairs"]
    return f", {count:,} mutations of them" if count else ""


def _correlation(found: dict[str, Any]) -> str:
    value = found["mean_rank_correlation"]
    return "" if value is None else f", rank correlation {value:.3f}"
