"""The neural baselines: which encoder, which distance, and how they are trained.

Each is an encoder of one graph and a distance of two encoded ones, trained by :mod:`graphmetric.training`. A network
that lets two graphs look at each other has a trivial encoder and does its work in the distance.

The first four are the learned rows of the paper's table, which names them and their sources but does not say how a
distance is made of their vectors. Where the source does not say it either, Eq. 9 is used, with a hidden layer: plain
squares alone cannot fit distances that mostly vary about their mean, as edit distances do.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import to_plain
from graphmetric._foundation.threads import thread_limit
from graphmetric.distance import BlockNorm, Comparison, Representation, SquaredFC, distance_matrix
from graphmetric.errors import InvalidArgument, needs_extra
from graphmetric.features import FeatureSchema, GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.model import GraphDistanceNetwork
from graphmetric.training import TrainingOptions, TrainingResult, train_model
from graphmetric_research.baselines.method import Baseline, PredictionScale, TrainingTask
from graphmetric_research.baselines.neural_networks import (
    FEATURES,
    AttentionPooling,
    AverageEncoder,
    ConvolutionEncoder,
    HausdorffDistance,
    InputsAndEdges,
    IsomorphismEncoder,
    MatchingDistance,
    MatchingModel,
    MaxPooling,
    MeanPooling,
    MessagePassingEncoder,
    SimGNNDistance,
)

with needs_extra("learn", "a neural baseline"):
    import torch
    from torch import nn

_CHUNK = 4096
"""Graphs of the database that are encoded at a time."""


class NetworkOptions:
    """Sizes of a network; every size is 1 or more."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, value in to_plain(self).items():
            sizes = value if isinstance(value, list) else [value]
            if min(sizes, default=1 if name == "hidden" else 0) < 1:
                raise InvalidArgument(f"{type(self).__name__}: {name} must be 1 or more; got {value}")


Network = TypeVar("Network", bound=NetworkOptions)


class NeuralBaseline(Baseline, Generic[Network]):
    """A network trained by :func:`graphmetric.training.train_model`.

    A subclass names its defaults and writes :meth:`build`.
    """

    scale: PredictionScale = "paper"
    network: Network
    training: TrainingOptions
    model_: GraphDistanceNetwork
    """Set by ``fit``, like the two below."""
    featurizer_: GraphFeaturizer
    result_: TrainingResult

    def __init__(self, network: Network | None = None, training: TrainingOptions | None = None) -> None:
        if network is not None:
            self.network = network
        if training is not None:
            self.training = training

    @abstractmethod
    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        """The network, with weights from torch's generator."""

    def fit(self, task: TrainingTask) -> Self:
        self.featurizer_ = GraphFeaturizer(FEATURES).fit(task.graphs[task.training.graphs])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(task.seed)
            model = self.build(self.featurizer_.schema)
        self.result_ = train_model(
            model,
            self.featurizer_.transform(task.graphs),
            turn_half(task.training),
            self.training,
            validation=turn_half(task.validation),
            seed=task.seed,
            threads=task.threads,
            folder=task.folder,
        )
        self.model_, self._threads = model, task.threads
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        if not hasattr(self, "model_"):
            raise InvalidArgument(f"{self.name} is not trained yet; call fit first")
        found = np.zeros((len(queries), len(database)))
        if not found.size:
            return found
        head = self.model_.head
        with thread_limit(self._threads):
            rows = self._encode(queries)
            for start in range(0, len(database), _CHUNK):
                columns = self._encode(database[start : start + _CHUNK])
                comparison = Comparison.prepare(head, rows, columns, view=head.scale)
                found[:, start : start + _CHUNK] = distance_matrix(comparison)
        return found

    @torch.no_grad()
    def _encode(self, graphs: GraphCollection) -> Representation:
        return self.model_.encode_rows(self.featurizer_.transform(graphs), np.arange(len(graphs)))


def turn_half(labels: PairBounds) -> PairBounds:
    """The same labels with every other pair reversed.

    Labels mostly list each pair once, the lower position first. A network that treats its two sides differently would
    then see some graphs on one side only.
    """
    odd = labels.pairs.sum(axis=1) % 2 == 1
    return PairBounds(np.where(odd[:, None], labels.pairs[:, ::-1], labels.pairs), labels.lower, labels.upper)


@dataclass(frozen=True, slots=True)
class AverageOptions(NetworkOptions):
    """Sizes of EmbAvg."""

    width: int = 64
    """Width of the embedded inputs; even."""
    hidden: tuple[int, ...] = (16,)
    """Widths of the layers of Eq. 9 before the last; may be empty."""


class EmbAvg(NeuralBaseline[AverageOptions]):
    """The mean of the node embeddings and nothing else: a floor that hardly knows about edges."""

    name = "emb-avg"
    network = AverageOptions()
    training = TrainingOptions(steps=1500, learning_rate=5e-3)

    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        encoder = AverageEncoder(schema, self.network.width)
        return GraphDistanceNetwork(self.network, encoder, SquaredFC(self.network.width, self.network.hidden))


