"""Edit distances of many pairs: on all cores, each question once, nothing lost when stopped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.registry import as_method
from graphmetric.edit_distance.store import ChunkStore, PairResults, fingerprint
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs.canonical import isomorphism_classes
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.conversion import as_graphs
from graphmetric.progress import progress

CHUNK = 2_000
"""Pairs per unit of work: a fraction of a second for small graphs, one file in the store."""

Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseDistances:
    """Bounds of many distances, in the shape of the question.

    With ``pairs`` the arrays have one entry per pair; without, they are matrices over the graphs.
    """

    lower: NDArray[np.float64]
    """The distance is at least this; 0 where the method gives no lower bound."""
    upper: NDArray[np.float64]
    """The distance is at most this; infinite where the method gives no upper bound."""
    value: NDArray[np.float64]
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    nodes_expanded: int
    """Search-tree nodes of all pairs together."""
    computed: int
    """How many pairs were computed, after copies of the same question were removed."""

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Where the distance is proven."""
        return np.asarray(self.lower == self.upper)

    @property
    def distances(self) -> NDArray[np.float64]:
        """The proven distances, NaN elsewhere."""
        return np.where(self.exact, self.upper, np.nan)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.distances if dtype is None else self.distances.astype(dtype)

    def __repr__(self) -> str:
        shape = " x ".join(str(length) for length in self.value.shape)
        return f"PairwiseDistances({shape}, {self.exact.mean() if self.exact.size else 1:.1%} proven exact)"


def pairwise_edit_distances(
    graphs: Any,
    others: Any = None,
    *,
    pairs: ArrayLike | None = None,
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    n_jobs: int | None = 1,
    time_limit_per_pair: float | None = None,
    store: str | os.PathLike[str] | None = None,
) -> PairwiseDistances:
    """Edit distances within one collection, between two, or of chosen pairs.

    Args:
        graphs: The graphs; anything :func:`graphmetric.as_graphs` takes.
        others: A second collection; by default the distances are within the first.
        pairs: (n, 2) positions in ``graphs`` and in ``others`` (or ``graphs`` again); by default all pairs.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        n_jobs: Threads, as joblib counts them: -1 is one per core. Inside ``joblib.parallel_config(backend=...)`` the
            work goes to that backend, such as a Dask cluster.
        time_limit_per_pair: Seconds after which the exact search returns the bounds it has.
        store: Folder in which finished chunks are kept; a job that was stopped goes on from there.

    Example:
        >>> import graphmetric as gm
        >>> path = gm.Graph(3, [(0, 1), (1, 2)])
        >>> triangle = gm.Graph(3, [(0, 1), (1, 2), (0, 2)])
        >>> pairwise_edit_distances([path, triangle, path]).distances.tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    first = as_graphs(graphs)
    second = first if others is None else as_graphs(others)
    costs = costs or EditCosts()
    solver = as_method(method, time_limit=time_limit_per_pair)
    symmetric = second is first and costs.is_symmetric and solver.symmetric
    shape = (len(first), len(second))
    if pairs is None:
        asked = _all_pairs(first, second, symmetric)
    else:
        first, second, asked = _only_used(first, second, checked_pairs(pairs, *shape))
    questions, place = _distinct_questions(first, second, asked, solver, costs)
    results = _solve(first, second, questions, solver, costs, n_jobs, store)
    columns = [column[place] for column in (results.lower, results.upper, results.value)]
    if pairs is None:
        columns = [_as_matrix(column, asked, shape, symmetric) for column in columns]
    lower, upper, value = columns
    return PairwiseDistances(lower, upper, value, int(results.expanded.sum()), len(questions))


def checked_pairs(pairs: ArrayLike, rows: int, columns: int) -> Pairs:
    """Pairs of positions as an (n, 2) array; raises when one is outside."""
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidArgument(f"pairs must be integers of shape (n, 2); got {array.dtype} of shape {array.shape}")
    for side, count in enumerate((rows, columns)):
        wrong = np.flatnonzero((array[:, side] < 0) | (array[:, side] >= count))
        if len(wrong):
            k = wrong[0]
            raise InvalidArgument(f"pairs[{k}] is {tuple(array[k].tolist())}; graphs are numbered 0..{count - 1}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _only_used(
    first: GraphCollection, second: GraphCollection, pairs: Pairs
) -> tuple[GraphCollection, GraphCollection, Pairs]:
    """The graphs that occur in the pairs, so that a few pairs of a large collection cost no more than themselves."""
    if second is first:
        used, place = np.unique(pairs, return_inverse=True)
        chosen = first[used]
        return chosen, chosen, place.reshape(pairs.shape)
    rows, row_place = np.unique(pairs[:, 0], return_inverse=True)
    columns, column_place = np.unique(pairs[:, 1], return_inverse=True)
    return first[rows], second[columns], np.column_stack([row_place, column_place])


def _all_pairs(first: GraphCollection, second: GraphCollection, symmetric: bool) -> Pairs:
    if symmetric:
        return np.column_stack(np.triu_indices(len(first))).astype(np.int64)
    return np.stack(np.meshgrid(np.arange(len(first)), np.arange(len(second)), indexing="ij"), axis=-1).reshape(-1, 2)


def _distinct_questions(
    first: GraphCollection, second: GraphCollection, pairs: Pairs, method: EditDistanceMethod, costs: EditCosts
) -> tuple[Pairs, NDArray[np.intp]]:
    """Representatives of the pairs, and for each pair the place of its representative.

    Only the exact distance does not depend on how nodes are numbered, so only for it isomorphic graphs are the same.
    """
    if len(pairs) == 0:
        return pairs, np.empty(0, dtype=np.intp)
    rows, columns = np.arange(len(first)), np.arange(len(second))
    if method.guarantee == "exact":
        rows, columns = _representatives(first, second)
    keys = np.column_stack([rows[pairs[:, 0]], columns[pairs[:, 1]]])
    if second is first and costs.is_symmetric and method.symmetric:
        keys = np.sort(keys, axis=1)
    distinct, place = np.unique(keys, axis=0, return_inverse=True)
    return np.ascontiguousarray(distinct), place.ravel()


def _representatives(first: GraphCollection, second: GraphCollection) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each graph the first graph of its collection that is isomorphic to it."""
    own = []
    for collection in (first, second):
        try:
            classes = isomorphism_classes(collection)
        except WorkBudgetExceeded:
            classes = np.arange(len(collection))  # merely more work: every graph stands for itself
        _, representative, member = np.unique(classes, return_index=True, return_inverse=True)
        own.append(representative[member])
        if second is first:
            return own[0], own[0]
    return own[0], own[1]


