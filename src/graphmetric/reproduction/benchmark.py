"""A data set with the truth that a protocol asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric.datasets import Dataset, load_dataset
from graphmetric.edit_distance import ExactSearch, normalized_distance, pairwise_edit_distances
from graphmetric.evaluation import Protocol, make_protocol
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.splits import separate_classes

Truth = Literal["exact", "best known", "mean of three"]
"""The second is the upper bound that comes with a data set: exact where it meets the lower one."""
SplitName = Literal["as given", "leak-free"]

_SECONDS_PER_PAIR = 0.2
"""For the exact distance; pairs that are not proven by then stay unknown."""
_THREE = ("published-beam:80", "hungarian", "vj")
"""Whose mean the paper takes for the truth where the exact distance was out of its reach."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """Graphs, their split, and their true distances."""

    name: str
    graphs: GraphCollection
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    classes: NDArray[np.int64]
    """The isomorphism class of each graph."""
    distances: Floats
    """In edits, square; NaN where unknown."""
    truth: Truth
    split: SplitName

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """By which a run on this split can be scored."""
        return ("leak-free",) if self.split == "leak-free" else ("paper", "A")

    def protocol(self, name: str) -> Protocol:
        """The protocol of this name on this split."""
        return make_protocol(name, self.train, self.val, self.test, classes=self.classes)

    def to_paper_scale(self, distances: Floats) -> Floats:
        """1 - exp(-d / mean size) of a square matrix of edits."""
        scaled: Floats = normalized_distance(distances, self.graphs)
        return scaled


def load_benchmark(
    name: str,
    *,
    truth: Truth = "exact",
    split: SplitName = "as given",
    limit: int | None = None,
    root: str | None = None,
    store: Path,
) -> Benchmark:
    """A data set with all true distances, test x test included; what has to be computed for it is kept in ``store``.

    ``limit`` takes that many graphs, the first of each part, in the proportions of the parts.
    """
    data = _take_first(load_dataset(name, root=root), limit)
    classes, parts = data.isomorphism_classes, data.split
    distances = _load_or_compute(data, truth, store)
    if split == "as given":
        return Benchmark(name, data.graphs, *parts, classes, distances, truth, split)
    kept, parts = separate_classes(parts, classes)
    among = distances[np.ix_(kept, kept)]
    return Benchmark(name, data.graphs[kept], *parts, classes[kept], among, truth, split)


def _take_first(data: Dataset, limit: int | None) -> Dataset:
    if limit is None or limit >= len(data.graphs):
        return data
    shares = [part[: max(1, len(part) * limit // len(data.graphs))] for part in data.split]
    kept = np.sort(np.concatenate(shares))
    train, val, test = (np.searchsorted(kept, share) for share in shares)
    taken = data.known.take(kept)
    return replace(data, graphs=data.graphs[kept], known=taken, classes=None, train=train, val=val, test=test)


def _load_or_compute(data: Dataset, truth: Truth, store: Path) -> Floats:
    if truth == "best known":
        return np.array(data.upper)
    if truth == "exact" and not np.isnan(data.distances).any():
        return np.array(data.distances)
    path = store / f"{data.name}-{len(data.graphs)}-{truth.replace(' ', '-')}.npy"
    if not path.exists():
        pairs_done = path.with_suffix("")
        computed = _complete_exact(data, pairs_done) if truth == "exact" else _average_three(data, pairs_done)
        make_folder(path.parent)
        with atomic_write(path) as file:
            np.save(file, computed)
    loaded: Floats = np.load(path, allow_pickle=False)
    return loaded


def _complete_exact(data: Dataset, store: Path) -> Floats:
    """The known distances, and the exact search for all others."""
    distances = np.array(data.distances)
    unknown = np.argwhere(np.triu(np.isnan(distances), k=1))
    method = ExactSearch(time_limit=_SECONDS_PER_PAIR)
    found = pairwise_edit_distances(
        data.graphs, pairs=unknown, method=method, n_jobs=-1, store=store / f"{data.name}-pairs"
    )
    values = np.where(found.exact, found.lower, np.nan)
    distances[unknown[:, 0], unknown[:, 1]] = distances[unknown[:, 1], unknown[:, 0]] = values
    return distances


def _average_three(data: Dataset, store: Path) -> Floats:
    """The mean of what three approximate searches find between the first graphs of isomorphism classes.

    The searches break ties by the order of the nodes, so copies of a graph would be at other distances; one graph for
    all of them is a cleaner truth, and a fifteenth of the work on IMDBMulti.
    """
    first, number = np.unique(data.isomorphism_classes, return_index=True, return_inverse=True)[1:]
    found = [
        pairwise_edit_distances(data.graphs[first], method=name, n_jobs=-1, store=store / str(k)).upper
        for k, name in enumerate(_THREE)
    ]
    mean: Floats = np.mean(found, axis=0)
    np.fill_diagonal(mean, 0)
    return ((mean + mean.T) / 2)[np.ix_(number, number)]