@dataclass(frozen=True, slots=True)
class ConvolutionOptions(NetworkOptions):
    """Sizes of GCN-Mean and GCN-Max."""

    widths: tuple[int, ...] = (64, 32, 16)
    """Widths of the states after each convolution; the inputs have the first, which is even."""
    hidden: tuple[int, ...] = (16,)
    """Widths of the layers of Eq. 9 before the last; may be empty."""


class GCNMean(NeuralBaseline[ConvolutionOptions]):
    """Graph convolutions, then the mean of the states.

    Differs from the architecture that the paper cites: it pools a hierarchy of ever coarser graphs, made for graphs of
    hundreds of nodes; ours have about ten and are pooled at once.
    """

    name = "gcn-mean"
    network = ConvolutionOptions()
    training = TrainingOptions(steps=3000, learning_rate=3e-3, validate_every=200)
    pooling: type[nn.Module] = MeanPooling

    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        widths = self.network.widths
        encoder = ConvolutionEncoder(schema, widths, self.pooling())
        return GraphDistanceNetwork(self.network, encoder, SquaredFC(widths[-1], self.network.hidden))


class GCNMax(GCNMean):
    """Graph convolutions, then the largest value of each coordinate; see :class:`GCNMean`."""

    name = "gcn-max"
    pooling = MaxPooling


@dataclass(frozen=True, slots=True)
class MessagePassingOptions(NetworkOptions):
    """Sizes of Siamese MPNN."""

    width: int = 64
    """Width of the states; even."""
    rounds: int = 3
    """Rounds of messages."""


class SiameseMPNN(NeuralBaseline[MessagePassingOptions]):
    """Riba et al.: message passing with gates, then the Hausdorff edit distance of the two sets of states."""

    name = "siamese-mpnn"
    network = MessagePassingOptions()
    training = TrainingOptions(steps=2000, graphs_per_step=48, learning_rate=2e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        encoder = MessagePassingEncoder(schema, self.network.width, self.network.rounds)
        return GraphDistanceNetwork(self.network, encoder, HausdorffDistance())


@dataclass(frozen=True, slots=True)
class SimGNNOptions(NetworkOptions):
    """Sizes of SimGNN; the defaults are those of its paper."""

    widths: tuple[int, ...] = (64, 32, 16)
    """Widths of the states after each convolution; the inputs have the first, which is even."""
    slices: int = 16
    """Slices of the neural tensor network."""
    bins: int = 16
    """Bins of the histogram of node similarities."""
    hidden: tuple[int, ...] = (16, 8)
    """Widths of the layers between these and the score."""


class SimGNN(NeuralBaseline[SimGNNOptions]):
    """Bai et al.: convolutions, attention pooling, a neural tensor network and a histogram of node similarities."""

    name = "simgnn"
    network = SimGNNOptions()
    training = TrainingOptions(
        steps=8000, graphs_per_step=48, learning_rate=5e-3, weight_decay=0.03, validate_every=200
    )

    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        network, width = self.network, self.network.widths[-1]
        encoder = ConvolutionEncoder(schema, network.widths, AttentionPooling(width))
        return GraphDistanceNetwork(
            network, encoder, SimGNNDistance(width, network.slices, network.bins, network.hidden)
        )


@dataclass(frozen=True, slots=True)
class MatchingOptions(NetworkOptions):
    """Sizes of GMN."""

    width: int = 32
    """Width of the states; even."""
    rounds: int = 4
    """Rounds of messages within and across the graphs."""
    vector_width: int = 64
    """Width of the vector that stands for a graph in the end."""


class GMN(NeuralBaseline[MatchingOptions]):
    """Li et al.'s graph matching network: nodes attend to the other graph in every round, so no graph has a vector of
    its own, and every pair costs all rounds."""

    name = "gmn"
    network = MatchingOptions()
    training = TrainingOptions(steps=2000, graphs_per_step=20, learning_rate=2e-3, validate_every=500)

    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        network = self.network
        head = MatchingDistance(network.width, network.rounds, network.vector_width)
        return MatchingModel(network, InputsAndEdges(schema, network.width), head)


@dataclass(frozen=True, slots=True)
class GreedOptions(NetworkOptions):
    """Sizes of GREED."""

    width: int = 64
    """Width of the states and of the vector of a graph; even."""
    layers: int = 8
    """Layers of the isomorphism network."""


class Greed(NeuralBaseline[GreedOptions]):
    """Ranjan et al.: an isomorphism network, sums, and the Euclidean distance, in edits: a pseudo-metric."""

    name, scale = "greed", "raw"
    network = GreedOptions()
    training = TrainingOptions(steps=5000, graphs_per_step=64, learning_rate=1e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> GraphDistanceNetwork:
        encoder = IsomorphismEncoder(schema, self.network.width, self.network.layers)
        return GraphDistanceNetwork(self.network, encoder, BlockNorm(self.network.width, blocks=1))
