"""The page's search inside a notebook: a query that is typed or drawn, hits as pictures, and the edits to each.

The widget is made of the page's own modules, joined into one. The editor of molecules is left to the page: it is ten
times as large as all the rest, and a notebook keeps a copy of every widget that it shows.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from graphmetric.errors import GraphMetricError, InvalidArgument, needs_extra
from graphmetric.formats.conversion import as_graph
from graphmetric.formats.values import integer_from_text
from graphmetric.graphs.graph import Graph
from graphmetric.remote.serialization import (
    read_graph,
    write_alignment,
    write_graph,
    write_labels,
    write_layout,
    write_result,
)
from graphmetric.search import GraphIndex, SearchHit, SearchResult

_MODULES = ("dom.js", "drawing.js", "pair.js", "sketch.js", "widget.js")
_LARGEST_DRAWN = 150
_SECONDS = 5.0


def explore(
    index: GraphIndex, query: Any = "", *, k: int = 10, certified: bool | None = None, time_limit: float = _SECONDS
) -> Any:
    """Search an index in a notebook: draw a graph, or type an id or a SMILES, and point at edits to see them.

    Args:
        index: The index.
        query: What to begin with: an id of the index, a SMILES, or a graph, which can then be changed by drawing.
        k: The number of hits.
        certified: Search by edit distance, with proofs. None: only if the index has no model.
        time_limit: Seconds for a certified search.

    Returns:
        A widget (the extra ``widget`` installs anywidget). Its ``question``, ``drawing`` and ``certified`` can be set,
        and its ``result`` is the latest :class:`~graphmetric.search.SearchResult`.
    """
    if not isinstance(index, GraphIndex):
        raise InvalidArgument(f"explore takes a GraphIndex; got {type(index).__name__}")
    state: dict[str, Any] = {"question": str(query)}
    if not isinstance(query, str | int):
        graph = as_graph(query)
        state = {"drawing": {"graph": write_graph(graph), "layout": _layout(graph)}}
    chosen = index.model is None if certified is None else certified
    return _widget_class()(index, k, time_limit, certified=chosen, **state)


@cache
def _widget_class() -> Any:
    with needs_extra("widget", "a widget"):
        import anywidget
        import traitlets

    class Explorer(anywidget.AnyWidget):
        """The state that Python and the browser share."""

        _esm = _join_modules()
        question = traitlets.Unicode("").tag(sync=True)
        """The typed query; empty if the query is drawn."""
        drawing = traitlets.Dict({}).tag(sync=True)
        """The drawn query: ``graph`` and ``layout``."""
        certified = traitlets.Bool(False).tag(sync=True)
        learned = traitlets.Bool(False).tag(sync=True)
        labels = traitlets.Dict({}).tag(sync=True)
        answer = traitlets.Dict({}).tag(sync=True)

        def __init__(self, index: GraphIndex, k: int, time_limit: float, **state: Any) -> None:
            super().__init__(learned=index.model is not None, labels=write_labels(index.graphs), **state)
            self._index, self._k, self._time_limit = index, k, time_limit
            self._asked: Any = None
            self.result: SearchResult | None = None
            self.observe(lambda change: self._search(), ["question", "drawing", "certified"])
            self._search()

        def _search(self) -> None:
            """Answer the present query; several of its traits may change at once, each with a notification."""
            asked = (self.question, self.drawing, self.certified)
            if asked == self._asked:
                return
            self._asked, self.result = asked, None
            if not self.question and not self.drawing:
                self.answer = {}
                return
            options: dict[str, Any] = {"time_limit": self._time_limit} if self.certified else {}
            try:
                query = _as_id(self._index, self.question) if self.question else read_graph(self.drawing["graph"])
                self.result = self._index.search(query, self._k, certified=self.certified, **options)
            except GraphMetricError as error:
                self.answer = {"error": str(error)}
                return
            self.answer = _write(self._index, self.result, self.question, self.drawing)

    return Explorer


def _as_id(index: GraphIndex, text: str) -> str | int:
    """A number that was typed may be an id."""
    number = integer_from_text(text)
    return number if text not in index and number in index else text


def _write(index: GraphIndex, result: SearchResult, question: str, drawing: dict[str, Any]) -> dict[str, Any]:
    def explain(hit: SearchHit) -> dict[str, Any]:
        return write_alignment(index.explain(result.query, hit).alignment, listed=True)

    written = write_result(result, graphs=True, explain=explain, explained=len(result))
    for hit, found in zip(written["hits"], result, strict=True):
        hit["layout"] = _layout(found.graph)
    layout = _layout(result.query) if question else drawing.get("layout")
    name = question or "Your graph"
    return {**written, "query": {"graph": write_graph(result.query), "layout": layout, "name": name}}


def _layout(graph: Graph) -> list[list[float]] | None:
    return write_layout(graph) if graph.num_nodes <= _LARGEST_DRAWN else None


def _join_modules() -> str:
    """The page's modules as one, which is all that a notebook loads, and the page's style sheet for its shadow root."""
    folder = files("graphmetric.serve") / "page"
    joined = "\n".join((folder / name).read_text(encoding="utf-8") for name in _MODULES)
    joined = re.sub(r"^import .*?;$", "", joined, flags=re.MULTILINE)
    joined = re.sub(r"^export ", "", joined, flags=re.MULTILINE)
    style = (folder / "style.css").read_text(encoding="utf-8")
    style = style.replace(':root[data-theme="light"]', ".widget.light").replace(
        ':root[data-theme="dark"]', ".widget.dark"
    )
    style = style.replace(":root", ":host, .widget").replace("\nhtml {", "\n.widget { padding: 14px; }\n.widget {")
    return (
        f"{joined}\nexport default {{ render: ({{ model, el }}) => renderWidget(model, el, {json.dumps(style)}) }};\n"
    )
