"""Graphs as heads see them: one vector per graph, and the states of its nodes.

States are kept in one table without padding, so that choosing, repeating or broadcasting graphs moves a few integers
and never the states: a batch of graphs of very different sizes does not pay for the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmetric._foundation.threads import send
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


class EdgeBatch(Protocol):
    """What a padded batch says about labels and edges."""

    @property
    def weights(self) -> Tensor:
        """(graphs, k, k): the weight of the edge from i to j, 0 without one."""

    @property
    def relation(self) -> Tensor | None:
        """(graphs, k, k): code of the edge from i to j, 0 without one; None if all edges are of one kind."""

    @property
    def directed(self) -> Tensor:
        """(graphs): whether edges have a direction."""

    @property
    def tag(self) -> Tensor | None:
        """(graphs, k): codes of the labels of nodes."""


class Structure(NamedTuple):
    """Labels and edges of graphs."""

    labels: Tensor
    """(rows, 2): codes of the node's label and of its loop, 0 where it has none."""
    ends: Tensor
    """(edges, 2): the numbers of its nodes within their graph."""
    views: Tensor
    """(edges, 2, 2): codes of the edge as its first and as its second end sees it: there, and back if edges have a
    direction; 0 where there is none."""
    weights: Tensor
    """(edges, 2, 2): weights in the same order."""
    first: Tensor
    """(graphs): the first edge of each graph."""
    num_edges: Tensor
    """(graphs): how many edges each graph has."""
    states: Tensor | None = None
    """(edges, 2, d): the state of the edge as either end sees it, once a head has computed it."""

    @classmethod
    def from_batch(cls, batch: EdgeBatch) -> Structure:
        """The edges of a padded batch, one entry for both directions."""
        weights = batch.weights
        code = (weights != 0).to(torch.int32) if batch.relation is None else batch.relation
        joined = ((code != 0) | (code != 0).transpose(1, 2)).triu(1)
        graph, u, v = joined.nonzero(as_tuple=True)
        directed = batch.directed[graph]

        def views(table: Tensor) -> Tensor:
            there, back = table[graph, u, v], table[graph, v, u]
            seen = torch.stack([there, torch.where(directed, back, 0), torch.where(directed, back, there)], dim=1)
            last = torch.where(directed, there, 0)
            return torch.cat([seen, last[:, None]], dim=1).reshape(-1, 2, 2)

        loops = code.diagonal(dim1=1, dim2=2)
        tags = torch.zeros_like(loops) if batch.tag is None else batch.tag
        count = joined.flatten(1).sum(dim=1)
        return cls(
            torch.stack([tags.to(torch.int32), loops.to(torch.int32)], dim=-1).flatten(0, 1),
            torch.stack([u, v], dim=1).to(torch.int32),
            views(code).to(torch.int32),
            views(weights),
            count.cumsum(0) - count,
            count,
        )

    @classmethod
    def nothing(cls, like: Tensor) -> Structure:
        """No graphs at all, on the device and in the precision of a tensor."""
        codes, none = (torch.zeros(0, dtype=kind, device=like.device) for kind in (torch.int32, torch.int64))
        views = codes.reshape(0, 2, 2)
        return cls(codes.reshape(0, 2), codes.reshape(0, 2), views, views.to(like), none, none)

    @classmethod
    def concatenate(cls, parts: Sequence[Structure]) -> Structure:
        """Graphs of all parts one after another, with all edges of the parts."""
        before = accumulate((len(part.ends) for part in parts[:-1]), initial=0)
        labels, ends, views, weights, num_edges = (
            torch.cat([getattr(part, name) for part in parts])
            for name in ("labels", "ends", "views", "weights", "num_edges")
        )
        first = torch.cat([part.first + offset for part, offset in zip(parts, before, strict=True)])
        return cls(labels, ends, views, weights, first, num_edges)

    def take(self, graphs: Tensor | slice) -> Structure:
        """Some of the graphs, by position; the tables are shared."""
        return self._replace(first=self.first[graphs], num_edges=self.num_edges[graphs])

    def compacted(self, rows: Tensor | None) -> Structure:
        """The same graphs (one axis) with these rows of labels, and with their own edges, in order."""
        labels = self.labels if rows is None else self.labels[rows]
        first = self.num_edges.cumsum(0) - self.num_edges
        if len(self.ends) == int(self.num_edges.sum()) and torch.equal(first, self.first):
            return self if rows is None else self._replace(labels=labels)
        used = _places(self.first, first, self.num_edges)
        states = None if self.states is None else self.states[used]
        return Structure(labels, self.ends[used], self.views[used], self.weights[used], first, self.num_edges, states)

    def sent_to(self, device: torch.device) -> Structure:
        """The same on another device, for which the host does not wait."""
        return Structure(*(None if part is None else send(part, device) for part in self))  # type: ignore[arg-type]

    def detached(self) -> Structure:
        """The same without gradients, on the CPU."""
        return Structure(*(None if part is None else part.detach().cpu() for part in self))  # type: ignore[arg-type]


