"""Graphs with what a learned distance needs to find them, in memory, and the stores that keep them.

In memory are a run of graphs (:mod:`~graphmetric.index.segment`), what makes one (:mod:`~graphmetric.index.building`),
the graphs of an index (:mod:`~graphmetric.index.graphs`) and an index that is open
(:mod:`~graphmetric.index.open_index`). The stores have the protocol :class:`~graphmetric.index.store.IndexStore`. The
folder keeps segments, which a reader maps; others see changes after saving. A PostgreSQL database keeps a row for each
graph and finds candidates by itself; every change is written at once.
"""

from __future__ import annotations

import os

from graphmetric.errors import InvalidArgument
from graphmetric.index.folder.store import IndexFolder
from graphmetric.index.postgres.address import DatabaseAddress, is_address
from graphmetric.index.postgres.store import PostgresStore
from graphmetric.index.store import IndexStore, TransactionalStore

__all__ = ["IndexStore", "TransactionalStore", "open_store"]


def open_store(place: str | os.PathLike[str] | IndexStore) -> IndexStore:
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
