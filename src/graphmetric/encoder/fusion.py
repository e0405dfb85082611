r"""Eq. 8: from node states to the representation of the graph."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn


class Fusion(nn.Module):
    r"""The sum of the node states divided by a constant.

    .. math:: z = \text{Fusion}(H^{(D)}) = \frac{1}{k_{max}} \sum_{i=1}^{k_{max}} h_i^{(D)} \qquad (8)

    It is a sum, not a mean: size is kept, and the empty graph has z = 0. Since :math:`k_{max} \lVert z_G - z_H \rVert`
    is a lower bound of the matching distance of the states, z is an exact filter for it.

    Differs from the paper: graphs beyond :math:`k_{max}` nodes are summed over all their nodes.
    """

    def __init__(self, k_max: int) -> None:
        super().__init__()
        self.k_max = k_max

    def forward(self, states: Float[Tensor, "graphs k d"]) -> Float[Tensor, "graphs d"]:
        """``states`` are zero in padding."""
        return states.sum(dim=1) / self.k_max
