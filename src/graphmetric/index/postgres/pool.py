"""Connections of a process to PostgreSQL databases: shared, with retries when one is lost, and their errors.

No password leaves an address: messages show the address without it, and it is removed from messages of the database
and its client. Reads are retried when a connection is lost. So are writes as long as nothing was committed, which the
writer checks (:meth:`Database.write`). All indexes of a process share the connections to an address, of
which there are never more than :data:`MOST_CONNECTIONS`.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from graphmetric.errors import MissingExtra, StoreError
from graphmetric.index.postgres.address import DatabaseAddress

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection, Cursor
    from psycopg.sql import Composed

_PAUSES = (0.05, 0.25, 1.0)
"""Seconds to wait before each further attempt after a connection was lost."""
_TIMEOUTS = {"statement_timeout": "60s", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "15min"}
"""Settings of each session, unless the address has others in its options."""
_LOST = ("08", "57P")
"""States of errors after which a connection is gone."""
_IN_THE_WAY = ("40001", "40P01")
"""States of errors of transactions that got into each other's way."""
_PROBLEMS = {
    "55P03": "is being written by another process; try again later",
    "57014": "did not answer in time, or was told to stop: {said}",
    "42P01": "was replaced since this index was opened: load it again ({said})",
}
"""Explanations of SQLSTATE codes."""
MOST_CONNECTIONS = 24
"""Connections of a process to one address. A server by itself takes a hundred from all its clients."""
_IDLE = 8
"""Connections kept for later."""
_WAIT_SECONDS = 60.0
"""Seconds that a thread waits for a connection while all are in use."""

Result = TypeVar("Result")


class ConnectionPool:
    """The connections of this process to one address, shared by all that use it; closed when nobody does."""

    _of: ClassVar[WeakValueDictionary[tuple[str, int], ConnectionPool]] = WeakValueDictionary()
    _of_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, address: DatabaseAddress, psycopg: Any) -> None:
        self._address, self._psycopg = address, psycopg
        self._idle: deque[Connection[Any]] = deque()  # whose methods are atomic
        self._settings: WeakKeyDictionary[Connection[Any], dict[str, str]] = WeakKeyDictionary()
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        weakref.finalize(self, _close_all, self._idle, os.getpid())

    @classmethod
    def of(cls, address: DatabaseAddress, psycopg: Any) -> ConnectionPool:
        """The pool of this process for an address; a forked process has its own."""
        with cls._of_lock:
            key = address.conninfo, os.getpid()
            pool = cls._of[key] = cls._of.get(key) or cls(address, psycopg)
            return pool

    @contextmanager
    def connection(self, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Connection[Any]]:
        """A connection that nobody else uses meanwhile, with these settings; after an error it is closed."""
        if not self._free.acquire(timeout=_WAIT_SECONDS):
            raise StoreError(
                f"is in use by {MOST_CONNECTIONS} threads of this process, and none was done within {_WAIT_SECONDS:g} "
                "seconds; use fewer threads",
                self._address.shown,
            )
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                self._adjust(connection, settings)
                yield connection
            except BaseException:
                connection.close()
                raise
            if len(self._idle) < _IDLE and connection.adapters.types.get("vector"):  # pgvector was there already
                self._idle.append(connection)
            else:
                connection.close()
        finally:
            self._free.release()

    def close_idle(self) -> None:
        """Close the connections that are not in use."""
        _close_all(self._idle, os.getpid())

    def _adjust(self, connection: Connection[Any], settings: Mapping[str, str]) -> None:
        """Give a connection these settings; it keeps them, so that the next search need not send them again."""
        own = self._settings.setdefault(connection, {})
        for name, value in settings.items():
            if own.get(name) != value:
                connection.execute("select set_config(%s, %s, false)", (name, value))
                own[name] = value

    def _connect(self) -> Connection[Any]:
        from pgvector.psycopg import register_vector

        connection: Connection[Any] = self._psycopg.connect(self._address.conninfo, autocommit=True)
        try:
            options = connection.info.options
            for name, value in _TIMEOUTS.items():
                if name not in options:
                    connection.execute("select set_config(%s, %s, false)", (name, value))
            with suppress(self._psycopg.ProgrammingError):  # the extension is created with the first index
                register_vector(connection)
        except BaseException:
            connection.close()
            raise
        return connection


