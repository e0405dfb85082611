"""Graphs and costs as the integer codes and tables that the compiled searches read.

A *kind* is everything about a node or an edge that its costs depend on. Nodes of one kind share a code, so a collection
of molecules needs a table only as large as its alphabet. A self-loop belongs to the kind of its node. In directed
graphs an edge code stands for what lies between two nodes in both directions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.node_maps import TrueCosts
from graphmetric.edit_distance._kernels.packing import pack_graphs
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.scaling import EncodedProblem as EncodedProblem
from graphmetric.edit_distance.scaling import scale_costs
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, GraphFlags
from graphmetric.graphs.labels import LabelColumn

MAX_KINDS = 5_000
"""The tables are square in the number of kinds: 5,000 kinds take 200 MB."""
_FEW_CODES = 1 << 16
"""So many codes are renumbered by marking those that occur, which is quicker than sorting."""
_NO_LABEL = None
"""The label of nodes in graphs without labels."""

Kinds = NDArray[np.int64]


class Marks(NamedTuple):
    """Additional prices of edits, for single nodes and edges.

    Each node and each edge of the collections has a mark, the row of a table that says what is added to the costs of
    relabeling it, deleting it and inserting it, in this order. A relabeling is charged by the mark of what is
    relabeled. The fourth column is a class: what is of different classes cannot become each other for less than
    ``apart``.
    """

    nodes: list[Kinds]
    """The marks of all nodes, collection by collection."""
    edges: list[Kinds]
    node_prices: NDArray[np.float64]
    """(marks, 4)."""
    edge_prices: NDArray[np.float64]
    apart: float


class Prices(NamedTuple):
    """What edits of nodes or of edges cost, by kind; self-loops are left to the edges."""

    kinds: list[Kinds]
    """The kind of each node or edge, collection by collection."""
    substitute: NDArray[np.float64]
    delete: NDArray[np.float64]
    insert: NDArray[np.float64]


def encode(
    first: GraphCollection, second: GraphCollection, costs: EditCosts, marks: Marks | None = None
) -> EncodedProblem:
    """Encode two collections; pass the same object twice for pairs within one collection."""
    collections = [first] if first is second else [first, second]
    _check_direction(collections)
    parts = [collection.columns for collection in collections]
    edges = price_edges(parts, costs, marks)
    edge_kinds, edge_table = [kinds + 1 for kinds in edges.kinds], _edge_table(edges)
    loop_kinds = [_loops(part, kinds) for part, kinds in zip(parts, edge_kinds, strict=True)]
    node_kinds, substitute, delete, insert = _add_loops(price_nodes(parts, costs, marks), loop_kinds, edge_table)
    codes, reverse, edge_costs = _pair_codes(parts, edge_kinds, edge_table)
    packed = [
        pack_graphs(part.node_ptr, kinds, starts, pairs, code, reverse)
        for part, kinds, (starts, pairs, code) in zip(parts, node_kinds, codes, strict=True)
    ]
    return scale_costs(packed[0], packed[-1], TrueCosts(substitute, delete, insert, edge_costs, reverse))


def _check_direction(collections: list[GraphCollection]) -> None:
    directed = np.concatenate([c.flags & GraphFlags.DIRECTION != 0 for c in collections])
    if directed.any() and not directed.all():
        k, other = int(np.argmax(directed)), int(np.argmin(directed))
        raise InvalidArgument(
            f"graph {k} is directed and graph {other} is not; the edit distance needs both of one sort: "
            "convert one with graph.replace(directed=...)"
        )


def price_nodes(parts: list[Columns], costs: EditCosts, marks: Marks | None = None) -> Prices:
    """The kinds of the nodes, and what their edits cost."""
    labels, vocabulary = _label_codes(parts, "node_labels", GraphFlags.NODE_LABELS, costs)
    texts, _ = _label_codes(parts, "node_texts", GraphFlags.NODE_TEXTS, costs)
    features, vectors = _row_codes(parts, "node_features", GraphFlags.NODE_FEATURES, costs)
    images, _ = _row_codes(parts, "node_images", GraphFlags.NODE_IMAGES, costs)
    attributes = [labels, texts, features, images]
    kinds, table = _joint_kinds(attributes if marks is None else [*attributes, marks.nodes], "node")
    label, text, vector, image = table.T[:4]
    by_distance = costs.feature_distance is not None and vectors is not None
    others = [text, image] if by_distance else [text, image, vector]
    used, place = _used_labels(vocabulary, label)
    price = costs.node_substitution(used, used)[np.ix_(place, place)]
    substitute = _unequal_price(price, label, others, costs.node_substitute, "node_substitute")
    if by_distance:
        if (vector < 0).any():
            raise InvalidArgument("feature_distance compares features, but some graphs have none")
        substitute = substitute + costs.feature_scale * _feature_distances(vectors[vector], costs)
    delete, insert = costs.priced("node_delete", used)[place], costs.priced("node_insert", used)[place]
    prices = Prices(kinds, substitute, delete, insert)
    return prices if marks is None else _add_marks(prices, table[:, :-1], marks.node_prices[table[:, -1]], marks.apart)


def _add_marks(prices: Prices, attributes: Kinds, added: NDArray[np.float64], apart: float) -> Prices:
    """Prices with what the mark of each kind adds to them; kinds of the same attributes are equal."""
    unequal = (attributes[:, None, :] != attributes[None, :, :]).any(axis=2)
    relabel, delete, insert, which = added.T
    substitute = prices.substitute + np.where(unequal, relabel[:, None], 0.0)
    substitute[which[:, None] != which[None, :]] += apart
    return Prices(prices.kinds, substitute, prices.delete + delete, prices.insert + insert)


def _add_loops(
    nodes: Prices, loops: list[Kinds], edge_table: NDArray[np.float64]
) -> tuple[list[Kinds], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The kind of every node with its self-loop, and costs by kind: substitution, deletion, insertion."""
    if not any(part.any() for part in loops):
        return nodes.kinds, nodes.substitute, nodes.delete, nodes.insert
    kinds, table = _joint_kinds([nodes.kinds, loops], "node")
    node, loop = table.T
    substitute = nodes.substitute[np.ix_(node, node)] + edge_table[np.ix_(loop, loop)]
    return kinds, substitute, nodes.delete[node] + edge_table[loop, 0], nodes.insert[node] + edge_table[0, loop]


