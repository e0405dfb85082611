r"""Comparison of two collections of graphs by a head, on any scale and optionally strict.

**Three views** show the same distance on different scales:

=============  ===================================================  ===========================================
view           formula                                              guarantees
=============  ===================================================  ===========================================
``raw``        :math:`g`, in edits                                  the guarantees of the head
``steinhaus``  :math:`2g / (g(G, \emptyset) + g(H, \emptyset) + g)`  a metric in [0, 1] whenever g is one
``paper``      :math:`1 - \exp(-2g / (n_1 + n_2))`, in [0, 1)       the paper's tables; no triangle inequality
=============  ===================================================  ===========================================

A head whose own scale is the paper's is taken back to edits by the inverse of the last line.

**A strict distance** is a metric on isomorphism classes. Every encoder puts some graphs that differ at distance 0. The
discrete metric on certificates, :math:`\epsilon \cdot [\mathrm{certificate}(G) \ne \mathrm{certificate}(H)]`, is itself
a metric, and so is its sum with a pseudo-metric; the sum is 0 exactly when the graphs are isomorphic. If answers lie up
to t below the pseudo-metric, :math:`\epsilon \ge 2t` keeps the triangle inequality: a detour pays :math:`\epsilon`
twice, the direct way once. So a head that solves its distances to a tolerance has an epsilon of its own
(``DistanceHead.epsilon``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from graphmetric.distance.pair_distance import Axiom, DistanceHead, Scale
from graphmetric.distance.representation import Representation
from graphmetric.edit_distance.normalize import View
from graphmetric.errors import InvalidArgument

NOT_FINITE = (
    "the model gives numbers that are not finite: its weights, or attributes of these graphs, are too large to compute "
    "with; train it again, or scale the attributes"
)
"""The error that is raised instead of answering with NaN."""


class PreparedGraphs(NamedTuple):
    """Prepared graphs of one collection, as rows or as columns."""

    graphs: Representation
    """Projected by the head."""
    to_empty: Tensor
    """Distances to the empty graph, on the scale of the head."""
    certificate: Tensor | None = None
    """Numbered certificates; graphs that share one are at distance 0. None if they are not known."""

    @classmethod
    def of(cls, graphs: Representation, to_empty: Tensor, certificate: Tensor | None, epsilon: float) -> PreparedGraphs:
        """Hold graphs that are already projected, and make their distances to the empty graph strict."""
        if certificate is not None:
            to_empty = add_discrete_metric(to_empty, graphs.size > 0, epsilon)
        return cls(graphs, to_empty, certificate)

    @property
    def nodes(self) -> Tensor:
        """The number of nodes of each graph."""
        return self.graphs.size.to(self.to_empty)

    def take(self, graphs: Tensor | slice) -> PreparedGraphs:
        """Return some of the graphs, by position."""
        certificate = None if self.certificate is None else self.certificate[graphs]
        return PreparedGraphs(self.graphs.take(graphs), self.to_empty[graphs], certificate)

    def unsqueeze(self, axis: int) -> PreparedGraphs:
        """Add a batch axis of length one, to broadcast against the other side."""
        certificate = None if self.certificate is None else self.certificate.unsqueeze(axis)
        return PreparedGraphs(self.graphs.unsqueeze(axis), self.to_empty.unsqueeze(axis), certificate)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Distances on demand, between any of the left graphs and any of the right ones."""

    head: DistanceHead
    view: View
    left: PreparedGraphs
    right: PreparedGraphs
    epsilon: float
    """Distance added between graphs with different certificates; 0 if the distance is not strict."""

    @classmethod
    @torch.no_grad()
    def prepare(
        cls,
        head: DistanceHead,
        left: Representation,
        right: Representation | None = None,
        *,
        view: View = "raw",
        certificates: ArrayLike | None = None,
        other_certificates: ArrayLike | None = None,
        epsilon: float | None = None,
    ) -> Comparison:
        """Distances within ``left``, or between it and ``right``.

        Args:
            head: The distance; it stays on its device, and so must the graphs.
            left: The graphs of the rows.
            right: The graphs of the columns; the same ones by default.
            view: The scale of the answers.
            certificates: One for each left graph; with them isomorphic graphs are at distance 0, to the last bit.
            other_certificates: One for each right graph.
            epsilon: What is added where certificates differ, on the scale of the head; by default what the head needs
                for a strict distance, which is 0 only for isomorphic graphs. 0 adds nothing.
        """
        if certificates is None and other_certificates is None:
            epsilon = 0.0
        elif epsilon is None:
            epsilon = head.epsilon
        if epsilon and not epsilon >= 2 * head.tolerance:
            raise InvalidArgument(
                f"epsilon must be at least {2 * head.tolerance}, twice the tolerance of the head, to make its distance "
                f"a metric, or 0; got {epsilon}"
            )
        numbers = _number_certificates(left, right, certificates, other_certificates)
        rows = PreparedGraphs.of(head.prepare(left), head.distance_to_empty(left), numbers[0], epsilon)
        columns = rows
        if right is not None:
            columns = PreparedGraphs.of(head.prepare(right), head.distance_to_empty(right), numbers[-1], epsilon)
        return cls(head, view, rows, columns, epsilon)

    @property
    def symmetric(self) -> bool:
        """True if one half of the matrix determines the other: equal rows and columns, and a symmetric head."""
        return self.left is self.right and Axiom.SYMMETRIC in self.head.axioms

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.graphs.num_graphs, self.right.graphs.num_graphs

    def table(self, rows: slice, columns: slice) -> Tensor:
        """Return the distances of all these rows to all these columns."""
        return self._measure(self.left.take(rows).unsqueeze(1), self.right.take(columns).unsqueeze(0))

    def from_only_row(self, columns: Tensor) -> Tensor:
        """Return the distances of the only left graph to these columns."""
        return self._measure(self.left, self.right.take(columns))

    def of_pairs(self, pairs: Tensor) -> Tensor:
        """Return the distances of (n, 2) chosen pairs."""
        return self._measure(self.left.take(pairs[:, 0]), self.right.take(pairs[:, 1]))

    def digest(self) -> str:
        """Return a digest of everything the distances depend on."""
        digest = blake2b(f"{self.head!r} {self.view} {self.epsilon} {self.symmetric}".encode(), digest_size=16)
        for tensor in self._tensors():
            array = tensor.detach().cpu().contiguous().numpy()
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    @torch.no_grad()
    def _measure(self, left: PreparedGraphs, right: PreparedGraphs) -> Tensor:
        distances = self.head.checked_compare(left.graphs, right.graphs)
        if left.certificate is not None and right.certificate is not None:
            distances = add_discrete_metric(distances, left.certificate != right.certificate, self.epsilon)
        found = view_distances(distances, self.head.scale, self.view, left, right)
        if not bool(found.isfinite().all()):
            raise InvalidArgument(NOT_FINITE)
        return found

    def _tensors(self) -> Iterator[Tensor]:
        yield from self.head.state_dict().values()
        for side in (self.left, self.right):
            yield from side.graphs
            if side.certificate is not None:
                yield side.certificate


