r"""The graph kernels that the paper cites, as distances.

A kernel is first normalised and then taken as an inner product:

.. math::
    \hat k(G, H) = \frac{k(G, H)}{\sqrt{k(G, G)\, k(H, H)}}, \qquad
    d(G, H) = \sqrt{\hat k(G, G) + \hat k(H, H) - 2 \hat k(G, H)} = \sqrt{2 - 2 \hat k(G, H)}.

This is the distance of two points on a sphere, a pseudo-metric in [0, 2]. A graph without any feature, k(G, G) = 0, is
at distance 0 from other such graphs and at :math:`\sqrt 2` from all others.

Three of the kernels count Weisfeiler-Lehman colours of nodes: see :mod:`graphmetric.features.weisfeiler_lehman`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations, permutations
from math import comb
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.spatial.distance import cdist

from graphmetric.errors import InvalidArgument
from graphmetric.features.weisfeiler_lehman import node_colours
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import GraphFlags
from graphmetric.graphs.graph import Graph
from graphmetric_research.baselines.method import Baseline, TrainingTask

Floats = NDArray[np.float64]

LARGEST_SIZE = 5
"""Largest number of nodes of a graphlet: 34 shapes. With 6 nodes the table of shapes alone has 32,768 entries."""
_DECIMALS = 12
"""Decimals of a normalised kernel; those beyond are rounding noise."""
_SPARE_DIRECTIONS = 16
"""Directions that are iterated beyond those that are kept, which then converge sooner."""
_ITERATIONS = 8
_BLOCK = 2_000
"""Colours that are compared at a time, since their shares are dense rows meanwhile."""


class KernelValues(NamedTuple):
    """A kernel between queries and a database, not normalised."""

    cross: Floats
    """(queries, database)."""
    queries: Floats
    """k(G, G) of each query."""
    database: Floats
    """k(H, H) of each graph of the database."""


class GraphKernel(Baseline):
    """A kernel as a distance of which only the order counts; a subclass writes :meth:`evaluate`."""

    scale = "rank"

    def predict(self, queries: GraphCollection, database: GraphCollection) -> Floats:
        return kernel_distances(self.evaluate(queries, database))

    @abstractmethod
    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        """The kernel of all pairs."""


def kernel_distances(values: KernelValues) -> Floats:
    """The distances of the normalised kernel."""
    product = np.sqrt(values.queries[:, None] * values.database[None, :])
    neither = (values.queries[:, None] == 0) & (values.database[None, :] == 0)
    normalized = np.divide(values.cross, product, out=neither.astype(np.float64), where=product > 0)
    # A root turns noise of 1e-16 into distances of 1e-8: without rounding, copies of a graph would not tie.
    return np.asarray(np.sqrt(np.maximum(2 - 2 * normalized.round(_DECIMALS), 0)))


def inner_products(features: Any, num_queries: int) -> KernelValues:
    """The linear kernel of feature rows, dense or sparse: those of the queries, then those of the database."""
    left, right = features[:num_queries], features[num_queries:]
    parts = left @ right.T, (left * left).sum(axis=1), (right * right).sum(axis=1)
    return KernelValues(*(np.asarray(part.toarray() if hasattr(part, "toarray") else part, float) for part in parts))


class ColourCounts(NamedTuple):
    """How often each colour of each round occurs in each graph."""

    colours: NDArray[np.int64]
    """The distinct colours, ascending. A colour means the same in every collection, and rounds share none."""
    counts: csr_array
    """(graphs, colours)."""


def count_colours(graphs: GraphCollection, rounds: int) -> ColourCounts:
    """Count the colours of rounds 0 (the tags) to ``rounds``; they depend on tags and directions, not on numbers."""
    columns = graphs.columns
    found = node_colours(columns, rounds, weights=False)
    colours, place = np.unique(found.ravel(), return_inverse=True)
    owner = np.tile(np.repeat(np.arange(len(graphs)), np.diff(columns.node_ptr)), rounds + 1)
    shape = (len(graphs), len(colours))
    return ColourCounts(colours, csr_array((np.ones(len(owner)), (owner, place.ravel())), shape=shape))


@dataclass(eq=False)
class WeisfeilerLehmanSubtree(GraphKernel):
    """Shervashidze et al. (2011): the inner product of the counts of colours of all rounds."""

    rounds: int = 3
    """Rounds of refinement, after the tags themselves."""

    name = "wl-subtree"

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        return inner_products(count_colours(queries + database, self.rounds).counts, len(queries))


@dataclass(eq=False)
class WassersteinWeisfeilerLehman(GraphKernel):
    r"""The kernel :math:`e^{-\lambda W}` of Togninalli et al. (2019) for tagged or plain graphs, not for real vectors.

    W is the cost of the cheapest transport between the nodes of two graphs, each node of G with mass 1/\|G\|. A node is
    the list of its colours c_0 .. c_h, and moving mass from one node to another costs the share of rounds in which they
    differ. It is computed exactly and without solving a transport problem. Colours are nested: nodes that differ in one
    round differ in all later ones. So this cost is the length of a path in a tree whose nodes at depth r are the
    colours of round r, and transport in a tree has a closed form: each edge carries the difference of the masses below
    it,

    .. math:: W(G, H) = \frac{1}{2 (h + 1)} \sum_{r=0}^{h} \lVert p_r(G) - p_r(H) \rVert_1,

    with p_r(G) the shares of colours in round r. This is an L1 distance, so :math:`e^{-\lambda W}` is positive
    definite.
    """

    rounds: int = 3
    """h, rounds of refinement."""
    decay: float = 1.0
    """The factor lambda; rankings do not depend on it."""

    name = "wwl"

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        cross = np.exp(-self.decay * wasserstein_distances(queries, database, self.rounds))
        return KernelValues(cross, np.ones(len(queries)), np.ones(len(database)))


def wasserstein_distances(queries: GraphCollection, database: GraphCollection, rounds: int) -> Floats:
    """W for all pairs, in [0, 1]; the empty graph, which has no mass to move, is at distance 1 from all others."""

    def compare(rows: Floats) -> Floats:
        return cdist(rows[: len(queries)], rows[len(queries) :], "cityblock")

    graphs = queries + database
    counts = count_colours(graphs, rounds).counts.tocsc()
    sizes = graphs.sizes[:, None]
    total = compare((sizes == 0).astype(np.float64)) * (rounds + 1)
    for start in range(0, counts.shape[1], _BLOCK):
        total += compare(counts[:, start : start + _BLOCK].toarray() / np.maximum(sizes, 1))
    return total / (2 * (rounds + 1))


@dataclass(eq=False)
class DeepGraphKernel(GraphKernel):
    r"""The Weisfeiler-Lehman kernel with a similarity of colours: colours that occur together are alike.

    Yanardag and Vishwanathan (2015) use :math:`k(G, H) = \varphi(G)^\top E E^\top \varphi(H)`, where the rows of E are
    embeddings of the colours, learned like those of words: a graph is a sentence, and its colours are the words. Here
    they are learned from the graphs of the task, without labels; other colours do not count.

    Differs from the cited work: E is not trained by stochastic skip-gram but by the factorisation that skip-gram
    approximates, the leading singular vectors of the positive pointwise mutual information of colours (Levy and
    Goldberg 2014). It takes seconds and is the same for every seed.
    """

    rounds: int = 2
    """Rounds of refinement."""
    dimensions: int = 64
    """Width of the embedding of a colour."""

    name = "deep-graph-kernel"
    _colours: NDArray[np.int64] | None = field(default=None, init=False, repr=False)
    _embeddings: Floats = field(init=False, repr=False)

    def fit(self, task: TrainingTask) -> Self:
        self._colours, counts = count_colours(task.graphs, self.rounds)
        self._embeddings = _embed_colours(counts, self.dimensions)
        return self

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        known, found = self.fitted(self._colours), count_colours(queries + database, self.rounds)
        _, rows, columns = np.intersect1d(known, found.colours, assume_unique=True, return_indices=True)
        features = found.counts.tocsc()[:, columns] @ self._embeddings[rows]
        return inner_products(features, len(queries))


def _embed_colours(counts: csr_array, dimensions: int) -> Floats:
    """(colours, dimensions): singular vectors, each scaled by the root of its singular value.

    They are found by subspace iteration (Halko, Martinsson and Tropp 2011), which also copes with a low rank.
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
    """Positive logarithms of how much more often a graph has two colours together than by chance."""
    itself = diags_array(np.asarray(counts.sum(axis=0)).ravel())
    together = (counts.T @ counts - itself).tocoo()
    occurrences = np.asarray(together.sum(axis=1)).ravel()
    rows, columns = together.coords
    chance = occurrences[rows] * occurrences[columns] / occurrences.sum()
    ratio = np.divide(together.data, chance, out=np.zeros(len(rows)), where=chance > 0)
    positive = ratio > 1
    return csr_array((np.log(ratio[positive]), (rows[positive], columns[positive])), shape=together.shape)


