"""What is known about the edit distance of one pair."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.edit_path import EditPath, NodeMap, edit_path_of
from graphmetric.graphs.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class EditDistance:
    """Bounds of the edit distance from ``first`` to ``second``, and a node map that attains the upper one."""

    first: Graph
    second: Graph
    costs: EditCosts
    method: str
    """What it was computed with, as it is written on the command line."""
    lower: float
    """The distance is at least this; 0 where the method gives no lower bound, infinite where no edits that the costs
    allow lead from one graph to the other."""
    upper: float
    """The distance is at most this; infinite where the method gives no upper bound or found no allowed edits."""
    value: float
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    node_map: NodeMap | None
    """For each node of ``first`` the node of ``second`` it becomes, None if it is deleted; None if no map is known."""
    nodes_expanded: int
    """Nodes of the search tree; 0 for methods that do not search."""
    seconds: float
    """Wall-clock time, compilation excluded only if it was done before."""
    tolerance: float = 0.0
    """The share of ``upper`` by which the distance may be smaller though it is ``exact``: 0 where all costs are
    multiples of one unit, 1e-9 where they had to be rounded."""
    note: str | None = None
    """Why the distance is not proven by a method that could prove it, such as a time limit; None if it is proven."""

    @property
    def exact(self) -> bool:
        """Whether the distance is proven."""
        return self.lower == self.upper

    @property
    def impossible(self) -> bool:
        """Whether it is proven that no edits of finite cost lead from one graph to the other."""
        return self.lower == float("inf")

    @property
    def edit_path(self) -> EditPath | None:
        """The edits of the node map, which cost ``upper``; None for methods that give no map."""
        return None if self.node_map is None else edit_path_of(self.first, self.second, self.node_map, self.costs)

    def __repr__(self) -> str:
        if self.impossible:
            known = "inf: no allowed edits lead there, exact"
        elif self.exact:
            known = f"{self.upper:g}, exact"
        elif self.node_map is None and self.lower != self.value:
            known = f"about {self.value:g}"
        else:
            known = f"between {self.lower:g} and {self.upper:g}"
        return f"EditDistance({known}, by {self.method}{f': {self.note}' if self.note else ''})"

    def _repr_svg_(self) -> str | None:
        from graphmetric.edit_distance.drawing import draw_alignment

        return None if self.node_map is None else draw_alignment(self)
