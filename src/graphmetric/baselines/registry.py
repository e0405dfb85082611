"""Baselines by name. Each is imported when it is asked for: the neural ones need torch, the others do not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from graphmetric.baselines.method import Baseline
from graphmetric.errors import InvalidArgument

_HOMES = {
    "beam": ("classical", "Beam"),
    "beam-80": ("classical", "Beam80"),
    "vj": ("classical", "VJ"),
    "hungarian": ("classical", "Hungarian"),
    "hed": ("classical", "HED"),
    "emb-avg": ("neural.methods", "EmbAvg"),
    "gcn-mean": ("neural.methods", "GCNMean"),
    "gcn-max": ("neural.methods", "GCNMax"),
    "siamese-mpnn": ("neural.methods", "SiameseMPNN"),
    "simgnn": ("neural.methods", "SimGNN"),
    "gmn": ("neural.methods", "GMN"),
    "greed": ("neural.methods", "Greed"),
    "graphlet": ("kernels.graphlet", "Graphlet"),
    "wl-subtree": ("kernels.weisfeiler_lehman", "WeisfeilerLehmanSubtree"),
    "wwl": ("kernels.wasserstein", "WassersteinWeisfeilerLehman"),
    "multiscale-laplacian": ("kernels.multiscale_laplacian", "MultiscaleLaplacian"),
    "deep-graph-kernel": ("kernels.deep", "DeepGraphKernel"),
    "size-difference": ("floors", "SizeDifference"),
    "label-counts": ("floors", "LabelCounts"),
    "degree-sequences": ("floors", "DegreeSequences"),
    "labels-and-degrees": ("floors", "LabelsAndDegrees"),
    "fitted-label-counts": ("floors", "FittedLabelCounts"),
}
"""Name, then module below this package and class in it."""

BASELINES: tuple[str, ...] = tuple(_HOMES)
"""The names, in the order of the tables."""


def build_baseline(name: str, **parameters: Any) -> Baseline:
    """The baseline of this name, not fitted yet; ``parameters`` are those of its class.

    Example:
        >>> build_baseline("gcn-mean").scale
        'paper'
    """
    if name not in _HOMES:
        raise InvalidArgument(f"there is no baseline {name!r}; there are: {', '.join(BASELINES)}")
    module, kind = _HOMES[name]
    built = getattr(import_module(f"graphmetric.baselines.{module}"), kind)(**parameters)
    assert isinstance(built, Baseline)
    return built
