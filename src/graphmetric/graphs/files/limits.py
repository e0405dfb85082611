"""How much a reader accepts before it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.errors import LimitExceeded

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that protect the reader's memory and time; raise them for data you trust.

    Counts that a file announces are checked before anything of that size is allocated.
    """

    max_bytes: int = 8192 * _MIB
    """Size of one file as stored."""
    max_decompressed_bytes: int = 4096 * _MIB
    """Size of one gzip file after decompression."""
    max_compression_ratio: int = 200
    """Bytes that one byte of a gzip file may become, beyond the first 16 MiB; text of graphs has ratios of 5 to 50."""
    max_document_bytes: int = 256 * _MIB
    """Size of a file, or of a block of one, that must be held whole (JSON, XML, TUDataset); as Python objects it takes
    about twenty times as much."""
    max_line_bytes: int = 64 * _MIB
    """Length of one line of a format that is read line by line."""
    max_graphs: int = 10_000_000
    """Graphs in all files of one call."""
    max_nodes: int = 10_000_000
    """Nodes of one graph."""
    max_edges: int = 50_000_000
    """Edges of one graph."""
    max_node_values: int = 2**24
    """Features of one node, or pixels times channels of its image."""
    max_filler_bytes: int = 1024 * _MIB
    """Memory of a collection for the empty rows of columns that only some of its graphs have; without it, a small file
    that announces many nodes beside a graph with many features would fill the memory."""

    def check_graphs(self, count: int) -> None:
        """Raise unless ``count`` graphs are allowed."""
        self._check(count, "max_graphs", "graphs")

    def check_nodes(self, count: int) -> None:
        """Raise unless one graph may have ``count`` nodes."""
        self._check(count, "max_nodes", "nodes")

    def check_edges(self, count: int) -> None:
        """Raise unless one graph may have ``count`` edges."""
        self._check(count, "max_edges", "edges")

    def check_node_values(self, count: int) -> None:
        """Raise unless one node may have ``count`` features or image values."""
        self._check(count, "max_node_values", "values per node")

    def check_filler(self, count: int) -> None:
        """Raise unless ``count`` bytes may be spent on empty rows."""
        self._check(count, "max_filler_bytes", "bytes for columns that only some of the graphs have")

    def _check(self, count: int, field: str, what: str) -> None:
        allowed = getattr(self, field)
        if count > allowed:
            raise too_large(f"{count:,} {what}", field, f"{allowed:,}")


DEFAULT_LIMITS = Limits()


def too_large(found: str, field: str, allowed: str) -> LimitExceeded:
    """The error for something beyond a limit; the place is added by whoever knows it."""
    return LimitExceeded(
        f"{found}; the limit is {allowed} (for data you trust: limits=Limits({field}=...), "
        f"or --limits {field}=... on the command line)"
    )
