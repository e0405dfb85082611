"""``graphmetric train``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from graphmetric.cli.graph_sources import (
    GraphCommand,
    Reading,
    Source,
    open_source,
    reading_options,
)
from graphmetric.cli.options import (
    COUNT,
    FOLDER,
    FRACTION,
    SECONDS,
    ignore_option,
    jobs_option,
    json_option,
    out_folder_option,
    seed_option,
)
from graphmetric.cli.output import show, show_result
from graphmetric.datasets.dataset import hold_out_classes
from graphmetric.errors import GraphMetricError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes

if TYPE_CHECKING:
    from graphmetric.estimator import GraphDistance
    from graphmetric.graphs.pair_bounds import PairBounds

Positions = NDArray[np.int64]

_FEWEST = 3
"""The least number of graphs to learn from."""


@click.command(cls=GraphCommand)
@click.argument("source")
@out_folder_option("Folder for the model.")
@click.option("--labels", type=FOLDER, help="Folder of `graphmetric label`. Without it, labels are computed.")
@click.option(
    "--teacher",
    metavar="MODEL",
    help="Learn the distances of this model, such as vectors (--head block-norm) those of a matching.",
)
@click.option("--preset", default="base", help="paper, small (minutes) or base (ten minutes).")
@click.option("--head", help="Another kind of distance: matching, block-norm, concave or squared-fc.")
@click.option("--strict", is_flag=True, help="Give distance 0 to isomorphic graphs only.")
@ignore_option(" The model does not see it, and evaluate and search --certified do not count it either.")
@click.option("--pretrain/--no-pretrain", default=None, help="Pre-train the encoder. By default the preset decides.")
@click.option(
    "--label-budget",
    default="auto",
    help="What to spend on computing labels: a number of pairs, or CPU time such as 90s, 10min or 2h.",
)
@click.option(
    "--mutation-edits",
    type=click.IntRange(0),
    metavar="N",
    default=5,
    help="Also learn from mutations of the graphs, made by at most this many edits; 0 for none.",
)
@click.option("--time-limit", type=SECONDS, help="Seconds per pair after which its label is a pair of bounds.")
@click.option("--steps", "max_steps", type=COUNT, help="Number of training steps, instead of the preset's.")
@click.option(
    "--validation",
    "validation_fraction",
    type=FRACTION,
    default=0.1,
    help="Fraction of the graphs that is not learned from, but chooses the best weights.",
)
@click.option(
    "--holdout",
    metavar="FRACTION|FILE",
    help="Keep graphs and their copies out of training, and measure the model on them: a fraction such as 0.2, or a "
    "file of graphs.",
)
@click.option("--tensorboard", type=FOLDER, help="Folder for training curves that TensorBoard can show.")
@click.option("--resume", is_flag=True, help="Continue a training that was stopped.")
@click.option("--overwrite", is_flag=True, help="Replace an existing model, once the new one is trained.")
@jobs_option
@click.option("--device", default="cpu", help="cpu, cuda or mps.")
@seed_option("random_state")
@reading_options
@click.option("--all", "all_graphs", is_flag=True, help="Also learn from the test graphs of a data set.")
@json_option
def train_command(
    source: str,
    out: str,
    labels: str | None,
    teacher: str | None,
    holdout: str | None,
    resume: bool,
    overwrite: bool,
    reading: Reading,
    all_graphs: bool,
    **options: Any,
) -> None:
    """Learn a distance from the graphs of SOURCE: a file, a folder or a data set.

    Without --labels, the edit distances of pairs of graphs and of their mutations are computed first. A data set with
    a split is learned from its training graphs only; its validation graphs select the checkpoint, and its test graphs
    are left for `graphmetric evaluate`. For your own graphs, --holdout keeps some of them, and all that are isomorphic
    to these, out of training; in the end they rank the training graphs, and the model card reports the scores.

    To resume after Ctrl-C or a crash, repeat the command with --resume.

    \b
    Examples:
      graphmetric train my-graphs/ --out model/
      graphmetric train molecules --preset small --out model/
      graphmetric train my-graphs/ --label-budget 10min --out model/
      graphmetric train my-graphs/ --labels labels/ --out model/ --strict
      graphmetric train my-graphs/ --holdout 0.2 --out model/
      graphmetric train my-graphs/ --teacher model/ --head block-norm --out vectors/
    """
    from graphmetric.estimator import GraphDistance

    if labels is not None and teacher is not None:
        raise InvalidArgument("a model learns from --labels or from a --teacher: give one of them")
    checkpoint = _checkpoint_folder(Path(out), resume, overwrite)
    graphs, distances, val = _without_test_graphs(open_source(source, reading), labels, all_graphs)
    held_out = None
    if holdout is not None:
        if val is not None:
            raise InvalidArgument(
                f"{source} has test graphs, which are kept out of training: measure on them by `graphmetric evaluate`, "
                "or add --all to hold out other graphs"
            )
        held_out = _hold_out(graphs, distances, holdout, reading, options["random_state"])
        graphs = held_out.graphs[held_out.train]
        distances = None if distances is None else distances.subset(held_out.train)
    model = GraphDistance(checkpoint=checkpoint, verbose=True, **options)
    try:
        model.fit(graphs, distances if teacher is None else GraphDistance.load(teacher), val)
    except KeyboardInterrupt:
        show(
            f"nothing is lost: the same command with --resume continues from {checkpoint} and repeats at most the last "
            "half minute",
            err=True,
        )
        raise
    model.save(out)
    if held_out is not None and _measure(model, held_out):
        model.save(out)
    report = {key: value for key, value in model.report_.items() if key != "history"}
    show_result(_in_words(report, out, teacher), {"out": out, **report})


def _checkpoint_folder(out: Path, resume: bool, overwrite: bool) -> Path:
    """The folder for unfinished work; raises if existing work would be lost or mixed up."""
    from graphmetric.learned.model_folder import CHECKPOINT, CONFIG, check_replaceable
    from graphmetric.training import holds_unfinished_work

    check_replaceable(out)
    checkpoint = out / CHECKPOINT
    unfinished = holds_unfinished_work(checkpoint)
    if unfinished and not resume:
        raise InvalidArgument(
            f"{out} holds an unfinished training, or the labels of one that failed: continue it with --resume, or "
            f"remove {checkpoint} to start again"
        )
    if not unfinished and (out / CONFIG).exists() and not overwrite:
        done = "its training has finished; " if resume else ""
        raise InvalidArgument(f"{out} holds a model already: {done}use --overwrite to replace it, or another folder")
    return checkpoint


def _without_test_graphs(
    opened: Source, labels: str | None, all_graphs: bool
) -> tuple[GraphCollection, PairBounds | None, Positions | None]:
    """The graphs, their known distances, and the positions of the validation graphs if a data set names them."""
    from graphmetric.edit_distance import read_labels

    known = None if labels is None else read_labels(labels, opened.graphs)
    data = opened.dataset
    if data is None or all_graphs:
        return opened.graphs, known, None
    kept = np.sort(np.concatenate([data.train, data.val]))
    return opened.graphs[kept], known and known.subset(kept), np.searchsorted(kept, data.val)


class HeldOut(NamedTuple):
    """Graphs to learn from, and graphs to measure the model on."""

    graphs: GraphCollection
    """Both together."""
    labels: PairBounds | None
    """Known distances among them."""
    train: Positions
    test: Positions


def _hold_out(graphs: GraphCollection, labels: PairBounds | None, given: str, reading: Reading, seed: int) -> HeldOut:
    """Divide the graphs by ``--holdout``, a fraction or a file; isomorphic graphs are never on both sides.

    Training graphs that are copies of a graph in the file are left out.
    """
    fraction = _as_fraction(given)
    if fraction is not None:
        test = hold_out_classes(isomorphism_classes(graphs), fraction, seed)
        train = np.setdiff1d(np.arange(len(graphs)), test)
    else:
        count, others = len(graphs), open_source(given, reading).graphs
        graphs = GraphCollection([*graphs, *others])
        test = np.arange(count, len(graphs))
        classes = isomorphism_classes(graphs)
        train = np.flatnonzero(~np.isin(classes[:count], classes[count:]))
        if copies := count - len(train):
            show(f"note: {copies:,} graphs are copies of held-out graphs and are not learned from", err=True)
    if not len(test) or len(train) < _FEWEST:
        raise InvalidArgument(
            f"--holdout {given} leaves {len(train)} graphs to learn from and {len(test)} to measure on; at least "
            f"{_FEWEST} and 1 are needed, and isomorphic graphs stay together"
        )
    return HeldOut(graphs, labels, train, test)


def _as_fraction(given: str) -> float | None:
    """The number; None if it is the name of a file."""
    try:
        number = float(given)
    except ValueError:
        return None
    if Path(given).exists():
        return None
    if not 0 < number < 1 or math.isnan(number):
        raise InvalidArgument(f"--holdout takes a fraction above 0 and below 1, or a file of graphs; got {given}")
    return number


def _measure(model: GraphDistance, held_out: HeldOut) -> bool:
    """Let the held-out graphs rank the training graphs and put the scores into the model's report.

    Returns whether that was possible; if not, a note gives the reason and the model is kept.
    """
    from graphmetric.report import evaluate_model

    graphs, labels, train, test = held_out
    how: Any = {"n_jobs": model.n_jobs, "seed": model.random_state, "name": "held-out"}
    try:
        found = evaluate_model(model, graphs, distances=labels, train=train, **how)
    except GraphMetricError as error:
        show(f"note: the held-out graphs could not be measured: {error}", err=True)
        return False
    _, scores = found.scores_by_name()
    names = {"rank_correlation": "rho", "tau": "tau", "mean_absolute_error_in_edits": "mae"}
    names |= {f"share_of_the_{name[2:]}_nearest_found": name for name in scores if name[2:].isdecimal()}
    model.report_["held_out"] = {
        "graphs": len(test),
        "queries": len(found.task.queries),
        "ranked_training_graphs": len(found.task.database),
        "pairs": found.pairs,
        "true_distances": found.truth_source,
        **{title: scores[name] for title, name in names.items() if name in scores},
    }
    return True


def _in_words(report: dict[str, Any], out: str, teacher: str | None) -> str:
    labels, done, validation = report["labels"], report["training"], report["validation"]
    pairs, mutated = labels["training_pairs"], labels["mutated_graphs_in_training_pairs"]
    exact = round(labels["exact"] * pairs)
    known = f"{exact:,} exact distances, {pairs - exact:,} only bounds" if exact < pairs else "all exact distances"
    if teacher is not None:
        known = f"measured by {teacher}"
    mutations = f", {mutated:,} mutations of them" if mutated else ""
    lines = [
        f"learned from {report['graphs']['training_graphs']:,} graphs{mutations} and {pairs:,} pairs ({known}) in "
        f"{done['seconds']:.0f} s ({done['steps']:,} steps)"
    ]
    if validation is not None:
        lines.append(f"validation: {_scores(validation, 'mean_rank_correlation')}")
    if held_out := report.get("held_out"):
        counts = [f"{held_out[name]:,} {name}" for name in ("graphs", "pairs")]
        shown = [counts[0], _scores(held_out, "rank_correlation"), f"by {counts[1]}"]
        lines.append(f"held out: {', '.join(filter(None, shown))}")
    return "\n".join([*lines, f"model in {out}; try: graphmetric distance {out} A B"])


def _scores(found: dict[str, Any], correlation: str) -> str:
    shown = {"mean error {:.2f} edits": "mean_absolute_error_in_edits", "rank correlation {:.3f}": correlation}
    return ", ".join(text.format(found[name]) for text, name in shown.items() if found.get(name) is not None)
