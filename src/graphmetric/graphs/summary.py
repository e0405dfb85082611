"""Summary of a collection, with warnings about unusual data before computing with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.columns import COLUMNS, EDGE_COLUMNS, NODE_COLUMNS, Columns, GraphFlags
from graphmetric.graphs.labels import LabelColumn

_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv "
    "Ts Og"
)
_ROWS_LOOKED_AT = 200_000
_FEWEST_ROWS = 8
_NAMED = 5
_MOSTLY = 0.5
"""From this share of different values on, numbers are measurements rather than kinds."""
_TOO_DIFFERENT = (
    "and an edit distance calls {rows} different whenever they differ at all; leave them out by --ignore {name}"
)
_REMEDIES = {
    "node_features": f"{_TOO_DIFFERENT}, or count how far apart they are by EditCosts(feature_distance='euclidean')",
    "edge_weights": f"{_TOO_DIFFERENT}, or count how far apart they are by EditCosts(weight_scale=1)",
    "node_labels": "as names are, and an edit distance calls such nodes different; choose another attribute by "
    "--node-label, or leave them out by --ignore node_labels",
}


@dataclass(frozen=True, slots=True)
class MinMeanMax:
    """Smallest, mean and largest of some count."""

    min: int
    mean: float
    max: int

    @classmethod
    def of(cls, values: NDArray[np.int64]) -> MinMeanMax:
        return cls(int(values.min()), float(values.mean()), int(values.max())) if len(values) else cls(0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """The figures that ``graphmetric info`` prints."""

    graphs: int
    nodes: MinMeanMax
    edges: MinMeanMax
    size_histogram: dict[int, int]
    """Number of nodes -> how many graphs have it."""
    directed: int
    weighted: int
    node_labels: dict[Hashable, int]
    """Label -> on how many nodes; empty when no graph has labels."""
    edge_labels: dict[Hashable, int]
    features: int
    """Length of the feature vectors; 0 without."""
    isomorphism_classes: int
    disconnected: int
    with_self_loops: int
    memory_bytes: int
    counts: tuple[str, ...]
    """Attributes that an edit distance between these graphs compares by default."""
    unusual: tuple[str, ...]
    """Warnings about these graphs, as sentences."""


def summarize(graphs: GraphCollection) -> CollectionSummary:
    """Count everything; isomorphism classes are by all attributes the graphs have."""
    columns, flags = graphs.columns, graphs.flags
    values, counts = np.unique(graphs.sizes, return_counts=True)
    classes = int(isomorphism_classes(graphs).max(initial=-1)) + 1
    disconnected = np.flatnonzero(component_counts(columns) > 1)
    node_labels = _label_counts(columns, "node_labels")
    loops = np.repeat(np.arange(len(graphs)), graphs.edge_counts)[columns.edges[:, 0] == columns.edges[:, 1]]
    attributes = [name for name in (*NODE_COLUMNS, *EDGE_COLUMNS) if graphs.any_has(COLUMNS[name].flag)]
    direction = ["directions of edges"] if graphs.any_has(GraphFlags.DIRECTION) else []
    return CollectionSummary(
        graphs=len(graphs),
        nodes=MinMeanMax.of(graphs.sizes),
        edges=MinMeanMax.of(graphs.edge_counts),
        size_histogram=dict(zip(values.tolist(), counts.tolist(), strict=True)),
        directed=int((flags & GraphFlags.DIRECTION != 0).sum()),
        weighted=int((flags & GraphFlags.EDGE_WEIGHTS != 0).sum()),
        node_labels=node_labels,
        edge_labels=_label_counts(columns, "edge_labels"),
        features=0 if columns.node_features is None else columns.node_features.shape[1],
        isomorphism_classes=classes,
        disconnected=len(disconnected),
        with_self_loops=len(np.unique(loops)),
        memory_bytes=columns.nbytes,
        counts=("nodes", "edges", *(name.replace("_", " ") for name in attributes), *direction),
        unusual=tuple(_unusual(graphs, columns, classes, disconnected, node_labels)),
    )


def are_elements(labels: Collection[Hashable]) -> bool:
    """Return whether labels look like chemical elements, carbon among them."""
    return "C" in labels and set(labels) <= set(_ELEMENTS.split())


def nearly_unique_attributes(graphs: GraphCollection, ignored: Collection[str] = ()) -> list[str]:
    """Describe each column that makes an edit distance meaningless: nearly no two nodes, or edges, are alike.

    ``ignored`` are columns that are not compared, as in ``EditCosts(ignore=...)``.
    """
    columns, found = graphs.columns.present(), []
    for name, remedy in _REMEDIES.items():
        if name in columns and name not in ignored and not (name == "node_labels" and len(graphs) < 2):
            share = _share_of_different(columns[name])
            rows = f"{COLUMNS[name].per}s"
            if share > _MOSTLY:
                found.append(
                    f"{name} are different on {share:.0%} of the {rows}, {remedy.format(name=name, rows=rows)}"
                )
    return found


def component_counts(columns: Columns) -> NDArray[np.int64]:
    """Number of (weakly) connected components of each graph, all graphs at once."""
    num_nodes = columns.num_nodes
    edges = columns.edges + np.repeat(columns.node_ptr[:-1], np.diff(columns.edge_ptr))[:, None]
    together = coo_array((np.ones(len(edges), dtype=np.int8), edges.T), shape=(num_nodes, num_nodes))
    _, component = connected_components(together, directed=False)
    _, first_node = np.unique(component, return_index=True)
    owner = np.searchsorted(columns.node_ptr, first_node, side="right") - 1
    return np.bincount(owner, minlength=columns.num_graphs)


def _names(graphs: GraphCollection, positions: NDArray[np.int64]) -> str:
    """The ids of the first of these graphs, or the positions of those that have none."""
    ids = [(k, graphs[k].id) for k in positions[:_NAMED].tolist()]
    names = [f"graphs[{k}]" if id is None else str(id) for k, id in ids]
    return ", ".join([*names, "..."] if len(positions) > _NAMED else names)


def _share_of_different(column: Any) -> float:
    """Distinct rows as a share of the first rows; 0 where there are too few to tell."""
    rows = (column.codes if isinstance(column, LabelColumn) else column)[:_ROWS_LOOKED_AT]
    if len(rows) < _FEWEST_ROWS or (rows.ndim == 2 and rows.shape[1] == 0):
        return 0.0
    return len(np.unique(rows, axis=0)) / len(rows)


def _label_counts(columns: Columns, name: str) -> dict[Hashable, int]:
    """Count each label, most frequent first."""
    column = getattr(columns, name)
    if column is None:
        return {}
    counts = np.bincount(column.codes[columns.has_row(name)], minlength=len(column.vocabulary))
    order = np.argsort(-counts, kind="stable")
    return {column.vocabulary[code]: int(counts[code]) for code in order.tolist() if counts[code]}


def _unusual(
    graphs: GraphCollection,
    columns: Columns,
    classes: int,
    disconnected: NDArray[np.int64],
    node_labels: dict[Hashable, int],
) -> list[str]:
    found = []
    total, sizes = len(graphs), graphs.sizes
    if len(empty := np.flatnonzero(sizes == 0)):
        found.append(f"graphs without nodes ({len(empty)}): {_names(graphs, empty)}")
    if total and classes < 0.9 * total:
        found.append(
            f"{1 - classes / total:.0%} of the graphs are copies of another one; "
            "a random split would test on training graphs (see Dataset.leak_free)"
        )
    if len(disconnected):
        found.append(f"graphs that are not connected ({len(disconnected)}): {_names(graphs, disconnected)}")
    if total and sizes.max() > 10 * max(1, np.median(sizes)):
        largest = sizes.argmax(0, keepdims=True)
        found.append(f"{_names(graphs, largest)} has {sizes.max()} nodes, the median is {np.median(sizes):g}")
    found += nearly_unique_attributes(graphs)
    if are_elements(node_labels):
        found.append(
            "the node labels are chemical elements: charge, stereochemistry and isotopes do not count unless the "
            "molecules are read with --distinguish"
        )
    if rare := [label for label, count in node_labels.items() if count == 1]:
        found.append(f"{len(rare)} node labels occur only once: {', '.join(map(str, rare[:8]))}")
    if columns.ids is not None and len(ids := Counter(columns.ids)) < total:
        repeated, times = ids.most_common(1)[0]
        found.append(f"ids are not unique: {len(ids)} for {total} graphs; {repeated} is the id of {times}")
    for what in (GraphFlags.NODE_LABELS, GraphFlags.EDGE_LABELS, GraphFlags.DIRECTION):
        having = int((graphs.flags & what != 0).sum())
        if 0 < having < total:
            found.append(f"only {having} of {total} graphs have {str(what.name).lower().replace('_', ' ')}")
    return found
