"""The neural baselines: which encoder, which distance, how trained.

The first four are the learned rows of the paper's table, which names them and their sources but not how a distance is
made of their vectors. Where the source makes none, Eq. 9 does, with a hidden layer: of plain squares alone no distance
is fitted that is mostly about its mean, as edit distances are.

Sizes of the networks. How they are trained is :class:`~graphmetric.training.TrainingOptions`.

What the neural baselines share: features, training and prediction.

Neural baselines: their encoders and pair networks, behind the training of :mod:`graphmetric.training`.

Each is a :class:`~graphmetric.model.GraphDistanceModel`: an encoder of one graph and a distance of two encoded ones. A
network that lets two graphs look at each other has a trivial encoder and does its work in the distance.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from graphmetric._foundation.options import to_plain
from graphmetric._foundation.threads import working_threads
from graphmetric.baselines.method import Baseline, TrainingTask
from graphmetric.baselines.neural_encoders import (
    FEATURES,
    AttentionPooling,
    AverageEncoder,
    ConvolutionEncoder,
    IsomorphismEncoder,
    MaxPooling,
    MeanPooling,
    MessagePassingEncoder,
)
from graphmetric.baselines.neural_pairs import (
    HausdorffDistance,
    InputsAndEdges,
    MatchingDistance,
    MatchingModel,
    SimGNNDistance,
)
from graphmetric.distance import BlockNorm, Comparison, Representation, SquaredFC, distance_matrix
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureSchema, GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.model import GraphDistanceModel
from graphmetric.training import TrainingLabels, TrainingOptions, TrainingResult, train_model


class NetworkOptions:
    """What all have in common: every size is 1 or more."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    def __post_init__(self) -> None:
        for name, value in self.to_dict().items():
            sizes = value if isinstance(value, list) else [value]
            if min(sizes, default=1 if name == "hidden" else 0) < 1:
                raise InvalidArgument(f"{type(self).__name__}: {name} must be 1 or more; got {value}")


@dataclass(frozen=True, slots=True)
class AverageOptions(NetworkOptions):
    """Of EmbAvg."""

    width: int = 64
    """Of the embedded inputs; even."""
    hidden: tuple[int, ...] = (16,)
    """Widths of the layers of Eq. 9 before the last; may be none."""


@dataclass(frozen=True, slots=True)
class ConvolutionOptions(NetworkOptions):
    """Of GCN-Mean and GCN-Max."""

    widths: tuple[int, ...] = (64, 32, 16)
    """Of the states after each convolution; the inputs are as wide as the first, which is even."""
    hidden: tuple[int, ...] = (16,)
    """Widths of the layers of Eq. 9 before the last; may be none."""


@dataclass(frozen=True, slots=True)
class MessagePassingOptions(NetworkOptions):
    """Of Siamese MPNN."""

    width: int = 64
    """Of the states; even."""
    rounds: int = 3
    """Of messages."""


@dataclass(frozen=True, slots=True)
class SimGNNOptions(NetworkOptions):
    """Of SimGNN; the defaults are its paper's."""

    widths: tuple[int, ...] = (64, 32, 16)
    """Of the states after each convolution; the inputs are as wide as the first, which is even."""
    slices: int = 16
    """Of the neural tensor network."""
    bins: int = 16
    """Of the histogram of node similarities."""
    hidden: tuple[int, ...] = (16, 8)
    """Widths of the layers between both and the score."""


@dataclass(frozen=True, slots=True)
class MatchingOptions(NetworkOptions):
    """Of GMN."""

    width: int = 32
    """Of the states; even."""
    rounds: int = 4
    """Of messages within and across the graphs."""
    vector_width: int = 64
    """Of the vector that stands for a graph in the end."""


@dataclass(frozen=True, slots=True)
class GreedOptions(NetworkOptions):
    """Of GREED."""

    width: int = 64
    """Of the states and of the vector of a graph; even."""
    layers: int = 8
    """Of the isomorphism network."""


Network = TypeVar("Network", bound=NetworkOptions)

_CHUNK = 4096
"""Graphs of the database that are encoded at a time."""


class NeuralBaseline(Baseline, Generic[Network]):
    """A network that :func:`graphmetric.training.train_model` trains.

    A subclass names its defaults and writes :meth:`build`.
    """

    network: Network
    training: TrainingOptions
    model_: GraphDistanceModel
    """After ``fit``, as the two below."""
    featurizer_: GraphFeaturizer
    result_: TrainingResult

    def __init__(self, network: Network | None = None, training: TrainingOptions | None = None) -> None:
        if network is not None:
            self.network = network
        if training is not None:
            self.training = training

    @abstractmethod
    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
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
        with working_threads(self._threads):
            rows = self._encode(queries)
            for start in range(0, len(database), _CHUNK):
                columns = self._encode(database[start : start + _CHUNK])
                comparison = Comparison.prepare(head, rows, columns, view=head.scale)
                found[:, start : start + _CHUNK] = distance_matrix(comparison)
        return found

    @torch.no_grad()
    def _encode(self, graphs: GraphCollection) -> Representation:
        return self.model_.encode_rows(self.featurizer_.transform(graphs), np.arange(len(graphs)))


