"""The evaluation of a model as one HTML file: no scripts, no links, nothing to fetch."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from graphmetric._foundation.atomic_files import make_folder, write_file
from graphmetric._foundation.markup import Markup, element, escape_text, join, shorten
from graphmetric.drawing import draw_graph, label_colors
from graphmetric.drawing.page import Plot, card, legend, render_page, section
from graphmetric.evaluation import Calibration, Scores, SizeErrors
from graphmetric.evaluation.scores import format_score
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned.model_card import show_value
from graphmetric.report.model_evaluation import AXIOMS, ModelEvaluation
from graphmetric.report.rankings import ExampleQuery, Neighbour

_LARGEST_DRAWN = 120
"""Nodes; a larger graph in a thumbnail is a blot."""
_SIGNS = {"right": "✓ ", "wrong": "✗ ", "open": "? ", "plain": ""}
_MEANINGS = {
    "rho": "Spearman's rank correlation per query, averaged",
    "tau": "Kendall's τ-b: how many more pairs are in the right order than in the wrong one",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "exact hits": "share of predictions that round to the true distance",
}


def write_report(evaluation: ModelEvaluation, path: str | os.PathLike[str], *, command: str | None = None) -> None:
    """Write the page whole or not at all; ``command`` is shown as the way to make it again."""
    page = render_report(evaluation, command=command)
    make_folder(Path(path).parent)
    write_file(path, page)


def render_report(evaluation: ModelEvaluation, *, command: str | None = None) -> str:
    """The page as text."""
    task = evaluation.task
    sections = (_headline, _notes, _nearest_graphs, _errors, _axioms, _scores, _measurement)
    parts = [*(show(evaluation) for show in sections), _reproduction(command)]
    asked = f"{len(task.queries):,} graphs {task.rule}, {evaluation.pairs:,} pairs"
    title = f"How good is this distance on {evaluation.name}?"
    return render_page(title, f"A learned distance against the truth: {asked}.", parts)


def score_table(found: ModelEvaluation) -> tuple[list[str], list[list[str]]]:
    """The titles and rows of all scores, in words; the last column says what a score means.

    The scores are on the paper's scale and in edits or, where few true distances are proven, against their bounds.
    """
    if found.scores is None:
        return ["score", "against bounds", "size alone", "what it is"], _bound_rows(found)
    paper, raw = found.scores_by_name()
    alone = found.select(found.size_scores)
    rows = []
    for name in paper:
        shown = [*_show_score(name, paper[name], raw[name]), _show_score(name, alone[name], alone[name])[1]]
        rows.append([name, *shown, _explain(name)])
    return ["score", "paper's scale", "edits", "size alone, edits", "what it is"], rows


def _bound_rows(found: ModelEvaluation) -> list[list[str]]:
    both = (found.bound_scores, found.size_bound_scores)
    sure = "share of the {0} predicted nearest that certainly are, and that may be, among the {0} nearest"
    precisions = [
        [f"p@{k}", *(_span(scores.precision[k], ".3f") for scores in both), sure.format(k)]
        for k in found.bound_scores.precision
    ]
    return [
        ["order", *(f"{s.order:.3f}" for s in both), "agreement over pairs of graphs whose order the bounds decide"],
        ["decided", *(f"{s.decided:.1%}" for s in both), "share of these pairs; the larger, the more order says"],
        *precisions,
        ["mae", *(f"{_span(s.mae, '.2f')} edits" for s in both), "mean absolute error"],
        ["mse", *(f"{_span(s.mse, '.1f')} edits²" for s in both), "mean squared error"],
        [
            "outside",
            *(f"{s.violation_rate:.1%}" for s in both),
            "predictions outside of the bounds, which are proven wrong",
        ],
    ]


def _span(interval: tuple[float, float], digits: str, times: float = 1.0) -> str:
    least, most = (f"{times * end:{digits}}" for end in interval)
    return least if least == most else f"{least} to {most}"


def _show_score(name: str, paper: float, raw: float) -> tuple[str, str]:
    """A score on both scales, with units where they differ; a dash where it exists on one scale only."""
    if name == "mse":
        return f"{format_score('mse', paper)} × 10⁻³", f"{raw:.3f} edits²"
    if name in ("mae", "exact hits"):
        return "–", f"{raw:.3f} edits" if name == "mae" else f"{raw:.1%}"
    return format_score(name, paper), format_score(name, raw)


def _explain(name: str) -> str:
    if not name.startswith("p@"):
        return _MEANINGS[name]
    k = name.removeprefix("p@").removesuffix(" strict")
    if name.endswith("strict"):
        return f"the same with exactly {k} right ones, ties broken by position"
    return f"share of the {k} predicted nearest that are truly among the {k} nearest, ties included"


def _headline(found: ModelEvaluation) -> Markup:
    """The numbers to remember, each with a sentence for someone who has never seen it."""
    scores, floor = found.raw_scores, found.size_scores
    cards = _bound_cards(found) if scores is None or floor is None else _score_cards(found, scores, floor)
    return element("section", *cards, _seen_card(found), _metric_card(found), class_="cards")


def _score_cards(found: ModelEvaluation, scores: Scores, floor: Scores) -> list[Markup]:
    k = found.nearest
    cards = [
        card(
            f"{k * scores.ranking.precision[k]:.1f} of {k}",
            "nearest graphs found",
            f"How many of the {k} graphs that the model calls nearest to a query truly are, on average; ties count. "
            f"Comparing sizes alone would find {k * floor.ranking.precision[k]:.1f}.",
        ),
        card(
            format_score("rho", scores.ranking.rho),
            "rank agreement ρ",
            "How well the model sorts the graphs by distance: 1 is the true order, 0 is chance. Sizes alone: "
            f"{format_score('rho', floor.ranking.rho)}.",
        ),
        card(
            f"{scores.mae:.2f} edits",
            "mean error",
            "How far a predicted distance is from the true number of edits. Always predicting the same number would "
            f"be off by {found.error_of_median:.2f} at best, the difference of sizes by {floor.mae:.2f}.",
        ),
    ]
    if found.whole:
        words = f"Predictions that round to the true edit distance. Sizes alone: {floor.exact_match_rate:.0%}."
        cards.append(card(f"{scores.exact_match_rate:.0%}", "exactly right", words))
    return cards


def _bound_cards(found: ModelEvaluation) -> list[Markup]:
    k, scores, floor = found.nearest, found.bound_scores, found.size_bound_scores
    return [
        card(
            f"{found.proven:.0%}",
            "of the truth is proven",
            "For the other pairs the true distance is known to lie between two bounds. The scores hold wherever it is.",
        ),
        card(
            f"{_span(scores.precision[k], '.1f', k)} of {k}",
            "nearest graphs found",
            f"How many of the {k} graphs that the model calls nearest certainly are, and how many may be. "
            f"Comparing sizes alone would find {_span(floor.precision[k], '.1f', k)}.",
        ),
        card(
            format_score("tau", scores.order),
            "order agreement",
            f"Where the bounds decide which of two graphs is nearer ({scores.decided:.0%}): 1 if the model always "
            f"agrees, 0 is chance. Sizes alone: {format_score('tau', floor.order)}.",
        ),
        card(
            f"{_span(scores.mae, '.1f')} edits",
            "mean error",
            "The least and the most that a predicted distance can be off the true number of edits, on average. The "
            f"difference of sizes: {_span(floor.mae, '.1f')}.",
        ),
    ]


def _seen_card(found: ModelEvaluation) -> Markup:
    seen = found.queries_trained_on
    if seen is None:
        return card("not known", "trained on the queries?", "Only the number of the training graphs is known.")
    if seen == 0:
        return card("none", "queries trained on", "No query is a training graph or a copy of one.", "good")
    words = "Scores on graphs that the model was trained on flatter it."
    return card(f"{seen:,} of {len(found.task.queries):,}", "queries trained on", words, "bad")


def _metric_card(found: ModelEvaluation) -> Markup:
    basic = [axiom for axiom in found.axioms if axiom.name != "separation"]
    if broken := [axiom.name for axiom in basic if not axiom.holds]:
        return card("not a metric", "the axioms", f"Broken on these graphs: {', '.join(broken)}.", "bad")
    separates = any(axiom.promised for axiom in found.axioms if axiom.name == "separation")
    how = "This was measured on these graphs; it is not promised for others."
    if all(axiom.promised for axiom in basic):
        within = "".join(f" (the triangle inequality holds{axiom.within})" for axiom in basic if axiom.within)
        how = f"By construction: symmetric, 0 on copies, and a detour is never shorter{within}."
    return card("metric" if separates else "pseudo-metric", "the axioms", how, "good")


def _notes(found: ModelEvaluation) -> Markup:
    """Return the section of caveats about the numbers."""
    items = (element("li", escape_text(note)) for note in found.notes)
    title = element("h2", escape_text("Before you trust these numbers"))
    return element("section", title, element("ul", *items), class_="notes")


def _nearest_graphs(found: ModelEvaluation) -> Markup:
    """Queries with their nearest graphs, drawn."""
    drawn = {n.graph for e in found.examples for n in (*e.by_model, *e.by_truth)} | {e.graph for e in found.examples}
    gallery = Gallery(found.graphs, sorted(drawn))
    open_ones = " ? marks a graph for which the bounds leave this open. True rankings are by the middle of the bounds."
    return section(
        "Nearest graphs",
        "Queries from the best to the worst answered, evenly spaced. Below each graph are its predicted and its true "
        f"distance to the query, in edits. ✓ marks a graph that is truly among the {found.nearest} nearest; graphs "
        f"that tie with the last of them count.{open_ones if found.scores is None else ''}",
        gallery.legend(),
        *(gallery.show_example(example, len(found.task.queries)) for example in found.examples),
    )


def _errors(found: ModelEvaluation) -> Markup:
    """Plots of the errors by true distance and by size."""
    bounded = found.scores is None
    at = "about one middle of the bounds of the true distance" if bounded else "one true distance"
    return element(
        "div",
        section(
            "Predicted against true",
            f"Each dot is the median prediction for all pairs at {at}. Half of the predictions lie in the inner band, "
            "nine tenths in the outer one. Predictions on the dashed line are right.",
            draw_calibration(found.calibration),
        ),
        section(
            "Error by size",
            f"Bars: the mean error{' outside of the bounds' if bounded else ''} of pairs by the size of their graphs. "
            "Points: the mean of predicted minus true; above zero, predicted distances are too large, below it too "
            "small.",
            draw_size_errors(found.size_errors),
        ),
        class_="pair",
    )


def _axioms(found: ModelEvaluation) -> Markup:
    """Return the section of axioms: guaranteed ones and measured ones."""
    rows = []
    for axiom in found.axioms:
        _, formula, meaning = AXIOMS[axiom.name]
        mark = element("span", escape_text("✓" if axiom.holds else "✗"), class_="yes" if axiom.holds else "no")
        name = element("th", escape_text(axiom.name), element("code", escape_text(formula)), scope="row")
        promise = element("td", escape_text(axiom.promise), class_="promise")
        words, measured = (element("td", escape_text(text)) for text in (meaning, axiom.measured))
        rows.append(element("tr", element("td", mark), name, words, promise, measured))
    return section(
        "Is it a metric?",
        "What holds by construction holds for all graphs, whatever was learned. All axioms were also measured, on "
        f"{found.measured_axioms.graphs:,} graphs and copies of them with their nodes in another order; differences up "
        f"to {found.measured_axioms.tolerance:.1g} are rounding.",
        _table(["", "axiom", "in words", "promised", "measured"], rows),
    )


def _scores(found: ModelEvaluation) -> Markup:
    """Every number on both scales, or against the bounds."""
    titles, rows = score_table(found)
    lines = []
    for name, *values, meaning in rows:
        numbers = (element("td", escape_text(value), class_="number") for value in values)
        lines.append(
            element("tr", element("th", escape_text(name), scope="row"), *numbers, element("td", escape_text(meaning)))
        )
    lead = (
        "Benchmarks rank by the paper's scale, 1 − exp(−edits / mean number of nodes), in which the same edits weigh "
        "more between small graphs. Users mostly think in edits. “Size alone” is the difference of the numbers of "
        "nodes plus that of the numbers of edges: a model that does not beat it has learned nothing."
    )
    if found.scores is None:
        lead = (
            "In edits, against lower and upper bounds of the true distances. A score that the bounds leave open has "
            "two ends; wherever the true distances are, it lies in between."
        )
    return section("All scores", lead, _table(["", *titles[1:]], lines))


def _measurement(found: ModelEvaluation) -> Markup:
    """Return the section of the measurement's settings and of the model card."""
    seen = found.queries_trained_on
    asked = {
        "data": found.name,
        "graphs": len(found.graphs),
        "rankings": f"{len(found.task.queries):,} graphs each {found.task.rule}",
        "graphs_ranked": len(found.task.database),
        "pairs_compared": found.pairs,
        "distances_proven": f"{found.proven:.1%}",
        "queries_trained_on": "not known" if seen is None else seen,
        "true_distances": found.truth_source,
        "date": found.date[:16].replace("T", " "),
    }
    cards = [_facts(title, rows) for title, rows in {"This measurement": asked, **found.facts}.items()]
    lead = "The questions, and what the model card says."
    return section("What was measured", lead, element("div", *cards, class_="facts"))


