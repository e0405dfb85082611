"""The parts of a report, from the headline to the command."""

from __future__ import annotations

from typing import Any

from graphmetric.evaluation.scores import format_score
from graphmetric.model_report.axiom_findings import SEPARATION
from graphmetric.model_report.evaluation import ModelEvaluation
from graphmetric.model_report.figures import draw_calibration, draw_size_errors
from graphmetric.model_report.markup import Markup, element, join, say
from graphmetric.model_report.pictures import Gallery


def headline(found: ModelEvaluation) -> Markup:
    """The numbers to remember, each with a sentence for someone who has never seen it."""
    k, scores = found.nearest, found.raw_scores
    cards = [
        _card(
            f"{k * scores.ranking.precision[k]:.1f} of {k}",
            "nearest graphs found",
            f"Of the {k} graphs that the model calls nearest to a query, so many truly are, on average; ties count.",
        ),
        _card(
            format_score("rho", scores.ranking.rho),
            "rank agreement ρ",
            "How well the model sorts the graphs by distance: 1 is the true order, 0 is chance.",
        ),
        _card(
            f"{scores.mae:.2f} edits",
            "mean error",
            "How far a predicted distance is from the true number of edits. Always saying the same number would be off "
            f"by {found.error_of_median:.2f} at best.",
        ),
    ]
    if found.whole:
        cards.append(
            _card(f"{scores.exact_hits:.0%}", "exactly right", "Predictions that round to the true edit distance.")
        )
    cards.append(_metric_card(found))
    return element("section", *cards, class_="cards")


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
    return _section(
        "Nearest graphs",
        "Queries from the best to the worst answered, evenly spaced. Below a graph are its predicted distance to the "
        f"query and the true one, in edits. ✓ marks a graph that is truly among the {found.nearest} nearest; "
        "graphs that tie with the last of them count.",
        gallery.legend(),
        *(gallery.show_example(example, len(found.trial.queries)) for example in found.examples),
    )


def errors(found: ModelEvaluation) -> Markup:
    """Both plots."""
    return element(
        "div",
        _section(
            "Predicted against true",
            "Each dot is the middle prediction for all pairs at one true distance. Half of the predictions lie in the "
            "inner band, nine tenths in the outer one. On the dashed line, predictions are right.",
            draw_calibration(found.calibration),
        ),
        _section(
            "Error by size",
            "Bars: the mean error of pairs by how large their graphs are. Points: the mean of predicted minus true; "
            "above zero, distances come out too large, below it too small.",
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
    return _section(
        "Is it a metric?",
        "What holds by construction holds for all graphs, whatever was learned. Everything was also measured, on "
        f"{found.measured_axioms.graphs:,} graphs and copies of them with their nodes in another order; differences up "
        f"to {found.measured_axioms.tolerance:.1g} are rounding.",
        _table(["", "axiom", "in words", "promised", "measured"], rows),
    )


def scores(found: ModelEvaluation) -> Markup:
    """Every number on both scales."""
    paper, raw = found.scores_by_name()
    rows = []
    for name in paper:
        values = [element("td", say(shown), class_="number") for shown in show_score(name, paper[name], raw[name])]
        rows.append(element("tr", element("th", say(name), scope="row"), *values, element("td", say(_meaning(name)))))
    return _section(
        "All scores",
        "Benchmarks rank by the paper's scale, 1 − exp(−edits / mean number of nodes), in which the same edits weigh "
        "more between small graphs. Users mostly think in edits.",
        _table(["", "paper's scale", "edits", "what it is"], rows),
    )


def measurement(found: ModelEvaluation) -> Markup:
    """What was asked of the model, and the model card."""
    asked = {
        "data": found.name,
        "graphs": len(found.graphs),
        "questions": f"{len(found.trial.queries):,} graphs each {found.trial.rule}",
        "graphs_ranked": len(found.trial.database),
        "pairs_compared": found.pairs,
        "true_distances": found.truth,
        "date": found.date[:16].replace("T", " "),
    }
    cards = [_facts("This measurement", asked), *(_facts(title, rows) for title, rows in found.facts.items())]
    return _section(
        "What was measured", "The question, and the card of the model.", element("div", *cards, class_="facts")
    )


def reproduction(found: ModelEvaluation, command: str | None) -> Markup:
    """The command, or the lines of Python, that make this report again."""
    code = command or (
        "from graphmetric.model_report import evaluate_model, write_report\n\n"
        'write_report(evaluate_model("model/", graphs), "report.html")'
    )
    return _section(
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


def _metric_card(found: ModelEvaluation) -> Markup:
    basic = [axiom for axiom in found.axioms if axiom.name != SEPARATION]
    if broken := [axiom.name for axiom in basic if not axiom.holds]:
        return _card("no metric", "the axioms", f"Broken on these graphs: {', '.join(broken)}.", "bad")
    strict = any(axiom.promised for axiom in found.axioms if axiom.name == SEPARATION)
    if all(axiom.promised for axiom in basic):
        how = "By construction: symmetric, 0 on copies, and a detour is never shorter"
        how += "".join(f" (the triangle inequality holds{axiom.within})" for axiom in basic if axiom.within) + "."
    else:
        how = "So it was measured on these graphs; it is not promised for others."
    return _card("metric" if strict else "pseudo-metric", "the axioms", how, "good")


def _section(title: str, lead: str, *body: Markup) -> Markup:
    return element("section", element("h2", say(title)), element("p", say(lead), class_="lead"), *body)


def _card(value: str, name: str, sentence: str, kind: str = "") -> Markup:
    parts = [element("strong", say(value)), element("b", say(name)), element("p", say(sentence))]
    return element("div", *parts, class_=f"card {kind}".strip())


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
