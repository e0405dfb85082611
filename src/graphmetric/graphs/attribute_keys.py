"""What nodes and edges carry, reduced to ranks for the search and digests for certificates.

Both depend on the attributes alone, never on what else is in the collection: ranks only through their order, which
is the order of the keys, and digests not at all. A column that a graph does not have adds nothing to its keys.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.columns import EDGE_COLUMNS, NODE_COLUMNS, Columns, Has
from graphmetric.graphs.labels import LabelColumn, label_key

DIGEST_SIZE = 16
"""Bytes per digest: a chance collision among a billion graphs has probability 1e-21."""

_FLAGS = {
    "node_labels": Has.NODE_LABELS,
    "node_features": Has.NODE_FEATURES,
    "node_texts": Has.NODE_TEXTS,
    "node_images": Has.NODE_IMAGES,
    "edge_labels": Has.EDGE_LABELS,
    "edge_weights": Has.EDGE_WEIGHTS,
}


class Keys(NamedTuple):
    """All attributes of each node (or edge) as one key."""

    rank: NDArray[np.int64]
    """One per row: equal exactly where all attributes are."""
    digest: NDArray[np.uint8]
    """(distinct keys, DIGEST_SIZE), by rank."""


class _Coded(NamedTuple):
    code: NDArray[np.int64]
    """One per row, 0 where the row's graph lacks the column."""
    parts: list[bytes]
    """What the column adds to the key, by code."""


def node_keys(columns: Columns) -> Keys:
    """Keys of all nodes."""
    return _keys(columns, NODE_COLUMNS, columns.node_ptr)


def edge_keys(columns: Columns) -> Keys:
    """Keys of all edges."""
    return _keys(columns, EDGE_COLUMNS, columns.edge_ptr)


def shapes(columns: Columns) -> NDArray[np.uint64]:
    """What isomorphic graphs must share as it is, a row of 64-bit numbers per graph.

    :class:`Has` flags, number of nodes and edges, features per node, height, width and channels of images.
    """
    numbers = np.zeros((columns.num_graphs, 7), dtype="<u8")
    numbers[:, 0] = columns.flags
    numbers[:, 1] = np.diff(columns.node_ptr)
    numbers[:, 2] = np.diff(columns.edge_ptr)
    if columns.node_features is not None:
        numbers[(columns.flags & Has.NODE_FEATURES) != 0, 3] = columns.node_features.shape[1]
    if columns.node_images is not None:
        numbers[(columns.flags & Has.NODE_IMAGES) != 0, 4:] = columns.node_images.shape[1:]
    return numbers


def _keys(columns: Columns, names: tuple[str, ...], ptr: NDArray[np.int64]) -> Keys:
    rank = np.zeros(ptr[-1], dtype=np.int64)
    contents = [b""]
    for name in names:
        column = getattr(columns, name)
        if column is not None:
            lacking = np.repeat((columns.flags & _FLAGS[name]) == 0, np.diff(ptr))
            rank, contents = _combine(rank, contents, _coded(column, lacking))
    digests = b"".join(blake2b(content, digest_size=DIGEST_SIZE).digest() for content in contents)
    return Keys(rank, np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_SIZE))


def _coded(column: LabelColumn | NDArray[Any], lacking: NDArray[np.bool_]) -> _Coded:
    code, parts = _label_codes(column) if isinstance(column, LabelColumn) else _row_codes(column)
    prefixed = [len(part).to_bytes(8, "little") + part for part in parts]
    return _Coded(np.where(lacking, 0, code + 1), [b"", *prefixed])


def _label_codes(column: LabelColumn) -> tuple[NDArray[np.int64], list[bytes]]:
    used = np.unique(column.codes)  # the vocabulary may be that of a larger collection
    keys = [label_key(column.vocabulary[code]) for code in used.tolist()]
    distinct = sorted(set(keys))
    place = {key: i for i, key in enumerate(distinct)}
    rank = np.zeros(len(column.vocabulary), dtype=np.int64)
    rank[used] = [place[key] for key in keys]
    return rank[column.codes], distinct


def _row_codes(array: NDArray[Any]) -> tuple[NDArray[np.int64], list[bytes]]:
    """Numbers by value: -0.0 is 0.0, and a uint8 image is the float32 image of the same values."""
    kind = "f8" if array.dtype == np.float64 else "f4"
    values = array.reshape(len(array), math.prod(array.shape[1:])).astype("<" + kind)
    bits = (values + values.dtype.type(0)).astype("<" + kind).view("<" + kind.replace("f", "u"))
    if bits.shape[1] == 0:
        return np.zeros(len(bits), dtype=np.int64), [b""]
    distinct, place = np.unique(bits, axis=0, return_inverse=True)
    return place.reshape(-1).astype(np.int64), [row.tobytes() for row in distinct]


def _combine(rank: NDArray[np.int64], contents: list[bytes], added: _Coded) -> tuple[NDArray[np.int64], list[bytes]]:
    """Ranks of pairs, in lexicographic order, and their contents end to end."""
    if contents == [b""]:
        return added.code, added.parts
    width = len(added.parts)
    pairs, combined = np.unique(rank * width + added.code, return_inverse=True)
    return combined.astype(np.int64), [contents[pair // width] + added.parts[pair % width] for pair in pairs.tolist()]
