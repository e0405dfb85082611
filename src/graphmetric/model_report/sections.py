"""The parts of a report, from the headline to the command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphmetric.evaluation import BoundScores
from graphmetric.evaluation.scores import format_score
from graphmetric.graphs.drawing.page import Markup, card, element, join, say, section
from graphmetric.model_report.axiom_findings import SEPARATION
from graphmetric.model_report.evaluation import ModelEvaluation
from graphmetric.model_report.figures import draw_calibration, draw_size_errors
from graphmetric.model_report.pictures import Gallery


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
        "from graphmetric.model_report import evaluate_model, write_report\n\n"
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
