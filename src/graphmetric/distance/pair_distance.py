"""Heads: distances between two graphs that an encoder has represented. The paper's is Eq. 9.

A head says everything about itself: its formula, which axioms hold and how nearly, what an index keeps of a graph,
which lower bound follows from that, and whether it aligns nodes. A subclass that names its ``kind`` is registered, and
:class:`HeadOptions` finds it under that name; nothing else needs to know about it (docs/howto/own_head.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from graphmetric.distance._kernels.matching import scan_vectors
from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument

Scale = Literal["raw", "paper"]
Concave = Literal["saturating", "log1p", "sqrt", "ratio"]
Floats = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]
"""Stored arrays of an index, by name."""

HEADS: dict[str, type[DistanceHead]] = {}
"""Every registered head, by its kind."""

COUPLING_REMOVED = (
    "the head 'coupling' and the preset 'large' are gone: training never improved them; for the same distances without "
    "a model use relaxed_edit_distance(g, h, round_up=True) or method='relaxed:round_up', to learn the preset 'base'"
)
"""The error message for models and programs that name them."""

_ROUNDING = 1e-6
"""Scale at which the square root turns into a line: its slope at 0 is 1 / (2 sqrt(1e-6)) = 500, not infinite."""


class Axiom(StrEnum):
    """Guarantees of a distance for all graphs and all weights. None is that only equal graphs are at 0."""

    SYMMETRIC = "symmetric"
    NON_NEGATIVE = "non-negative"
    ZERO_ON_EQUAL = "zero on equal"
    TRIANGLE_INEQUALITY = "triangle inequality"


METRIC = frozenset(Axiom)
"""All axioms: a pseudo-metric, which :mod:`graphmetric.distance.comparison` can turn into a metric."""


class StoredGraphs(NamedTuple):
    """Graphs of an index."""

    graphs: Representation
    """Prepared by the head."""
    arrays: Arrays
    """The stored arrays."""


class DistanceHead(nn.Module, ABC):
    """A distance between two graphs that an encoder has represented.

    A subclass writes :meth:`compare`, and :meth:`project` if part of its formula concerns one graph alone. With
    ``class Mine(DistanceHead, kind="mine")`` it can be trained, saved and loaded under that name.
    """

    kind: ClassVar[str] = ""
    """The name it is registered under; empty if it is not."""
    axioms: frozenset[Axiom] = frozenset()
    """Axioms that hold by construction: exactly for the formula, and for the answers up to rounding and the tolerance.
    None unless declared, as ``axioms = METRIC``; what is declared is tried on random graphs when a model is fitted,
    saved or indexed."""
    tolerance: float = 0.0
    """Largest difference by which an answer may lie below the formula, rounding aside, in the units of the head."""
    epsilon: float = 1e-4
    """Distance that a strict distance adds between graphs that differ: far above the rounding of distances near 0, and
    at least twice the tolerance, so that two sides that are answered too short are still as long as the third."""
    scale: Scale = "raw"
    """The units of the values: edits, or the paper's [0, 1)."""
    width: int
    """Width of the projected vector."""
    needs_states: bool = False
    """Whether it compares node states; an index then keeps them."""
    aligns: bool = False
    """Whether :meth:`align` returns which nodes correspond."""
    vector_blocks: int | None = None
    """Set this if index vectors bound the distance from below: cut the difference of two of them into this many equal
    pieces, and the Euclidean norms of the pieces add up to at most the distance, on the scale of the head."""
    sorted_axes: int = 0
    """The number of axes along which an index keeps node states sorted, for :meth:`tighten`."""

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.kind = kind
        if kind:
            other = HEADS.get(kind, cls)
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise InvalidArgument(f"{other.__module__}.{other.__qualname__} is already the head {kind!r}")
            HEADS[kind] = cls

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        """Make the head for vectors and states of width ``dim``, with ``options.own`` as further arguments."""
        return cls(dim, **options.own)

    def project(self, z: Tensor) -> Tensor:
        """Compute the part of the formula that needs the pooled vector (..., d) of one graph only; once per graph."""
        return z

    @abstractmethod
    def compare(self, left: Representation, right: Representation) -> Tensor:
        """Compute distances of projected graphs; batch axes broadcast, so (n, 1) against (1, m) is a whole matrix."""

    def checked_compare(self, left: Representation, right: Representation) -> Tensor:
        """Compute distances by :meth:`compare`, and check that there is one for each pair."""
        distances = self.compare(left, right)
        shape = np.broadcast_shapes(left.start.shape, right.start.shape)
        if distances.shape != shape:
            raise InvalidArgument(
                f"{type(self).__name__}.compare must return one distance for each pair, shape {shape}; got "
                f"{tuple(distances.shape)}: reduce the last axis, and let the axes before it broadcast"
            )
        return distances

    def prepare(self, graphs: Representation) -> Representation:
        """Project the vectors of graphs, as :meth:`compare` requires."""
        return graphs._replace(z=self.project(graphs.z))

    def forward(self, left: Representation, right: Representation) -> Tensor:
        """Compute the distances of left[0] to right[0], left[1] to right[1] and so on."""
        if left.start.shape != right.start.shape:
            raise InvalidArgument(
                f"both sides must have the same number of graphs; got {left.num_graphs} and {right.num_graphs}. "
                "For all pairs of two collections use distance_matrix"
            )
        return self.checked_compare(self.prepare(left), self.prepare(right))

    def batch_distances(self, graphs: Representation, pairs: Tensor) -> Tensor:
        """Compute the distances of pairs (n, 2) of positions in one batch, projecting each graph once."""
        prepared = self.prepare(graphs)
        return self.checked_compare(prepared.take(pairs[:, 0]), prepared.take(pairs[:, 1]))

    def distance_to_empty(self, graphs: Representation) -> Tensor:
        """Compute the distances to the graph without nodes."""
        return self.checked_compare(self.prepare(graphs), self.prepare(graphs.empty_graph()))

    def align(self, left: Representation, right: Representation) -> list[tuple[int | None, ...]]:
        """Match the nodes of each pair left[k], right[k]: the partner of each node of the first graph, or None."""
        raise InvalidArgument("only heads that match nodes align them: fit with head='matching'")

    def index_vectors(self, graphs: Representation) -> Tensor:
        """Return the vectors, (graphs, width), by which an index finds near graphs.

        By default the projected vectors where they bound the distance (``vector_blocks``), else the pooled ones.
        """
        return graphs.z if self.vector_blocks is None else self.project(graphs.z)

    @torch.no_grad()
    def index_arrays(self, graphs: Representation) -> Arrays:
        """Return the arrays that an index stores of graphs (on the CPU, compacted), to find, bound and compare them."""
        arrays = {"to_empty": self.distance_to_empty(graphs), "vectors": self.index_vectors(graphs)}
        if self.needs_states:
            arrays["states"] = graphs.rows
        if self.vector_blocks is None:
            arrays["projected"] = self.project(graphs.z)
        return {name: array.numpy() for name, array in arrays.items()}

    def read_arrays(self, arrays: Arrays, node_ptr: Tensor) -> Representation:
        """Rebuild prepared graphs from :meth:`index_arrays`; graph k has the nodes node_ptr[k] .. node_ptr[k + 1]."""
        vectors = torch.from_numpy(arrays["vectors"])
        z = torch.from_numpy(arrays["projected"]) if "projected" in arrays else vectors[:, : self.width]
        rows = torch.from_numpy(arrays["states"]) if "states" in arrays else vectors[:0]
        return Representation(z, rows, node_ptr[:-1], node_ptr.diff())

    def gaps(self, query: Floats, vectors: Floats) -> Floats:
        """Compute distances of an index vector to others; lower bounds of the distance if ``vector_blocks`` is set."""
        return vector_distances(vectors, query, self.vector_blocks or 1)

    def tighten(self, gaps: Floats, query: Representation, stored: StoredGraphs, chosen: Tensor) -> Floats:
        """Raise lower bounds of the distances from one prepared graph to stored graphs at chosen positions.

        ``gaps`` are the bounds that :meth:`gaps` gives for these graphs.
        """
        return gaps

    @property
    def is_metric(self) -> bool:
        """True if every axiom holds by construction, within the tolerance."""
        return self.axioms == METRIC

    def guarantee(self, strict: bool = False) -> str:
        """Describe the guarantees of this head, for all graphs and all weights."""
        zero = "zero exactly on isomorphic graphs" if strict else "zero on isomorphic graphs"
        if self.is_metric:
            kind, within = ("a metric", "") if strict else ("a pseudo-metric", self.within)
            return f"{kind}: symmetric, {zero}, triangle inequality{within}"
        texts = {Axiom.SYMMETRIC: "symmetric", Axiom.TRIANGLE_INEQUALITY: f"triangle inequality{self.within}"}
        held = [text for axiom, text in texts.items() if axiom in self.axioms]
        missing = [axiom.value for axiom in Axiom if axiom not in self.axioms | {Axiom.ZERO_ON_EQUAL}]
        return f"{', '.join([*held, zero])}; not guaranteed: {', '.join(missing)}"

    @property
    def within(self) -> str:
        """The tolerance of the triangle inequality as text: two sides may be answered too short."""
        return f" within {2 * self.tolerance:g} edits" if self.tolerance else ""


