"""Inputs of the encoder, Eq. 1-3: attributes, Weisfeiler-Lehman roles, degrees, connection weights, and more.

Numpy and compiled loops only: the fitted state is plain data, and a batch is a tuple of arrays.
"""

from __future__ import annotations

from graphmetric.features.featurizer import FeatureOptions, GraphFeaturizer
from graphmetric.features.table import BatchLimits, FeatureSchema, FeatureTable, GraphBatch

__all__ = ["BatchLimits", "FeatureOptions", "FeatureSchema", "FeatureTable", "GraphBatch", "GraphFeaturizer"]
