"""What the first layer of every baseline sees of a node."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from graphmetric.encoder import BatchTensors, EncoderOptions
from graphmetric.encoder.embeddings import InputEmbedding
from graphmetric.encoder.options import Input
from graphmetric.encoder.tensors import clear_padding
from graphmetric.features import FeatureOptions, FeatureSchema

FEATURES = FeatureOptions(neighbourhood=False, role_rounds=0, canonical=False)
"""Attributes and degrees. No baseline depends on the order of nodes, so none is made canonical."""


class NodeInputs(nn.Module):
    """Attributes by learned embeddings; where the training graphs have none, degrees, as is the custom.

    A learned table of tags is a linear map of their one-hot codes.
    """

    def __init__(self, schema: FeatureSchema, width: int) -> None:
        super().__init__()
        known = schema.num_tags or schema.vector_width or schema.num_words or schema.image_shape
        inputs: tuple[Input, ...] = ("attributes",) if known else ("degree",)
        options = EncoderOptions(hidden_size=width, inputs=inputs, positions="learned")
        self.embedding = InputEmbedding(schema, options)

    def forward(self, batch: BatchTensors) -> Float[Tensor, "graphs k d"]:
        """Zero in padding."""
        return clear_padding(self.embedding(batch), batch)
