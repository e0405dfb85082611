"""Symbol -> axis name -> meaning: the one notation of shape annotations and docstrings.

The paper uses D for degree, depth and distance, z for representation and dual variable, k for size and rank. Here each
letter has one meaning, and an annotation such as ``Float[Tensor, "graphs k d_h"]`` names its axes from this table.
"""

from __future__ import annotations

from typing import NamedTuple


class Symbol(NamedTuple):
    """One row of the table."""

    paper: str
    """As the paper prints it."""
    axis: str
    """As shape annotations name it."""
    meaning: str


AXES = (
    Symbol("m", "graphs", "graphs in a collection or batch"),
    Symbol("|V|", "nodes", "nodes, of one graph or packed"),
    Symbol("k_{max}", "k_max", "columns of w_i and divisor of the fusion: the portal size"),
    Symbol("", "k", "nodes of the largest graph of a batch, to which the others are padded"),
    Symbol("d_h", "d_h", "width of hidden states"),
    Symbol("d_h", "d", "width of what leaves the encoder: z and node states"),
    Symbol("d_x", "d_x", "numbers per node in a real vector"),
    Symbol("", "heads", "attention heads"),
    Symbol("D", "layers", "graph-transformer layers: the depth"),
    Symbol("", "steps", "steps of a random walk"),
    Symbol("", "texts", "distinct texts of a batch"),
    Symbol("", "words", "words of the longest of them"),
    Symbol("", "images", "images of a batch"),
    Symbol("", "pairs", "pairs of graphs"),
)
"""Axes of arrays and tensors."""
