"""Canonical order and certificates of packed graphs.

The canonical order is the greatest leaf of a search tree (see ``_kernels/canonical_search.py``), which depends on the
graph and not on its numbering. Node attributes of all four kinds, edge labels, weights, direction and self-loops count,
exactly as ``Graph.__eq__`` compares them: a graph without labels differs from one whose labels are all None, and a
graph without weights from one whose weights are all 1.

Very regular graphs can exceed the work ``budget``. How much work a graph takes does depend on its numbering, so a
certificate may never depend on whether the budget sufficed, nor on which version of which other program stepped
in: two isomorphic graphs could get different ones. Hence canonical orders and certificates are ours or there is an
error, while questions whose answer is a plain fact, whether graphs are isomorphic and which classes they form, go to
igraph (an extra; GPL) when it is installed.

A certificate is the BLAKE2b hash (16 bytes, ``person=b"graphmetric-cert"``) of the canonical graph, little-endian:

====================  =====================================================================================
8 x uint64            format version (1), then :func:`~graphmetric.graphs.canonical.shapes`: flags, nodes, ...
16 bytes per node     BLAKE2b of the node's key, in canonical order
2 x int32 per edge    end points in canonical numbers, sorted; (small, large) where undirected
16 bytes per edge     BLAKE2b of the edge's key, in the same order
====================  =====================================================================================

The key of a node joins what its graph has of label, features, text and image, that of an edge label and weight,
each as its length (uint64) and its bytes: ``label_key`` of labels and texts, IEEE 754 doubles of features and weights,
single precision of images. Changing any of this, or the search tree, calls for a new format version.

The search works on ranks of keys and certificates on digests of keys. Both depend on the attributes alone, never on
what else is in the collection: ranks only through their order, which is the order of the keys, and digests not at all.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs.columns import EDGE_COLUMNS, NODE_COLUMNS, Columns, GraphFlags, as_kernel_type
from graphmetric.graphs.labels import LabelColumn, label_key

if TYPE_CHECKING:
    import igraph

    from graphmetric.graphs._kernels.canonical_search import Outcome, RankedGraphs

FORMAT_VERSION = 1
"""The version of the certificates' format, which is hashed with them."""

DEFAULT_BUDGET = 500_000_000
"""Steps (array entries read) per graph: some ten seconds. Ordinary graphs take a few times their number of edges."""

DIGEST_SIZE = 16
"""Bytes per digest: a chance collision among a billion graphs has probability 1e-21."""


class Keys(NamedTuple):
    """All attributes of each node (or edge) as one key."""

    rank: NDArray[np.int64]
    """One per row: equal exactly where all attributes are."""
    digest: NDArray[np.uint8]
    """(distinct keys, DIGEST_SIZE), by rank."""


class CanonicalSearch(NamedTuple):
    """Packed graphs together with what the search found."""

    columns: Columns
    packed: RankedGraphs
    nodes: Keys
    edges: Keys
    outcome: Outcome


_FEW_NODES = 1_000
_last: tuple[CanonicalSearch, int] | None = None
"""The last search of few nodes, and its budget."""


def budget_error(name: str, budget: int) -> WorkBudgetExceeded:
    """The error for a graph whose canonical order was not found within the budget."""
    return WorkBudgetExceeded(
        f"{name}: no canonical order found within budget={budget} steps; the graph is very "
        "regular. Pass a larger budget, or compare graphs with is_isomorphic or isomorphism_classes, which turn to "
        "igraph for such graphs: pip install 'graphmetric[igraph]'"
    )


def compute_certificates(columns: Columns, budget: int) -> tuple[list[str | None], list[int]]:
    """Certificates, None where the budget did not suffice, and weaker invariants that all graphs have."""
    solved = search_orders(columns, budget)
    outcome = solved.outcome
    ends, source = canonical_edges(solved, outcome.order)
    first_node = np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))
    header = memoryview(np.insert(shapes(columns), 0, FORMAT_VERSION, axis=1).tobytes())
    node_bytes = memoryview(solved.nodes.digest[solved.nodes.rank[first_node + outcome.order]].tobytes())
    end_bytes = memoryview(ends.astype("<i4").tobytes())
    edge_bytes = memoryview(solved.edges.digest[solved.edges.rank[source]].tobytes())
    node_ptr = columns.node_ptr.tolist()
    edge_ptr = columns.edge_ptr.tolist()
    empty = blake2b(digest_size=DIGEST_SIZE, person=b"graphmetric-cert")
    texts: list[str | None] = []
    for k, is_solved in enumerate(outcome.solved.tolist()):
        if not is_solved:
            texts.append(None)
            continue
        state = empty.copy()
        state.update(header[64 * k : 64 * (k + 1)])
        state.update(node_bytes[DIGEST_SIZE * node_ptr[k] : DIGEST_SIZE * node_ptr[k + 1]])
        state.update(end_bytes[8 * edge_ptr[k] : 8 * edge_ptr[k + 1]])
        state.update(edge_bytes[DIGEST_SIZE * edge_ptr[k] : DIGEST_SIZE * edge_ptr[k + 1]])
        texts.append(state.hexdigest())
    return texts, outcome.invariant.tolist()