@dataclass(eq=False)
class Graphlet(GraphKernel):
    """Shervashidze et al. (2009): the inner product of the shares of all shapes that k nodes form, connected or not.

    Labels, directions and self-loops do not count. A graph of fewer than k nodes is filled up with isolated ones.
    """

    sizes: tuple[int, ...] = (3, 4, 5)
    """Numbers of nodes k, from 2 to 5; the shares of all sizes form one vector."""
    most_subsets: int = 50_000
    """Up to this number, all sets of k nodes are counted; in a larger graph, ``samples`` of them."""
    samples: int = 20_000
    """Number of sets sampled from a large graph, the same for all graphs of its size. Its shares then depend a little
    on the order of its nodes: by less than 1 %, with 95 % confidence."""

    name = "graphlet"

    def __post_init__(self) -> None:
        if not self.sizes or not all(2 <= k <= LARGEST_SIZE for k in self.sizes):
            raise InvalidArgument(f"sizes is {self.sizes!r}; graphlets have 2 to {LARGEST_SIZE} nodes")

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        shares = np.array([self.count_shares(graph) for graph in queries + database])
        return inner_products(shares, len(queries))

    def count_shares(self, graph: Graph) -> Floats:
        """For each size the shares of its shapes, which sum to one."""
        adjacency = plain_adjacency(graph, max(graph.num_nodes, *self.sizes))
        return np.concatenate([self._count_shapes(adjacency, max(graph.num_nodes, k), k) for k in self.sizes])

    def _count_shapes(self, adjacency: NDArray[np.bool_], n: int, k: int) -> Floats:
        subsets = _choose_subsets(n, k, self.most_subsets, self.samples)
        pattern = np.zeros(len(subsets), dtype=np.int64)
        for bit, (i, j) in enumerate(combinations(range(k), 2)):
            pattern |= adjacency[subsets[:, i], subsets[:, j]].astype(np.int64) << bit
        shapes = _number_shapes(k)
        return np.bincount(shapes[pattern], minlength=int(shapes.max()) + 1) / len(subsets)


