"""Labels for training: chosen pairs of a collection with bounds of their distances, in a folder.

::

    labels.json     graphs (count and fingerprint), choice of pairs, method, costs, and a digest of these
    labels.block    pairs, (n, 2) positions in the collection with i < j, lower and upper of each; written at the end
    work/           results of an unfinished job; see store.py
    lock            there while a job works in the folder

All pairs that an executor labels are a grid of blocks over representatives of the isomorphism classes instead, which
is read where it lies: of 10^9 pairs no list is ever made. Then ``grid/`` has the blocks, and the place of each graph in
the grid (``places.block``).
"""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.atomic_files import make_folder
from graphmetric._foundation.limits import check_memory, checked_jobs
from graphmetric._foundation.options import checked_count
from graphmetric.edit_distance.blocks import Solver, block_name, solve_blocks
from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.edit_distance.costs import EditCosts, as_costs
from graphmetric.edit_distance.method import EditDistanceMethod, TimeLimit, as_method
from graphmetric.edit_distance.pairwise import all_pairs_grid, checked_pairs, pairwise_edit_distances
from graphmetric.edit_distance.store import (
    Block,
    BlockStore,
    check_same_job,
    locked,
    read_description,
    write_description,
)
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.formats.conversion import as_graphs
from graphmetric.formats.values import shortened
from graphmetric.graphs.collection import GraphCollection, fingerprint
from graphmetric.graphs.pair_bounds import PairBounds

Pairs = NDArray[np.int64]


SECONDS = 1.0
"""What a time limit of "auto" means for each pair. A label is worth a second: longer searches rarely end."""
_SHOWN = ("pairs", "random_state", "method", "costs")
_OPEN_BLOCKS = 64
"""Blocks that a view keeps mapped."""
_BYTES_PER_LABEL = 64
"""Memory of a label in a list, while it is made."""


@overload
def label_graphs(
    graphs: Any,
    folder: str | Path,
    *,
    pairs: str = "all",
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    n_jobs: int | None = -1,
    time_limit: TimeLimit = "auto",
    random_state: int = 0,
    executor: None = None,
) -> PairBounds: ...
@overload
def label_graphs(
    graphs: Any,
    folder: str | Path,
    *,
    pairs: str = "all",
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    n_jobs: int | None = -1,
    time_limit: TimeLimit = "auto",
    random_state: int = 0,
    executor: Any,
) -> StoredLabels: ...
def label_graphs(
    graphs: Any,
    folder: str | Path,
    *,
    pairs: str = "all",
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    n_jobs: int | None = -1,
    time_limit: TimeLimit = "auto",
    random_state: int = 0,
    executor: Any = None,
) -> PairBounds | StoredLabels:
    """Compute the distances of chosen pairs into a folder; called again after a stop, it continues where it was.

    Args:
        graphs: The graphs; anything :func:`graphmetric.as_graphs` takes.
        folder: Where the labels go. Results are saved there about once a second while they are computed.
        pairs: ``"all"``, ``"random:N"`` or ``"near:N"``.
        method: A method object or its name.
        costs: The price list; by default every edit costs one.
        n_jobs: Threads; -1 is one per core. Not used with an executor.
        time_limit: Seconds for each pair after which its label is a pair of bounds. "auto" is one second for
            ``method="exact"``, while a method object keeps its own limits. None means no limit.
        random_state: Seed of the choice of pairs.
        executor: A :class:`concurrent.futures.Executor` or a dask ``Client``, whose workers then compute the labels in
            blocks; finished blocks are in the folder. What is returned is a view of the folder, and all pairs of a
            collection take no more memory here than its graphs.
    """
    solver, costs = as_method(method, time_limit=time_limit, auto=SECONDS), as_costs(costs)
    graphs, n_jobs = as_graphs(graphs), checked_jobs(n_jobs)
    random_state = checked_count(random_state, "random_state", least=0)
    _check_choice(pairs)
    target = make_folder(_checked_folder(folder))
    job = fingerprint(graphs)
    description = {
        "graphs": len(graphs),
        "fingerprint": job,
        "pairs": pairs,
        "random_state": random_state,
        "method": repr(solver),
        "costs": repr(costs),
    }
    with locked(target):
        if (target / "labels.json").exists():
            check_same_job(target, _read_description(target), description, "labels", _SHOWN)
        else:
            write_description(target / "labels.json", description)
        if pairs == "all" and executor is not None and not _is_listed(target):
            _label_grid(graphs, target, Solver(solver, costs), executor)
        elif not _is_listed(target) and not (target / "grid" / "places.block").exists():
            chosen = choose_pairs(graphs, pairs, costs=costs, random_state=random_state)
            found = pairwise_edit_distances(
                graphs,
                pairs=chosen,
                method=solver,
                costs=costs,
                n_jobs=n_jobs,
                store=target / ("work" if executor is None else "work-in-blocks"),
                executor=executor,
            )
            labels = Block.of({"pairs": chosen, "lower": found.lower, "upper": found.upper})
            labels.write(target / "labels.block", job)
            for work in ("work", "work-in-blocks"):
                shutil.rmtree(target / work, ignore_errors=True)
    stored = open_labels(target, graphs)
    return stored.bounds() if executor is None else stored


