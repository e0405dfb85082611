"""Results of searches: hits, a report, and explanations of hits by their edits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from graphmetric._foundation.markup import (
    Markup,
    captioned,
    data_frame,
    element,
    escape_text,
    key_value_table,
    notebook_view,
    table,
)
from graphmetric._foundation.options import format_count, format_interval, format_number
from graphmetric.drawing.alignment import draw_alignment
from graphmetric.drawing.panels import Panel, draw_panels
from graphmetric.edit_distance import EditCosts, EditDistance, EditPath, ExactSearch, graph_edit_distance
from graphmetric.edit_distance.method import TimeLimit
from graphmetric.edit_distance.normalize import View
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import pandas

_COLUMNS = ["rank", "id", "distance"]
HIT_COLUMNS = ("query", "query_id", "rank", "id", "distance", "exact", "lower", "upper", "proven", "explanation")
"""The columns of tables of hits that are not metadata."""
_SHOWN_HITS, _SHOWN_NOTES = 10, 4
"""Hits and pieces of metadata that a notebook shows."""
_DIGITS = 4
_DRAWN_DIGITS = 3
EXPLAIN_SECONDS = 0.5
"""The automatic time limit of an explanation."""


@dataclass(frozen=True, eq=False)
class SearchHit:
    """One graph of an index, and how far it is from the query.

    ``exact``, ``lower``, ``upper``, ``proven`` and ``edits`` belong to certified searches; elsewhere they are None.
    """

    id: Hashable
    distance: float
    """The learned distance; in a certified search the edit distance or its best upper bound."""
    load: Callable[[], Graph]
    """A function that makes the graph."""
    exact: float | None = None
    """The edit distance in the requested view; None unless exact."""
    lower: float | None = None
    """The edit distance is at least this."""
    upper: float | None = None
    """The edit distance is at most this."""
    proven: bool | None = None
    """Whether the rank is proven: no other graph is nearer than this one and those before it."""
    explain: Callable[[Graph], EditDistance] | None = None
    """A function that makes the edits from the query to the graph."""

    @cached_property
    def graph(self) -> Graph:
        """The graph, loaded on first access."""
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
        about = {"distance": spell_distance(self, _DIGITS), "rank": _rank(self), **self.metadata}
        return notebook_view(str(self.id), key_value_table(about), captioned([(Markup(self.graph._repr_svg_()), "")]))

    def __repr__(self) -> str:
        known = f"SearchHit({self.id!r}, {spell_distance(self, _DIGITS)}"
        return f"{known})" if self.proven is None else f"{known}, {spell_proof(self)})"


@dataclass(frozen=True, slots=True)
class SearchReport:
    """Coverage, pruning and time of a search."""

    graphs: int
    """Number of eligible graphs."""
    exact: bool
    """Whether an evaluation of all of them would give the same hits; if not, near graphs may be missing."""
    stages: Mapping[str, int] = field(default_factory=dict)
    """Number of graphs that each stage removed, in order; the others were evaluated exactly."""
    seconds: float = 0.0
    complete: bool = True
    """False if a time limit ended a certified search."""
    undecided: int = 0
    """Number of graphs neither excluded nor proven to be hits."""
    undecided_lower: float | None = None
    """Lower bound of the distances of the undecided graphs."""

    @property
    def evaluated_fraction(self) -> float:
        """Fraction of the graphs whose distance was evaluated exactly."""
        return 1.0 - (sum(self.stages.values()) + self.undecided) / self.graphs if self.graphs else 0.0

    def __str__(self) -> str:
        steps = [f"{count:,} removed by {name}" for name, count in self.stages.items() if count]
        kind = "complete" if self.exact and self.complete else "approximate" if self.complete else "out of time"
        rest = f"{self.evaluated_fraction:.1%} evaluated exactly"
        if self.undecided:
            fraction = self.undecided / self.graphs
            lower = format_number(self.undecided_lower or 0.0, 4)
            rest += f"; {fraction:.1%} undecided ({self.undecided:,}, none of them nearer than {lower})"
        return "; ".join([f"{kind} among {format_count(self.graphs, 'graph')}", *steps, rest])


@dataclass(frozen=True, slots=True, eq=False)
class SearchProgress:
    """Progress of a certified search, the argument of ``callback``."""

    query: int
    """Position of the query among those of the call."""
    found: int
    """Number of hits so far whose distance is exact."""
    excluded: int
    """Number of graphs that are proven not to be hits."""
    undecided: int
    """Number of graphs that are undecided."""
    undecided_lower: float | None
    """Lower bound of the distances of the undecided graphs; None if there are none."""
    seconds: float
    result: Callable[[], SearchResult]
    """A function that returns the hits so far; callable only until ``callback`` returns."""


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
        """One dictionary for each hit: rank, id, distance, bounds and proof of a certified search, then its metadata.

        All have the same keys, with None for metadata that a graph lacks.
        """
        certified = ("exact", "lower", "upper", "proven") if any(hit.proven is not None for hit in self) else ()
        names = ("id", "distance", *certified)
        keys = list(dict.fromkeys(key for hit in self for key in hit.metadata))
        return [
            {"rank": rank}
            | {name: getattr(hit, name) for name in names}
            | {metadata_column(key): hit.metadata.get(key) for key in keys}
            for rank, hit in enumerate(self, 1)
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per hit."""
        records = self.to_records()
        names = list(records[0]) if records else _COLUMNS
        return data_frame({name: [record[name] for record in records] for name in names}, "tables of hits")

    def __repr__(self) -> str:
        lines = [f"SearchResult({format_count(len(self), 'hit')}, {self.report})"]
        return "\n".join([*lines, *(f"  {rank:>3}. {hit!r}" for rank, hit in enumerate(self, 1))])

    def _repr_svg_(self) -> str:
        return draw_panels(list_panels(self))

    def _repr_html_(self) -> str:
        """The query and the hits as pictures, then a table: what a notebook shows."""
        shown = self.hits[:_SHOWN_HITS]
        pictures = element("div", Markup(replace(self, hits=shown)._repr_svg_()), style="overflow-x:auto")
        columns = ["", "id", "distance", "rank", "metadata"]
        rows = [
            [
                escape_text(rank),
                escape_text(hit.id),
                escape_text(spell_distance(hit, _DIGITS)),
                escape_text(_rank(hit)),
                escape_text(_notes(hit)),
            ]
            for rank, hit in enumerate(shown, 1)
        ]
        kept = len(columns) if any(hit.metadata for hit in shown) else -1
        listed = table(columns[:kept], [row[:kept] for row in rows], more=len(self) - len(shown))
        return notebook_view(f"{format_count(len(self), 'hit')}; {self.report}", pictures, listed)


