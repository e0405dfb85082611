"""Encoded graphs, the inputs of heads: one vector per graph, and the states of its nodes.

States are kept in one table without padding, so that choosing, repeating or broadcasting graphs moves a few integers
and never the states: a batch of graphs of very different sizes does not pay for the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmetric._foundation.threads import send
from graphmetric.errors import InvalidArgument


class EncoderOutput(Protocol):
    """A padded batch, the output of an encoder."""

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
    """Encoded graphs. ``start`` has the shape of the batch: one axis, or more to broadcast."""

    z: Tensor
    """(..., d): one vector per graph."""
    rows: Tensor
    """(rows, d): node states of all graphs; may hold more rows than are used."""
    start: Tensor
    """(...): the first row of each graph."""
    size: Tensor
    """(...): the number of rows, that is nodes, of each graph."""

    @classmethod
    def from_padded(cls, encoded: EncoderOutput) -> Representation:
        """Refer to the states of a padded batch without copying; differentiable, and without waiting for a device."""
        states, mask = encoded.states, encoded.mask
        if states.ndim != 3 or mask.shape != states.shape[:2] or len(encoded.z) != len(states):
            raise InvalidArgument(
                "an encoded batch has z (graphs, d), states (graphs, k, d) and mask (graphs, k); got shapes "
                f"{tuple(encoded.z.shape)}, {tuple(states.shape)} and {tuple(mask.shape)}"
            )
        if mask.device.type == "cpu" and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            raise InvalidArgument("the padding of an encoded batch must come after its nodes; a mask has gaps")
        start = torch.arange(len(states), device=states.device) * states.shape[1]
        return cls(encoded.z, states.flatten(0, 1), start, mask.sum(dim=1))

    @classmethod
    def arranged(
        cls, parts: Sequence[Representation], sizes: Sequence[NDArray[np.int64]], order: NDArray[np.int64]
    ) -> Representation:
        """Reorder the graphs of padded batches, keeping only rows in use.

        ``sizes`` are the numbers of nodes of the graphs of each batch. They determine where all rows are, without
        waiting for a device.
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
        return cls(z.index_select(0, places), rows.index_select(0, chosen), starts, counted)

    @classmethod
    def concatenate(cls, parts: Sequence[Representation], compact: bool = True) -> Representation:
        """Concatenate graphs, keeping only rows in use, or all rows if not ``compact``."""
        if not parts:
            raise InvalidArgument("cannot concatenate nothing: the width of the vectors would be unknown")
        if compact:
            parts = [part.compacted() for part in parts]
        if len(parts) == 1:
            return parts[0]
        before = accumulate((len(part.rows) for part in parts[:-1]), initial=0)
        return cls(
            torch.cat([part.z for part in parts]),
            torch.cat([part.rows for part in parts]),
            torch.cat([part.start + offset for part, offset in zip(parts, before, strict=True)]),
            torch.cat([part.size for part in parts]),
        )

    @property
    def num_graphs(self) -> int:
        return self.start.numel()

    def take(self, graphs: Tensor | slice) -> Representation:
        """Return some of the graphs, by position; the table of states is shared."""
        z, rows, start, size = self
        return Representation(z[graphs], rows, start[graphs], size[graphs])

    def unsqueeze(self, axis: int) -> Representation:
        """Add a batch axis of length one, to broadcast against others; 0 or 1."""
        return self._replace(z=self.z.unsqueeze(axis), start=self.start.unsqueeze(axis), size=self.size.unsqueeze(axis))

    def compacted(self) -> Representation:
        """Reduce the table of states to the rows of these graphs (one axis), in order."""
        start = self.size.cumsum(0) - self.size
        if len(self.rows) == int(self.size.sum()) and torch.equal(start, self.start):
            return self
        return self._replace(rows=self.rows[_places(self.start, start, self.size)], start=start)

    def detached(self) -> Representation:
        """Return the graphs without gradients, on the CPU."""
        return Representation(*(part.detach().cpu() for part in self))

    def empty_graph(self) -> Representation:
        """Return one graph without nodes, of the width and type of these: zero vector, no states."""
        zero = self.start.new_zeros(1)
        return self._replace(z=self.z.new_zeros(1, self.z.shape[-1]), start=zero, size=zero)


def _places(old: Tensor, new: Tensor, count: Tensor) -> Tensor:
    """Return the old positions of rows that move from old to new starts, in their new order."""
    shift = torch.repeat_interleave(old - new, count)
    return shift + torch.arange(len(shift), device=shift.device)
