"""The stores of indexes: what each can do, and the records that pass through it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from graphmetric.edit_distance import EditCosts
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.index.building import GraphWriter
from graphmetric.index.graphs import IndexedGraphs
from graphmetric.index.segment import StoredSegment

if TYPE_CHECKING:
    from graphmetric.learned.learned_distance import LearnedDistance

Part = Literal["map"]
"""Files beside the segments, named by their digest."""
Make = Callable[[GraphWriter], Any]
"""Gives all graphs to a writer; returns what that makes of them."""
Chosen = TypeVar("Chosen")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of ``index.json`` or of the catalogue of a database."""

    model: str | None
    """The digest of the model; None if the index has none."""
    next_number: int
    """The id for the next graph that has none."""
    segments: tuple[StoredSegment, ...] = ()
    """The segments of a folder; a database keeps graphs by rows."""
    costs: EditCosts | None = None
    """The edit costs of certified searches; None for those of the model, or unit costs without one."""
    reading: MoleculeOptions | None = None
    """Options by which the molecules were read; None if not recorded."""
    parts: Mapping[Part, str] = field(default_factory=dict)
    """The digest of the places of the graphs in the plane, if a map was built."""
    edition: str = ""
    """A new random text each time the index is written."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexRecord:
    """Parts of an index other than its graphs, for writing."""

    model: LearnedDistance | None
    costs: EditCosts | None
    next_number: int
    """The id for the next graph that has none."""
    reading: MoleculeOptions | None = None
    """Options by which the molecules were read; None if not recorded."""
    parts: Mapping[Part, bytes] = field(default_factory=dict)


class IndexStore(Protocol):
    """A store of one index. Its failures are raised as FileErrors that name it."""

    place: str
    """The folder, or the address without a password, for messages and to distinguish stores."""
    name: str
    """A short name for people."""

    def exists(self) -> bool:
        """Return whether there is an index."""

    def size(self) -> int:
        """Bytes on the disk."""

    def read(self) -> Manifest:
        """Return the present content of the index."""

    def open(self, choose: Callable[[Manifest], Chosen], verify: bool | None) -> tuple[Chosen, Manifest, IndexedGraphs]:
        """Open the present edition; ``choose`` loads its model, and is called at each attempt."""

    def model(self, digest: str) -> AbstractContextManager[Path]:
        """A folder with the model of this digest."""

    def read_part(self, part: Part, digest: str) -> bytes:
        """The content of a part; raises FileError where it is missing or was changed."""

    def replace(
        self, make: Make, record: Callable[[], IndexRecord], base: str | None
    ) -> tuple[Manifest, IndexedGraphs]:
        """Write a whole index, with a few thousand graphs in memory at a time.

        Args:
            make: Gives all graphs to a writer.
            record: Returns the other parts to write; called after all graphs are written.
            base: The edition that the new one comes from; raises FileError if that is no longer the present one. None
                replaces whatever is there.
        """

    def save(self, graphs: IndexedGraphs, record: IndexRecord, base: str | None) -> Manifest:
        """Write what is not there yet."""


@runtime_checkable
class TransactionalStore(IndexStore, Protocol):
    """A store that is changed at once, also by several writers; who changes it sees the changes of all others."""

    def append(self, make: Make, numbered: range) -> tuple[Manifest, IndexedGraphs]:
        """Add graphs, all or none.

        ``numbered`` are the ids that graphs without one were given; if others took these meanwhile, the graphs get the
        next ones. ``make`` may be called again after a lost connection.
        """

    def remove(self, ids: Sequence[Hashable]) -> tuple[Manifest, IndexedGraphs]:
        """Remove graphs by id, all or none."""
