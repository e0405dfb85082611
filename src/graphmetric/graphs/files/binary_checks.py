"""Checks of a block of packed graphs as it comes from disk, each over all graphs at once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.columns import NODE_COLUMNS, Has
from graphmetric.graphs.files.binary_layout import FLAG_OF_COLUMN

Arrays = dict[str, NDArray[Any]]
_KNOWN_FLAGS = int(Has.DIRECTION) | sum(int(flag) for flag in FLAG_OF_COLUMN.values())


def check_block(
    arrays: Arrays,
    vocabularies: dict[str, tuple[Hashable, ...]],
    node_ptr: NDArray[np.int64],
    edge_ptr: NDArray[np.int64],
) -> None:
    """Raise :class:`InvalidGraph` unless these columns are what packing checked graphs gives."""
    _check_lengths(arrays, node_ptr, edge_ptr)
    _check_flags(arrays)
    _check_edges(arrays, node_ptr, edge_ptr)
    for name, vocabulary in vocabularies.items():
        codes = arrays[name]
        if codes.size and int(codes.max()) >= len(vocabulary):
            raise InvalidGraph(f"{name} uses code {codes.max()} of a vocabulary of {len(vocabulary)}")
    _check_texts(arrays, vocabularies, node_ptr)
    _check_numbers(arrays, edge_ptr)


def _check_lengths(arrays: Arrays, node_ptr: NDArray[np.int64], edge_ptr: NDArray[np.int64]) -> None:
    graphs = len(arrays["flags"])
    if len(node_ptr) != graphs + 1 or len(edge_ptr) != graphs + 1:
        raise InvalidGraph("node_counts, edge_counts and flags have different lengths")
    if arrays["edges"].shape[1] != 2:
        raise InvalidGraph(f"edges must have two columns; found shape {arrays['edges'].shape}")
    for name in ("edges", *FLAG_OF_COLUMN):
        if name in arrays:
            expected = int(node_ptr[-1]) if name in NODE_COLUMNS else int(edge_ptr[-1])
            if len(arrays[name]) != expected:
                raise InvalidGraph(f"{name} has {len(arrays[name])} rows; the counts promise {expected}")


def _check_flags(arrays: Arrays) -> None:
    present = int(np.bitwise_or.reduce(arrays["flags"], initial=0))
    if present & ~_KNOWN_FLAGS:
        raise InvalidGraph(f"flags has unknown bits: {present & ~_KNOWN_FLAGS:#x}")
    for name, flag in FLAG_OF_COLUMN.items():
        if present & flag and name not in arrays:
            raise InvalidGraph(f"graphs claim to have {name}, but there is no such column")


def _check_edges(arrays: Arrays, node_ptr: NDArray[np.int64], edge_ptr: NDArray[np.int64]) -> None:
    """End points exist; rows are sorted and distinct within each graph; undirected ones are (small, large)."""
    tails, heads = arrays["edges"][:, 0], arrays["edges"][:, 1]
    if not len(tails):
        return
    counts = np.diff(edge_ptr)
    sizes = np.repeat(np.diff(node_ptr), counts)
    outside = np.maximum(tails, heads) >= sizes
    _refuse(outside, "has an end point that the graph does not have", arrays, edge_ptr)
    undirected = np.repeat((arrays["flags"] & Has.DIRECTION) == 0, counts)
    _refuse(undirected & (tails > heads), "is undirected, but its larger end comes first", arrays, edge_ptr)
    ascending = np.ones(len(tails), dtype=bool)
    same_tail = tails[1:] == tails[:-1]
    ascending[1:] = (tails[1:] > tails[:-1]) | (same_tail & (heads[1:] > heads[:-1]))
    ascending[edge_ptr[:-1][counts > 0]] = True  # the first edge of a graph has nothing before it
    _refuse(~ascending, "is not after the edge before it", arrays, edge_ptr)


def _refuse(wrong: NDArray[np.bool_], problem: str, arrays: Arrays, edge_ptr: NDArray[np.int64]) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        graph = int(np.searchsorted(edge_ptr, row, side="right")) - 1
        u, v = arrays["edges"][row].tolist()
        raise InvalidGraph(f"graphs[{graph}] of the block: edge ({u}, {v}) {problem}")


def _check_texts(arrays: Arrays, vocabularies: dict[str, tuple[Hashable, ...]], node_ptr: NDArray[np.int64]) -> None:
    if "node_texts" not in arrays:
        return
    is_text = np.array([isinstance(text, str) for text in vocabularies["node_texts"]], dtype=bool)
    if not is_text.all():
        counted = np.repeat((arrays["flags"] & Has.NODE_TEXTS) != 0, np.diff(node_ptr))
        if not is_text[arrays["node_texts"][counted]].all():
            raise InvalidGraph("node_texts has values that are not strings")


def _check_numbers(arrays: Arrays, edge_ptr: NDArray[np.int64]) -> None:
    for name in ("edge_weights", "node_features", "node_images"):
        if name in arrays and not np.isfinite(arrays[name]).all():
            raise InvalidGraph(f"{name} has values that are not finite")
    if "edge_weights" in arrays:
        counted = np.repeat((arrays["flags"] & Has.EDGE_WEIGHTS) != 0, np.diff(edge_ptr))
        _refuse(counted & (arrays["edge_weights"] == 0), "has weight 0, which means no edge", arrays, edge_ptr)