def plain_adjacency(graph: Graph, size: int | None = None) -> NDArray[np.bool_]:
    """The adjacency matrix without directions, filled up with isolated nodes to ``size``."""
    size = graph.num_nodes if size is None else size
    adjacency = np.zeros((size, size), dtype=np.bool_)
    tails, heads = graph.edges.T
    adjacency[tails, heads] = adjacency[heads, tails] = True
    return adjacency


@lru_cache(maxsize=256)
def _choose_subsets(n: int, k: int, most: int, samples: int) -> NDArray[np.int32]:
    """(sets, k): all sets of k of n nodes, or a sample of them."""
    if comb(n, k) <= most:
        return np.array(list(combinations(range(n), k)), dtype=np.int32)
    drawn = np.sort(np.random.default_rng([n, k]).integers(n, size=(4 * samples, k), dtype=np.int32), axis=1)
    return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)][:samples]


@cache
def _number_shapes(k: int) -> NDArray[np.int64]:
    """The number of the shape of each pattern of edges, which has a bit for each pair of the k nodes."""
    pairs = list(combinations(range(k), 2))
    bit = {pair: b for b, pair in enumerate(pairs)}
    patterns = np.arange(1 << len(pairs))
    least = patterns.copy()
    for order in permutations(range(k)):
        moved = np.zeros_like(patterns)
        for b, (i, j) in enumerate(pairs):
            u, v = sorted((order[i], order[j]))
            moved |= (patterns >> b & 1) << bit[u, v]
        np.minimum(least, moved, out=least)
    return np.unique(least, return_inverse=True)[1].astype(np.int64)


