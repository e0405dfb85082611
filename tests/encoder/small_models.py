"""Encoders small enough for tests, with every option somewhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import torch

from graphmetric.distance import Matching
from graphmetric.encoder import Encoded, EncoderOptions, GraphEncoder, to_tensors
from graphmetric.features import FeatureOptions, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from graphmetric.model import GraphDistanceNetwork

torch.set_num_threads(1)  # several threads on matrices this small take longer, the more so on a busy machine

FEATURES = FeatureOptions(return_steps=3)

ALL_INPUTS = ("attributes", "roles", "neighbourhood", "degree", "walks")
CONFIGURATIONS = {
    "paper": EncoderOptions(hidden_size=8),
    "printed": EncoderOptions(hidden_size=8, block="printed", residual="graph-raw"),
    "everything": EncoderOptions(
        hidden_size=8,
        inputs=ALL_INPUTS,
        messages="typed",
        context=True,
        output_size=6,
        norm="pre",
        residual="graph-raw",
        positions="learned",
    ),
    "typed": EncoderOptions(
        hidden_size=8, heads=0, messages="typed", context=True, residual="none", norm="pre", output_size=5
    ),
    "narrow": EncoderOptions(hidden_size=8, attention_size=4, residual="none", tags="positional", norm="pre"),
}


class SmallModel:
    """Features and an encoder with random weights, in evaluation mode."""

    def __init__(self, training: Iterable[Graph], options: EncoderOptions, features: FeatureOptions = FEATURES) -> None:
        self.featurizer = GraphFeaturizer(features).fit(training)
        torch.manual_seed(0)
        self.encoder = GraphEncoder(self.featurizer.schema, options).eval()
        self.network = GraphDistanceNetwork(None, self.encoder, Matching(1)).eval()

    def encode(self, graphs: list[Graph]) -> Encoded:
        """All graphs in one batch."""
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = self.featurizer.transform(graphs)
            return self.encoder(to_tensors(table.padded(np.arange(len(graphs)))))

    def z(self, *graphs: Graph) -> np.ndarray:
        """Their representations."""
        return self.encode(list(graphs)).z.numpy()