def read_labels(folder: str | Path, graphs: Any = None) -> PairBounds:
    """Read what :func:`label_graphs` wrote, into memory; with ``graphs``, check that the labels are theirs."""
    return open_labels(folder, graphs).bounds()


def open_labels(folder: str | Path, graphs: Any = None) -> StoredLabels:
    """A view of what :func:`label_graphs` wrote, which is read as needed; with ``graphs``, check that it is theirs."""
    target = _checked_folder(folder)
    description = _read_description(target)
    if graphs is not None and description.get("fingerprint") != fingerprint(as_graphs(graphs)):
        raise InvalidArgument(f"{target} holds labels of {description.get('graphs')} other graphs, not of these")
    return StoredLabels(target, description)


class StoredLabels:
    """Labels in a folder, read when they are asked for. Blocks are checked when they are opened."""

    def __init__(self, folder: Path, description: dict[str, Any]) -> None:
        """See :func:`open_labels`."""
        self.folder = folder
        costs = description.get("costs")
        self.costs: str | None = costs if isinstance(costs, str) else None
        """The edit costs of the distances, as text."""
        self._job = description.get("fingerprint")
        self._store = None if _is_listed(folder) else _open_grid(folder)
        self._read = lru_cache(_OPEN_BLOCKS)(self._read_block)
        self._list: PairBounds | None = None
        if self._store is not None:
            self._places = self._read("places")["places"]
            self._symmetric = bool(self._store.manifest["pairs"]["symmetric"])

    def __len__(self) -> int:
        if self._store is None:
            return len(self._listed().pairs)
        return len(self._places) * (len(self._places) - 1) // 2

    def __repr__(self) -> str:
        return f"StoredLabels({len(self):,} pairs in {self.folder})"

    def bounds(self, pairs: ArrayLike | None = None) -> PairBounds:
        """The labels of chosen pairs (n, 2) of positions, or all of them, in memory.

        A grid has labels of all pairs, a list only those of its own pairs, with i < j.
        """
        if self._store is None:
            return self._listed() if pairs is None else _chosen_from(self._listed(), pairs, self.folder)
        count = len(self._places)
        if pairs is None:
            advice = "ask for some pairs by bounds(pairs), or for those among some graphs by subset(positions)"
            check_memory(_BYTES_PER_LABEL * len(self), f"a list of {len(self):,} labels", advice)
            pairs = np.column_stack(np.triu_indices(count, k=1))
        chosen = checked_pairs(pairs, count, count)
        return PairBounds(chosen, *self._look_up(*self._places[chosen].T.astype(np.int64)), self.costs)

    def subset(self, positions: ArrayLike) -> PairBounds:
        """The labels of all pairs among some graphs, by their positions in ``positions``."""
        kept = np.asarray(positions, dtype=np.int64)
        if self._store is None:
            return self._listed().subset(kept)
        first, second = np.triu_indices(len(kept), k=1)
        found = self.bounds(np.column_stack([kept[first], kept[second]]))
        return PairBounds(np.column_stack([first, second]), found.lower, found.upper, self.costs)

    def count_exact(self) -> int:
        """The number of labels whose distance is known. It reads all of them, a part at a time."""
        if self._store is None:
            return int(self._listed().exact.sum())
        members, exact, width = np.bincount(self._places), 0, self._store.width
        if not self._symmetric:  # a label is that of the direction from the lower to the higher position
            count = len(self._places)
            rows = (np.column_stack([np.full(count - k, k), np.arange(k, count)])[1:] for k in range(count))
            return sum(int(self.bounds(row).exact.sum()) for row in rows)
        for row in range(-(-len(members) // width)):
            for column in range(row, -(-len(members) // width)):
                block = self._read(block_name(row, column))
                known = block["lower"] == block["upper"]
                left, right = (members[width * k : width * (k + 1)] for k in (row, column))
                if row == column:  # pairs of two graphs once, none of a graph with itself
                    exact += int((np.diag(known) * (left * (left - 1) // 2)).sum())
                    known = np.triu(known, k=1)
                exact += int(left @ known @ right)
        return exact

    def _look_up(self, rows: Pairs, columns: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds by places in the grid; every block is opened once."""
        assert self._store is not None
        width = self._store.width
        if self._symmetric:
            turned = rows // width > columns // width
            rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
        lower, upper = np.empty(len(rows)), np.empty(len(rows))
        block = rows // width * (1 << 32) + columns // width
        order = np.argsort(block, kind="stable")
        for part in np.split(order, 1 + np.flatnonzero(np.diff(block[order]))):
            if len(part) == 0:
                continue
            found = self._read(block_name(int(rows[part[0]]) // width, int(columns[part[0]]) // width))
            place = rows[part] % width, columns[part] % width
            lower[part], upper[part] = found["lower"][place], found["upper"][place]
        return lower, upper

    def _read_block(self, name: str) -> Block:
        assert self._store is not None
        try:
            return self._store.read(name)
        except FileError as error:
            raise FileError(f"{error.problem}; label the graphs again, which computes only what is missing",
                            error.path) from None  # fmt: skip

    def _listed(self) -> PairBounds:
        if self._list is None:
            self._list = _read_list(self.folder, self._job, self.costs)
        return self._list


def _label_grid(graphs: GraphCollection, target: Path, solver: Solver, executor: Any) -> None:
    """All pairs by an executor, into blocks."""
    symmetric = solver.costs.is_symmetric and solver.method.symmetric
    plan, places, _ = all_pairs_grid(graphs, graphs, symmetric, solver)
    store = solve_blocks(plan, executor, target / "grid")
    assert store is not None
    if store.find("places") is None:
        store.write("places", Block.of({"places": places}))


def _is_listed(target: Path) -> bool:
    return (target / "labels.block").exists()


def _open_grid(target: Path) -> BlockStore:
    if (target / "labels.npz").exists():
        raise FileError("is of a version that is no longer read; label the graphs again", target / "labels.npz")
    if not (target / "grid" / "places.block").exists():
        raise FileError("is missing: the labelling has not finished; run it again", target / "labels.block")
    return BlockStore.at(target / "grid")


def _read_list(target: Path, job: Any, costs: str | None) -> PairBounds:
    try:
        block = Block.read(target / "labels.block", job)
        return PairBounds(block["pairs"].astype(np.int64), block["lower"], block["upper"], costs)
    except FileNotFoundError as error:
        raise FileError("is missing: the labelling has not finished; run it again", error.filename) from None
    except InvalidArgument as error:
        raise FileError(f"pairs and labels do not belong together: {error}", target) from None
    except FileError as error:
        raise FileError(f"cannot be read as labels: {error.problem}", error.path) from None
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"cannot be read as labels: {error}", target) from None


def _chosen_from(labels: PairBounds, pairs: ArrayLike, folder: Path) -> PairBounds:
    """Some of the labels of a list, which is sorted."""
    count = int(labels.pairs.max(initial=-1)) + 1
    chosen = np.sort(checked_pairs(pairs, count, count), axis=1)
    known, wanted = (array[:, 0] * count + array[:, 1] for array in (labels.pairs, chosen))
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    if len(missing := np.flatnonzero(known[place] != wanted)):
        raise InvalidArgument(f"{folder} has no label of graphs {tuple(chosen[missing[0]].tolist())}")
    return labels.take(place)


def _checked_folder(folder: Any) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise InvalidArgument(f"folder must be a path; got {type(folder).__name__} {shortened(folder)}")
    return Path(folder)


def _read_description(target: Path) -> dict[str, Any]:
    if not (target / "labels.json").exists():
        raise FileError("is not a folder of labels: it has no labels.json", target)
    return read_description(target / "labels.json")


def choose_pairs(
    graphs: GraphCollection, choice: str, *, costs: EditCosts | None = None, random_state: int | None = 0
) -> Pairs:
    """Pairs (i, j) with i < j, each once, sorted: ``"all"``, ``"random:N"`` or ``"near:N"``.

    Near pairs are pairs of a graph and one of those with the smallest lower bound (label counts and degrees) to it;
    the graphs they start from are drawn at random when there are more graphs than pairs.
    """
    kind, number = _check_choice(choice)
    rng = np.random.default_rng(random_state)
    count = len(graphs)
    if kind == "all":
        return np.column_stack(np.triu_indices(count, k=1)).astype(np.int64)
    wanted = min(number, count * (count - 1) // 2)
    if wanted == 0:
        return np.empty((0, 2), dtype=np.int64)
    if kind == "random":
        return _pairs_of_ranks(np.sort(rng.choice(count * (count - 1) // 2, wanted, replace=False)), count)
    return _near_pairs(CollectionBounds.of(graphs, costs), wanted, rng)


def _check_choice(choice: Any) -> tuple[str, int]:
    """The kind of a choice of pairs and its number, 0 for all pairs; raises if there is no such choice."""
    kind, _, number = choice.partition(":") if isinstance(choice, str) else ("", "", "")
    if choice == "all" or (kind in ("random", "near") and number.isdecimal() and int(number) >= 1):
        return kind, int(number or 0)
    raise InvalidArgument(f"pairs is {shortened(choice)}; it takes 'all', 'random:N' or 'near:N' with a number N")


def _pairs_of_ranks(ranks: NDArray[np.int64], count: int) -> Pairs:
    """The pairs at these places of the list (0, 1), (0, 2), ..., (1, 2), ..."""
    ends = np.cumsum(np.arange(count - 1, 0, -1))  # after the pairs of graph 0, 1, ...
    i = np.searchsorted(ends, ranks, side="right")
    j = count - (ends[i] - ranks)
    return np.column_stack([i, j]).astype(np.int64)


def _near_pairs(bounds: CollectionBounds, wanted: int, rng: np.random.Generator) -> Pairs:
    count = bounds.count
    starts = rng.permutation(count)
    found: set[tuple[int, int]] = set()
    neighbours = -(-wanted // min(count, wanted))
    while len(found) < wanted:
        for k in starts.tolist():
            lower = bounds.to_all(k)
            lower[k] = np.inf
            tie_break = rng.random(count)
            for other in np.lexsort((tie_break, lower))[:neighbours].tolist():
                if len(found) < wanted and other != k:
                    found.add((min(k, other), max(k, other)))
            if len(found) == wanted:
                break
        neighbours *= 2  # mutual neighbours were counted twice
    return np.array(sorted(found), dtype=np.int64)