def _solve(
    first: GraphCollection,
    second: GraphCollection,
    pairs: Pairs,
    method: EditDistanceMethod,
    costs: EditCosts,
    n_jobs: int | None,
    store: str | os.PathLike[str] | None,
) -> PairResults:
    chunks = [pairs[start : start + CHUNK] for start in range(0, len(pairs), CHUNK)]
    results: list[PairResults | None] = [None] * len(chunks)
    kept = None
    if store is not None:
        kept = ChunkStore.open(os.fspath(store), _description(first, second, pairs, method, costs))
        results = [kept.read(k, len(chunk)) for k, chunk in enumerate(chunks)]
    missing = [k for k, result in enumerate(results) if result is None]
    with progress(f"edit distances ({method.name})", len(pairs), "pairs") as bar:
        bar.advance(len(pairs) - sum(len(chunks[k]) for k in missing))
        for k, result in _solve_chunks(first, second, chunks, missing, method, costs, n_jobs):
            results[k] = result
            if kept is not None:
                kept.write(k, result)
            bar.advance(len(chunks[k]))
    return _joined([result for result in results if result is not None])


def _solve_chunks(
    first: GraphCollection,
    second: GraphCollection,
    chunks: list[Pairs],
    missing: list[int],
    method: EditDistanceMethod,
    costs: EditCosts,
    n_jobs: int | None,
) -> Iterator[tuple[int, PairResults]]:
    if not missing:
        return
    problem = encode(first, second, costs)
    import joblib  # a fifth of a second, for those who have many pairs

    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
    yield from parallel(joblib.delayed(_solve_chunk)(k, problem, chunks[k], method) for k in missing)


def _solve_chunk(k: int, problem: EncodedProblem, pairs: Pairs, method: EditDistanceMethod) -> tuple[int, PairResults]:
    found = method.bounds(problem, pairs)
    return k, PairResults(found.lower, found.upper, found.value, found.expanded)


def _joined(results: Iterable[PairResults]) -> PairResults:
    nothing = PairResults(np.empty(0), np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
    lower, upper, value, expanded = (np.concatenate(column) for column in zip(nothing, *results, strict=True))
    return PairResults(lower, upper, value, expanded)


def _as_matrix(column: NDArray[Any], pairs: Pairs, shape: tuple[int, int], symmetric: bool) -> NDArray[Any]:
    matrix = np.empty(shape, dtype=column.dtype)
    matrix[pairs[:, 0], pairs[:, 1]] = column
    if symmetric:
        matrix[pairs[:, 1], pairs[:, 0]] = column
    return matrix


def _description(
    first: GraphCollection, second: GraphCollection, pairs: Pairs, method: EditDistanceMethod, costs: EditCosts
) -> dict[str, Any]:
    graphs = [fingerprint(first)] + ([] if second is first else [fingerprint(second)])
    digest = blake2b(np.ascontiguousarray(pairs).tobytes(), digest_size=16).hexdigest()
    return {
        "graphs": graphs,
        "pairs": {"count": len(pairs), "digest": digest, "chunk": CHUNK},
        "method": repr(method),
        "costs": repr(costs),
    }
