"""Approximate edit distances as they were published, kept to reproduce published numbers to the last digit.

Their names are entry points of this distribution, so ``--method vj`` and ``method="published-beam:80"`` work. For
better bounds in less time use ``beam``, ``local``, ``branch`` or ``hed``.

They are also the combinatorial rows of the paper's table, as baselines that learn nothing. Each is the variant that
produced the public distances of AIDS700nef. All but HED depend on the order of the nodes, and on the direction: as
there, distances are computed from the query to the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.lower_bounds import profile_nodes, sum_hausdorff
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance.method import EditDistanceMethod, Guarantee, Pairs, Solutions, room_for
from graphmetric.edit_distance.methods import BeamSearch, Hausdorff
from graphmetric.edit_distance.pairwise import pairwise_edit_distances
from graphmetric.edit_distance.scaling import EncodedProblem, node_counts
from graphmetric.edit_distance.stopping import Watch
from graphmetric.graphs.collection import GraphCollection
from graphmetric_research.baselines._kernels.published import (
    allocate_bipartite,
    allocate_open_list,
    match_bipartite,
    search_published_beam,
)
from graphmetric_research.baselines.method import Baseline, TrainingTask


@dataclass(frozen=True, slots=True)
class Hungarian(EditDistanceMethod):
    """Riesen and Bunke (2009): an assignment of nodes by their own and their edges' costs, priced as an edit path."""

    name: ClassVar[str] = "hungarian"
    guarantee: ClassVar[Guarantee] = "upper bound"
    replaceable: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        first, second = node_counts(problem, pairs)
        return np.asarray(8.0 * ((first + second + 1.0) ** 2 + first * second + (second + 1.0) ** 2))

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        tables, maps = problem.tables, room_for(problem, pairs).node_map
        profiles = profile_nodes(problem.first, tables, False), profile_nodes(problem.second, tables, True)
        work, by_stars = allocate_bipartite(*_largest_sizes(problem, pairs)), self.name == "hungarian"
        match_bipartite(problem.packed, profiles, pairs, by_stars, work, maps)
        return _priced(problem, pairs, maps)


@dataclass(frozen=True, slots=True)
class VolgenantJonker(Hungarian):
    """Fankhauser, Riesen and Bunke (2011): the same assignment by another solver, which breaks ties differently."""

    name: ClassVar[str] = "vj"


@dataclass(frozen=True, slots=True)
class PublishedBeam(BeamSearch):
    """Beam search as Neuhaus, Riesen and Bunke (2006) describe it; it depends on the order of nodes and of graphs.

    The ``width`` is the number of open partial paths that are kept.
    """

    name: ClassVar[str] = "published-beam"
    replaceable: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        first, second = node_counts(problem, pairs)
        return 16.0 * (np.maximum(first, second) + 1.0) ** 2

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        maps, width = room_for(problem, pairs).node_map, np.int64(self.width)
        opened = allocate_open_list(self.width, *_largest_sizes(problem, pairs))
        search_published_beam(problem.packed, pairs, width, opened, maps)
        return _priced(problem, pairs, maps)


@dataclass(frozen=True, slots=True)
class PublishedHausdorff(Hausdorff):
    """The variant behind the public distances of AIDS700nef: neither a lower nor an upper bound.

    Differs from the paper of Fischer et al. (2015): edge differences count in full, and the value is raised to the
    difference in size times the cheapest removal in the tables.
    """

    name: ClassVar[str] = "published-hed"
    guarantee: ClassVar[Guarantee] = "estimate"

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        tables = problem.tables
        quadrupled = sum_hausdorff(problem.packed, pairs, edge_weight=2)
        first, second = node_counts(problem, pairs)
        deletion, insertion = (costs.min() if costs.size else 0 for costs in (tables.node_delete, tables.node_insert))
        least = np.where(first > second, (first - second) * deletion, (second - first) * insertion)
        return Solutions.without_maps(np.zeros_like(quadrupled), np.maximum(quadrupled / 4, least))


def _largest_sizes(problem: EncodedProblem, pairs: Pairs) -> tuple[int, int]:
    first, second = node_counts(problem, pairs)
    return int(first.max(initial=0)), int(second.max(initial=0))


def _priced(problem: EncodedProblem, pairs: Pairs, node_map: Integers) -> Solutions:
    nothing = np.zeros(len(pairs), dtype=np.int64)
    return Solutions(nothing, problem.price_in_units(pairs, node_map), nothing.copy(), node_map)


class EditDistanceBaseline(Baseline):
    """An approximate edit distance with unit costs."""

    scale = "raw"
    method: EditDistanceMethod
    _threads = 1

    def fit(self, task: TrainingTask) -> Self:
        """Take the number of threads; nothing is learned."""
        self._threads = task.threads
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        return pairwise_edit_distances(queries, database, method=self.method, n_jobs=self._threads).value


class NarrowBeam(EditDistanceBaseline):
    """Neuhaus, Riesen and Bunke (2006). The paper's "Beam" keeps two open paths, the fewest that make a beam."""

    name, method = "beam", PublishedBeam(2)

    def __init__(self, width: int | None = None) -> None:
        if width is not None:
            self.name, self.method = f"beam-{width}", PublishedBeam(width)


class WidestBeam(EditDistanceBaseline):
    """The widest beam of the public distances."""

    name, method = "beam-80", PublishedBeam(80)


class PathsBaseline(EditDistanceBaseline):
    """Fankhauser, Riesen and Bunke (2011)."""

    name, method = "vj", VolgenantJonker()


class StarsBaseline(EditDistanceBaseline):
    """Riesen and Bunke (2009)."""

    name, method = "hungarian", Hungarian()


class HausdorffBaseline(EditDistanceBaseline):
    """Fischer et al. (2015), as published: neither a lower nor an upper bound."""

    name, method = "hed", PublishedHausdorff()
