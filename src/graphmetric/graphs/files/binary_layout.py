"""The layout of our own binary format; docs/formats.md describes it for others to implement.

::

    file   = MAGIC block* end
    block  = "GRPH" header_size:u32 payload_size:u64  header:JSON  payload  crc32:u32
    end    = "END!" header_size:u32 0:u64             header:JSON           crc32:u32

All numbers are little-endian; the checksum is over everything of its block before it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

from graphmetric.graphs.columns import Has

MAGIC = b"\x89GMG1\r\n\x1a\n"
"""Not text, and destroyed by line-end conversion, so that either mistake is noticed at once."""
BLOCK = b"GRPH"
END = b"END!"
PREFIX = struct.Struct("<4sIQ")
CHECKSUM = struct.Struct("<I")

GRAPHS_PER_BLOCK = 65_536

UNSIGNED = frozenset({"|u1", "<u2", "<u4", "<u8"})
COLUMN_TYPES: dict[str, tuple[frozenset[str], int]] = {
    "node_counts": (UNSIGNED, 1),
    "edge_counts": (UNSIGNED, 1),
    "flags": (frozenset({"|u1"}), 1),
    "edges": (UNSIGNED, 2),
    "node_labels": (UNSIGNED, 1),
    "edge_labels": (UNSIGNED, 1),
    "node_texts": (UNSIGNED, 1),
    "edge_weights": (frozenset({"<f8"}), 1),
    "node_features": (frozenset({"<f8"}), 2),
    "node_images": (frozenset({"|u1", "<f4"}), 4),
}
"""Name -> types allowed on disk, number of dimensions."""

FLAG_OF_COLUMN = {
    "node_labels": Has.NODE_LABELS,
    "edge_labels": Has.EDGE_LABELS,
    "edge_weights": Has.EDGE_WEIGHTS,
    "node_features": Has.NODE_FEATURES,
    "node_texts": Has.NODE_TEXTS,
    "node_images": Has.NODE_IMAGES,
}
LABEL_COLUMNS = ("node_labels", "edge_labels", "node_texts")


def checksum(parts: Iterable[bytes | memoryview]) -> int:
    """The crc32 of the parts one after the other."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value