_SMALLEST_EIGENVALUE = 1e-9
"""Relative to the largest; directions below are rounding noise."""
_DETERMINANTS = 200_000
"""Determinants computed at a time."""


class Precisions(NamedTuple):
    """Inverse covariances of graphs, or of balls in them."""

    inverse: Floats
    """(items, directions, directions)."""
    log_determinant: Floats
    """(items): the logarithms of the determinants of the inverses."""


class Level(NamedTuple):
    """How the nodes of any graph get their features of one level."""

    anchors: Precisions | None
    """Precisions of the balls around the anchors; None at level 0, where tags are compared."""
    projection: Floats
    """(anchors, directions)."""


@dataclass(eq=False)
class MultiscaleLaplacian(GraphKernel):
    r"""The multiscale Laplacian kernel of Kondor and Pan (2016); directions, weights and self-loops do not count.

    Two graphs whose nodes have features in one space (rows of Q and Q') are compared by the overlap of two normal
    distributions with the covariances

    .. math:: S = Q^\top (L + \eta I)^{-1} Q + \gamma I, \qquad
        k(G, G') = \frac{|(S^{-1} / 2 + S'^{-1} / 2)^{-1}|^{1/2}}{|S|^{1/4} |S'|^{1/4}},

    L being the graph Laplacian. At level 0 nodes are alike if their tags (or degrees, without tags) are equal. At level
    l they are as alike as the balls of radius l around them, which k compares by the features of level l - 1; and whole
    graphs are compared by the features of the last level.

    As in the cited work, features are finite vectors by Nyström's method: a node is described by its likeness to a
    sample of nodes, the anchors, in the directions in which anchors vary most. Anchors are drawn from the graphs of the
    task, so the kernel does not depend on the queries.
    """

    levels: int = 2
    """The largest radius of a ball."""
    directions: int = 12
    """The largest number of features of a node at each level."""
    anchors: int = 100
    """Nodes of the graphs of the task to which all others are compared."""
    eta: float = 1.0
    """Regularises the Laplacian."""
    gamma: float = 1.0
    """Regularises the covariance. Small values of either, as used for classification, make almost all graphs equally
    far from each other; these were chosen on validation pairs of AIDS700nef and LINUX."""

    name = "multiscale-laplacian"
    _tags: NDArray[np.int64] | None = field(default=None, init=False, repr=False)
    _by_degree: bool = field(default=False, init=False, repr=False)
    _levels: list[Level] = field(default_factory=list, init=False, repr=False)

    def fit(self, task: TrainingTask) -> Self:
        """Draw the anchors and find their directions, level by level."""
        self._by_degree = not task.graphs.any_has(GraphFlags.NODE_LABELS)
        tags = self._node_tags(task.graphs)
        count = min(self.anchors, len(tags))
        chosen = np.sort(np.random.default_rng(task.seed).choice(len(tags), count, replace=False))
        self._tags, self._levels = tags[chosen], []
        kernel = (self._tags[:, None] == self._tags[None, :]).astype(np.float64)
        self._levels.append(Level(None, _leading_directions(kernel, self.directions)))
        for radius in range(1, self.levels + 1):
            balls, place = self._ball_precisions(task.graphs, self._node_features(task.graphs), radius)
            around = Precisions(balls.inverse[place[chosen]], balls.log_determinant[place[chosen]])
            kernel = _overlaps(around, around)
            self._levels.append(Level(around, _leading_directions(kernel, self.directions)))
        return self

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        self.fitted(self._tags)
        left, right = (self._graph_precisions(graphs) for graphs in (queries, database))
        return KernelValues(_overlaps(left, right), np.ones(len(queries)), np.ones(len(database)))

    def _graph_precisions(self, graphs: GraphCollection) -> Precisions:
        features = self._node_features(graphs)
        covariances = [self._covariance(laplacian, features[rows]) for rows, laplacian, _ in _laplacians(graphs)]
        return _invert(covariances, features.shape[1])

    def _node_features(self, graphs: GraphCollection) -> Floats:
        """Features of all nodes at the last level that is fitted so far."""
        alike = (self._node_tags(graphs)[:, None] == self._tags).astype(np.float64)
        features: Floats = alike @ self._levels[0].projection
        for radius, level in enumerate(self._levels[1:], start=1):
            assert level.anchors is not None
            balls, place = self._ball_precisions(graphs, features, radius)
            features = (_overlaps(balls, level.anchors) @ level.projection)[place]
        return features

    def _node_tags(self, graphs: GraphCollection) -> NDArray[np.int64]:
        if not self._by_degree:
            return node_colours(graphs.columns, 0, weights=False).ravel()
        degrees = [np.diag(laplacian) for _, laplacian, _ in _laplacians(graphs)]
        return np.concatenate([*degrees, np.empty(0)]).astype(np.int64)

    def _ball_precisions(
        self, graphs: GraphCollection, features: Floats, radius: int
    ) -> tuple[Precisions, NDArray[np.intp]]:
        """Precisions of the distinct balls around the nodes, and for each node the place of its ball."""
        covariances: list[Floats] = []
        places = [np.empty(0, dtype=np.intp)]
        for rows, laplacian, adjacency in _laplacians(graphs):
            balls, place = np.unique(_within(adjacency, radius), axis=0, return_inverse=True)
            places.append(place.ravel() + len(covariances))
            for ball in balls:
                inside = laplacian[np.ix_(ball, ball)].copy()
                np.fill_diagonal(inside, 0)
                np.fill_diagonal(inside, -inside.sum(axis=1))
                covariances.append(self._covariance(inside, features[rows][ball]))
        return _invert(covariances, features.shape[1]), np.concatenate(places)

    def _covariance(self, laplacian: Floats, features: Floats) -> Floats:
        smoothed = np.linalg.solve(laplacian + self.eta * np.eye(len(laplacian)), features)
        return np.asarray(features.T @ smoothed + self.gamma * np.eye(features.shape[1]))


