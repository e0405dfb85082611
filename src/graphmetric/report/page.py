"""The report as one HTML file: no scripts, no links, nothing to fetch.

The plots of a report.

Graphs and rankings of graphs as parts of a page.

The parts of a report, from the headline to the command.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric.drawing import draw_graph, label_colors
from graphmetric.drawing.page import Markup, card, element, join, legend, render_page, say, section, shorten
from graphmetric.drawing.plots import Plot
from graphmetric.evaluation import BoundScores, Calibration, SizeErrors
from graphmetric.evaluation.scores import format_score
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.report.axiom_findings import SEPARATION
from graphmetric.report.examples import ExampleQuery, Neighbour
from graphmetric.report.measurement import ModelEvaluation


def draw_calibration(bins: Calibration) -> Markup:
    """Predicted against true distances: the middle, where half and where nine tenths of the predictions lie."""
    low, lower, middle, upper, high = bins.quantiles.T.tolist()
    true = bins.true.tolist()
    most = max(1.0, *true, *high)
    plot = Plot(
        (0.0, most),
        (0.0, most),
        title="Predicted against true distances",
        x_name="true distance, in edits",
        y_name="predicted distance",
    )
    plot.band(true, low, high, "wide-band")
    plot.band(true, lower, upper, "narrow-band")
    plot.line([0.0, most], [0.0, most], "ideal")
    plot.line(true, middle, "middle")
    said = zip(true, middle, low, high, bins.count.tolist(), strict=True)
    plot.dots(
        true,
        middle,
        "mark",
        [f"true {t:.3g}: median {m:.2f}, nine tenths in {a:.2f} to {b:.2f}, {n:,} pairs" for t, m, a, b, n in said],
    )
    return plot.to_svg()


def draw_size_errors(bins: SizeErrors) -> Markup:
    """Mean error as bars, bias as points, by the size of the graphs."""
    size, absolute, bias = bins.mean_size.tolist(), bins.absolute.tolist(), bins.bias.tolist()
    step = float(np.diff(bins.mean_size).min()) if len(size) > 1 else 1.0
    most, least = max(0.1, *absolute, *bias), min(0.0, *bias)
    plot = Plot(
        (min(size) - step, max(size) + step),
        (1.1 * least, 1.1 * most),
        title="Error by size of the graphs",
        x_name="mean number of nodes of the two graphs",
        y_name="error, in edits",
    )
    said = zip(size, absolute, bias, bins.count.tolist(), strict=True)
    words = [f"{s:.1f} nodes: mean error {a:.2f}, bias {b:+.2f}, {n:,} pairs" for s, a, b, n in said]
    plot.bars(size, absolute, 0.8 * step, words)
    plot.line(size, bias, "middle")
    plot.dots(size, bias, "mark", words)
    return plot.to_svg()


_LARGEST_DRAWN = 120
"""Nodes; a larger graph in a thumbnail is a blot."""


@dataclass(slots=True)
class Gallery:
    """Draws graphs of one collection, each once."""

    graphs: GraphCollection
    shown: Sequence[int]
    """Positions of the graphs that may be drawn; their labels share one set of colours."""
    _drawn: dict[int, Markup] = field(default_factory=dict)
    _labels: Counter[str] = field(init=False)
    _colors: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        labels = (label for k in self.shown for label in self.graphs[k].node_labels or ())
        self._labels = Counter(str(label) for label in labels if label is not None)
        self._colors = label_colors(self._labels)

    def show_example(self, example: ExampleQuery, queries: int) -> Markup:
        """A query and its rankings."""
        count = len(example.by_model)
        caption = f"{example.right} of {count} right" + (f", {example.open} open" if example.open else "")
        place = f"answered {_ordinal(example.rank, queries)} of {queries:,} queries"
        return element(
            "article",
            element(
                "div",
                self._tile(example.graph, say("the query"), "query"),
                element("p", element("strong", say(caption)), Markup("<br/>"), element("span", say(place))),
                class_="asked",
            ),
            element(
                "div",
                element("h3", say(f"Nearest {count} by the model")),
                self._row(example.by_model),
                element("h3", say(f"Nearest {count} in truth")),
                self._row(example.by_truth, mark=False),
                class_="answers",
            ),
            class_="example",
        )

    def legend(self) -> Markup:
        """The colours of the node labels, the most frequent first; nothing for graphs without."""
        return legend({label: self._colors[label] for label, _ in self._labels.most_common()})

    def _row(self, neighbours: tuple[Neighbour, ...], mark: bool = True) -> Markup:
        return element("div", *(self._neighbour(neighbour, mark) for neighbour in neighbours), class_="row")

    def _neighbour(self, neighbour: Neighbour, mark: bool) -> Markup:
        verdict = {True: "right", False: "wrong", None: "open"}[neighbour.right] if mark else "plain"
        sign = {"right": "✓ ", "wrong": "✗ ", "open": "? ", "plain": ""}[verdict]
        numbers = element(
            "span",
            element("b", say(f"{sign}{neighbour.predicted:.1f}")),
            say(f"true {neighbour.true}"),
            title=f"predicted {neighbour.predicted:.3f} edits, truly {neighbour.true}",
        )
        return self._tile(neighbour.graph, numbers, verdict)

    def _tile(self, position: int, caption: Markup, kind: str) -> Markup:
        graph = self.graphs[position]
        name = f"#{position}" if graph.id is None else str(graph.id)
        return element(
            "figure",
            element("div", self._draw(position), class_="graph"),
            element("figcaption", caption, element("small", say(shorten(name, 24)), title=name)),
            class_=f"tile {kind}",
        )

    def _draw(self, position: int) -> Markup:
        if position not in self._drawn:
            self._drawn[position] = _picture(self.graphs[position], self._colors)
        return self._drawn[position]


def _picture(graph: Graph, colors: dict[str, str]) -> Markup:
    if graph.num_nodes == 0:
        return element("em", say("empty graph"))
    if graph.num_nodes > _LARGEST_DRAWN:
        return element("em", say(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges"))
    return Markup(draw_graph(graph, colors))  # escapes its labels


def _ordinal(rank: int, count: int) -> str:
    if rank in (1, count):
        return "best" if rank == 1 else "worst"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending} best"


def headline(found: ModelEvaluation) -> Markup:
    """The numbers to remember, each with a sentence for someone who has never seen it."""
    cards = _cards_of_scores(found) if found.raw_scores is not None else _cards_of_bounds(found)
    return element("section", *cards, _familiarity_card(found), _metric_card(found), class_="cards")


def _cards_of_scores(found: ModelEvaluation) -> list[Markup]:
    k, scores, floor = found.nearest, found.raw_scores, found.size_scores
    assert scores is not None
    assert floor is not None
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
            "How far a predicted distance is from the true number of edits. Always saying the same number would be off "
            f"by {found.error_of_median:.2f} at best, the difference of sizes by {floor.mae:.2f}.",
        ),
    ]
    if found.whole:
        cards.append(
            card(
                f"{scores.exact_hits:.0%}",
                "exactly right",
                f"Predictions that round to the true edit distance. Sizes alone: {floor.exact_hits:.0%}.",
            )
        )
    return cards


def _cards_of_bounds(found: ModelEvaluation) -> list[Markup]:
    k, scores, floor = found.nearest, found.bound_scores, found.size_bound_scores
    return [
        card(
            f"{found.proven:.0%}",
            "of the truth is proven",
            "For the other pairs the true distance is known to lie between two bounds, and the scores say what holds "
            "whatever it is.",
        ),
        card(
            f"{_span(scores.precision[k], k)} of {k}",
            "nearest graphs found",
            f"How many of the {k} graphs that the model calls nearest are so for certain, and how many may be. "
            f"Comparing sizes alone would find {_span(floor.precision[k], k)}.",
        ),
        card(
            format_score("tau", scores.order),
            "order agreement",
            f"Where the bounds decide which of two graphs is nearer ({scores.decided:.0%}): 1 if the model always says "
            f"the same, 0 is chance. Sizes alone: {format_score('tau', floor.order)}.",
        ),
        card(
            f"{scores.mae[0]:.1f} to {scores.mae[1]:.1f} edits",
            "mean error",
            "At least so far, and at most, a predicted distance is from the true number of edits. The difference of "
            f"sizes: {floor.mae[0]:.1f} to {floor.mae[1]:.1f}.",
        ),
    ]


def _span(share: tuple[float, float], k: int) -> str:
    least, most = (f"{k * end:.1f}" for end in share)
    return least if least == most else f"{least} to {most}"


def notes(found: ModelEvaluation) -> Markup:
    """What a reader must know before believing the numbers."""
    items = (element("li", say(note)) for note in found.notes)
    return element(
        "section", element("h2", say("Before you trust these numbers")), element("ul", *items), class_="notes"
    )


def neighbours(found: ModelEvaluation) -> Markup:
    """Queries with their nearest graphs, drawn."""
    drawn = {n.graph for e in found.examples for n in (*e.by_model, *e.by_truth)} | {e.graph for e in found.examples}
    gallery = Gallery(found.graphs, sorted(drawn))
    open_ones = " ? marks one of which the bounds leave this open. In truth, graphs are sorted by the middle of bounds."
    return section(
        "Nearest graphs",
        "Queries from the best to the worst answered, evenly spaced. Below a graph are its predicted distance to the "
        f"query and the true one, in edits. ✓ marks a graph that is truly among the {found.nearest} nearest; "
        f"graphs that tie with the last of them count.{open_ones if found.scores is None else ''}",
        gallery.legend(),
        *(gallery.show_example(example, len(found.trial.queries)) for example in found.examples),
    )


def errors(found: ModelEvaluation) -> Markup:
    """Both plots."""
    bounded = found.scores is None
    at = "about one middle of the bounds of the true distance" if bounded else "one true distance"
    which = " outside of the bounds" if bounded else ""
    return element(
        "div",
        section(
            "Predicted against true",
            f"Each dot is the middle prediction for all pairs at {at}. Half of the predictions lie in the inner band, "
            "nine tenths in the outer one. On the dashed line, predictions are right.",
            draw_calibration(found.calibration),
        ),
        section(
            "Error by size",
            f"Bars: the mean error{which} of pairs by how large their graphs are. Points: the mean of predicted minus "
            "true; above zero, distances come out too large, below it too small.",
            draw_size_errors(found.size_errors),
        ),
        class_="pair",
    )


def axioms(found: ModelEvaluation) -> Markup:
    """What holds by construction, and what was measured."""
    rows = []
    for axiom in found.axioms:
        mark = element("span", say("✓" if axiom.holds else "✗"), class_="yes" if axiom.holds else "no")
        rows.append(
            element(
                "tr",
                element("td", mark),
                element("th", say(axiom.name), element("code", say(axiom.formula)), scope="row"),
                element("td", say(axiom.meaning)),
                element("td", say(axiom.promise), class_="promise"),
                element("td", say(axiom.measured)),
            )
        )
    return section(
        "Is it a metric?",
        "What holds by construction holds for all graphs, whatever was learned. Everything was also measured, on "
        f"{found.measured_axioms.graphs:,} graphs and copies of them with their nodes in another order; differences up "
        f"to {found.measured_axioms.tolerance:.1g} are rounding.",
        _table(["", "axiom", "in words", "promised", "measured"], rows),
    )


def scores(found: ModelEvaluation) -> Markup:
    """Every number on both scales, or against the bounds."""
    if found.scores is None:
        return _scores_against_bounds(found)
    paper, raw = found.scores_by_name()
    floor = found.to_dict()["size_alone"]
    rows = []
    for name in paper:
        shown = [*show_score(name, paper[name], raw[name]), show_score(name, floor[name], floor[name])[1]]
        values = [element("td", say(value), class_="number") for value in shown]
        rows.append(element("tr", element("th", say(name), scope="row"), *values, element("td", say(_meaning(name)))))
    return section(
        "All scores",
        "Benchmarks rank by the paper's scale, 1 − exp(−edits / mean number of nodes), in which the same edits weigh "
        "more between small graphs. Users mostly think in edits. “Size alone” is the difference of the numbers of "
        "nodes plus that of the numbers of edges: what does not beat it has learned nothing.",
        _table(["", "paper's scale", "edits", "size alone, edits", "what it is"], rows),
    )


def _scores_against_bounds(found: ModelEvaluation) -> Markup:
    rows = [
        element(
            "tr",
            element("th", say(name), scope="row"),
            *(element("td", say(value), class_="number") for value in values),
            element("td", say(meaning)),
        )
        for name, *values, meaning in show_bound_scores(found)
    ]
    return section(
        "All scores",
        "In edits, against lower and upper bounds of the true distances. A score that the bounds leave open has two "
        "ends, and holds in between whatever the truth is.",
        _table(["", "model", "size alone", "what it is"], rows),
    )


def show_bound_scores(found: ModelEvaluation) -> list[tuple[str, str, str, str]]:
    """Name, value of the model, value of sizes alone, and meaning."""
    both = (found.bound_scores, found.size_bound_scores)

    def line(name: str, show: Callable[[BoundScores], str], meaning: str) -> tuple[str, str, str, str]:
        model, floor = map(show, both)
        return name, model, floor, meaning

    def at(k: int) -> Callable[[BoundScores], str]:
        return lambda scores: _ends(scores.precision[k], ".3f")

    precisions = [
        line(f"p@{k}", at(k), f"share of the {k} predicted nearest that are, and that may be, among the {k} nearest")
        for k in found.bound_scores.precision
    ]
    return [
        line("order", lambda scores: f"{scores.order:.3f}", "agreement over pairs of graphs whose order bounds decide"),
        line("decided", lambda scores: f"{scores.decided:.1%}", "share of these pairs; the more, the more order says"),
        *precisions,
        line("mae", lambda scores: f"{_ends(scores.mae, '.2f')} edits", "mean absolute error"),
        line("mse", lambda scores: f"{_ends(scores.mse, '.1f')} edits²", "mean squared error"),
        line("outside", lambda scores: f"{scores.outside:.1%}", "predictions outside of the bounds: proven wrong"),
    ]


def _ends(interval: tuple[float, float], digits: str) -> str:
    least, most = (f"{end:{digits}}" for end in interval)
    return least if least == most else f"{least} to {most}"


def measurement(found: ModelEvaluation) -> Markup:
    """What was asked of the model, and the model card."""
    asked = {
        "data": found.name,
        "graphs": len(found.graphs),
        "questions": f"{len(found.trial.queries):,} graphs each {found.trial.rule}",
        "graphs_ranked": len(found.trial.database),
        "pairs_compared": found.pairs,
        "distances_proven": f"{found.proven:.1%}",
        "queries_trained_on": "not known" if found.familiarity.met is None else found.familiarity.met,
        "true_distances": found.truth,
        "date": found.date[:16].replace("T", " "),
    }
    cards = [_facts("This measurement", asked), *(_facts(title, rows) for title, rows in found.facts.items())]
    return section(
        "What was measured", "The question, and the card of the model.", element("div", *cards, class_="facts")
    )


def reproduction(found: ModelEvaluation, command: str | None) -> Markup:
    """The command, or the lines of Python, that make this report again."""
    code = command or (
        "from graphmetric.report import evaluate_model, write_report\n\n"
        'write_report(evaluate_model("model/", graphs), "report.html")'
    )
    return section(
        "Make it again", "The same seed draws the same queries.", element("pre", element("code", say_lines(code)))
    )


def show_score(name: str, paper: float, raw: float) -> tuple[str, str]:
    """A score on both scales, with units where they differ; a dash where it is of one scale only."""
    if name == "mse":
        return f"{format_score('mse', paper)} × 10⁻³", f"{raw:.3f} edits²"
    if name == "mae":
        return "–", f"{raw:.3f} edits"
    if name == "exact hits":
        return "–", f"{raw:.1%}"
    return format_score(name, paper), format_score(name, raw)


def say_lines(text: str) -> Markup:
    """As :func:`say`, with line breaks kept."""
    return join([say(line) for line in text.splitlines()])


def _meaning(name: str) -> str:
    if name.startswith("p@"):
        k = name.removeprefix("p@").removesuffix(" strict")
        if name.endswith("strict"):
            return f"the same with exactly {k} right ones, ties broken by position"
        return f"share of the {k} predicted nearest that are truly among the {k} nearest, ties included"
    return {
        "rho": "Spearman's rank correlation per query, averaged",
        "tau": "Kendall's τ-b: how many more pairs are in the right order than in the wrong one",
        "mse": "mean squared error",
        "mae": "mean absolute error",
        "exact hits": "share of predictions that round to the true distance",
    }[name]


def _familiarity_card(found: ModelEvaluation) -> Markup:
    known = found.familiarity
    if known.met is None:
        return card("not known", "trained on the queries?", "Only the number of the training graphs is known.")
    if known.met == 0:
        return card("none", "queries trained on", "No query is a training graph, nor a copy of one.", "good")
    what = f"{known.met:,} of {known.queries:,}"
    return card(what, "queries trained on", "The scores of these flatter the model.", "bad")


def _metric_card(found: ModelEvaluation) -> Markup:
    basic = [axiom for axiom in found.axioms if axiom.name != SEPARATION]
    if broken := [axiom.name for axiom in basic if not axiom.holds]:
        return card("no metric", "the axioms", f"Broken on these graphs: {', '.join(broken)}.", "bad")
    strict = any(axiom.promised for axiom in found.axioms if axiom.name == SEPARATION)
    if all(axiom.promised for axiom in basic):
        how = "By construction: symmetric, 0 on copies, and a detour is never shorter"
        how += "".join(f" (the triangle inequality holds{axiom.within})" for axiom in basic if axiom.within) + "."
    else:
        how = "So it was measured on these graphs; it is not promised for others."
    return card("metric" if strict else "pseudo-metric", "the axioms", how, "good")


def _table(head: list[str], rows: list[Markup]) -> Markup:
    titles = element("tr", *(element("th", say(title), scope="col") for title in head))
    return element("div", element("table", element("thead", titles), element("tbody", *rows)), class_="scroll")


def _facts(title: str, rows: dict[str, Any]) -> Markup:
    lines = [
        element("div", element("dt", say(name.replace("_", " "))), element("dd", say(_shown(value))))
        for name, value in rows.items()
    ]
    return element("div", element("h3", say(title)), element("dl", *lines))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_report(evaluation: ModelEvaluation, path: str | os.PathLike[str], *, command: str | None = None) -> None:
    """Write the page whole or not at all; ``command`` is what it says to make it again."""
    target = Path(path)
    page = render_report(evaluation, command=command).encode(errors="backslashreplace")
    make_folder(target.parent)
    with atomic_write(target) as file:
        file.write(page)


def render_report(evaluation: ModelEvaluation, *, command: str | None = None) -> str:
    """The page as text."""
    parts = [
        headline(evaluation),
        notes(evaluation),
        neighbours(evaluation),
        errors(evaluation),
        axioms(evaluation),
        scores(evaluation),
        measurement(evaluation),
        reproduction(evaluation, command),
    ]
    return render_page(f"How good is this distance on {evaluation.name}?", _subtitle(evaluation), parts)


def _subtitle(evaluation: ModelEvaluation) -> str:
    trial = evaluation.trial
    return (
        f"A learned distance against the truth: {len(trial.queries):,} graphs {trial.rule}, {evaluation.pairs:,} pairs."
    )