def search_orders(columns: Columns, budget: int) -> CanonicalSearch:
    """Search the canonical order of every graph of packed columns; ``outcome.solved`` says where one was found.

    The last answer for few nodes is kept, since a query is asked for its certificate and then for its features.
    """
    global _last
    if budget < 0:
        raise InvalidArgument(f"budget must be a number of steps, 0 or more; got {budget}")
    last = _last
    if last is not None and last[0].columns is columns and last[1] == budget:
        return last[0]
    from graphmetric.graphs._kernels.canonical_search import RankedGraphs, canonicalise  # numba takes long to import
    from graphmetric.graphs._kernels.refinement import EdgeColours

    nodes, edges = node_keys(columns), edge_keys(columns)
    weights = np.zeros(1 + len(edges.digest), dtype=np.int64)
    weights[1:] = edges.digest[:, :8].copy().view("<i8")[:, 0]
    packed = RankedGraphs(
        as_kernel_type(columns.node_ptr),
        as_kernel_type(columns.edge_ptr),
        as_kernel_type(columns.edges),
        (columns.flags & GraphFlags.DIRECTION) != 0,
        nodes.rank,
        EdgeColours(edges.rank, weights),
    )
    found = CanonicalSearch(columns, packed, nodes, edges, canonicalise(packed, budget))
    if columns.num_nodes <= _FEW_NODES:
        _last = found, budget
    return found


