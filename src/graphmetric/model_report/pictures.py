"""Graphs and rankings of graphs as parts of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.drawing import draw_graph, label_colors
from graphmetric.graphs.drawing.page import Markup, element, legend, say, shorten
from graphmetric.graphs.graph import Graph
from graphmetric.model_report.examples import ExampleQuery, Neighbour

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
