"""A head that couples nodes and edges: a learned edit distance, relaxed to a linear programme.

The compiled solver of the relaxed edit distance answers; gradients come from the masses of the coupling that it found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from graphmetric.distance.matching import Matching, NodeMaps, broadcast_pairs, broadcast_shape, in_threads, sum_costs
from graphmetric.distance.pair_distance import Answer, Arrays, Floats, HeadOptions, StoredGraphs
from graphmetric.distance.representation import Representation, Structure
from graphmetric.edit_distance import (
    CoupledGraphs,
    CouplingWork,
    DualSize,
    Effort,
    LabelPrices,
    Masses,
    align_pair,
    allocate_coupling_work,
    couple_pairs,
    couple_with_masses,
)
from graphmetric.errors import InvalidArgument

CHUNK = 32
"""Pairs per call of the solver: milliseconds for small graphs, so that threads end together."""
TRAINING = Effort(steps=100, steps_per_node=6, tolerance=0.05, relative=0.0, unit=0.0, one_image=0)
ANSWERING = Effort(steps=100_000, steps_per_node=0, tolerance=0.02, relative=0.002, unit=0.0, one_image=0)
GUESSING = Effort(steps=0, steps_per_node=0, tolerance=0.0, relative=0.0, unit=0.0, one_image=0)
"""Without steps, the savings of edges are split evenly between their ends, as in the branch bound."""
Places = NDArray[np.int64]
Doubles = NDArray[np.float64]
EDGE_WIDTH = 16
"""The width of the state of an edge in one direction."""
FIRST_SCALE = 1e-8
"""How large states are before training, beside the unit prices of labels: nothing that counts, but not nothing, so that
there is a slope."""


class Coupling(Matching, kind="coupling"):
    r"""Least cost of turning fractions of nodes and edges of one graph into those of the other.

    A *coupling* says how much x_ik of node i becomes node k, and how much y of each edge becomes each edge of the other
    graph, in either direction. The masses of a node sum to at most 1, and an edge goes only where its ends go: the
    masses of an edge ij over all edges at k sum to at most x_ik. The distance is the least cost

    .. math:: g(G, H) = \min_{x, y} \sum x_{ik} c(i, k) + \sum y_{ij, kl} c(ij, kl) + \text{what is left of either},

    where :math:`c(i, k) = \alpha [\ell_i \ne \ell_k] + \lVert h_i - h'_k \rVert` for labels and states of nodes,
    :math:`c(ij, kl) = \beta [\ell_{ij} \ne \ell_{kl}] + \lVert e_{ij} - e_{kl} \rVert` for those of edges, and what is
    left is turned into nothing, which has no label and state 0. A loop is one more label of its node; an edge with a
    direction has a label for either direction.

    *It is a pseudo-metric.* Couplings G → H and H → K compose: with x'' = x x' and y'' = y y', what goes where an end
    goes still does, since :math:`\sum_m (y y')_{ij,am} \le \sum_k x_{ik} x'_{ka}`, and by the triangle inequality of
    the costs the composition costs no more than both together. Transposition gives the symmetry.

    *It starts at the relaxed edit distance*, which needs no learning: :math:`\alpha = \beta = 1`, states near 0. From
    there it learns what the relaxation misses, and what else the encoder knows of nodes. The state of an edge is a
    linear map of the states of its ends and of its weight.

    *Whole edits.* Unless ``fractions`` are wanted, the answer is :math:`g` rounded up to whole edits. That keeps the
    pseudo-metric, since :math:`\lceil s + t \rceil \le \lceil s \rceil + \lceil t \rceil`, and saves time: it is
    enough that both bounds of :math:`g` round to the same. What exceeds a whole number by less than a thousandth does
    not count, so the triangle inequality could fail where both sides of a detour do that.

    *One image.* With ``one_image``, what is rounded up is :math:`\max_v \min_w g(G, H \mid v \to w)`, over all nodes v
    of both graphs, where v may have no image but w. It is closer to the edit distance than :math:`g`, which lets parts
    of a node be in several places, and still a pseudo-metric: where v goes to w only and w to u only, v goes to u only
    in the composition. So a detour over H by the cheapest w, and on by the cheapest u, costs no more than both ways.

    *Its cost.* A pair takes hundreds of primal-dual steps. With fractions the answer lies at most .02 edits, or two
    thousandths if that is more, below the exact minimum, and the triangle inequality holds up to twice that. A pair
    that is not solved after the last step may be further off; :meth:`answer` says by how much, and the caller is
    warned. A strict distance with fractions is solved to .02 edits whatever its size, and adds .05 between graphs that
    differ, so that it is a metric without a tolerance. In training mode, where gradients flow, fewer steps are taken
    and nothing is rounded.

    Its gradient is the gradient of the cost with the coupling held fixed (the envelope theorem). The matching of node
    states is a lower bound, and so is everything that bounds it.
    """

    needs_structure = True
    slow = True
    starts_well = True

    def __init__(self, dim: int, fractions: bool = False, one_image: bool = False) -> None:
        if fractions and one_image:
            raise InvalidArgument("a coupling gives every node one image in whole edits only: leave fractions out")
        super().__init__()
        self.one_image = one_image
        self.rounding = 0.0 if fractions else 1.0
        if fractions:
            self.tolerance, self.relative_tolerance = ANSWERING.tolerance, ANSWERING.relative
            self.epsilon = 2.5 * ANSWERING.tolerance
        self.sorted_axes = 0  # the bound without steps is better
        unit = math.log(math.expm1(1.0))  # softplus makes it 1
        self.raw_prices = nn.Parameter(torch.full((2,), unit))
        self.scale_of_states = nn.Parameter(torch.tensor(FIRST_SCALE))
        self.leaving = nn.Linear(dim, EDGE_WIDTH, bias=False)
        self.entering = nn.Linear(dim, EDGE_WIDTH, bias=False)
        self.weight = nn.Parameter(torch.full((EDGE_WIDTH,), FIRST_SCALE))
        with torch.no_grad():
            for layer in (self.leaving, self.entering):
                layer.weight.mul_(FIRST_SCALE)

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        return cls(dim, options.fractions, options.one_image)

    def extra_repr(self) -> str:
        return f"fractions={not self.rounding}, one_image={self.one_image}"

    @property
    def prices(self) -> Tensor:
        r""":math:`\alpha` and :math:`\beta`."""
        return functional.softplus(self.raw_prices)

    def prepare(self, graphs: Representation) -> Representation:
        """Scaled states of nodes, and states of edges."""
        graphs = graphs.compacted()
        if graphs.structure is None:
            raise InvalidArgument("a coupling needs graphs that were encoded with their labels and edges")
        structure = graphs.structure._replace(states=self._edge_states(graphs, graphs.structure))
        return graphs._replace(z=self.project(graphs.z), rows=self.scale_of_states * graphs.rows, structure=structure)

    def _edge_states(self, graphs: Representation, structure: Structure) -> Tensor:
        """(edges, 2, d): there and back as the first end sees them, and turned around as the second does.

        Turned around, the two halves change places, so that distances of states do not depend on which end looks.
        """
        first_row = torch.repeat_interleave(graphs.start, structure.num_edges)
        u, v = (graphs.rows[first_row + structure.ends[:, k]] for k in (0, 1))
        weights = structure.weights[:, 0].to(graphs.rows)
        there = self.leaving(u) + self.entering(v) + self.weight * weights[:, :1]
        back = self.leaving(v) + self.entering(u) + self.weight * weights[:, 1:]
        directed = (structure.views[:, 0] != structure.views[:, 1]).any(dim=1, keepdim=True)
        there, back = torch.where(directed, there, there + back), torch.where(directed, back, there + back)
        halves = torch.stack([torch.cat([there, back], dim=1), torch.cat([back, there], dim=1)], dim=1)
        return halves / math.sqrt(2)

    def index_vectors(self, graphs: Representation) -> Tensor:
        return self.scale_of_states * super().index_vectors(graphs)

    def read_arrays(self, arrays: Arrays, node_ptr: Tensor, structure: Structure | None) -> Representation:
        graphs = super().read_arrays(arrays, node_ptr, structure)
        return self.prepare(graphs) if "states" in arrays else graphs  # a store may leave the states where they are

    @torch.no_grad()
    def answer(self, left: Representation, right: Representation, absolute: bool = False) -> Answer:
        relative = 0.0 if absolute else ANSWERING.relative
        effort = ANSWERING._replace(unit=self.rounding, relative=relative, one_image=int(self.one_image))
        return self._answer_within(effort, left, right)

    def _answer_within(self, effort: Effort, left: Representation, right: Representation) -> Answer:
        pairs, shape = broadcast_pairs(left, right), broadcast_shape(left, right)
        found, left_open = np.zeros((2, len(pairs)))

        def solve(part: slice, solver: CouplingSolver) -> None:
            found[part], left_open[part] = solver.answer(pairs[part], effort)

        in_threads(solve, len(pairs), CHUNK, self._solver(left, right))
        return Answer(torch.from_numpy(found).to(left.rows).reshape(shape), torch.from_numpy(left_open).reshape(shape))

    def align(self, left: Representation, right: Representation) -> NodeMaps:
        solver = self._solver(left, right)()
        found = [solver.align(np.array([k, k]), ANSWERING).tolist() for k in range(left.num_graphs)]
        return [tuple(None if node < 0 else node for node in partners) for partners in found]

    def tighten(self, gaps: Floats, query: Representation, stored: StoredGraphs, chosen: Tensor) -> Floats:
        """The bound with even splits, which takes a few steps' time."""
        bounds: Floats = self._answer_within(GUESSING, query, stored.graphs.take(chosen)).distances.numpy()
        return np.maximum(gaps, bounds)

    def _differentiable(self, left: Representation, right: Representation) -> Tensor:
        """Distances whose values are the bounds, and whose gradients are those of the costs of the couplings."""
        pairs = broadcast_pairs(left, right)
        effort = TRAINING if self.training else ANSWERING
        parts: dict[int, tuple[SparseCoupling, SparseCoupling]] = {}
        bounds, changes = np.zeros(len(pairs)), np.zeros((len(pairs), 2))

        def solve(part: slice, solver: CouplingSolver) -> None:
            bounds[part], changes[part], *parts[part.start] = solver.couple(pairs[part], effort)  # type: ignore[assignment]

        in_threads(solve, len(pairs), CHUNK, self._solver(left, right))
        found = torch.from_numpy(changes).to(left.rows) @ self.prices.to(left.rows)
        tables = (left.rows, right.rows), (_edge_rows(left), _edge_rows(right))
        for k, sides in enumerate(tables):
            joined = [(first, coupling[k]) for first, coupling in sorted(parts.items())]
            slots = np.concatenate([part.slots for _, part in joined]) if joined else np.zeros((0, 2), np.int64)
            owner = np.concatenate([first + part.owner for first, part in joined]) if joined else slots[:, 0]
            mass = np.concatenate([part.mass for _, part in joined]) if joined else np.zeros(0)
            found = found + sum_costs(sides, slots, owner, len(pairs), mass)
        found = found + (torch.from_numpy(bounds).to(found) - found).detach()
        return found.reshape(broadcast_shape(left, right))

    def _solver(self, left: Representation, right: Representation) -> Callable[[], CouplingSolver]:
        node, edge = self.prices.detach().tolist()
        return partial(CouplingSolver, _coupled(left), _coupled(right), LabelPrices(node, edge))