@dataclass(frozen=True, slots=True)
class HeadOptions:
    """Kind and parameters of the head. Only the fields of the chosen kind matter."""

    kind: str = "squared-fc"
    """"squared-fc" is Eq. 9 of the paper, "block-norm" a sum of norms, "matching" matches node states, "concave" takes
    concave functions of sums of these; or the kind of a head of your own."""
    hidden: tuple[int, ...] = ()
    """squared-fc and concave: widths of the layers before the last."""
    blocks: int = 8
    """block-norm, and the block norm under a concave head: the number of blocks."""
    block_width: int | None = None
    """Width of a block; None: all blocks together are as wide as z."""
    matching_heads: int = 1
    """matching, and the matching under a concave head: equal pieces of the states that are matched on their own."""
    concave: Concave = "log1p"
    """concave: the function between layers."""
    bases: tuple[str, ...] = ()
    """concave: distances it starts from, besides the coordinates of z."""
    coordinates: bool = True
    """concave: whether it starts from the coordinates of z at all."""
    own: dict[str, Any] = field(default_factory=dict, hash=False)
    """Arguments for the constructor of a head of your own, after ``dim``: plain data, which is saved with the model."""

    def __post_init__(self) -> None:
        for kind in (self.kind, *self.bases):
            if kind == "coupling" and kind not in HEADS:
                raise InvalidArgument(COUPLING_REMOVED)
            if kind not in HEADS:
                raise InvalidArgument(
                    f"no head {kind!r}; there are: {', '.join(HEADS)}. Import the module of a head of your own first"
                )
        if "concave" in self.bases:
            raise InvalidArgument("a concave head cannot start from another one; give it more hidden layers")

    def build(self, dim: int) -> DistanceHead:
        """Make the head for vectors and states of width ``dim``."""
        return HEADS[self.kind].build(self, dim)


