"""Everything graphmetric raises on purpose.

::

    GraphMetricError
    ├── InvalidGraph            (ValueError)         a graph, column or collection that cannot exist
    ├── InvalidArgument         (ValueError)         a parameter outside what is allowed
    ├── FileError               (ValueError)         a file that cannot be read or written as asked
    │   ├── UnknownFormat                            no reader or writer for this name or suffix
    │   ├── LimitExceeded                            larger than the reader's limits allow
    │   └── StoreError                               a database that cannot be reached, or refuses
    ├── DatasetNotFound         (FileNotFoundError)  a benchmark whose files are not where we looked
    ├── MissingExtra            (ImportError)        an optional dependency that is not installed
    ├── NotEnoughMemory         (MemoryError)        work that would need more memory than there is
    ├── WorkBudgetExceeded      (RuntimeError)       a search that was stopped by its own limit
    ├── WorkerLost              (RuntimeError)       an executor whose workers died again and again
    ├── ServiceError            (ConnectionError)    a service that cannot be reached, or does not answer now
    └── TrainingDiverged        (ArithmeticError)    a training whose loss has exploded or is not finite

    SearchInterrupted           (KeyboardInterrupt)  Ctrl-C during one search, with the bounds found so far
    ConversionWarning           (UserWarning)        something was left out, or there was nothing to convert
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EXTRAS: dict[str, dict[str, str]] = {
    "learn": {"torch": "torch", "safetensors": "safetensors", "sklearn": "scikit-learn", "jaxtyping": "jaxtyping"},
    "molecules": {"rdkit": "rdkit"},
    "igraph": {"igraph": "igraph"},
    "pyg": {"torch_geometric": "torch_geometric", "torch": "torch"},
    "plot": {"matplotlib": "matplotlib"},
    "search": {"faiss": "faiss-cpu"},
    "serve": {"fastapi": "fastapi", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client"},
    "parquet": {"pyarrow": "pyarrow"},
    "cluster": {"dask": "dask", "distributed": "distributed"},
    "postgres": {"psycopg": "psycopg", "pgvector": "pgvector"},
    "tensorboard": {"tensorboardX": "tensorboardX"},
    "pandas": {"pandas": "pandas"},
    "widget": {"anywidget": "anywidget"},
}
"""The packages of each extra: the name under which a package is imported -> the one under which it is installed."""


class GraphMetricError(Exception):
    """Base of every error that graphmetric raises on purpose."""


class InvalidGraph(GraphMetricError, ValueError):
    """A graph, one of its columns, or a collection that contradicts itself."""


class InvalidArgument(GraphMetricError, ValueError):
    """A parameter outside what is allowed."""


class FileError(GraphMetricError, ValueError):
    """A file that cannot be read or written as asked; names the file and, where known, the line or element."""

    def __init__(self, problem: str, path: object = None, where: str | int | None = None) -> None:
        self.problem = problem
        self.path = None if path is None else str(path)
        self.where = f"line {where}" if isinstance(where, int) else where
        super().__init__(problem, self.path, self.where)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.path, self.where, self.problem) if part)


class UnknownFormat(FileError):
    """There is no reader or writer for this name or suffix."""


class LimitExceeded(FileError):
    """The input is larger than the reader's limits allow."""


class StoreError(FileError):
    """A database that holds an index cannot be reached, refuses, or does not hold what it should.

    The message names the database without its password.
    """


class DatasetNotFound(GraphMetricError, FileNotFoundError):
    """The files of a named data set are not where they were looked for."""


class MissingExtra(GraphMetricError, ImportError):
    """An optional dependency is not installed; the message has the pip command."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed: pip install 'graphmetric[{extra}]'")
        self.package, self.extra = package, extra


class NotEnoughMemory(GraphMetricError, MemoryError):
    """The work would need more memory than is available; the message says how much, and what to do instead."""


class WorkBudgetExceeded(GraphMetricError, RuntimeError):
    """A search was stopped by its own work limit before it could answer."""


class WorkerLost(GraphMetricError, RuntimeError):
    """The workers of an executor died again and again, or it takes no more work; what is in a store is kept."""


class ServiceError(GraphMetricError, ConnectionError):
    """A service cannot be reached, refuses the token, or has no time now."""

    def __init__(self, problem: str, status: int | None = None, retry_after: int | None = None) -> None:
        super().__init__(problem)
        self.status = status
        """The status of its answer; None if there was none."""
        self.retry_after = retry_after
        """Seconds after which it asks to try again, if it does."""


class TrainingDiverged(GraphMetricError, ArithmeticError):
    """The loss or a gradient of a training has exploded or is not finite; the message says what to try."""


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C was pressed while the distance of two graphs was computed, or during a certified search.

    It is not a :class:`GraphMetricError`, so that it ends a program as every ``KeyboardInterrupt`` does.
    """

    def __init__(self, known: Any) -> None:
        super().__init__(f"stopped by Ctrl-C; known by then: {known!r}")
        self.known = known
        """The result so far: a :class:`~graphmetric.EditDistance` with valid bounds, or the result of a search."""


class ConversionWarning(UserWarning):
    """Something was left out when graphs were read, written or converted, or there was nothing to convert."""


@contextmanager
def needs_extra(extra: str, purpose: str) -> Iterator[None]:
    """Within the block, a package of this extra that is not installed raises MissingExtra instead.

    The block holds imports alone. A package that is installed but cannot be loaded keeps its own error.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = EXTRAS[extra].get((error.name or "").partition(".")[0])
        if package is None:
            raise
        raise MissingExtra(package, extra, purpose) from None
