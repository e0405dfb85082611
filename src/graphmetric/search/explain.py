"""Why a graph was found: which nodes correspond to those of the query, and the edits between the two."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.drawing.alignment import draw_alignment
from graphmetric.edit_distance import BeamSearch, EditDistance, graph_edit_distance
from graphmetric.graphs.graph import Graph
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.search.hits import SearchHit

_BEAM = 100


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A node map from the query to a hit, and its edits."""

    alignment: EditDistance

    @property
    def text(self) -> str:
        """In words."""
        found = self.alignment
        needed = f", at least {found.lower:g} are needed" if 0 < found.lower < found.upper else ""
        lines = [f"query -> {found.second.id!r}: {found.upper:g} edits{needed} ({found.method})", "nodes"]
        labels, others = found.first.node_labels, found.second.node_labels
        for u, v in enumerate(found.node_map or ()):
            target = "deleted" if v is None else f"{v}{_label(others, v)}"
            lines.append(f"  {u}{_label(labels, u)} -> {target}")
        edits = [f"  {k}. {edit}" for k, edit in enumerate(found.edit_path or (), 1)]
        return "\n".join([*lines, "edits", *(edits or ["  none: the graphs are the same"])])

    @property
    def svg(self) -> str:
        """As a drawing of both graphs, side by side."""
        return draw_alignment(self.alignment)

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg


def explain_hit(learned: LearnedDistance, query: Graph, hit: SearchHit) -> Explanation:
    """By the proven edits of a certified hit; else by the matching of the model, else by a beam search."""
    if hit.edits is not None:
        return Explanation(hit.edits)
    if learned.matching is not None:
        return Explanation(learned.align(query, hit.graph))
    return Explanation(graph_edit_distance(query, hit.graph, method=BeamSearch(_BEAM), costs=learned.costs))


def _label(labels: tuple[object, ...] | None, node: int) -> str:
    return "" if labels is None else f" {labels[node]}"
