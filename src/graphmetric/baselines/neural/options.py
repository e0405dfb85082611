"""Sizes of the networks. How they are trained is :class:`~graphmetric.training.TrainingOptions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmetric.errors import InvalidArgument
from graphmetric.plain_options import to_plain


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