def _reproduction(command: str | None) -> Markup:
    """The command, or the lines of Python, that make this report again."""
    code = command or (
        "from graphmetric.report import evaluate_model, write_report\n\n"
        'write_report(evaluate_model("model/", graphs), "report.html")'
    )
    lines = join([escape_text(line) for line in code.splitlines()])
    return section("Make it again", "The same seed draws the same queries.", element("pre", element("code", lines)))


def _table(head: list[str], rows: Iterable[Markup]) -> Markup:
    titles = element("tr", *(element("th", escape_text(title), scope="col") for title in head))
    return element("div", element("table", element("thead", titles), element("tbody", *rows)), class_="scroll")


def _facts(title: str, rows: dict[str, Any]) -> Markup:
    lines = [
        element(
            "div", element("dt", escape_text(name.replace("_", " "))), element("dd", escape_text(show_value(value)))
        )
        for name, value in rows.items()
    ]
    return element("div", element("h3", escape_text(title)), element("dl", *lines))


def draw_calibration(bins: Calibration) -> Markup:
    """Predicted against true distances: the median, and where half and nine tenths of the predictions lie."""
    low, lower, middle, upper, high = bins.quantiles.T.tolist()
    true = bins.true.tolist()
    most = max(1.0, *true, *high)
    axes = {"x_name": "true distance, in edits", "y_name": "predicted distance"}
    plot = Plot((0.0, most), (0.0, most), title="Predicted against true distances", **axes)
    plot.band(true, low, high, "wide-band")
    plot.band(true, lower, upper, "narrow-band")
    plot.line([0.0, most], [0.0, most], "ideal")
    plot.line(true, middle, "middle")
    values = zip(true, middle, low, high, bins.count.tolist(), strict=True)
    words = [
        f"true {t:.3g}: median {m:.2f}, nine tenths in {a:.2f} to {b:.2f}, {n:,} pairs" for t, m, a, b, n in values
    ]
    plot.dots(true, middle, "mark", words)
    return plot.to_svg()