def turn_half(labels: TrainingLabels) -> TrainingLabels:
    """The same labels, every other pair turned round.

    Labels mostly list each pair once, the lower position first. A network that treats its two sides differently would
    then see some graphs on one side only.
    """
    odd = labels.pairs.sum(axis=1) % 2 == 1
    return TrainingLabels(np.where(odd[:, None], labels.pairs[:, ::-1], labels.pairs), labels.lower, labels.upper)


class EmbAvg(NeuralBaseline[AverageOptions]):
    """The mean of the node embeddings and nothing else: a floor, which hardly knows of edges."""

    name, scale = "emb-avg", "paper"
    network = AverageOptions()
    training = TrainingOptions(steps=1500, learning_rate=5e-3)

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        network = self.network
        encoder = AverageEncoder(schema, network.width)
        return GraphDistanceModel(network, encoder, SquaredFC(network.width, network.hidden))


class GCNMean(NeuralBaseline[ConvolutionOptions]):
    """Graph convolutions, the mean of the states.

    Differs from the architecture that the paper cites: it pools a hierarchy of ever coarser graphs, made for graphs of
    hundreds of nodes; ours have about ten and are pooled at once.
    """

    name, scale = "gcn-mean", "paper"
    network = ConvolutionOptions()
    training = TrainingOptions(steps=3000, learning_rate=3e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        network = self.network
        encoder = ConvolutionEncoder(schema, network.widths, MeanPooling())
        return GraphDistanceModel(network, encoder, SquaredFC(network.widths[-1], network.hidden))


class GCNMax(NeuralBaseline[ConvolutionOptions]):
    """Graph convolutions, the largest value of each coordinate; see :class:`GCNMean`."""

    name, scale = "gcn-max", "paper"
    network = ConvolutionOptions()
    training = GCNMean.training

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        network = self.network
        encoder = ConvolutionEncoder(schema, network.widths, MaxPooling())
        return GraphDistanceModel(network, encoder, SquaredFC(network.widths[-1], network.hidden))


class SiameseMPNN(NeuralBaseline[MessagePassingOptions]):
    """Riba et al.'s: message passing with gates, then the Hausdorff edit distance of the two sets of states."""

    name, scale = "siamese-mpnn", "paper"
    network = MessagePassingOptions()
    training = TrainingOptions(steps=2000, graphs_per_step=48, learning_rate=2e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        encoder = MessagePassingEncoder(schema, self.network.width, self.network.rounds)
        return GraphDistanceModel(self.network, encoder, HausdorffDistance())


class SimGNN(NeuralBaseline[SimGNNOptions]):
    """Bai et al.'s: convolutions, attention pooling, a neural tensor network and a histogram of node similarities."""

    name, scale = "simgnn", "paper"
    network = SimGNNOptions()
    training = TrainingOptions(
        steps=8000, graphs_per_step=48, learning_rate=5e-3, weight_decay=0.03, validate_every=200
    )

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        network, width = self.network, self.network.widths[-1]
        encoder = ConvolutionEncoder(schema, network.widths, AttentionPooling(width))
        return GraphDistanceModel(network, encoder, SimGNNDistance(width, network.slices, network.bins, network.hidden))


class GMN(NeuralBaseline[MatchingOptions]):
    """Li et al.'s graph matching network: nodes attend to the other graph in every round, so no graph has a vector of
    its own, and every pair costs all rounds."""

    name, scale = "gmn", "paper"
    network = MatchingOptions()
    training = TrainingOptions(steps=2000, graphs_per_step=20, learning_rate=2e-3, validate_every=500)

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        network = self.network
        head = MatchingDistance(network.width, network.rounds, network.vector_width)
        return MatchingModel(network, InputsAndEdges(schema, network.width), head)


class Greed(NeuralBaseline[GreedOptions]):
    """Ranjan et al.'s: an isomorphism network, sums, and the Euclidean distance, in edits: a metric by construction."""

    name, scale = "greed", "raw"
    network = GreedOptions()
    training = TrainingOptions(steps=5000, graphs_per_step=64, learning_rate=1e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> GraphDistanceModel:
        network = self.network
        encoder = IsomorphismEncoder(schema, network.width, network.layers)
        return GraphDistanceModel(network, encoder, BlockNorm(network.width, blocks=1))