def view_distances(distances: Tensor, scale: Scale, view: View, left: PreparedGraphs, right: PreparedGraphs) -> Tensor:
    """Convert distances on ``scale`` to ``view``; differentiable."""
    if view not in get_args(View):
        raise InvalidArgument(f"unknown view {view!r}; choose from {', '.join(get_args(View))}")
    if scale == view:
        return distances
    if view == "paper":
        return to_paper(distances, left.nodes, right.nodes)
    to_empty = [left.to_empty, right.to_empty]
    if scale == "paper":
        distances = from_paper(distances, left.nodes, right.nodes)
        to_empty = [from_paper(side.to_empty, side.nodes, torch.zeros_like(side.nodes)) for side in (left, right)]
    return distances if view == "raw" else to_steinhaus(distances, *to_empty)


def to_steinhaus(raw: Tensor, left_to_empty: Tensor, right_to_empty: Tensor) -> Tensor:
    r""":math:`2g / (g(G, \emptyset) + g(H, \emptyset) + g)`; 0 for two empty graphs."""
    total = left_to_empty + right_to_empty + raw
    return (2 * raw / total.clamp(min=torch.finfo(raw.dtype).tiny)).clamp(max=1)  # rounding may exceed it


def to_paper(raw: Tensor, left_nodes: Tensor, right_nodes: Tensor) -> Tensor:
    r""":math:`1 - \exp(-2g / (n_1 + n_2))`, as section 5.1 of the paper scales edit distances."""
    return -torch.expm1(-2 * raw / (left_nodes + right_nodes).clamp(min=1))


def from_paper(scaled: Tensor, left_nodes: Tensor, right_nodes: Tensor) -> Tensor:
    """Invert :func:`to_paper`. A value that rounding made 1 counts as the largest number below."""
    largest = 1 - torch.finfo(scaled.dtype).eps / 2
    return -torch.log1p(-scaled.clamp(max=largest)) * (left_nodes + right_nodes) / 2


def add_discrete_metric(distances: Tensor, differs: Tensor, epsilon: float) -> Tensor:
    """Add ``epsilon`` where graphs differ; where they do not, the distance is exactly 0, whatever rounding made it."""
    return torch.where(differs, distances + epsilon, 0.0)


def _number_certificates(
    left: Representation, right: Representation | None, first: ArrayLike | None, second: ArrayLike | None
) -> list[Tensor | None]:
    """Number the certificates of each side; equal numbers mean equal certificates."""
    if first is None and second is None:
        return [None]
    if first is None or (second is None) != (right is None):
        raise InvalidArgument("a strict distance needs the certificates of all graphs: give those of both collections")
    sides = [np.asarray(names) for names in (first, second) if names is not None]
    if any(names.ndim != 1 for names in sides):
        raise InvalidArgument(f"certificates form lists; got arrays of shapes {[names.shape for names in sides]}")
    for graphs, names in zip((left, right), sides, strict=False):
        if graphs is not None and len(names) != graphs.num_graphs:
            raise InvalidArgument(f"{len(names)} certificates for {graphs.num_graphs} graphs; each graph has one")
    codes = np.unique(np.concatenate(sides), return_inverse=True)[1].astype(np.int64)
    return [torch.from_numpy(part).to(left.start.device) for part in np.split(codes, [len(sides[0])])]
