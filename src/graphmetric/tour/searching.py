"""The nearest graphs of an unseen one: by the learned distance, and proven."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.edit_distance import graph_edit_distance
from graphmetric.estimator import GraphDistance
from graphmetric.search import GraphIndex, SearchResult
from graphmetric.search.explain import Explanation
from graphmetric.search.gallery import draw_hits
from graphmetric.tour.folder import TourFolder
from graphmetric.tour.material import Material


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Two answers to the same question."""

    learned: SearchResult
    proven: SearchResult
    exact: tuple[float, ...]
    """The edit distance of each learned hit."""
    explanation: Explanation
    """How the query becomes the first proven hit."""

    @property
    def right(self) -> int:
        """Learned hits that are as near as the last proven one."""
        limit = self.proven[-1].distance
        return sum(distance <= limit for distance in self.exact)


def search_neighbours(model: GraphDistance, material: Material, folder: TourFolder, k: int) -> Found:
    """Index the graphs that the model has seen, and ask for the neighbours of the first that it has not."""
    index = GraphIndex.build(model, material.graphs[material.seen], out=folder.index)
    query = material.graphs[int(material.unseen[0])]
    learned, proven = index.search(query, k), index.search(query, k, certified=True)
    exact = tuple(graph_edit_distance(query, hit.graph).upper for hit in learned)
    found = Found(learned, proven, exact, index.explain(query, proven[0]))
    folder.write_picture("nearest.svg", draw_hits(learned))
    folder.write_picture("nearest-proven.svg", draw_hits(proven))
    folder.write_picture("edits.svg", found.explanation.svg)
    return found
