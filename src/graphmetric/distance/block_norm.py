"""A norm of the difference of the pooled vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphmetric.distance.pair_distance import PairDistance
from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument


def sum_block_norms(vectors: Tensor, blocks: int) -> Tensor:
    """Euclidean norms of equal pieces of each vector, added."""
    pieces = vectors.reshape(*vectors.shape[:-1], blocks, vectors.shape[-1] // blocks)
    norms: Tensor = torch.linalg.vector_norm(
        pieces, dim=-1
    )  # its gradient is 0 where it is 0: equal graphs do not pull
    return norms.sum(-1)


class BlockNorm(PairDistance):
    r"""Sum of Euclidean norms over blocks, :math:`g = \sum_b \lVert W_b (z_G - z_H) \rVert_2`.

    A pseudo-metric: each term is a norm of a difference. One block is the Euclidean distance, blocks of width one are
    the city-block distance. The projected vectors :math:`W z` (see :meth:`project`) are all it needs, so they can be
    stored and indexed instead of the graphs.
    """

    def __init__(self, dim: int, blocks: int = 8, width: int | None = None) -> None:
        """``width`` is that of a block; by default all blocks together are as wide as the input."""
        super().__init__()
        width = dim // blocks if width is None else width
        if blocks < 1 or width < 1:
            raise InvalidArgument(
                f"{blocks} blocks of width {width} for vectors of width {dim}; both must be at least 1"
            )
        self.blocks, self.width = blocks, blocks * width
        self.linear = nn.Linear(dim, self.width, bias=False)

    def extra_repr(self) -> str:
        return f"blocks={self.blocks}"

    def project(self, z: Tensor) -> Tensor:
        return self.linear(z)  # type: ignore[no-any-return]

    def compare(self, left: Representation, right: Representation) -> Tensor:
        return sum_block_norms(left.z - right.z, self.blocks)
