"""Trials of what a head declares, on random graphs: an index, a model card and a user rely on it.

A trial can refute a declaration, not prove it; the axioms of the heads of this package have proofs in their docstrings.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphmetric._foundation.random_streams import random_stream
from graphmetric.distance.pair_distance import Axiom, DistanceHead
from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument

_TRIPLES = 32
"""Triples of each spread."""
_SPREADS = (0.1, 1.0, 10.0)
"""Standard deviations of vectors and node states: squares violate the triangle inequality by more at large ones."""
_LARGEST = 5
"""Nodes of the largest graph."""
_ROUNDING = 1e-4
"""Accepted violation as a share of the longest side; distances are in single precision."""


class _Violation(NamedTuple):
    axiom: Axiom
    values: str
    """The distances that violate it, as text."""


def check_declarations(head: DistanceHead, dim: int) -> None:
    """Refuse a head whose declared axioms, or bound by vectors, fail on random graphs.

    The graphs are the same in every run. In half of the triples the second graph lies between the other two, where
    squared and otherwise convex distances break the triangle inequality.

    Args:
        head: The head; its own weights and mode are left alone.
        dim: Width of pooled vectors and node states.
    """
    tried = copy.deepcopy(head).cpu().eval()
    for spread in _SPREADS:
        graphs = _random_triples(dim, spread)
        for axiom, values in _find_violations(tried, graphs):
            if axiom in head.axioms:
                raise InvalidArgument(
                    f"the head {_name(head)} declares the axiom {axiom.value!r}, which random graphs refute: {values}. "
                    f"Leave Axiom.{axiom.name} out of its axioms"
                )
        if head.vector_blocks is not None:
            _check_vector_bound(tried, graphs)


def _name(head: DistanceHead) -> str:
    return repr(head.kind) if head.kind else type(head).__name__


def _random_triples(dim: int, spread: float) -> Representation:
    """Graphs a, b, c, a, b, c and so on."""
    rng = random_stream(0, "declared axioms", round(10 * spread))
    sizes = rng.integers(0, _LARGEST + 1, (_TRIPLES, 3))
    sizes[::2] = sizes[::2, :1]
    states = spread * rng.normal(size=(_TRIPLES, 3, _LARGEST, dim))
    share = rng.uniform(size=(_TRIPLES, 1, 1))
    between = share * states[:, 0] + (1 - share) * states[:, 2]
    states[::2, 1] = between[::2]
    count = 3 * _TRIPLES
    mask = np.arange(_LARGEST) < sizes.reshape(count, 1)
    states = states.reshape(count, _LARGEST, dim) * mask[:, :, None]
    encoded = SimpleNamespace(
        z=torch.from_numpy(states.sum(axis=1).astype(np.float32) / _LARGEST),  # as the encoder pools
        states=torch.from_numpy(states.astype(np.float32)),
        mask=torch.from_numpy(mask),
    )
    return Representation.from_padded(encoded)


@torch.no_grad()
def _measure(head: DistanceHead, left: Representation, right: Representation) -> Tensor:
    return head.checked_compare(head.prepare(left), head.prepare(right)).double()


def _find_violations(head: DistanceHead, graphs: Representation) -> Iterator[_Violation]:
    """The worst violation of each axiom that fails."""
    a, b, c = (graphs.take(slice(k, None, 3)) for k in range(3))
    ab, bc, ac = _measure(head, a, b), _measure(head, b, c), _measure(head, a, c)
    ba, cb, aa = _measure(head, b, a), _measure(head, c, b), _measure(head, a, a)
    longest = torch.stack([ab, bc, ac]).abs().amax(dim=0)
    allowed = _ROUNDING * longest + head.tolerance
    direct = torch.stack([ac, ab])
    detour = torch.stack([ab + bc, ac + cb])
    for axiom, names, values, excess in (
        (Axiom.NON_NEGATIVE, ("d(a, b)",), (ab,), -ab),
        (Axiom.ZERO_ON_EQUAL, ("d(a, a)",), (aa,), aa.abs()),
        (Axiom.SYMMETRIC, ("d(a, b)", "d(b, a)"), (ab, ba), (ab - ba).abs()),
        (
            Axiom.TRIANGLE_INEQUALITY,
            ("d(a, c)", "d(a, b) + d(b, c)"),
            (direct.flatten(), detour.flatten()),
            (direct - detour - allowed).flatten(),  # either side of the detour may be answered too short
        ),
    ):
        beyond = excess - allowed.repeat(len(excess) // len(allowed))
        k = int(beyond.argmax())
        if beyond[k] > 0:
            shown = (f"{name} = {float(value[k]):.4g}" for name, value in zip(names, values, strict=True))
            yield _Violation(axiom, ", ".join(shown))


@torch.no_grad()
def _check_vector_bound(head: DistanceHead, graphs: Representation) -> None:
    """Refuse ``vector_blocks`` if the bound that it declares exceeds a distance."""
    vectors = head.index_vectors(graphs).numpy()
    for query in range(3):
        one = graphs.take(torch.full((graphs.num_graphs,), query))
        distances = _measure(head, one, graphs).numpy()
        bounds = head.gaps(vectors[query], vectors)
        allowed = _ROUNDING * float(np.abs(distances).max())
        k = int((bounds - distances).argmax())
        if bounds[k] > distances[k] + allowed + head.tolerance:
            raise InvalidArgument(
                f"the head {_name(head)} declares by vector_blocks={head.vector_blocks} that its vectors bound the "
                f"distance from below, which random graphs refute: the bound {bounds[k]:.4g} exceeds the distance "
                f"{distances[k]:.4g}. Set vector_blocks to None; searches are slower then, and right"
            )