class SquaredFC(DistanceHead, kind="squared-fc"):
    r"""The paper's distance of the pooled vectors.

    .. math:: d(G^{(i)}, G^{(j)}) = 1 - \exp\left(-\mathrm{FC}\left((z^{(i)} - z^{(j)})^{2}\right)\right) \qquad (9)

    Differs from the paper: its layers may have biases and weights of any sign, and then neither is :math:`d(G, G)` zero
    nor :math:`d` non-negative. Here FC has no bias and weights softplus(V) > 0, so both hold by construction. The
    paper has several layers and names neither their widths (``hidden``) nor an activation between them; we take
    log(1 + x), which keeps zero at zero and does not saturate.

    The triangle inequality does not hold, whatever the weights: FC of squares grows like a square, and
    three points on a line at 0, t, 2t violate it for small t.
    """

    axioms = METRIC - {Axiom.TRIANGLE_INEQUALITY}
    scale = "paper"

    def __init__(self, dim: int, hidden: Sequence[int] = ()) -> None:
        super().__init__()
        self.width = dim
        self.layers = non_negative_layers([dim, *hidden, 1])

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        return cls(dim, options.hidden)

    def compare(self, left: Representation, right: Representation) -> Tensor:
        values = (left.z - right.z).square()
        for layer in self.layers[:-1]:
            values = torch.log1p(layer(values))
        gap = self.layers[-1](values).squeeze(-1)
        return -torch.expm1(-gap)  # 1 - exp(-gap) without cancellation


