r"""The same distance on three scales.

=============  ===================================================  ===========================================
view           formula                                              promises
=============  ===================================================  ===========================================
``raw``        :math:`g`, in edits                                  what the distance itself promises
``steinhaus``  :math:`2g / (g(G, \emptyset) + g(H, \emptyset) + g)`  a metric in [0, 1] whenever g is one
``paper``      :math:`1 - \exp(-2g / (n_1 + n_2))`, in [0, 1)       the paper's tables; no triangle inequality
=============  ===================================================  ===========================================

A distance whose own scale is the paper's is taken back to edits by the inverse of the last line.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from graphmetric.distance.pair_distance import Axiom, PairDistance, Scale
from graphmetric.errors import InvalidArgument

View = Literal["raw", "steinhaus", "paper"]


class Extent(NamedTuple):
    """How large graphs are; shapes broadcast against the distances."""

    nodes: Tensor
    """Numbers of nodes."""
    to_empty: Tensor
    """Distances to the empty graph, on the scale of the distance."""

    def unsqueeze(self, axis: int) -> Extent:
        return Extent(self.nodes.unsqueeze(axis), self.to_empty.unsqueeze(axis))


def view_distances(distances: Tensor, scale: Scale, view: View, left: Extent, right: Extent) -> Tensor:
    """Distances on ``scale`` as ``view`` shows them; differentiable."""
    if view not in get_args(View):
        raise InvalidArgument(f"no view {view!r}; there are: {', '.join(get_args(View))}")
    if scale == view:
        return distances
    if view == "paper":
        return to_paper(distances, left.nodes, right.nodes)
    to_empty = [left.to_empty, right.to_empty]
    if scale == "paper":
        distances = from_paper(distances, left.nodes, right.nodes)
        to_empty = [from_paper(side.to_empty, side.nodes, torch.zeros_like(side.nodes)) for side in (left, right)]
    return distances if view == "raw" else to_steinhaus(distances, *to_empty)


def axioms_of_view(head: PairDistance, view: View) -> frozenset[Axiom]:
    """What of the head's promises its view keeps."""
    return head.axioms if view != "paper" or head.scale == "paper" else head.axioms - {Axiom.TRIANGLE_INEQUALITY}


def to_steinhaus(raw: Tensor, left_to_empty: Tensor, right_to_empty: Tensor) -> Tensor:
    r""":math:`2g / (g(G, \emptyset) + g(H, \emptyset) + g)`; 0 for two empty graphs."""
    total = left_to_empty + right_to_empty + raw
    return (2 * raw / total.clamp(min=torch.finfo(raw.dtype).tiny)).clamp(max=1)  # rounding may exceed it


def to_paper(raw: Tensor, left_nodes: Tensor, right_nodes: Tensor) -> Tensor:
    r""":math:`1 - \exp(-2g / (n_1 + n_2))`, as section 5.1 of the paper scales edit distances."""
    return -torch.expm1(-2 * raw / (left_nodes + right_nodes).clamp(min=1))


def from_paper(scaled: Tensor, left_nodes: Tensor, right_nodes: Tensor) -> Tensor:
    """The inverse of :func:`to_paper`. A value that rounding made 1 is taken as the largest number below."""
    largest = 1 - torch.finfo(scaled.dtype).eps / 2
    return -torch.log1p(-scaled.clamp(max=largest)) * (left_nodes + right_nodes) / 2
