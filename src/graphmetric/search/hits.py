"""What a search found, how, and why: hits, a report, and explanations of hits by their edits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from graphmetric._foundation.markup import Markup, captioned, data_frame, element, facts, notebook_view, say, table
from graphmetric.drawing.alignment import draw_alignment
from graphmetric.edit_distance import EditDistance, EditPath
from graphmetric.edit_distance.normalize import View
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import pandas

_COLUMNS = ["rank", "id", "distance"]
_SHOWN_HITS, _SHOWN_NOTES = 10, 4
"""Hits and pieces of metadata that a notebook shows."""


@dataclass(frozen=True, eq=False)
class SearchHit:
    """One graph of an index, and how far it is from the query.

    ``exact``, ``lower``, ``upper``, ``proven`` and ``edits`` belong to certified searches; elsewhere they are None.
    """

    id: Hashable
    distance: float
    """The learned distance; in a certified search the edit distance, or the best upper bound of it that is known."""
    load: Callable[[], Graph]
    """A function that makes the graph."""
    exact: float | None = None
    """The edit distance, if it is known exactly; in the view that was asked for."""
    lower: float | None = None
    """The edit distance is at least this."""
    upper: float | None = None
    """The edit distance is at most this."""
    proven: bool | None = None
    """Whether it is proven that this graph and those before it are as near as any: that the rank is right."""
    explain: Callable[[Graph], EditDistance] | None = None
    """A function that makes the edits from the query to the graph."""

    @cached_property
    def graph(self) -> Graph:
        """The graph, made when first asked for."""
        return self.load()

    @cached_property
    def edits(self) -> EditDistance | None:
        """Bounds, node map and edits, from the query to this graph, on the raw scale."""
        return None if self.explain is None else self.explain(self.graph)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the graph."""
        return self.graph.metadata

    @property
    def edit_path(self) -> EditPath | None:
        """Edits that turn the query into this graph, at the cost of the upper bound; None unless certified."""
        return None if self.edits is None else self.edits.edit_path

    def _repr_html_(self) -> str:
        about = {"distance": _distance(self), "rank": _rank(self), **self.metadata}
        return notebook_view(str(self.id), facts(about), captioned([(Markup(self.graph._repr_svg_()), "")]))

    def __repr__(self) -> str:
        if self.proven is None:
            return f"SearchHit({self.id!r}, {self.distance:.4g})"
        known = f"{self.exact:.4g}" if self.exact is not None else f"{self.lower:.4g} .. {self.upper:.4g}"
        return f"SearchHit({self.id!r}, {known}, {'proven' if self.proven else 'not proven'})"


@dataclass(frozen=True, slots=True)
class SearchReport:
    """How an answer was found."""

    graphs: int
    """The number of graphs that were allowed as answers."""
    exact: bool
    """Whether looking at all of them would give the same answer; if not, near graphs may have been missed."""
    stages: Mapping[str, int] = field(default_factory=dict)
    """The number of graphs that each stage removed, in order; the others were looked at in full."""
    seconds: float = 0.0
    complete: bool = True
    """False where a time limit ended a certified search."""
    open: int = 0
    """The number of graphs of which a certified search does not know whether they belong to the answer."""
    least_open: float | None = None
    """None of these is nearer than this."""
    unsolved: int = 0
    """The number of learned distances that ran out of solver steps, and may be too small."""

    @property
    def refined(self) -> float:
        """The share of graphs whose distance was computed in full."""
        return 1.0 - sum(self.stages.values()) / self.graphs if self.graphs else 0.0

    def __str__(self) -> str:
        steps = [f"{count:,} removed by {name}" for name, count in self.stages.items() if count]
        kind = "complete" if self.exact and self.complete else "approximate" if self.complete else "out of time"
        rest = f"{self.refined:.1%} looked at in full"
        if self.open:
            rest += f" or still open ({self.open:,}, none of them nearer than {self.least_open:.4g})"
        short = [f"{self.unsolved:,} distances ran out of solver steps"] if self.unsolved else []
        return "; ".join([f"{kind} among {self.graphs:,} graphs", *steps, rest, *short])


