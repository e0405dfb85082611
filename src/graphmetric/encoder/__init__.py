"""Eq. 1-8: embeddings, graph transformer, residual, fusion."""

from __future__ import annotations

from graphmetric.errors import needs_extra

with needs_extra("learn", "an encoder of graphs"):
    from graphmetric.encoder.embeddings import BatchTensors, normalised_adjacency, to_tensors
    from graphmetric.encoder.graph_encoder import Encoded, GraphEncoder
    from graphmetric.encoder.options import EncoderOptions, paper_options

__all__ = [
    "BatchTensors",
    "Encoded",
    "EncoderOptions",
    "GraphEncoder",
    "normalised_adjacency",
    "paper_options",
    "to_tensors",
]
