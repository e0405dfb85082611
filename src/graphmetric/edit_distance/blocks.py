"""Pairs in blocks for an executor: a plan that is generated, tasks that carry their graphs, results of little size.

All pairs of a collection are a grid of blocks over *representatives*, one graph of each isomorphism class, and chosen
pairs are cut into runs. The plan is never a list: the caller holds the graphs, and the few blocks that are on their
way. A task has the graphs of its block and nothing else, so that any worker can do it, or do it again.

Representatives are shuffled, so that every block is a fair sample of all pairs: a few pairs that are measured first say
how long any block will take, and how large it should be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.executors import as_executor, count_workers, run_tasks
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.method import EditDistanceMethod, Pairs
from graphmetric.edit_distance.schedule import PairQuestions
from graphmetric.edit_distance.store import Block, BlockStore, PairResults, open_blocks
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection, fingerprint

WIDEST, _NARROWEST = 256, 8
"""Graphs on each side of a block: the graphs of a block of 256 by 256 small ones are some 80 kB."""
_BLOCK_SECONDS = 10.0
"""What a block should take at most: little is lost with a worker, and workers end together."""
_BLOCKS_PER_WORKER = 4
_SAMPLE, _SAMPLE_SECONDS = 256, 1.0
"""Pairs that are measured to choose the size of blocks, and when to stop measuring."""

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Solver:
    """How pairs are solved; part of every task."""

    method: EditDistanceMethod
    costs: EditCosts
    version: str = version("graphmetric")
    """Workers of another version may answer otherwise, so they refuse."""

    def solve(self, graphs: GraphCollection, pairs: Pairs) -> PairResults:
        """The results of pairs of positions."""
        own = version("graphmetric")
        if own != self.version:
            raise InvalidArgument(f"a worker has graphmetric {own}, and the caller {self.version}; install the same")
        return PairQuestions(graphs, graphs, pairs, self.method, self.costs).solve_alone()

    def pack(self, results: PairResults, shape: Callable[[NDArray[Any]], NDArray[Any]]) -> Block:
        """Results in the shape of a block."""
        columns: dict[str, NDArray[Any]] = {name: shape(getattr(results, name)) for name in ("lower", "upper", "value")}
        converged = self.method.converged(results.expanded)
        if converged is not None:
            columns["converged"] = shape(converged)
        return Block.of(columns, int(results.expanded.sum()), float(results.seconds.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class PairGrid:
    """All pairs of the representatives of one collection, or of two."""

    solver: Solver
    first: GraphCollection
    second: GraphCollection
    rows: Positions
    """Positions of the representatives in ``first``, in the order of the grid."""
    columns: Positions
    """The same in ``second``."""
    symmetric: bool
    """Whether the collections are the same and so are both directions: half of the grid is enough."""

    @property
    def count(self) -> int:
        """The number of pairs."""
        rows, columns = len(self.rows), len(self.columns)
        return rows * (rows + 1) // 2 if self.symmetric else rows * columns

    def describe(self) -> dict[str, Any]:
        """What tells these pairs from others."""
        graphs = [self.first] if self.second is self.first else [self.first, self.second]
        orders = [
            blake2b(order.astype("<i8").tobytes(), digest_size=16).hexdigest() for order in (self.rows, self.columns)
        ]
        return {
            "graphs": [fingerprint(collection) for collection in graphs],
            "pairs": {"rows": len(self.rows), "columns": len(self.columns), "symmetric": self.symmetric},
            "order": orders,
        }

    def names(self, width: int) -> Iterator[str]:
        """The names of all blocks, made as they are asked for."""
        for row in range(-(-len(self.rows) // width)):
            for column in range(row if self.symmetric else 0, -(-len(self.columns) // width)):
                yield block_name(row, column)

    def sides(self, name: str, width: int) -> tuple[slice, slice]:
        """The places of a block in the order of the rows and of the columns."""
        row, column = map(int, name.split("-"))
        return slice(width * row, width * (row + 1)), slice(width * column, width * (column + 1))

    def size(self, name: str, width: int) -> int:
        """The number of pairs of a block."""
        row, column = self.sides(name, width)
        rows, columns = len(self.rows[row]), len(self.columns[column])
        return rows * (rows + 1) // 2 if self.symmetric and row == column else rows * columns

    def task(self, name: str, width: int) -> tuple[Any, ...]:
        """A function that a worker calls, and its arguments."""
        row, column = self.sides(name, width)
        rows, columns, on_diagonal = self.rows[row], self.columns[column], self.symmetric and row == column
        graphs = self.first[rows] if on_diagonal else self.first[rows] + self.second[columns]
        return solve_tile, self.solver, graphs, rows, columns, self.symmetric, on_diagonal

    def sample(self, rng: np.random.Generator, size: int) -> Block:
        """Some pairs at random, solved here."""
        row, column = (rng.integers(0, len(order), size) for order in (self.rows, self.columns))
        graphs = self.first[self.rows[row]] + self.second[self.columns[column]]
        return solve_run(self.solver, graphs, np.column_stack([np.arange(len(row)), len(row) + np.arange(len(row))]))


@dataclass(frozen=True, slots=True, eq=False)
class PairRuns:
    """A list of pairs, cut into runs as long as a block of the grid; otherwise like :class:`PairGrid`."""

    solver: Solver
    first: GraphCollection
    second: GraphCollection
    pairs: Pairs

    @property
    def count(self) -> int:
        return len(self.pairs)

    def describe(self) -> dict[str, Any]:
        listed = PairQuestions(self.first, self.second, self.pairs, self.solver.method, self.solver.costs).describe()
        return {key: listed[key] for key in ("graphs", "pairs")}

    def names(self, width: int) -> Iterator[str]:
        return (f"{k:08d}" for k in range(-(-self.count // width**2)))

    def run(self, name: str, width: int) -> slice:
        """The place of a block among the pairs."""
        return slice(int(name) * width**2, (int(name) + 1) * width**2)

    def size(self, name: str, width: int) -> int:
        return len(self.pairs[self.run(name, width)])

    def task(self, name: str, width: int) -> tuple[Any, ...]:
        return solve_run, self.solver, *self._alone(self.pairs[self.run(name, width)])

    def sample(self, rng: np.random.Generator, size: int) -> Block:
        """Some pairs at random, solved here."""
        return solve_run(self.solver, *self._alone(self.pairs[rng.integers(0, self.count, size)]))

    def _alone(self, pairs: Pairs) -> tuple[GraphCollection, NDArray[np.uint32]]:
        """The graphs of some pairs, and the pairs as positions among them."""
        rows, row = np.unique(pairs[:, 0], return_inverse=True)
        columns, column = np.unique(pairs[:, 1], return_inverse=True)
        places = np.column_stack([row.ravel(), len(rows) + column.ravel()]).astype(np.uint32)
        return self.first[rows] + self.second[columns], places


PairPlan = PairGrid | PairRuns


def shuffled(representatives: Positions) -> Positions:
    """The order of representatives in a grid."""
    return np.random.default_rng(0).permutation(np.unique(representatives).astype(np.int64))


def block_name(row: int, column: int) -> str:
    """The name of a block by its place in the grid."""
    return f"{row:05d}-{column:05d}"


def solve_tile(
    solver: Solver, graphs: GraphCollection, rows: Positions, columns: Positions, symmetric: bool, on_diagonal: bool
) -> Block:
    """All pairs of two runs of graphs, which follow each other in ``graphs``; they are one run on the diagonal.

    A pair has the direction that it has without an executor, from the lower to the higher position: bounds of a search
    that was stopped may depend on it.
    """
    shape = len(rows), len(columns)
    row, column = (
        np.triu_indices(len(rows)) if on_diagonal else (place.ravel() for place in np.indices(shape, dtype=np.int64))
    )
    pairs = np.column_stack([row, column if on_diagonal else len(rows) + column]).astype(np.int64)
    turned = rows[row] > columns[column] if symmetric else np.zeros(len(row), dtype=np.bool_)
    pairs[turned] = pairs[turned, ::-1]

    def as_square(values: NDArray[Any]) -> NDArray[Any]:
        square = np.empty(shape, dtype=values.dtype)
        square[row, column] = values
        if on_diagonal:
            square[column, row] = values
        return square

    return solver.pack(solver.solve(graphs, pairs), as_square)


def solve_run(solver: Solver, graphs: GraphCollection, pairs: NDArray[np.integer[Any]]) -> Block:
    """Listed pairs of positions."""
    return solver.pack(solver.solve(graphs, pairs.astype(np.int64)), lambda values: values)


def solve_blocks(
    plan: PairPlan,
    executor: Any,
    store: str | os.PathLike[str] | None,
    take: Callable[[str, int, Block], None] = lambda name, width, block: None,
) -> BlockStore | None:
    """Solve all blocks of a plan that the store does not have, and hand each to ``take`` with its name and the width.

    A finished block is on disk at once: whatever happens to the caller, only blocks on their way are computed again.
    """
    pool, solver = as_executor(executor), plan.solver
    about = {**plan.describe(), "method": repr(solver.method), "costs": repr(solver.costs)}
    with ExitStack() as stack:
        kept = None
        if store is not None:
            kept = stack.enter_context(open_blocks(store, about, lambda: choose_width(plan, count_workers(pool))))
        width = kept.width if kept is not None else choose_width(plan, count_workers(pool))
        bar = stack.enter_context(progress(f"edit distances ({solver.method.name})", plan.count, "pairs"))

        def finish(name: str, block: Block) -> None:
            take(name, width, block)
            bar.advance(plan.size(name, width))

        def missing() -> Iterator[tuple[str, tuple[Any, ...]]]:
            for name in plan.names(width):
                found = None if kept is None else kept.find(name)
                if found is None:
                    yield name, plan.task(name, width)
                else:
                    finish(name, found)

        for name, block in run_tasks(pool, _call, missing()):
            if kept is not None:
                kept.write(name, block)
            finish(name, block)
        return kept


def choose_width(plan: PairPlan, workers: int) -> int:
    """How many graphs a block has on each side, from the time that some pairs take here."""
    rng, solved, seconds = np.random.default_rng(0), 0, 0.0
    size = 4
    while plan.count and solved < _SAMPLE and seconds < _SAMPLE_SECONDS:
        block = plan.sample(rng, size)
        if size > 4:  # the first pairs may have waited for the compiler
            solved, seconds = solved + size, seconds + block.seconds
        size *= 2
    per_pair, width = seconds / max(1, solved), WIDEST
    while width > _NARROWEST and width**2 * per_pair > _BLOCK_SECONDS:
        width //= 2
    while width > 2 * _NARROWEST and plan.count < _BLOCKS_PER_WORKER * workers * width**2:
        width //= 2
    return width


def _call(work: Callable[..., Block], *arguments: Any) -> Block:
    return work(*arguments)