class Database:
    """A database as one index uses it; by several threads if need be, and by processes that were forked."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.address = address
        self._psycopg = _load_psycopg()
        self._pool = ConnectionPool.of(address, self._psycopg)

    def read(self, work: Callable[[Cursor[Any]], Result]) -> Result:
        """Do work that changes nothing in one transaction; it is tried again when the connection is lost."""
        return self._try(lambda: self._transact(work))

    def fetch_all(
        self, query: bytes | Composed, values: Sequence[Any] = (), settings: Mapping[str, str] | None = None
    ) -> list[Any]:
        """The rows that one query gives; tried again like :meth:`read`.

        Other queries of the same connection may see the ``settings`` as well.
        """

        def work() -> list[Any]:
            with self._connections().connection(settings or {}) as connection, connection.cursor(binary=True) as cursor:
                return cursor.execute(query, values).fetchall()

        return self._try(work)

    def write(self, work: Callable[[Cursor[Any]], Result], is_done: Callable[[Cursor[Any]], bool]) -> Result | None:
        """Run work in one transaction, which is retried when the connection is lost.

        A connection that broke at the end may have committed, so ``is_done`` is called before every attempt but the
        first; returns None if the work was done.
        """
        earlier = count()

        def attempt(cursor: Cursor[Any]) -> Result | None:
            return None if next(earlier) and is_done(cursor) else work(cursor)

        return self._try(lambda: self._transact(attempt))

    def write_once(self, work: Callable[[Cursor[Any]], Result]) -> Result:
        """Do work in one transaction that cannot be tried again."""
        try:
            return self._transact(work)
        except self._psycopg.Error as error:
            raise self._told(error, "; nothing was written") from None

    def _try(self, work: Callable[[], Result]) -> Result:
        for pause in (*_PAUSES, None):
            try:
                return work()
            except self._psycopg.Error as error:
                if pause is None or not self._may_pass(error):
                    raise self._told(error) from None
            time.sleep(pause)
        raise AssertionError

    def _transact(self, work: Callable[[Cursor[Any]], Result]) -> Result:
        with (
            self._connections().connection() as connection,
            connection.transaction(),
            connection.cursor(binary=True) as cursor,
        ):
            return work(cursor)

    def _connections(self) -> ConnectionPool:
        self._pool = ConnectionPool.of(self.address, self._psycopg)  # a forked process has its own
        return self._pool

    def _may_pass(self, error: psycopg.Error) -> bool:
        """Return whether another attempt may succeed. After a loss the other idle connections are likely lost, too."""
        state = error.sqlstate
        if state in _IN_THE_WAY:
            return True
        is_lost = isinstance(error, self._psycopg.OperationalError | self._psycopg.InterfaceError) and (
            state is None or state.startswith(_LOST)
        )
        if is_lost:
            self._connections().close_idle()
        return is_lost and "authentication" not in str(error)

    def _told(self, error: psycopg.Error, more: str = "") -> StoreError:
        """Convert an error of the client to an error of this package."""
        said = " ".join(self.address.hide(str(error)).split()) or type(error).__name__
        problem = _PROBLEMS.get(error.sqlstate or "", "cannot be read or written: {said}").format(said=said)
        return StoreError(problem + more, self.address.shown)


def _close_all(idle: deque[Connection[Any]], process: int) -> None:
    """Close connections, unless this is a child of the process that opened them."""
    with suppress(IndexError):
        while process == os.getpid():
            idle.pop().close()


def _load_psycopg() -> Any:
    try:
        import_module("pgvector.psycopg")
        return import_module("psycopg")
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "an index in PostgreSQL") from None
