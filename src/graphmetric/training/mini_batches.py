"""Mini-batches of training: the pairs of each step.

A graph is encoded once per step for all pairs it is in, so a step samples a block of graphs and uses every labeled
pair among them: encoding n graphs serves n(n-1)/2 pairs. Where labels fall into parts without a label between them
(groups that were labeled one by one), a block is drawn within a part; two share a block only where one ends and the
next begins. Where labels are too few for all that, a step draws pairs instead. Either way it costs the same however
many graphs and labels there are.

Random numbers depend on the seed and the step alone, so a training run that resumes from a checkpoint samples as it
would have without the stop, and there is no state of generators to save.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graphmetric._foundation.random_streams import random_stream, seed_sequence
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training.options import TrainingOptions


class RandomStream(StrEnum):
    """Names of the streams of random numbers of a training."""

    EPOCHS = "epochs"
    """The order of graphs or pairs."""
    CHOSEN_PAIRS = "chosen pairs"
    """Pairs of a block, if there are too many or none."""
    UNLABELED = "unlabeled graphs"
    """Graphs without a label that join a mini-batch."""
    DROPOUT = "dropout"
    PRETRAINING_EPOCHS = "epochs of pre-training"
    PRETRAINING_DROPOUT = "dropout of pre-training"
    TASK_WEIGHTS = "weights of pre-training tasks"
    """The first weights of the maps that only pre-training needs."""


def generator(seed: int, stream: RandomStream, step: int) -> np.random.Generator:
    """Return a generator for numpy."""
    return random_stream(seed, stream, step)


def reseed_torch(seed: int, stream: RandomStream, step: int) -> None:
    """Seed torch for dropout, which takes no generator; call within :func:`own_random_state`."""
    (state,) = seed_sequence(seed, stream, step).generate_state(1, np.uint64)
    torch.manual_seed(int(state) >> 1)


@contextmanager
def own_random_state(device: torch.device) -> Iterator[None]:
    """Restore the random state of torch afterwards, on the CPU and on a CUDA device; inside it may be reseeded."""
    devices = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


Integers = NDArray[np.int64]


class MiniBatch(NamedTuple):
    """Pairs of one step with bounds of their distances in edits; [0, inf] where nothing is known."""

    graphs: Integers
    """Positions of the graphs in the collection."""
    pairs: Integers
    """(n, 2): places in ``graphs``."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class MiniBatches:
    """The mini-batch of every step, as a function of the seed and the step."""

    def __init__(
        self, labels: PairBounds, options: TrainingOptions, seed: int, unlabeled: Integers | None = None
    ) -> None:
        """``unlabeled`` are graphs that occur in no label; with ``alpha``, some of them join every mini-batch."""
        if len(labels) == 0:
            raise InvalidArgument("there is nothing to train on: no pair has a label")
        self.labels, self.options, self.seed = labels, options, seed
        self.graphs = labels.graphs
        self._unlabeled = np.empty(0, dtype=np.int64) if unlabeled is None else unlabeled
        self._joining = self._count_joining() if options.alpha else 0
        self._size = options.graphs_per_step - self._joining
        self._ends = np.searchsorted(self.graphs, labels.pairs)
        self._by_first = np.argsort(self._ends[:, 0], kind="stable")
        self._start = np.searchsorted(self._ends[self._by_first, 0], np.arange(len(self.graphs) + 1))
        self._part = _find_parts(self._ends, len(self.graphs))
        self.in_blocks = self._count_pairs_of_block() >= self._size / 2
        """Whether blocks hold more labeled pairs than as many graphs sampled pair by pair."""
        self._order = lru_cache(maxsize=1)(self._shuffle)

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which every graph (or pair, if pairs are sampled) was used once."""
        return -(-self._items // (self._size if self.in_blocks else self._listed))

    @property
    def num_steps(self) -> int:
        """Steps of the whole training run."""
        if self.options.steps is not None:
            return self.options.steps
        assert self.options.epochs is not None
        return self.options.epochs * self.steps_per_epoch

    def at(self, step: int) -> MiniBatch:
        """Return the mini-batch of one step, counted from 0."""
        graphs, chosen = self._draw_block(step) if self.in_blocks else self._around(self._share(step))
        place = np.searchsorted(graphs, self._ends[chosen])
        found = MiniBatch(self.graphs[graphs], place, self.labels.lower[chosen], self.labels.upper[chosen])
        return _with_unlabeled_pairs(self._join_unlabeled(found, step)) if self.options.alpha else found

    def _count_joining(self) -> int:
        """Count the graphs without a label in a mini-batch: by their fraction of all graphs, and at most half of it."""
        count = len(self._unlabeled)
        share = min(0.5, count / (count + len(self.graphs)))
        return min(count, round(share * self.options.graphs_per_step))

    def _join_unlabeled(self, batch: MiniBatch, step: int) -> MiniBatch:
        """Add graphs that occur in no label to a mini-batch."""
        drawn = generator(self.seed, RandomStream.UNLABELED, step).choice(self._unlabeled, self._joining, replace=False)
        graphs = np.union1d(batch.graphs, drawn)
        return batch._replace(graphs=graphs, pairs=np.searchsorted(graphs, batch.graphs)[batch.pairs])

    @property
    def _items(self) -> int:
        return len(self.graphs) if self.in_blocks else len(self.labels)

    @property
    def _listed(self) -> int:
        """Pairs per step if pairs are sampled: two graphs for each."""
        return max(1, self._size // 2)

    def _count_pairs_of_block(self) -> float:
        """Estimate the mean number of labels in a block: a pair needs one graph in it, and the other among its part."""
        size, sizes = self._size, np.bincount(self._part)
        together = np.minimum(1, size / sizes)
        if len(sizes) > 1:
            together -= 1 / size  # at least: a share may end between two graphs that stand side by side
        labels = np.bincount(self._part[self._ends[:, 0]])
        return float(labels @ (together * min(1, size / len(self.graphs))))

    def _share(self, step: int) -> Integers:
        """Return the items of this step from the order of its epoch; steps of an epoch differ by one item at most."""
        epoch, turn = divmod(step, self.steps_per_epoch)
        order, turns = self._order(epoch)
        k = int(turns[turn])
        first, last = (place * self._items // self.steps_per_epoch for place in (k, k + 1))
        return order[first:last]

    def _shuffle(self, epoch: int) -> tuple[Integers, Integers]:
        """Shuffle the items, keeping graphs of a part together, and the order of their steps."""
        random = generator(self.seed, RandomStream.EPOCHS, epoch)
        order, turns = random.permutation(self._items), np.arange(self.steps_per_epoch)
        parts = int(self._part.max()) + 1
        if parts > 1 and self.in_blocks:
            order = order[np.argsort(random.permutation(parts)[self._part[order]], kind="stable")]
            turns = random.permutation(turns)
        return order, turns

    def _draw_block(self, step: int) -> tuple[Integers, Integers]:
        """Return positions of graphs, ascending, and labels among them."""
        random = generator(self.seed, RandomStream.CHOSEN_PAIRS, step)
        block = np.sort(self._share(step))
        inside = np.zeros(len(self.graphs), dtype=bool)
        inside[block] = True
        rows = np.concatenate([self._by_first[self._start[graph] : self._start[graph + 1]] for graph in block])
        chosen = rows[inside[self._ends[rows, 1]]]
        if len(chosen) == 0:
            return self._around(random.choice(len(self.labels), min(self._listed, len(self.labels)), replace=False))
        if len(chosen) > self.options.pairs_per_step:
            chosen = random.choice(chosen, self.options.pairs_per_step, replace=False)
        return block, chosen

    def _around(self, chosen: Integers) -> tuple[Integers, Integers]:
        return np.unique(self._ends[chosen]), chosen


def _find_parts(ends: Integers, count: int) -> Integers:
    """Number the connected part of the labels of each graph, from 0."""
    edges = coo_array((np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(count, count))
    parts: Integers = connected_components(edges, directed=False)[1].astype(np.int64)
    return parts


def _with_unlabeled_pairs(batch: MiniBatch) -> MiniBatch:
    """Complete a batch to all pairs of its graphs with the diagonal, as summed in Eq. 10."""
    count = len(batch.graphs)
    lower = np.zeros((count, count))
    upper = np.full((count, count), np.inf)
    np.fill_diagonal(upper, 0)
    first, second = batch.pairs.min(axis=1), batch.pairs.max(axis=1)
    lower[first, second] = batch.lower
    upper[first, second] = batch.upper
    pairs = np.column_stack(np.triu_indices(count)).astype(np.int64)
    return MiniBatch(batch.graphs, pairs, lower[pairs[:, 0], pairs[:, 1]], upper[pairs[:, 0], pairs[:, 1]])