def _laplacians(graphs: GraphCollection) -> Iterator[tuple[slice, Floats, NDArray[np.bool_]]]:
    """For each graph its rows among all nodes, its Laplacian and its adjacency matrix."""
    start = 0
    for graph in graphs:
        adjacency = plain_adjacency(graph)
        np.fill_diagonal(adjacency, False)
        laplacian = np.diag(adjacency.sum(axis=1)) - adjacency.astype(np.float64)
        yield slice(start, start + graph.num_nodes), laplacian, adjacency
        start += graph.num_nodes


def _within(adjacency: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Row v marks the nodes that are at most ``radius`` steps from v."""
    return np.linalg.matrix_power(adjacency | np.eye(len(adjacency), dtype=np.bool_), radius)


def _invert(covariances: list[Floats], directions: int) -> Precisions:
    stacked = np.array(covariances, dtype=np.float64).reshape(-1, directions, directions)
    inverse = np.asarray(np.linalg.inv(stacked), dtype=np.float64)
    return Precisions(inverse, np.linalg.slogdet(inverse).logabsdet)


def _overlaps(left: Precisions, right: Precisions) -> Floats:
    """The kernel between all items of one side and of the other."""
    overlaps = np.empty((len(left.inverse), len(right.inverse)))
    rows = max(1, _DETERMINANTS // max(1, len(right.inverse)))
    for start in range(0, len(overlaps), rows):
        block = slice(start, start + rows)
        mean = (left.inverse[block, None] + right.inverse[None]) / 2
        logs = (left.log_determinant[block, None] + right.log_determinant[None]) / 4
        logs -= np.linalg.slogdet(mean).logabsdet / 2
        overlaps[block] = np.exp(np.minimum(logs, 0))  # at most 1, but for rounding
    return overlaps


def _leading_directions(kernel: Floats, most: int) -> Floats:
    """Columns that turn likenesses to the anchors into features whose inner products are the kernel."""
    values, vectors = np.linalg.eigh(kernel)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    kept = values > _SMALLEST_EIGENVALUE * max(values.max(initial=0), 1e-300)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