@dataclass(frozen=True, slots=True, eq=False)
class SearchProgress:
    """How far a certified search is; what ``watch=`` gets."""

    query: int
    """The position of the query among those that were asked together."""
    found: int
    """The number of graphs that are in the answer so far, and whose distance is known."""
    excluded: int
    """The number of graphs that are proven not to belong to the answer."""
    open: int
    """The number of graphs of which neither is known."""
    least_open: float | None
    """None of these is nearer than this; None where there are none."""
    seconds: float
    result: Callable[[], SearchResult]
    """A function that makes what is known so far; only while the search waits for the answer of ``watch``."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult(Sequence[SearchHit]):
    """The hits for one query, nearest first."""

    query: Graph
    hits: tuple[SearchHit, ...]
    view: View
    report: SearchReport

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, key: int) -> SearchHit: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[SearchHit]: ...
    def __getitem__(self, key: int | slice) -> SearchHit | Sequence[SearchHit]:
        return self.hits[key]

    def to_records(self) -> list[dict[str, Any]]:
        """One dictionary for each hit: rank, id, distance and, if the search was certified, bounds and proof."""
        certified = ("exact", "lower", "upper", "proven") if any(hit.proven is not None for hit in self) else ()
        names = ("id", "distance", *certified)
        return [{"rank": rank} | {name: getattr(hit, name) for name in names} for rank, hit in enumerate(self, 1)]

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a table, one row for each hit."""
        records = self.to_records()
        names = list(records[0]) if records else _COLUMNS
        return data_frame({name: [record[name] for record in records] for name in names}, "tables of hits")

    def __repr__(self) -> str:
        lines = [f"SearchResult({len(self)} hits, {self.report})"]
        return "\n".join([*lines, *(f"  {rank:>3}. {hit!r}" for rank, hit in enumerate(self, 1))])

    def _repr_svg_(self) -> str:
        from graphmetric.search.gallery import draw_hits

        return draw_hits(self)

    def _repr_html_(self) -> str:
        """The query and the hits as pictures, then a table: what a notebook shows."""
        shown = self.hits[:_SHOWN_HITS]
        pictures = element("div", Markup(replace(self, hits=shown)._repr_svg_()), style="overflow-x:auto")
        columns = ["", "id", "distance", "rank", "metadata"]
        rows = [
            [say(rank), say(hit.id), say(_distance(hit)), say(_rank(hit)), say(_notes(hit))]
            for rank, hit in enumerate(shown, 1)
        ]
        kept = len(columns) if any(hit.metadata for hit in shown) else -1
        listed = table(columns[:kept], [row[:kept] for row in rows], more=len(self) - len(shown))
        return notebook_view(f"{len(self)} hits; {self.report}", pictures, listed)


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A node map from the query to a hit, and its edits."""

    alignment: EditDistance

    @property
    def text(self) -> str:
        """The explanation in words."""
        found = self.alignment
        needed = f", at least {found.lower:g} are needed" if 0 < found.lower < found.upper else ""
        lines = [f"query -> {found.second.id!r}: {found.upper:g} edits{needed} ({found.method})", "nodes"]
        labels, others = found.first.node_labels, found.second.node_labels
        for u, v in enumerate(found.node_map or ()):
            target = "deleted" if v is None else f"{v}{_label(others, v)}"
            lines.append(f"  {u}{_label(labels, u)} -> {target}")
        path = found.edit_path
        edits = [f"  {k}. {edit}" for k, edit in enumerate(path or (), 1)]
        heading = f"edits: {path.counts}" if path else "edits: none, the graphs are the same"
        return "\n".join([*lines, heading, *edits])

    @property
    def svg(self) -> str:
        """A drawing of both graphs, side by side."""
        return draw_alignment(self.alignment)

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg


def _distance(hit: SearchHit) -> str:
    if hit.proven is None or hit.exact is not None:
        return f"{hit.distance if hit.exact is None else hit.exact:.4g}"
    return f"{hit.lower:.4g} .. {hit.upper:.4g}"


def _rank(hit: SearchHit) -> str:
    return "by learned distance" if hit.proven is None else "proven" if hit.proven else "not proven"


def _notes(hit: SearchHit) -> str:
    return ", ".join(f"{key}: {value}" for key, value in list(hit.metadata.items())[:_SHOWN_NOTES])


def _label(labels: tuple[object, ...] | None, node: int) -> str:
    return "" if labels is None else f" {labels[node]}"
