"""What is stored: graphs with what a learned distance needs to find them, and the stores that keep an index.

The folder (:mod:`graphmetric.index.index_folder`) keeps segments, which a reader maps; changes are made in memory, and
others see them after saving. A PostgreSQL database (:mod:`graphmetric.index.postgres_store`) keeps a row for each
graph, finds candidates by itself, and every change is written at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from graphmetric.errors import InvalidArgument
from graphmetric.index.database import DatabaseAddress, is_address
from graphmetric.index.index_folder import Chosen, IndexFolder, IndexRecord, Make, Manifest, Part
from graphmetric.index.indexed_graphs import IndexedGraphs
from graphmetric.index.postgres_store import PostgresStore

__all__ = ["LiveStore", "VectorStore", "open_store"]


class VectorStore(Protocol):
    """A place that holds one index. What goes wrong there is told by FileErrors that name the place."""

    place: str
    """The folder, or the address without a password, for messages and to tell stores apart."""
    name: str
    """A short name for people."""

    def exists(self) -> bool:
        """Whether there is an index."""

    def size(self) -> int:
        """Bytes on the disk."""

    def read(self) -> Manifest:
        """What the index consists of now."""

    def open(self, choose: Callable[[Manifest], Chosen], verify: bool | None) -> tuple[Chosen, Manifest, IndexedGraphs]:
        """Open the present edition; ``choose`` finds the model that belongs to it, and is asked for each attempt."""

    def model(self, digest: str) -> AbstractContextManager[Path]:
        """A folder with the model of this digest."""

    def read_part(self, part: Part, digest: str) -> bytes:
        """The content of a part; raises FileError where it is missing or was changed."""

    def replace(
        self, make: Make, record: Callable[[], IndexRecord], base: str | None
    ) -> tuple[Manifest, IndexedGraphs]:
        """Write a whole index, of which memory holds some thousand graphs at a time.

        Args:
            make: Gives all graphs to a writer.
            record: What else to write; asked after all graphs are made.
            base: The edition that the new one comes from; raises FileError if that is no longer the present one. None
                replaces whatever is there.
        """

    def save(self, graphs: IndexedGraphs, record: IndexRecord, base: str | None) -> Manifest:
        """Write what is not there yet."""


@runtime_checkable
class LiveStore(VectorStore, Protocol):
    """A store that is changed at once, also by several writers; who changes it sees the changes of all others."""

    def append(self, make: Make, numbered: range) -> tuple[Manifest, IndexedGraphs]:
        """Add graphs, all or none.

        ``numbered`` are the ids that graphs without one were given; if others took these meanwhile, the graphs get the
        next ones. ``make`` may be called again after a lost connection.
        """

    def remove(self, ids: Sequence[Hashable]) -> tuple[Manifest, IndexedGraphs]:
        """Remove graphs by id, all or none."""


def open_store(place: str | os.PathLike[str] | VectorStore) -> VectorStore:
    """The store at a folder or at an address such as ``postgresql://host/database?index=molecules``."""
    if not isinstance(place, str | os.PathLike):
        return place
    text = os.fspath(place)
    if is_address(text):
        return PostgresStore(DatabaseAddress.parse(text))
    if "://" in text:
        raise InvalidArgument(
            f"no store is known for addresses that begin with {text.partition('://')[0]}://; there are folders, and "
            "addresses that begin with postgresql://"
        )
    return IndexFolder(text)
