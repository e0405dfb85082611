"""What Eq. 1-3 embed: attributes, Weisfeiler-Lehman roles, degrees, connection weights, and inputs beyond the paper.

Numpy and compiled loops only: the fitted state is plain data, and a batch is a tuple of arrays.
"""

from __future__ import annotations

from graphmetric.features.featurizer import FeatureOptions, GraphFeaturizer
from graphmetric.features.table import BatchLimits, FeatureSchema, FeatureTable, GraphBatch

__all__ = ["BatchLimits", "FeatureOptions", "FeatureSchema", "FeatureTable", "GraphBatch", "GraphFeaturizer"]