class BlockNorm(DistanceHead, kind="block-norm"):
    r"""Sum of Euclidean norms over blocks, :math:`g = \sum_b \lVert W_b (z_G - z_H) \rVert_2`.

    A pseudo-metric: each term is a norm of a difference. One block is the Euclidean distance, blocks of width one are
    the city-block distance. The projected vectors :math:`W z` (see :meth:`project`) are all it needs, so an index keeps
    them alone, and their distance is the distance.
    """

    axioms = METRIC
    vector_blocks: int

    def __init__(self, dim: int, blocks: int = 8, width: int | None = None) -> None:
        """``width`` is the width of a block; by default all blocks together are as wide as the input."""
        super().__init__()
        width = dim // blocks if width is None else width
        if blocks < 1 or width < 1:
            raise InvalidArgument(
                f"{blocks} blocks of width {width} for vectors of width {dim}; both must be at least 1"
            )
        self.vector_blocks, self.width = blocks, blocks * width
        self.linear = nn.Linear(dim, self.width, bias=False)

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        return cls(dim, options.blocks, options.block_width)

    def extra_repr(self) -> str:
        return f"blocks={self.vector_blocks}"

    def project(self, z: Tensor) -> Tensor:
        return self.linear(z)  # type: ignore[no-any-return]

    def compare(self, left: Representation, right: Representation) -> Tensor:
        return sum_block_norms(left.z - right.z, self.vector_blocks)


class ConcaveHead(DistanceHead, kind="concave"):
    r"""Layers :math:`h \leftarrow \varphi(W h)`, W ≥ 0, no bias, and a last sum with W ≥ 0.

    It starts from :math:`\lvert z_G - z_H \rvert`, from other distances, or from both. If all of these are
    pseudo-metrics so is the result: non-negative sums of metrics are metrics, and so are concave increasing functions,
    zero at zero, of one (they are subadditive: φ(s + t) ≤ φ(s) + φ(t)).
    """

    def __init__(
        self,
        dim: int | None,
        hidden: Sequence[int] = (32,),
        concave: Concave = "log1p",
        bases: Sequence[DistanceHead] = (),
    ) -> None:
        """``dim`` is the width of the pooled vectors; None to start from ``bases`` alone."""
        super().__init__()
        if dim is None and not bases:
            raise InvalidArgument(
                "a concave head starts from pooled vectors (dim), from other distances (bases) or both"
            )
        if concave not in CONCAVE:
            raise InvalidArgument(f"unknown concave function {concave!r}; choose from {', '.join(CONCAVE)}")
        self.dim = dim or 0
        self.concave = concave
        self.bases = nn.ModuleList(bases)
        self.axioms = METRIC.intersection(*(base.axioms for base in bases))
        self.width = self.dim + sum(base.width for base in bases)
        self.needs_states, self.aligns = (
            any(getattr(base, name) for base in bases) for name in ("needs_states", "aligns")
        )
        self.layers = non_negative_layers([self.dim + len(bases), *hidden, 1])

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        bases = [HEADS[kind].build(options, dim) for kind in options.bases]
        return cls(dim if options.coordinates else None, options.hidden, options.concave, bases)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, concave={self.concave!r}"

    def project(self, z: Tensor) -> Tensor:
        """Concatenate the coordinates and the projection of each base."""
        return torch.cat([z[..., : self.dim], *(base.project(z) for base in self._bases())], dim=-1)

    def compare(self, left: Representation, right: Representation) -> Tensor:
        phi = CONCAVE[self.concave]
        values = self._base_distances(left, right)
        for layer in self.layers[:-1]:
            values = phi(layer(values))
        return self.layers[-1](values).squeeze(-1)  # type: ignore[no-any-return]

    def align(self, left: Representation, right: Representation) -> list[tuple[int | None, ...]]:
        """Align by the first base that can."""
        for base in self._bases():
            if base.aligns:
                return base.align(left, right)
        return super().align(left, right)

    def _base_distances(self, left: Representation, right: Representation) -> Tensor:
        parts = [self.dim, *(base.width for base in self._bases())]
        (left_z, *lefts), (right_z, *rights) = (torch.split_with_sizes(side.z, parts, dim=-1) for side in (left, right))
        measured = [
            base.compare(left._replace(z=a), right._replace(z=b)).unsqueeze(-1)
            for base, a, b in zip(self._bases(), lefts, rights, strict=True)
        ]
        return torch.cat([(left_z - right_z).abs(), *measured], dim=-1)

    def _bases(self) -> list[DistanceHead]:
        return [base for base in self.bases if isinstance(base, DistanceHead)]  # for the type: all of them are