def _edge_rows(graphs: Representation) -> Tensor:
    """(twice the edges, d): the states of edges in both views."""
    assert graphs.structure is not None
    assert graphs.structure.states is not None
    return graphs.structure.states.flatten(0, 1)


def _coupled(graphs: Representation) -> CoupledGraphs:
    structure = graphs.structure
    assert structure is not None
    assert structure.states is not None
    start, size, first, count = (
        part.flatten().cpu().numpy() for part in (graphs.start, graphs.size, structure.first, structure.num_edges)
    )
    labels, views, ends = (
        part.cpu().contiguous().numpy() for part in (structure.labels, structure.views, structure.ends)
    )
    rows, states = (
        part.detach().to("cpu", torch.float32).contiguous().numpy() for part in (graphs.rows, structure.states)
    )
    return CoupledGraphs(rows, labels, start, size, states, views, ends, first, count)


class SparseCoupling(NamedTuple):
    """What goes where, of many pairs: a row of the states of each side, or -1 for nothing, and a mass."""

    slots: Places
    """(masses, 2)."""
    owner: Places
    """(masses): the pair that each belongs to."""
    mass: Doubles


class CouplingSolver:
    """Solves pairs of two collections of graphs, one after another; each thread needs a solver of its own."""

    def __init__(self, left: CoupledGraphs, right: CoupledGraphs, prices: LabelPrices) -> None:
        self.left, self.right, self.prices = left, right, prices
        nodes = int(max(left.size.max(initial=0), right.size.max(initial=0)))
        edges = int(max(left.edge_size.max(initial=0), right.edge_size.max(initial=0)))
        width = max(left.states.shape[1], left.edge_states.shape[2])
        self._work: CouplingWork = allocate_coupling_work(DualSize(nodes, nodes, edges, edges), width)

    def answer(self, pairs: Places, effort: Effort) -> tuple[Doubles, Doubles]:
        """Lower bounds of the pairs' distances, and how far they may be off where the steps did not suffice."""
        lower, left_open = np.zeros((2, len(pairs)))
        couple_pairs(self.left, self.right, pairs, self.prices, effort, self._work, lower, left_open)
        return lower, left_open

    def couple(self, pairs: Places, effort: Effort) -> tuple[Doubles, Doubles, SparseCoupling, SparseCoupling]:
        """Lower bounds, how many labels of nodes and of edges change (pairs, 2), and what nodes and edges become."""
        n, m = self.left.size[pairs[:, 0]], self.right.size[pairs[:, 1]]
        e, f = self.left.edge_size[pairs[:, 0]], self.right.edge_size[pairs[:, 1]]
        most = int((n * m + n + m).sum()), int((2 * e * f + e + f).sum())
        lower, changes, ends = np.zeros(len(pairs)), np.zeros((len(pairs), 2)), np.zeros((len(pairs), 2), np.int64)
        (nodes, node_mass), (edges, edge_mass) = ((np.empty((k, 2), np.int64), np.empty(k)) for k in most)
        masses = Masses(nodes, node_mass, edges, edge_mass, ends, changes)
        couple_with_masses(self.left, self.right, pairs, self.prices, effort, self._work, lower, masses)
        last = ends[-1] if len(pairs) else np.zeros(2, np.int64)
        of_nodes, of_edges = (
            SparseCoupling(slots[:end].copy(), np.repeat(np.arange(len(pairs)), counts), mass[:end].copy())
            for slots, mass, end, counts in zip(
                (nodes, edges), (node_mass, edge_mass), last, np.diff(ends, axis=0, prepend=0).T, strict=True
            )
        )
        return lower, changes, of_nodes, of_edges

    def align(self, pair: Places, effort: Effort) -> Places:
        """The partner in the second graph of each node of the first, or -1."""
        partner = np.empty(int(self.left.size[pair[0]]), dtype=np.int64)
        align_pair(self.left, self.right, pair, self.prices, effort, self._work, partner)
        return partner
