"""What is told of each step, for someone who meets the subject for the first time."""

from __future__ import annotations

from collections.abc import Iterator

from graphmetric.edit_distance import Labels
from graphmetric.model_report import ModelEvaluation
from graphmetric.tour.folder import TourFolder
from graphmetric.tour.learning import Agreement
from graphmetric.tour.material import Material
from graphmetric.tour.options import TourOptions
from graphmetric.tour.repairing import Repaired
from graphmetric.tour.searching import Found


def introduce(folder: TourFolder) -> Iterator[str]:
    yield "How different are two molecules? Count the edits, of atoms and bonds, that turn one into the other."
    yield "Searching for the smallest count is slow for large graphs; a network learns it from examples."
    yield f"Everything goes into {folder.path}. The first run also compiles the searches, about a minute in all."


def tell_material(material: Material) -> Iterator[str]:
    sizes = material.graphs.sizes
    yield (
        f"{len(material.graphs):,} molecules of {sizes.min()} to {sizes.max()} atoms, no two the same "
        f"({material.copies:,} copies left out):"
    )
    yield (
        f"{material.training:,} to learn from, {material.validation:,} to choose the best weights, "
        f"{len(material.unseen):,} that the network never sees"
    )


def tell_labels(labels: Labels, material: Material) -> Iterator[str]:
    among = labels.among(material.seen)
    mean = labels.upper.mean()
    yield f"{len(labels.pairs):,} pairs, {labels.exact.mean():.1%} proven exact; {mean:.1f} edits on average"
    yield f"{len(among.pairs):,} are for learning; those with unseen molecules only judge the result"


def tell_pretraining(before: Agreement, after: Agreement, options: TourOptions) -> Iterator[str]:
    yield f"untrained    {_agreement(before)}"
    yield f"pre-trained  {_agreement(after)}, after {_count(options.pretraining_epochs, 'pass', 'passes')}"
    if after.correlation <= before.correlation:
        yield "It does not help by itself: it teaches atoms and bonds, not distances. Training has to do that"


def tell_training(trained: Agreement, options: TourOptions, kept: bool) -> Iterator[str]:
    yield f"trained      {_agreement(trained)}, after {_count(options.steps, 'step', 'steps')}"
    if kept:
        yield "(kept from an earlier run)"


def tell_repair(repaired: Repaired, folder: TourFolder, options: TourOptions) -> Iterator[str]:
    before, size, moved = repaired.before, len(repaired.result.matrix), repaired.result.changed_pairs
    passes = _count(options.paper_epochs, "pass", "passes")
    yield f"The distance of the paper (Eq. 9), after {passes} only, among {size} unseen molecules:"
    yield f"before  {before.share:.1%} of {before.tested:,} detours are shorter than the direct way"
    yield (
        f"after   {repaired.after.count:,} are; {moved:,} of {size * (size - 1) // 2:,} distances moved, as little as "
        "possible"
    )
    yield f"error   {repaired.error_before:.2f} -> {repaired.error_after:.2f} edits (root mean square)"
    yield "It never grows: exact distances are a metric, and the nearest metric is nearer to every metric"
    yield f"The distance of step 4 needs no repair: {repaired.own.count:,} detours are shorter, by construction"
    yield f"Both matrices: {folder.matrix.name}, {folder.repaired.name}"


def tell_evaluation(found: ModelEvaluation) -> Iterator[str]:
    k, scores, trial = found.nearest, found.raw_scores, found.trial
    assert scores is not None  # all distances are proven
    yield f"{len(trial.queries):,} unseen molecules rank the {len(trial.database):,} others ({found.pairs:,} pairs)"
    yield f"mean error      {scores.mae:.2f} edits (always guessing the median: {found.error_of_median:.2f})"
    if found.whole:
        yield f"exactly right   {scores.exact_hits:.0%} of the distances, rounded"
    yield f"rank agreement  {scores.ranking.rho:.3f} (1 is the true order)"
    yield f"nearest found   {k * scores.ranking.precision[k]:.1f} of the true {k}, ties counted"


def tell_search(found: Found) -> Iterator[str]:
    query = found.learned.query
    yield f"The query is {query.id}, {query.metadata.get('smiles', query)}"
    yield f"     {'by the learned distance':<28} | by edits, proven"
    for rank, (hit, exact, sure) in enumerate(zip(found.learned, found.exact, found.proven, strict=True), 1):
        learned = f"{hit.distance:5.2f} (truly {exact:g})  {hit.id}"
        yield f"{rank:>3}. {learned:<28} | {sure.distance:g}{'' if sure.proven else '?'}  {sure.id}"
    report, count = found.proven.report, len(found.learned)
    yield f"{found.right} of the learned {count} are as near as the proven ones. These are certain, although only"
    yield f"{report.refined:.0%} of {report.graphs:,} molecules were searched to the end: bounds rule out the others"
    yield f"{query.id} becomes {found.proven[0].id} by:"
    for edit in found.explanation.alignment.edit_path or ():
        yield f"  {edit}"


def summarise(found: ModelEvaluation, folder: TourFolder) -> Iterator[str]:
    """What was learned, how good it is, what is guaranteed, what to do next."""
    scores, k, seconds = found.raw_scores, found.nearest, found.facts["Training"]["seconds"]
    assert scores is not None
    right = k * scores.ranking.precision[k]
    broken = [axiom.name for axiom in found.axioms if axiom.promised and not axiom.holds]
    yield "What was learned  the number of edits between two molecules, from examples that were searched for"
    yield f"How good it is    off by {scores.mae:.2f} edits on average for molecules it never saw, and it finds"
    yield f"                  {right:.0f} of the {k} nearest, after {seconds:.0f} s of training"
    yield "What is certain   it is a metric (strictly, a pseudo-metric), whatever it has learned: the same both ways,"
    yield "                  0 for the same graph with its atoms in another order, and no detour is shorter. So a"
    yield "                  search may skip graphs and miss none, and clusters mean what they say."
    yield f"                  {_checked(broken)}"
    yield "What is not       that its numbers are right; where that matters, ask for a certified search"
    yield f"To look at        {folder.report} (in a browser),"
    yield f"                  {folder.path / 'nearest-proven.svg'}, {folder.path / 'edits.svg'}"
    yield ""
    yield "On your own graphs, a folder or file of them (.smi, .graphml, .gexf, .json, ...):"
    yield "  graphmetric train MY-GRAPHS/ --preset small --out model/"
    yield "and then"
    yield "  graphmetric evaluate model/ MY-GRAPHS/ --report report.html"
    yield "  graphmetric index model/ MY-GRAPHS/ --out idx/"
    yield "  graphmetric search idx/ QUERY --certified"


def _checked(broken: list[str]) -> str:
    return f"MEASURED TO BE BROKEN: {', '.join(broken)}" if broken else "Measured, too: the report has the figures."


def _agreement(found: Agreement) -> str:
    return f"rank agreement {found.correlation:.2f}, mean error {found.error:5.2f} edits"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
