"""Graphs as heads see them: one vector per graph, and the states of its nodes.

States are kept in one table without padding, so that choosing, repeating or broadcasting graphs moves a few integers
and never the states: a batch of graphs of very different sizes does not pay for the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from graphmetric.errors import InvalidArgument


class EncoderOutput(Protocol):
    """A padded batch, as an encoder makes it."""

    @property
    def z(self) -> Tensor:
        """(graphs, d): the pooled vector of each graph."""

    @property
    def states(self) -> Tensor:
        """(graphs, k, d): the state of each node."""

    @property
    def mask(self) -> Tensor:
        """(graphs, k), boolean: which rows are nodes; they come before the padding."""


class Representation(NamedTuple):
    """Graphs as a distance sees them. The shape of ``start`` is that of the batch: one axis, or more to broadcast."""

    z: Tensor
    """(..., d): one vector per graph."""
    rows: Tensor
    """(rows, d): node states of all graphs; may hold more rows than are used."""
    start: Tensor
    """(...): the first row of each graph."""
    size: Tensor
    """(...): how many rows, that is nodes, each graph has."""
    links: Tensor | None = None
    """(rows, width): numbers within its graph of the neighbours of each node, ascending, -1 where there are no more; a
    node with a loop has itself twice. None where the distance does not ask for edges."""

    @classmethod
    def from_padded(cls, encoded: EncoderOutput, adjacency: Tensor | None = None) -> Representation:
        """The states of a padded batch where they lie; gradients flow through.

        Edges are taken from ``adjacency`` (graphs, k, k), if it is given: all that are not 0, whatever their direction.
        """
        states, mask = encoded.states, encoded.mask
        if states.ndim != 3 or mask.shape != states.shape[:2] or len(encoded.z) != len(states):
            raise InvalidArgument(
                "an encoded batch has z (graphs, d), states (graphs, k, d) and mask (graphs, k); got shapes "
                f"{tuple(encoded.z.shape)}, {tuple(states.shape)} and {tuple(mask.shape)}"
            )
        if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            raise InvalidArgument("the padding of an encoded batch must come after its nodes; a mask has gaps")
        if adjacency is not None and adjacency.shape != (*mask.shape, mask.shape[1]):
            raise InvalidArgument(
                f"the adjacency of a batch of {len(mask)} graphs, padded to {mask.shape[1]} nodes, must have shape "
                f"{(*mask.shape, mask.shape[1])}; got {tuple(adjacency.shape)}"
            )
        start = torch.arange(len(states), device=states.device) * states.shape[1]
        links = None if adjacency is None else list_neighbours(adjacency).flatten(0, 1)
        return cls(encoded.z, states.flatten(0, 1), start, mask.sum(dim=1), links)

    @classmethod
    def concatenate(cls, parts: Sequence[Representation]) -> Representation:
        """Graphs of all parts one after another, with the rows that are in use."""
        if not parts:
            raise InvalidArgument("cannot concatenate nothing: the width of the vectors would be unknown")
        parts = [part.compacted() for part in parts]
        if len(parts) == 1:
            return parts[0]
        before = accumulate((len(part.rows) for part in parts[:-1]), initial=0)
        return cls(
            torch.cat([part.z for part in parts]),
            torch.cat([part.rows for part in parts]),
            torch.cat([part.start + offset for part, offset in zip(parts, before, strict=True)]),
            torch.cat([part.size for part in parts]),
            join_links([part.links for part in parts]),
        )

    @property
    def num_graphs(self) -> int:
        return self.start.numel()

    def take(self, graphs: Tensor | slice) -> Representation:
        """Some of the graphs, by position; the table of states is shared."""
        z, rows, start, size, links = self
        return Representation(z[graphs], rows, start[graphs], size[graphs], links)

    def unsqueeze(self, axis: int) -> Representation:
        """A batch axis of length one, to broadcast against others; 0 or 1."""
        return self._replace(z=self.z.unsqueeze(axis), start=self.start.unsqueeze(axis), size=self.size.unsqueeze(axis))

    def compacted(self) -> Representation:
        """The same graphs (one axis) with a table that holds their rows and no others, in order."""
        end = self.size.cumsum(0)
        start = end - self.size
        if len(self.rows) == int(self.size.sum()) and torch.equal(start, self.start):
            return self
        shift = torch.repeat_interleave(self.start - start, self.size)
        used = shift + torch.arange(len(shift), device=shift.device)
        return self._replace(rows=self.rows[used], start=start, links=None if self.links is None else self.links[used])

    def detached(self) -> Representation:
        """The same graphs without gradients, on the CPU."""
        z, rows, start, size = (part.detach().cpu() for part in self[:4])
        return Representation(z, rows, start, size, None if self.links is None else self.links.cpu())

    def empty_graph(self) -> Representation:
        """One graph without nodes, in the width and type of these: zero vector, no states."""
        zero = self.start.new_zeros(1)
        return self._replace(z=self.z.new_zeros(1, self.z.shape[-1]), start=zero, size=zero)


def list_neighbours(adjacency: Tensor) -> Tensor:
    """(graphs, k, width) of (graphs, k, k), as :attr:`Representation.links` has them."""
    joined = (adjacency != 0) | (adjacency != 0).transpose(1, 2)
    k = joined.shape[-1]
    own = torch.arange(k, device=joined.device)
    loops = torch.where(joined.diagonal(dim1=1, dim2=2), own, k)
    numbers = torch.cat([torch.where(joined, own, k), loops.unsqueeze(-1)], dim=-1).sort(dim=-1).values
    width = max(1, int((numbers < k).sum(dim=-1).max())) if joined.numel() else 1
    return torch.where(numbers == k, -1, numbers)[..., :width].to(torch.int32)


def join_links(parts: Sequence[Tensor | None]) -> Tensor | None:
    """One table, as wide as the widest."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    width = max(part.shape[1] for part in known)
    return torch.cat([functional.pad(part, (0, width - part.shape[1]), value=-1) for part in known])