class NonNegativeLinear(nn.Module):
    """W x with W = softplus(V): zero at zero, non-negative and non-decreasing on non-negative inputs."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.empty(outputs, inputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start near the mean of the inputs, each weight half to one and a half times its share."""
        with torch.no_grad():
            weight = self.raw.uniform_(0.5, 1.5) / max(1, self.raw.shape[1])
            self.raw.copy_(torch.log(torch.expm1(weight)))  # the inverse of softplus

    @property
    def weight(self) -> Tensor:
        return functional.softplus(self.raw)

    def forward(self, values: Tensor) -> Tensor:
        return functional.linear(values, self.weight)


def non_negative_layers(widths: Sequence[int]) -> nn.ModuleList:
    """One non-negative map from each width to the next."""
    return nn.ModuleList(NonNegativeLinear(inputs, outputs) for inputs, outputs in pairwise(widths))


def sum_block_norms(vectors: Tensor, blocks: int) -> Tensor:
    """The sum of the Euclidean norms of equal pieces of each vector."""
    pieces = vectors.reshape(*vectors.shape[:-1], blocks, vectors.shape[-1] // blocks)
    norms: Tensor = torch.linalg.vector_norm(pieces, dim=-1)  # its gradient is 0 at 0: equal graphs do not pull
    return norms.sum(-1)


def vector_distances(vectors: Floats, query: Floats, blocks: int = 1) -> Floats:
    """Sums of Euclidean norms over equal pieces of the differences between one vector and all rows of an array."""
    out = np.empty(len(vectors), dtype=np.float32)
    scan_vectors(_read_only(vectors), _read_only(query), blocks, out)
    return out


def _read_only(array: Floats) -> Floats:
    """A read-only view: numba compiles anew for writable arrays, and stored arrays are of both sorts."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def smooth_sqrt(values: Tensor) -> Tensor:
    """sqrt(s + r) - sqrt(r) with a small r: zero at zero, concave, and with a finite slope there."""
    return values / (torch.sqrt(values + _ROUNDING) + math.sqrt(_ROUNDING))  # the difference without cancellation


CONCAVE: dict[Concave, Callable[[Tensor], Tensor]] = {
    "saturating": lambda values: -torch.expm1(-values),
    "log1p": torch.log1p,
    "sqrt": smooth_sqrt,
    "ratio": lambda values: values / (1 + values),
}
"""Concave, increasing, zero at zero: 1 - exp(-s), log(1 + s), sqrt(s), s / (1 + s)."""