class Representation(NamedTuple):
    """Graphs as a distance sees them. ``start`` has the shape of the batch: one axis, or more to broadcast."""

    z: Tensor
    """(..., d): one vector per graph."""
    rows: Tensor
    """(rows, d): node states of all graphs; may hold more rows than are used."""
    start: Tensor
    """(...): the first row of each graph."""
    size: Tensor
    """(...): how many rows, that is nodes, each graph has."""
    structure: Structure | None = None
    """Labels and edges; None where the distance does not ask for them."""

    @classmethod
    def from_padded(
        cls, encoded: EncoderOutput, batch: EdgeBatch | None = None, structure: Structure | None = None
    ) -> Representation:
        """The states of a padded batch where they lie; gradients flow through.

        Labels and edges are taken from ``batch``, if it is given, or are known already. A device is asked for nothing,
        unless edges must be found there.
        """
        states, mask = encoded.states, encoded.mask
        if states.ndim != 3 or mask.shape != states.shape[:2] or len(encoded.z) != len(states):
            raise InvalidArgument(
                "an encoded batch has z (graphs, d), states (graphs, k, d) and mask (graphs, k); got shapes "
                f"{tuple(encoded.z.shape)}, {tuple(states.shape)} and {tuple(mask.shape)}"
            )
        if mask.device.type == "cpu" and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            raise InvalidArgument("the padding of an encoded batch must come after its nodes; a mask has gaps")
        if batch is not None and batch.weights.shape != (*mask.shape, mask.shape[1]):
            raise InvalidArgument(
                f"the weights of a batch of {len(mask)} graphs, padded to {mask.shape[1]} nodes, must have shape "
                f"{(*mask.shape, mask.shape[1])}; got {tuple(batch.weights.shape)}"
            )
        start = torch.arange(len(states), device=states.device) * states.shape[1]
        structure = structure if batch is None else Structure.from_batch(batch)
        return cls(encoded.z, states.flatten(0, 1), start, mask.sum(dim=1), structure)

    @classmethod
    def arranged(
        cls, parts: Sequence[Representation], sizes: Sequence[NDArray[np.int64]], order: NDArray[np.int64]
    ) -> Representation:
        """The graphs of padded batches, brought into another order, with the rows that are in use.

        ``sizes`` are the numbers of nodes of the graphs of each batch. With them it is known where all rows are, so a
        device is not asked.
        """
        if len(order) == 1 and len(parts[0].rows) == sizes[0][0]:
            return parts[0]
        counts = [len(part.rows) for part in parts]
        first = np.cumsum([0, *counts[:-1]])
        widths = [count // len(own) for count, own in zip(counts, sizes, strict=True)]
        before = [k + np.arange(len(own)) * width for k, own, width in zip(first, sizes, widths, strict=True)]
        size = np.concatenate(sizes)[order].astype(np.int64)
        start = np.cumsum(size) - size
        used = np.repeat(np.concatenate(before)[order] - start, size) + np.arange(size.sum())
        z, rows = torch.cat([part.z for part in parts]), torch.cat([part.rows for part in parts])
        places, chosen, starts, counted = (
            send(torch.from_numpy(array), rows.device) for array in (order, used, start, size)
        )
        structure = None
        if all(part.structure is not None for part in parts):
            joined = Structure.concatenate([part.structure for part in parts if part.structure is not None])
            structure = joined._replace(labels=joined.labels.index_select(0, chosen)).take(places)
        return cls(z.index_select(0, places), rows.index_select(0, chosen), starts, counted, structure)

    @classmethod
    def concatenate(cls, parts: Sequence[Representation], compact: bool = True) -> Representation:
        """Graphs of all parts one after another, with the rows that are in use; all rows if not ``compact``."""
        if not parts:
            raise InvalidArgument("cannot concatenate nothing: the width of the vectors would be unknown")
        if compact:
            parts = [part.compacted() for part in parts]
        if len(parts) == 1:
            return parts[0]
        before = accumulate((len(part.rows) for part in parts[:-1]), initial=0)
        structures = [part.structure for part in parts if part.structure is not None]
        return cls(
            torch.cat([part.z for part in parts]),
            torch.cat([part.rows for part in parts]),
            torch.cat([part.start + offset for part, offset in zip(parts, before, strict=True)]),
            torch.cat([part.size for part in parts]),
            Structure.concatenate(structures) if len(structures) == len(parts) else None,
        )

    @property
    def num_graphs(self) -> int:
        return self.start.numel()

    def take(self, graphs: Tensor | slice) -> Representation:
        """Some of the graphs, by position; the table of states is shared."""
        z, rows, start, size, structure = self
        return Representation(
            z[graphs], rows, start[graphs], size[graphs], None if structure is None else structure.take(graphs)
        )

    def unsqueeze(self, axis: int) -> Representation:
        """A batch axis of length one, to broadcast against others; 0 or 1."""
        return self._replace(z=self.z.unsqueeze(axis), start=self.start.unsqueeze(axis), size=self.size.unsqueeze(axis))

    def compacted(self) -> Representation:
        """The same graphs (one axis) with a table that holds their rows and no others, in order."""
        start = self.size.cumsum(0) - self.size
        used = None
        if len(self.rows) != int(self.size.sum()) or not torch.equal(start, self.start):
            used = _places(self.start, start, self.size)
        structure = None if self.structure is None else self.structure.compacted(used)
        if used is None and structure is self.structure:
            return self
        return self._replace(rows=self.rows if used is None else self.rows[used], start=start, structure=structure)

    def detached(self) -> Representation:
        """The same graphs without gradients, on the CPU."""
        z, rows, start, size = (part.detach().cpu() for part in self[:4])
        return Representation(z, rows, start, size, None if self.structure is None else self.structure.detached())

    def empty_graph(self) -> Representation:
        """One graph without nodes, in the width and type of these: zero vector, no states."""
        zero = self.start.new_zeros(1)
        structure = None if self.structure is None else self.structure._replace(first=zero, num_edges=zero)
        return self._replace(z=self.z.new_zeros(1, self.z.shape[-1]), start=zero, size=zero, structure=structure)

    def tensors(self) -> Iterator[Tensor]:
        """Everything that the graphs consist of."""
        yield from self[:4]
        if self.structure is not None:
            yield from (part for part in self.structure if part is not None)


def _places(old: Tensor, new: Tensor, count: Tensor) -> Tensor:
    """Where the rows are that move from old to new starts, in their new order."""
    shift = torch.repeat_interleave(old - new, count)
    return shift + torch.arange(len(shift), device=shift.device)
