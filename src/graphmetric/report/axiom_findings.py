"""The axioms of a metric: what the model promises by construction, and what is measured on its answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmetric._foundation.limits import effective_n_jobs
from graphmetric.distance import Axiom, axioms_of_view
from graphmetric.errors import WorkBudgetExceeded
from graphmetric.estimator import GraphDistance
from graphmetric.evaluation.axioms import MeasuredAxioms, measure_axioms
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.metric_repair import TriangleViolations

SEPARATION = "separation"
"""The axiom that a pseudo-metric does without."""
SAMPLE = 150
"""Graphs whose distances are measured: half a million triangles."""
_TOLERANCE = 1e-5
"""Relative: single precision, and a copy of a graph may be added up in another order."""


@dataclass(frozen=True, slots=True)
class AxiomFinding:
    """One axiom, what it means, and whether it holds."""

    name: str
    formula: str
    meaning: str
    """For someone who meets the word for the first time."""
    promised: bool
    """Whether it holds by construction, for all graphs and weights."""
    holds: bool
    """On the graphs that were measured."""
    measured: str
    within: str = ""
    """How nearly it is promised, in words such as "within 0.04 edits"; empty: exactly, up to rounding."""

    @property
    def promise(self) -> str:
        """Whether it is promised, in words."""
        return f"by construction{self.within}" if self.promised else "not promised"


def measure_model_axioms(model: GraphDistance, graphs: GraphCollection, seed: int) -> MeasuredAxioms:
    """Distances of some graphs to copies of all of them with their nodes in another order, held against the axioms.

    Every entry is computed on its own, so that symmetry is measured, too.
    """
    rng = np.random.default_rng(seed)
    sample = graphs[np.sort(rng.permutation(len(graphs))[:SAMPLE])]
    copies = GraphCollection(graph.relabeled(rng.permutation(graph.num_nodes)) for graph in sample)
    try:
        classes = isomorphism_classes(sample)
    except WorkBudgetExceeded:
        classes = None
    distances = model.pairwise(sample, copies)
    return measure_axioms(distances, classes=classes, tolerance=_TOLERANCE, n_jobs=effective_n_jobs(model.n_jobs))


def list_axioms(model: GraphDistance, measured: MeasuredAxioms) -> tuple[AxiomFinding, ...]:
    """Every axiom in the order of a textbook; separation last, which only a strict model promises."""
    head, strict = model.model_.head, bool(model.strict)
    promises = axioms_of_view(head, "raw")
    zero, found = measured.tolerance, measured.triangles
    one_side = head.tolerance if strict else head.slack(zero / _TOLERANCE)
    slack = zero if strict else zero + 2 * one_side  # two sides may be answered too short; see PairDistance.epsilon
    findings = [
        AxiomFinding(
            "non-negativity",
            "d(G, H) ≥ 0",
            "A distance is never below zero.",
            Axiom.NON_NEGATIVE in promises,
            not measured.smallest < -zero,
            f"the smallest distance is {measured.smallest:.3g}",
        ),
        AxiomFinding(
            "identity",
            "d(G, copy of G) = 0",
            "Renumbering the nodes of a graph changes nothing.",
            Axiom.ZERO_ON_EQUAL in promises,
            measured.identity <= zero,
            f"the farthest renumbered copy is at {measured.identity:.3g}",
        ),
        AxiomFinding(
            "symmetry",
            "d(G, H) = d(H, G)",
            "It does not matter which of two graphs is named first.",
            Axiom.SYMMETRIC in promises,
            measured.asymmetry <= zero + one_side,
            f"the two directions differ by {measured.asymmetry:.3g} at most",
        ),
        AxiomFinding(
            "triangle inequality",
            "d(G, H) ≤ d(G, K) + d(K, H)",
            "A detour is never shorter; searches rely on it to skip graphs.",
            Axiom.TRIANGLE_INEQUALITY in promises,
            found is not None and found.max_depth <= slack,
            "cannot hold with negative distances" if found is None else _say_triangles(found, zero, slack),
            "" if strict else head.within,
        ),
    ]
    if measured.unseparated is not None:
        findings.append(_separation(strict, measured.unseparated))
    return tuple(findings)


def _say_triangles(found: TriangleViolations, zero: float, slack: float) -> str:
    if found.max_depth <= zero:
        return f"none of {found.tested:,} is broken"
    if found.max_depth <= slack:
        return f"none of {found.tested:,} is broken by more than the solver's tolerance, {found.max_depth:.3g} at most"
    return f"{found.count:,} of {found.tested:,} ({found.share:.2%}) are broken, by {found.max_depth:.3g} at most"


def _separation(strict: bool, unseparated: int) -> AxiomFinding:
    return AxiomFinding(
        SEPARATION,
        "d(G, H) > 0 unless H is a copy of G",
        "Different graphs are told apart. Without it a metric is called a pseudo-metric.",
        strict,
        unseparated == 0,
        f"{unseparated:,} pairs of different graphs are at 0" if unseparated else "no two different graphs are at 0",
    )
