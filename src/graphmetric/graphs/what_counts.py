"""What tells graphs apart: the attributes that an edit distance counts, and those that make it say nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has

_ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        """
        H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb
        Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au
        Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts
        Og
        """,
    )
)
_ROWS_LOOKED_AT = 200_000
_COUNTED = {
    "node labels": Has.NODE_LABELS,
    "node features": Has.NODE_FEATURES,
    "node texts": Has.NODE_TEXTS,
    "node images": Has.NODE_IMAGES,
    "edge labels": Has.EDGE_LABELS,
    "edge weights": Has.EDGE_WEIGHTS,
    "directions of edges": Has.DIRECTION,
}
_FEWEST_ROWS = 8
_MOSTLY = 0.5
"""From this share of different values on, numbers are measurements rather than kinds."""


def counted_attributes(graphs: GraphCollection) -> tuple[str, ...]:
    """What an edit distance between these graphs counts unless something is ignored, in words."""
    return ("nodes", "edges", *(words for words, flag in _COUNTED.items() if graphs.any_has(flag)))


def are_elements(labels: Collection[Hashable]) -> bool:
    """Whether labels look like chemical elements, carbon among them."""
    return "C" in labels and all(label in _ELEMENTS for label in labels)


def unequal_numbers(graphs: GraphCollection, ignored: Collection[str] = ()) -> list[str]:
    """A sentence for each column that makes an edit distance meaningless: nearly no two nodes, or edges, are alike.

    ``ignored`` are columns that do not count, as in ``EditCosts(ignore=...)``.
    """
    columns, found = graphs.columns, []
    numbers = {"node_features": ("nodes", "feature_distance='euclidean'"), "edge_weights": ("edges", "weight_scale=1")}
    for name, (rows, remedy) in numbers.items():
        column = getattr(columns, name)
        if column is not None and name not in ignored and (share := _share_of_different(column)) > _MOSTLY:
            found.append(
                f"{name} are different on {share:.0%} of the {rows}, and an edit distance calls {rows} different "
                f"whenever they differ at all; leave them out by --ignore {name}, or count how far apart they are "
                f"by EditCosts({remedy})"
            )
    labels = columns.node_labels
    if labels is not None and "node_labels" not in ignored:
        share = _share_of_different(labels.codes)
        if share > _MOSTLY and len(graphs) > 1:
            found.append(
                f"node_labels are different on {share:.0%} of the nodes, as names are, and an edit distance calls such "
                "nodes different; choose another attribute by --node-label, or leave them out by --ignore node_labels"
            )
    return found


def _share_of_different(column: NDArray[Any]) -> float:
    """Distinct rows among all rows, of the first so many; 0 where there are too few to tell."""
    rows = column[:_ROWS_LOOKED_AT]
    if len(rows) < _FEWEST_ROWS or (rows.ndim == 2 and rows.shape[1] == 0):
        return 0.0
    return len(np.unique(rows, axis=0)) / len(rows)