def draw_size_errors(bins: SizeErrors) -> Markup:
    """Mean error as bars, bias as points, by the size of the graphs."""
    size = bins.mean_size.tolist()
    absolute = bins.absolute.tolist()
    bias = bins.bias.tolist()
    step = float(np.diff(bins.mean_size).min()) if len(size) > 1 else 1.0
    heights = (1.1 * min(0.0, *bias), 1.1 * max(0.1, *absolute, *bias))
    axes = {"x_name": "mean number of nodes of the two graphs", "y_name": "error, in edits"}
    plot = Plot((min(size) - step, max(size) + step), heights, title="Error by size of the graphs", **axes)
    values = zip(size, absolute, bias, bins.count.tolist(), strict=True)
    words = [f"{s:.1f} nodes: mean error {a:.2f}, bias {b:+.2f}, {n:,} pairs" for s, a, b, n in values]
    plot.bars(size, absolute, 0.8 * step, words)
    plot.line(size, bias, "middle")
    plot.dots(size, bias, "mark", words)
    return plot.to_svg()


class Gallery:
    """Draws the graphs at some positions of a collection; their labels share one set of colors."""

    def __init__(self, graphs: GraphCollection, positions: Iterable[int]) -> None:
        shown = {position: graphs[position] for position in positions}
        labels = (label for graph in shown.values() for label in graph.node_labels or ())
        self._graphs = graphs
        self._labels = Counter(str(label) for label in labels if label is not None)
        self._colors = label_colors(self._labels)
        self._drawn = {position: self._draw(position) for position in shown}

    def legend(self) -> Markup:
        """The colors of the node labels, the most frequent first; empty for graphs without labels."""
        return legend({label: self._colors[label] for label, _ in self._labels.most_common()})

    def show_example(self, example: ExampleQuery, queries: int) -> Markup:
        """A query and its rankings."""
        count = len(example.by_model)
        caption = f"{example.right} of {count} right" + (f", {example.open} open" if example.open else "")
        place = f"answered {_ordinal(example.rank, queries)} of {queries:,} queries"
        words = element(
            "p", element("strong", escape_text(caption)), Markup("<br/>"), element("span", escape_text(place))
        )
        rows = [
            element("h3", escape_text(f"Nearest {count} by the model")),
            element("div", *(self._neighbour(n, mark=True) for n in example.by_model), class_="row"),
            element("h3", escape_text(f"Nearest {count} in truth")),
            element("div", *(self._neighbour(n, mark=False) for n in example.by_truth), class_="row"),
        ]
        query = element("div", self._tile(example.graph, escape_text("the query"), "query"), words, class_="asked")
        return element("article", query, element("div", *rows, class_="answers"), class_="example")

    def _neighbour(self, neighbour: Neighbour, *, mark: bool) -> Markup:
        verdict = {True: "right", False: "wrong", None: "open"}[neighbour.right] if mark else "plain"
        predicted = element("b", escape_text(f"{_SIGNS[verdict]}{neighbour.predicted:.1f}"))
        hint = f"predicted {neighbour.predicted:.3f} edits, truly {neighbour.true}"
        numbers = element("span", predicted, escape_text(f"true {neighbour.true}"), title=hint)
        return self._tile(neighbour.graph, numbers, verdict)

    def _tile(self, position: int, caption: Markup, kind: str) -> Markup:
        graph = self._graphs[position]
        name = f"#{position}" if graph.id is None else str(graph.id)
        words = element("figcaption", caption, element("small", escape_text(shorten(name, 24)), title=name))
        return element("figure", element("div", self._drawn[position], class_="graph"), words, class_=f"tile {kind}")

    def _draw(self, position: int) -> Markup:
        graph = self._graphs[position]
        if graph.num_nodes == 0:
            return element("em", escape_text("empty graph"))
        if graph.num_nodes > _LARGEST_DRAWN:
            return element("em", escape_text(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges"))
        return Markup(draw_graph(graph, self._colors))  # escapes its labels


def _ordinal(rank: int, count: int) -> str:
    if rank in (1, count):
        return "best" if rank == 1 else "worst"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending} best"
