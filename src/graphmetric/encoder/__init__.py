"""Eq. 1-8: embeddings, graph transformer, residual, fusion."""

from __future__ import annotations

from graphmetric.encoder.graph_encoder import Encoded, GraphEncoder, embed_graphs, embed_table
from graphmetric.encoder.options import EncoderOptions, paper_options
from graphmetric.encoder.structure import normalised_adjacency
from graphmetric.encoder.tensors import BatchTensors, to_tensors

__all__ = [
    "BatchTensors",
    "Encoded",
    "EncoderOptions",
    "GraphEncoder",
    "embed_graphs",
    "embed_table",
    "normalised_adjacency",
    "paper_options",
    "to_tensors",
]
