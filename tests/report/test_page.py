"""The page: well-formed, self-contained, true to the numbers, and deaf to hostile labels."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import graphmetric as gm
from graphmetric.errors import FileError
from graphmetric.evaluation.scores import format_score
from graphmetric.report import ModelEvaluation, render_report, write_report

VOID = {"meta", "br"}


class Outline(HTMLParser):
    """Checks that elements nest, and keeps their names and all that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> Outline:
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert outline.open == []
    return outline


@pytest.fixture(scope="module")
def page(evaluation: ModelEvaluation) -> str:
    return render_report(evaluation, command="graphmetric evaluate 'my model' molecules")


@pytest.mark.slow
def test_well_formed_as_html_and_as_xml(page: str) -> None:
    outline = read(page)
    assert page.startswith("<!DOCTYPE html>")
    assert {"h1", "table", "svg", "pre"} <= set(outline.names)
    assert ElementTree.fromstring(page).tag == "html"


def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    outline = read(page)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(outline.names)
    assert not {name for name, _ in outline.attributes if name.startswith("on") or name in ("src", "href")}
    assert set(re.findall(r"\w+://[^\s\"']*", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page


def test_numbers_are_those_of_the_evaluation(page: str, evaluation: ModelEvaluation) -> None:
    root = ElementTree.fromstring(page)
    rows = {row.findtext("th"): [cell.text for cell in row.findall("td")] for row in root.iter("tr")}
    paper, raw = evaluation.scores_by_name()
    for name in ("rho", "tau", "p@10", "p@10 strict", "p@20", "p@20 strict"):
        assert rows[name][:2] == [format_score(name, paper[name]), format_score(name, raw[name])]
    assert rows["mse"][:2] == [f"{1000 * paper['mse']:.3f} × 10⁻³", f"{raw['mse']:.3f} edits²"]
    assert rows["mae"][1] == f"{raw['mae']:.3f} edits"
    assert rows["exact hits"][1] == f"{raw['exact hits']:.1%}"
    cards = [card.findtext("strong") for card in root.iter("div") if card.get("class", "").startswith("card")]
    assert cards == [
        f"{10 * raw['p@10']:.1f} of 10",
        f"{raw['rho']:.3f}",
        f"{raw['mae']:.2f} edits",
        f"{raw['exact hits']:.0%}",
        f"{evaluation.queries_trained_on} of 12",
        "pseudo-metric",
    ]
    alone = evaluation.to_dict()["size_alone"]
    assert rows["rho"][2] == f"{alone['rho']:.3f}"
    assert f"the difference of sizes by {alone['mae']:.2f}" in page


def test_rankings_are_drawn(page: str, evaluation: ModelEvaluation) -> None:
    root = ElementTree.fromstring(page)
    tiles = [figure for figure in root.iter("figure") if "query" not in figure.get("class", "")]
    expected = [n for example in evaluation.examples for n in (*example.by_model, *example.by_truth)]
    assert [tile.findtext(".//b", "").lstrip("✓✗ ") for tile in tiles] == [f"{n.predicted:.1f}" for n in expected]
    verdicts = [tile.get("class", "").split()[1] for tile in tiles if "plain" not in tile.get("class", "")]
    right = [n.right for example in evaluation.examples for n in example.by_model]
    assert verdicts == ["right" if it_is else "wrong" for it_is in right]
    assert all(tile.find(".//{http://www.w3.org/2000/svg}circle") is not None for tile in tiles)
    words = " ".join(read(page).words)
    for text in ("Node labels", "graphmetric evaluate 'my model' molecules", "by construction", *evaluation.notes):
        assert text in words


def test_hostile_words_stay_words(evaluation: ModelEvaluation) -> None:
    attack = "<script>alert(1)</script>"
    breakout = "\"'></text></svg><img src=x onerror=alert(1)>\x00\ud800"
    graphs = gm.GraphCollection(
        gm.Graph(2, [(0, 1)], node_labels=[attack, breakout], edge_labels=[attack], id=f"{breakout}{k}")
        for k in range(len(evaluation.graphs))
    )
    facts = {attack: {breakout: [attack, breakout]}}
    hostile = replace(evaluation, graphs=graphs, name=attack + breakout, notes=(attack, breakout), facts=facts)
    page = render_report(hostile, command=f"{attack}\n{breakout}")
    outline = read(page)
    ElementTree.fromstring(page)
    assert not {"script", "img"} & set(outline.names)
    assert attack in "".join(outline.words)
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    page.encode()


def test_other_shapes_of_data(evaluation: ModelEvaluation) -> None:
    """Large graphs, graphs without labels, the empty graph, one bin: nothing divides by zero."""
    plain = [gm.Graph(0), gm.Graph(1), gm.Graph(130, [(k, k + 1) for k in range(129)])] * 20
    bins = evaluation.size_errors
    one = replace(bins, **{name: getattr(bins, name)[:1] for name in ("mean_size", "count", "absolute", "bias")})
    page = render_report(replace(evaluation, graphs=gm.GraphCollection(plain), size_errors=one, whole=False))
    words = " ".join(read(page).words)
    assert "130 nodes, 129 edges" in words
    assert "empty graph" in words
    assert "Node labels" not in words
    assert "exactly right" not in words


@pytest.mark.slow
def test_broken_axioms_are_said_aloud(evaluation: ModelEvaluation) -> None:
    first, *rest = evaluation.axioms
    page = render_report(replace(evaluation, axioms=(replace(first, holds=False), *rest)))
    assert "not a metric" in page
    assert f"Broken on these graphs: {first.name}" in page


@pytest.mark.slow
def test_written_whole_or_not_at_all(evaluation: ModelEvaluation, tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(evaluation, path)
    assert path.read_text(encoding="utf-8") == render_report(evaluation)
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]
    (tmp_path / "occupied").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        write_report(evaluation, tmp_path / "occupied")