def _feature_distances(vectors: NDArray[np.float64], costs: EditCosts) -> NDArray[np.float64]:
    """Distances between all rows, which are scaled first so that squares neither overflow nor vanish."""
    largest = float(np.abs(vectors).max(initial=0.0))
    norm = 1 if costs.feature_distance == "manhattan" else 2
    with np.errstate(over="ignore"):
        shrunk = np.ldexp(vectors, -np.frexp(largest)[1])
        return _finite(
            np.ldexp(scipy.spatial.distance.cdist(shrunk, shrunk, "minkowski", p=norm), np.frexp(largest)[1]),
            "node_features",
        )


def _finite(distances: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if not np.isfinite(distances).all():
        raise InvalidArgument(f"some {name} are so large that the distance between two of them overflows; rescale them")
    return distances


def price_edges(parts: list[Columns], costs: EditCosts, marks: Marks | None = None) -> Prices:
    """The kinds of the edges, and what their edits cost."""
    labels, vocabulary = _label_codes(parts, "edge_labels", GraphFlags.EDGE_LABELS, costs)
    weights, values = _row_codes(parts, "edge_weights", GraphFlags.EDGE_WEIGHTS, costs)
    attributes = [labels, weights]
    kinds, table = _joint_kinds(attributes if marks is None else [*attributes, marks.edges], "edge")
    label, weight = table.T[:2]
    used, place = _used_labels(vocabulary, label)
    price = costs.edge_substitution(used, used)[np.ix_(place, place)]
    scale = None if values is None else costs.weight_scale
    others = [weight] if scale is None else []
    substitute = _unequal_price(price, label, others, costs.edge_substitute, "edge_substitute")
    if scale is not None:
        number = np.where(weight < 0, 1.0, values[weight])  # a graph without weights has w = 1 everywhere
        substitute = substitute + scale * _finite(np.abs(number[:, None] - number[None, :]), "edge_weights")
    delete, insert = costs.priced("edge_delete", used)[place], costs.priced("edge_insert", used)[place]
    prices = Prices(kinds, substitute, delete, insert)
    return prices if marks is None else _add_marks(prices, table[:, :-1], marks.edge_prices[table[:, -1]], marks.apart)


def _edge_table(edges: Prices) -> NDArray[np.float64]:
    """The costs between kinds, which are numbered from 1 here; 0 means no edge."""
    full = np.zeros((len(edges.delete) + 1, len(edges.delete) + 1))
    full[1:, 0], full[0, 1:] = edges.delete, edges.insert
    full[1:, 1:] = np.minimum(
        edges.substitute, full[1:, :1] + full[:1, 1:]
    )  # an expensive substitution is a deletion and an insertion
    return full


def _loops(columns: Columns, edge_kinds: Kinds) -> Kinds:
    loop = np.zeros(int(columns.node_ptr[-1]), dtype=np.int64)
    is_loop = columns.edges[:, 0] == columns.edges[:, 1]
    first_node = np.repeat(columns.node_ptr[:-1], np.diff(columns.edge_ptr))
    loop[(first_node + columns.edges[:, 0])[is_loop]] = edge_kinds[is_loop]
    return loop


def _pair_codes(
    parts: list[Columns], edge_kinds: list[Kinds], edge_table: NDArray[np.float64]
) -> tuple[list[tuple[Kinds, Kinds, Kinds]], Kinds, NDArray[np.float64]]:
    """A code for the edges between each two adjacent nodes, with costs and reverses by code."""
    between = [_between(part, kinds) for part, kinds in zip(parts, edge_kinds, strict=True)]
    if not any((part.flags & GraphFlags.DIRECTION).any() for part in parts):
        coded = [(starts, pairs, kinds[:, 0]) for starts, pairs, kinds in between]
        return coded, np.arange(len(edge_table)), edge_table
    both = np.concatenate([kinds for _, _, kinds in between])
    known = np.unique(np.concatenate([np.zeros((1, 2), dtype=np.int64), both, both[:, ::-1]]), axis=0)
    _check_kinds(len(known), "edge")
    place = {tuple(row): code for code, row in enumerate(known.tolist())}
    reverse = np.array([place[b, a] for a, b in known.tolist()], dtype=np.int64)
    forward, backward = known.T
    costs = edge_table[np.ix_(forward, forward)] + edge_table[np.ix_(backward, backward)]
    coded = []
    for starts, pairs, kinds in between:
        code = np.array([place[row] for row in map(tuple, kinds.tolist())], dtype=np.int64)
        coded.append((starts, pairs, code))
    return coded, reverse, costs


def _between(columns: Columns, kinds: Kinds) -> tuple[Kinds, Kinds, Kinds]:
    """Unordered adjacent pairs (small, large) without self-loops, and their kinds (forward, backward).

    An undirected edge is stored as (small, large), so its kind is the forward one.
    """
    proper = columns.edges[:, 0] != columns.edges[:, 1]
    ends, kinds = columns.edges[proper].astype(np.int64), kinds[proper]
    starts = np.append(0, np.cumsum(proper))[columns.edge_ptr]
    if not (columns.flags & GraphFlags.DIRECTION).any():
        return starts, ends, np.column_stack([kinds, np.zeros_like(kinds)])
    flipped = ends[:, 0] > ends[:, 1]
    first_node = np.repeat(columns.node_ptr[:-1], np.diff(starts))
    small, large = ends.min(axis=1), ends.max(axis=1)
    _, first, place = np.unique(
        (first_node + small) * max(1, columns.num_nodes) + large, return_index=True, return_inverse=True
    )
    both = np.zeros((len(first), 2), dtype=np.int64)
    both[place, flipped.astype(np.int64)] = kinds
    pair_starts = np.searchsorted(first_node[first], columns.node_ptr)
    return pair_starts.astype(np.int64), np.column_stack([small[first], large[first]]), both


def _label_codes(
    parts: list[Columns], name: str, flag: GraphFlags, costs: EditCosts
) -> tuple[list[Kinds], list[Hashable]]:
    """Codes over one vocabulary in which equal labels (1 and 1.0, say) are one; no label counts as None."""
    places: dict[Hashable, int] = {_NO_LABEL: 0}
    codes = []
    for part in parts:
        column: LabelColumn | None = getattr(part, name)
        if column is None or name in costs.ignore:
            codes.append(np.zeros(_starts(part, name)[-1], dtype=np.int64))
            continue
        renumbering = np.array([places.setdefault(value, len(places)) for value in column.vocabulary], dtype=np.int64)
        codes.append(np.where(_present(part, flag, name), renumbering[column.codes], 0))
    return codes, list(places)


def _used_labels(vocabulary: list[Hashable], label: Kinds) -> tuple[list[Hashable], Kinds]:
    """The labels that occur, so that a table of costs need not have others; and the place of each kind's label."""
    codes, place = np.unique(label, return_inverse=True)
    return [vocabulary[code] for code in codes.tolist()], place


def _row_codes(parts: list[Columns], name: str, flag: GraphFlags, costs: EditCosts) -> tuple[list[Kinds], Any]:
    """A code for each distinct row of numbers, -1 for none; and the rows by code."""
    lengths = [int(_starts(part, name)[-1]) for part in parts]
    columns = [getattr(part, name) for part in parts]
    if name in costs.ignore or all(column is None for column in columns):
        return [np.full(length, -1, dtype=np.int64) for length in lengths], None
    shape = next(column.shape[1:] for column in columns if column is not None)
    if any(column is not None and column.shape[1:] != shape for column in columns):
        raise InvalidArgument(f"{name} have different shapes in the two collections")
    rows = np.concatenate([column for column in columns if column is not None]) + 0.0  # -0.0 becomes 0.0
    values, inverse = np.unique(rows, axis=0, return_inverse=True)
    codes, at = [], 0
    for part, column, length in zip(parts, columns, lengths, strict=True):
        if column is None:
            codes.append(np.full(length, -1, dtype=np.int64))
            continue
        codes.append(np.where(_present(part, flag, name), inverse.ravel()[at : at + length], -1))
        at += length
    return codes, values


def _present(part: Columns, flag: GraphFlags, name: str) -> NDArray[np.bool_]:
    return np.repeat(part.flags & flag != 0, np.diff(_starts(part, name)))


def _starts(part: Columns, name: str) -> NDArray[np.int64]:
    """Where the rows of each graph start in a column of nodes or of edges."""
    return part.edge_ptr if name.startswith("edge") else part.node_ptr


def _joint_kinds(columns: list[list[Kinds]], what: str) -> tuple[list[Kinds], Kinds]:
    """Number the distinct combinations of codes over all collections; the combinations by number."""
    stacked = [np.concatenate(parts) for parts in columns]
    kinds = np.zeros(len(stacked[0]), dtype=np.int64)
    for column in stacked:
        lowest = column.min(initial=0)
        kinds = _renumber(kinds * (column.max(initial=0) - lowest + 1) + column - lowest)
    example = np.zeros(kinds.max(initial=-1) + 1, dtype=np.int64)
    example[kinds] = np.arange(len(kinds))
    table = np.column_stack([column[example] for column in stacked])
    _check_kinds(len(table), what)
    ends = np.cumsum([len(part) for part in columns[0]])[:-1]
    return np.split(kinds, ends), table


def _renumber(codes: Kinds) -> Kinds:
    """Codes that are not negative as 0, 1, ... in the same order."""
    most = codes.max(initial=0) + 1
    if most > 4 * len(codes) + _FEW_CODES:
        return np.unique(codes, return_inverse=True)[1]
    occurs = np.zeros(most, dtype=bool)
    occurs[codes] = True
    return (np.cumsum(occurs) - 1)[codes]


def _check_kinds(count: int, what: str) -> None:
    if count > MAX_KINDS:
        raise InvalidArgument(
            f"{count} different kinds of {what}s are more than one table holds ({MAX_KINDS}); "
            "compute fewer graphs at a time, or round or ignore what makes them different"
        )


def _unequal_price(
    price: NDArray[np.float64], label: Kinds, others: list[Kinds], given: Any, name: str
) -> NDArray[np.float64]:
    """Where labels agree but another attribute differs, charge what unequal labels cost."""
    differs = np.zeros(price.shape, dtype=bool)
    for other in others:
        differs |= other[:, None] != other[None, :]
    differs &= label[:, None] == label[None, :]
    if not differs.any():
        return price
    if isinstance(given, Mapping):
        raise InvalidArgument(
            f"{name} is a table by label, but some items differ in other attributes only; "
            "ignore those attributes, give a distance for them, or use one cost"
        )
    return np.where(differs, float(given), price)
