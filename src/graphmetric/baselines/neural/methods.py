"""The neural baselines: which encoder, which distance, how trained.

The first four are the learned rows of the paper's table, which names them and their sources but not how a distance is
made of their vectors. Where the source makes none, Eq. 9 does, with a hidden layer: of plain squares alone no distance
is fitted that is mostly about its mean, as edit distances are.
"""

from __future__ import annotations

from graphmetric.baselines.neural.encoders import (
    AverageEncoder,
    ConvolutionEncoder,
    IsomorphismEncoder,
    MessagePassingEncoder,
)
from graphmetric.baselines.neural.graph_matching import InputsAndEdges, MatchingDistance, MatchingModel
from graphmetric.baselines.neural.hausdorff import HausdorffDistance
from graphmetric.baselines.neural.neural_baseline import NeuralBaseline
from graphmetric.baselines.neural.options import (
    AverageOptions,
    ConvolutionOptions,
    GreedOptions,
    MatchingOptions,
    MessagePassingOptions,
    SimGNNOptions,
)
from graphmetric.baselines.neural.pooling import AttentionPooling, MaxPooling, MeanPooling
from graphmetric.baselines.neural.simgnn import SimGNNDistance
from graphmetric.distance import BlockNorm, SquaredFC
from graphmetric.features import FeatureSchema
from graphmetric.model import TrainableDistance
from graphmetric.training import TrainingOptions


class EmbAvg(NeuralBaseline[AverageOptions]):
    """The mean of the node embeddings and nothing else: a floor, which hardly knows of edges."""

    name, scale = "emb-avg", "paper"
    network = AverageOptions()
    training = TrainingOptions(steps=1500, learning_rate=5e-3)

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        network = self.network
        encoder = AverageEncoder(schema, network.width)
        return TrainableDistance(network, encoder, SquaredFC(network.width, network.hidden))


class GCNMean(NeuralBaseline[ConvolutionOptions]):
    """Graph convolutions, the mean of the states.

    Differs from the architecture that the paper cites: it pools a hierarchy of ever coarser graphs, made for graphs of
    hundreds of nodes; ours have about ten and are pooled at once.
    """

    name, scale = "gcn-mean", "paper"
    network = ConvolutionOptions()
    training = TrainingOptions(steps=3000, learning_rate=3e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        network = self.network
        encoder = ConvolutionEncoder(schema, network.widths, MeanPooling())
        return TrainableDistance(network, encoder, SquaredFC(network.widths[-1], network.hidden))


class GCNMax(NeuralBaseline[ConvolutionOptions]):
    """Graph convolutions, the largest value of each coordinate; see :class:`GCNMean`."""

    name, scale = "gcn-max", "paper"
    network = ConvolutionOptions()
    training = GCNMean.training

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        network = self.network
        encoder = ConvolutionEncoder(schema, network.widths, MaxPooling())
        return TrainableDistance(network, encoder, SquaredFC(network.widths[-1], network.hidden))


class SiameseMPNN(NeuralBaseline[MessagePassingOptions]):
    """Riba et al.'s: message passing with gates, then the Hausdorff edit distance of the two sets of states."""

    name, scale = "siamese-mpnn", "paper"
    network = MessagePassingOptions()
    training = TrainingOptions(steps=2000, graphs_per_step=48, learning_rate=2e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        encoder = MessagePassingEncoder(schema, self.network.width, self.network.rounds)
        return TrainableDistance(self.network, encoder, HausdorffDistance())


class SimGNN(NeuralBaseline[SimGNNOptions]):
    """Bai et al.'s: convolutions, attention pooling, a neural tensor network and a histogram of node similarities."""

    name, scale = "simgnn", "paper"
    network = SimGNNOptions()
    training = TrainingOptions(
        steps=8000, graphs_per_step=48, learning_rate=5e-3, weight_decay=0.03, validate_every=200
    )

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        network, width = self.network, self.network.widths[-1]
        encoder = ConvolutionEncoder(schema, network.widths, AttentionPooling(width))
        return TrainableDistance(network, encoder, SimGNNDistance(width, network.slices, network.bins, network.hidden))


class GMN(NeuralBaseline[MatchingOptions]):
    """Li et al.'s graph matching network: nodes attend to the other graph in every round, so no graph has a vector of
    its own, and every pair costs all rounds."""

    name, scale = "gmn", "paper"
    network = MatchingOptions()
    training = TrainingOptions(steps=2000, graphs_per_step=20, learning_rate=2e-3, validate_every=500)

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        network = self.network
        head = MatchingDistance(network.width, network.rounds, network.vector_width)
        return MatchingModel(network, InputsAndEdges(schema, network.width), head)


class Greed(NeuralBaseline[GreedOptions]):
    """Ranjan et al.'s: an isomorphism network, sums, and the Euclidean distance, in edits: a metric by construction."""

    name, scale = "greed", "raw"
    network = GreedOptions()
    training = TrainingOptions(steps=5000, graphs_per_step=64, learning_rate=1e-3, validate_every=200)

    def build(self, schema: FeatureSchema) -> TrainableDistance:
        network = self.network
        encoder = IsomorphismEncoder(schema, network.width, network.layers)
        return TrainableDistance(network, encoder, BlockNorm(network.width, blocks=1))
