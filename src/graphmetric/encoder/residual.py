r"""The graph residual term :math:`\text{G-Res}(H^{(l-1)}, X)` of Eq. 6."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from graphmetric.encoder.batch import BatchTensors, normalised_adjacency
from graphmetric.encoder.options import EncoderOptions


class GraphResidual(nn.Module):
    r"""``raw``: :math:`X W`; ``graph-raw``: :math:`\hat A X W` with the normalised adjacency; ``none``: nothing.

    It is the same in every layer, and computed once.

    Differs from the paper: X is the sum of the input embeddings of each node, not its raw attributes, which may be
    texts, images or absent. Both forms named here ignore :math:`H^{(l-1)}`.
    """

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        size = options.hidden_size
        self.spread = options.residual == "graph-raw"
        self.map = nn.Linear(size, size) if options.residual != "none" else None

    def forward(
        self, inputs: Float[Tensor, "graphs k d_h"], batch: BatchTensors
    ) -> Float[Tensor, "graphs k d_h"] | None:
        if self.map is None:
            return None
        term: Tensor = self.map(inputs)
        return normalised_adjacency(batch.weights) @ term if self.spread else term
