"""What the neural baselines share: features, training and prediction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from graphmetric.baselines.method import Baseline, TrainingTask
from graphmetric.baselines.neural.node_inputs import FEATURES
from graphmetric.baselines.neural.options import NetworkOptions
from graphmetric.distance import Comparison, Representation, distance_matrix
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureSchema, GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.model import TrainableDistance
from graphmetric.threads import working_threads
from graphmetric.training import TrainingLabels, TrainingOptions, TrainingResult, fit

Network = TypeVar("Network", bound=NetworkOptions)

_CHUNK = 4096
"""Graphs of the database that are encoded at a time."""


class NeuralBaseline(Baseline, Generic[Network]):
    """A network that :func:`graphmetric.training.fit` trains.

    A subclass names its defaults and writes :meth:`build`.
    """

    network: Network
    training: TrainingOptions
    model_: TrainableDistance
    """After ``fit``, as the two below."""
    featurizer_: GraphFeaturizer
    result_: TrainingResult

    def __init__(self, network: Network | None = None, training: TrainingOptions | None = None) -> None:
        if network is not None:
            self.network = network
        if training is not None:
            self.training = training

    @abstractmethod
    def build(self, schema: FeatureSchema) -> TrainableDistance:
        """The network, with weights from torch's generator."""

    def fit(self, task: TrainingTask) -> Self:
        self.featurizer_ = GraphFeaturizer(FEATURES).fit(task.graphs[task.training.graphs])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(task.seed)
            model = self.build(self.featurizer_.schema)
        self.result_ = fit(
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