def canonical_edges(solved: CanonicalSearch, order: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The edges once the nodes are in this order, sorted within each graph, and the edge row each comes from."""
    from graphmetric.graphs._kernels.canonical_search import relabel_edges

    edges, source = relabel_edges(solved.packed, order)
    return edges, source


def node_keys(columns: Columns) -> Keys:
    """Keys of all nodes."""
    return _keys(columns, NODE_COLUMNS, columns.num_nodes)


def edge_keys(columns: Columns) -> Keys:
    """Keys of all edges."""
    return _keys(columns, EDGE_COLUMNS, len(columns.edges))


def shapes(columns: Columns) -> NDArray[np.uint64]:
    """Numbers that isomorphic graphs share, a row of 64-bit numbers per graph.

    :class:`GraphFlags` flags, number of nodes and edges, features per node, height, width and channels of images.
    """
    numbers = np.zeros((columns.num_graphs, 7), dtype="<u8")
    numbers[:, 0] = columns.flags
    numbers[:, 1] = np.diff(columns.node_ptr)
    numbers[:, 2] = np.diff(columns.edge_ptr)
    if columns.node_features is not None:
        numbers[(columns.flags & GraphFlags.NODE_FEATURES) != 0, 3] = columns.node_features.shape[1]
    if columns.node_images is not None:
        numbers[(columns.flags & GraphFlags.NODE_IMAGES) != 0, 4:] = columns.node_images.shape[1:]
    return numbers


def _keys(columns: Columns, names: tuple[str, ...], rows: int) -> Keys:
    rank = np.zeros(rows, dtype=np.int64)
    contents = [b""]
    for name in names:
        column = getattr(columns, name)
        if column is not None:
            rank, contents = _combine(rank, contents, *_coded(column, columns.has_row(name)))
    digests = b"".join(blake2b(content, digest_size=DIGEST_SIZE).digest() for content in contents)
    return Keys(rank, np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_SIZE))


def _coded(column: LabelColumn | NDArray[Any], has_row: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[bytes]]:
    """A code for each row, 0 where its graph lacks the column, and what the column adds to the key by code."""
    code, parts = _label_codes(column) if isinstance(column, LabelColumn) else _row_codes(column)
    prefixed = [len(part).to_bytes(8, "little") + part for part in parts]
    return np.where(has_row, code + 1, 0), [b"", *prefixed]


def _label_codes(column: LabelColumn) -> tuple[NDArray[np.int64], list[bytes]]:
    used = np.unique(column.codes)  # the vocabulary may be that of a larger collection
    keys = [label_key(column.vocabulary[code]) for code in used.tolist()]
    distinct = sorted(set(keys))
    place = {key: i for i, key in enumerate(distinct)}
    rank = np.zeros(len(column.vocabulary), dtype=np.int64)
    rank[used] = [place[key] for key in keys]
    return rank[column.codes], distinct


def _row_codes(array: NDArray[Any]) -> tuple[NDArray[np.int64], list[bytes]]:
    """Numbers by value: -0.0 is 0.0, and a uint8 image is the float32 image of the same values."""
    kind = "f8" if array.dtype == np.float64 else "f4"
    values = array.reshape(len(array), math.prod(array.shape[1:])).astype("<" + kind)
    bits = (values + values.dtype.type(0)).astype("<" + kind).view("<" + kind.replace("f", "u"))
    if bits.shape[1] == 0:
        return np.zeros(len(bits), dtype=np.int64), [b""]
    distinct, place = np.unique(bits, axis=0, return_inverse=True)
    return place.reshape(-1).astype(np.int64), [row.tobytes() for row in distinct]


def _combine(
    rank: NDArray[np.int64], contents: list[bytes], code: NDArray[np.int64], parts: list[bytes]
) -> tuple[NDArray[np.int64], list[bytes]]:
    """Ranks of pairs, in lexicographic order, and their contents end to end."""
    if contents == [b""]:
        return code, parts
    width = len(parts)
    pairs, combined = np.unique(rank * width + code, return_inverse=True)
    return combined.astype(np.int64), [contents[pair // width] + parts[pair % width] for pair in pairs.tolist()]


def could_be_isomorphic(g: Columns, h: Columns) -> bool:
    """Return whether the graphs agree in columns, sizes and degrees, which need no search."""
    first, second = (np.sort(np.bincount(graph.edges.ravel(), minlength=graph.num_nodes)) for graph in (g, h))
    return np.array_equal(shapes(g), shapes(h)) and np.array_equal(first, second)


def require_igraph(name: str, budget: int) -> None:
    """Raise unless igraph is installed to decide about the graph ``name``, which was too much for the budget."""
    if find_spec("igraph") is None:
        raise budget_error(name, budget)


def is_isomorphic_by_igraph(g: Columns, h: Columns) -> bool:
    """Return whether two packed graphs are isomorphic, with all attributes and weights; the work is unlimited.

    igraph compares colors of nodes only, so every edge becomes a path through colored nodes.
    """
    if not could_be_isomorphic(g, h):
        return False
    numbers: dict[tuple[str, bytes], int] = {}
    (plain_g, colours_g), (plain_h, colours_h) = (_subdivided(graph, numbers) for graph in (g, h))
    if sorted(colours_g) != sorted(colours_h):
        return False
    return bool(plain_g.isomorphic_bliss(plain_h, color1=colours_g, color2=colours_h))


def _subdivided(graph: Columns, numbers: dict[tuple[str, bytes], int]) -> tuple[igraph.Graph, list[int]]:
    """An undirected graph without edge attributes, and node colors that make up for them.

    An undirected edge becomes u - x - v, an arc u - tail - head - v, a self-loop u - x. ``numbers`` holds the
    colors given so far; graphs to be compared share it.
    """
    import igraph

    nodes = node_keys(graph)
    edges = edge_keys(graph)
    directed = bool(graph.flags[0] & GraphFlags.DIRECTION)
    colours = [numbers.setdefault(("node", nodes.digest[rank].tobytes()), len(numbers)) for rank in nodes.rank.tolist()]
    pairs: list[tuple[int, int]] = []
    for (u, v), rank in zip(graph.edges.tolist(), edges.rank.tolist(), strict=True):
        kinds = ("loop",) if u == v else ("tail", "head") if directed else ("edge",)
        path = [u]
        for kind in kinds:
            path.append(len(colours))
            colours.append(numbers.setdefault((kind, edges.digest[rank].tobytes()), len(numbers)))
        if u != v:
            path.append(v)
        pairs += pairwise(path)
    return igraph.Graph(len(colours), pairs), colours