def metadata_column(key: str) -> str:
    """The name of a column of metadata, beside those of hits."""
    return f"metadata.{key}" if key in HIT_COLUMNS else key


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The edits that turn a query into a hit, and bounds of the edit distance between them."""

    alignment: EditDistance

    @property
    def text(self) -> str:
        """The edits, one per line, under a line with their number and its lower bound."""
        found = self.alignment
        lines = [f"query -> {found.second.id!r}: {count_edits(found)}"]
        lines += [f"  {k}. {edit}" for k, edit in enumerate(found.edit_path or (), 1)]
        return "\n".join(lines)

    @property
    def svg(self) -> str:
        """A drawing of both graphs, side by side."""
        return draw_alignment(self.alignment)

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg


def find_edits(
    query: Graph,
    hit: SearchHit,
    costs: EditCosts,
    time_limit: TimeLimit = "auto",
    should_end: Callable[[], bool] | None = None,
) -> EditDistance:
    """The edits from a query to the graph of a hit, with bounds of their least cost.

    The edits that the hit was found with are used if they belong to this query; unless they are proven to be the
    fewest, they are searched for again, at the costs and within the limits of the search.

    Args:
        query: The graph that is edited; not necessarily the query of the search.
        hit: A hit of any search.
        costs: The costs for a hit that has no edits of its own.
        time_limit: Seconds of the search. "auto" is half a second, None is no limit.
        should_end: A function that ends the search early by returning True.
    """
    known = hit.edits if hit.edits is not None and hit.edits.first == query else None
    if known is not None and known.exact:
        return known
    seconds = EXPLAIN_SECONDS if time_limit == "auto" else time_limit
    found = graph_edit_distance(
        query,
        hit.graph,
        method=ExactSearch(time_limit=seconds),
        costs=costs if known is None else known.costs,
        limits=None if known is None else known.limits,
        should_end=should_end,
    )
    if known is None:
        return found
    best = known if known.upper < found.upper else found
    return replace(best, lower=max(known.lower, found.lower))


def count_edits(found: EditDistance) -> str:
    """The number of edits and the proven lower bound, such as "5 edits, at least 3" or "5 edits (exact)"."""
    if found.impossible:
        return "no allowed edits lead there (exact)"
    path, least = found.edit_path, format_number(found.lower)
    if path is None:
        return f"no edits are known, at least {least}"
    text = format_count(len(path), "edit")
    if len(path) != found.upper:
        text += f" of cost {format_number(found.upper)}"
    if not found.exact:
        return f"{text}, at least {format_interval(found.lower, found.upper).partition(' ..')[0]}"
    return f"{text} (exact)" if len(path) else f"{text} (exact), the graphs are the same"


def spell_distance(hit: SearchHit, digits: int = 6) -> str:
    """The distance of a hit, or its bounds."""
    if hit.proven is None:
        return format_number(hit.distance, digits)
    if hit.exact is not None or hit.lower is None or hit.upper is None:
        return format_number(hit.distance if hit.exact is None else hit.exact, digits)
    return format_interval(hit.lower, hit.upper, digits)


def list_panels(result: SearchResult) -> list[Panel]:
    """The query with its name, then each hit with its rank, distance and id."""
    name = "query" if result.query.id is None else f"query {result.query.id}"
    hits = [Panel(hit.graph, [f"{rank}.  {label_distance(hit)}", str(hit.id)]) for rank, hit in enumerate(result, 1)]
    return [Panel(result.query, [name]), *hits]


def label_distance(hit: SearchHit) -> str:
    """The distance of a hit in a picture, with a question mark if its rank is not proven."""
    is_open = hit.exact is not None and not hit.proven
    return f"{spell_distance(hit, _DRAWN_DIGITS)}{'?' if is_open else ''}"


def spell_proof(hit: SearchHit) -> str:
    """The proof of a certified hit: of its rank, and of its distance where that is open."""
    return "proven" if hit.proven else "not proven" if hit.exact is None else "rank not proven"


def _rank(hit: SearchHit) -> str:
    return "by learned distance" if hit.proven is None else spell_proof(hit)


def _notes(hit: SearchHit) -> str:
    return ", ".join(f"{key}: {value}" for key, value in list(hit.metadata.items())[:_SHOWN_NOTES])
