r"""The deep graph kernel: colours that occur together are alike.

Yanardag and Vishwanathan (2015) put a similarity of substructures into the Weisfeiler-Lehman kernel,
:math:`k(G, H) = \varphi(G)^\top E E^\top \varphi(H)`, where the rows of E are embeddings of the colours, learned like
those of words: a graph is a sentence, its colours are the words.

Differs from the cited work: E is not trained by stochastic skip-gram but by the factorisation that skip-gram
approximates, the leading singular vectors of the positive pointwise mutual information of colours (Levy and Goldberg
2014). It takes seconds and is the same for every seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from graphmetric.baselines.kernels.colours import count_colours
from graphmetric.baselines.kernels.kernel_distance import GraphKernel, KernelValues, inner_products
from graphmetric.baselines.method import TrainingTask
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection

_SPARE_DIRECTIONS = 16
"""Iterated beyond those that are kept, which then settle sooner."""
_ITERATIONS = 8


@dataclass(eq=False)
class DeepGraphKernel(GraphKernel):
    """Embeddings come from the graphs of the task, without labels. A colour that is not among them counts nothing."""

    rounds: int = 2
    """Of refinement."""
    dimensions: int = 64
    """Of the embedding of a colour."""

    name = "deep-graph-kernel"
    _colours: NDArray[np.int64] | None = field(default=None, init=False, repr=False)
    _embeddings: NDArray[np.float64] = field(init=False, repr=False)

    def fit(self, task: TrainingTask) -> Self:
        self._colours, counts = count_colours(task.graphs, self.rounds)
        self._embeddings = _embed_colours(counts, self.dimensions)
        return self

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        if self._colours is None:
            raise InvalidArgument(f"{self.name} is not fitted yet; call fit with graphs first")
        found = count_colours(queries + database, self.rounds)
        _, rows, columns = np.intersect1d(self._colours, found.colours, assume_unique=True, return_indices=True)
        features = found.counts.tocsc()[:, columns] @ self._embeddings[rows]
        return inner_products(features, len(queries))


def _embed_colours(counts: csr_array, dimensions: int) -> NDArray[np.float64]:
    """(colours, dimensions): singular vectors, each scaled by the root of its singular value.

    By subspace iteration (Halko, Martinsson and Tropp 2011), which also copes with a matrix of low rank.
    """
    information = _mutual_information(counts)
    size = information.shape[0]
    start = np.random.default_rng(0).standard_normal((size, min(size, dimensions + _SPARE_DIRECTIONS)))
    basis = np.linalg.qr(start).Q
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(information @ basis).Q
    values, vectors = np.linalg.eigh(basis.T @ (information @ basis))
    leading = np.argsort(-np.abs(values))[:dimensions]
    return np.asarray(basis @ vectors[:, leading] * np.sqrt(np.abs(values[leading])))


def _mutual_information(counts: csr_array) -> csr_array:
    """Positive logarithms of how much more often one graph has these two colours than by chance."""
    itself = diags_array(np.asarray(counts.sum(axis=0)).ravel())
    together = (counts.T @ counts - itself).tocoo()
    occurrences = np.asarray(together.sum(axis=1)).ravel()
    rows, columns = together.coords
    chance = occurrences[rows] * occurrences[columns] / occurrences.sum()
    ratio = np.divide(together.data, chance, out=np.zeros(len(rows)), where=chance > 0)
    positive = ratio > 1
    return csr_array((np.log(ratio[positive]), (rows[positive], columns[positive])), shape=together.shape)
