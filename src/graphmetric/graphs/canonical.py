"""Canonical order, certificates and isomorphism.

The canonical order is defined as the greatest leaf of a search tree (see ``_kernels/search.py``), which depends on the
graph and not on its numbering. Node attributes of all four kinds, edge labels, weights, direction and self-loops count,
exactly as ``Graph.__eq__`` compares them: a graph without labels differs from one whose labels are all None, and a
graph without weights from one whose weights are all 1.

Very regular graphs can exceed the work ``budget``. How much work a graph takes does depend on its numbering, so a
certificate may never depend on whether the budget sufficed, nor on which version of which other program stepped
in: two isomorphic graphs could get different ones. Hence canonical orders and certificates are ours or there is an
error, while questions whose answer is a plain fact, :func:`is_isomorphic` and :func:`isomorphism_classes`, go to
igraph when it is installed.

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

What nodes and edges carry, reduced to ranks for the search and digests for certificates.

Both depend on the attributes alone, never on what else is in the collection: ranks only through their order, which
is the order of the keys, and digests not at all. A column that a graph does not have adds nothing to its keys.

Isomorphism of very regular graphs, by igraph (an extra; GPL).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs._kernels.adjacency import EdgeColours
from graphmetric.graphs._kernels.canonical_search import Outcome, PackedGraphs, canonicalise, relabel_edges
from graphmetric.graphs.arrays import as_kernel_type
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import EDGE_COLUMNS, NODE_COLUMNS, Columns, Has, pack
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_key

if TYPE_CHECKING:
    import igraph

DIGEST_SIZE = 16
"""Bytes per digest: a chance collision among a billion graphs has probability 1e-21."""

_FLAGS = {
    "node_labels": Has.NODE_LABELS,
    "node_features": Has.NODE_FEATURES,
    "node_texts": Has.NODE_TEXTS,
    "node_images": Has.NODE_IMAGES,
    "edge_labels": Has.EDGE_LABELS,
    "edge_weights": Has.EDGE_WEIGHTS,
}


class Keys(NamedTuple):
    """All attributes of each node (or edge) as one key."""

    rank: NDArray[np.int64]
    """One per row: equal exactly where all attributes are."""
    digest: NDArray[np.uint8]
    """(distinct keys, DIGEST_SIZE), by rank."""


class _Coded(NamedTuple):
    code: NDArray[np.int64]
    """One per row, 0 where the row's graph lacks the column."""
    parts: list[bytes]
    """What the column adds to the key, by code."""


def node_keys(columns: Columns) -> Keys:
    """Keys of all nodes."""
    return _keys(columns, NODE_COLUMNS, columns.node_ptr)


def edge_keys(columns: Columns) -> Keys:
    """Keys of all edges."""
    return _keys(columns, EDGE_COLUMNS, columns.edge_ptr)


def shapes(columns: Columns) -> NDArray[np.uint64]:
    """What isomorphic graphs must share as it is, a row of 64-bit numbers per graph.

    :class:`Has` flags, number of nodes and edges, features per node, height, width and channels of images.
    """
    numbers = np.zeros((columns.num_graphs, 7), dtype="<u8")
    numbers[:, 0] = columns.flags
    numbers[:, 1] = np.diff(columns.node_ptr)
    numbers[:, 2] = np.diff(columns.edge_ptr)
    if columns.node_features is not None:
        numbers[(columns.flags & Has.NODE_FEATURES) != 0, 3] = columns.node_features.shape[1]
    if columns.node_images is not None:
        numbers[(columns.flags & Has.NODE_IMAGES) != 0, 4:] = columns.node_images.shape[1:]
    return numbers


def _keys(columns: Columns, names: tuple[str, ...], ptr: NDArray[np.int64]) -> Keys:
    rank = np.zeros(ptr[-1], dtype=np.int64)
    contents = [b""]
    for name in names:
        column = getattr(columns, name)
        if column is not None:
            lacking = np.repeat((columns.flags & _FLAGS[name]) == 0, np.diff(ptr))
            rank, contents = _combine(rank, contents, _coded(column, lacking))
    digests = b"".join(blake2b(content, digest_size=DIGEST_SIZE).digest() for content in contents)
    return Keys(rank, np.frombuffer(digests, dtype=np.uint8).reshape(-1, DIGEST_SIZE))


def _coded(column: LabelColumn | NDArray[Any], lacking: NDArray[np.bool_]) -> _Coded:
    code, parts = _label_codes(column) if isinstance(column, LabelColumn) else _row_codes(column)
    prefixed = [len(part).to_bytes(8, "little") + part for part in parts]
    return _Coded(np.where(lacking, 0, code + 1), [b"", *prefixed])


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


def _combine(rank: NDArray[np.int64], contents: list[bytes], added: _Coded) -> tuple[NDArray[np.int64], list[bytes]]:
    """Ranks of pairs, in lexicographic order, and their contents end to end."""
    if contents == [b""]:
        return added.code, added.parts
    width = len(added.parts)
    pairs, combined = np.unique(rank * width + added.code, return_inverse=True)
    return combined.astype(np.int64), [contents[pair // width] + added.parts[pair % width] for pair in pairs.tolist()]


def igraph_is_installed() -> bool:
    return find_spec("igraph") is not None


def is_isomorphic_by_igraph(g: Graph, h: Graph) -> bool:
    """Whether two graphs are isomorphic, attributes, weights and all; no limit on the work.

    igraph knows colours of nodes only, so every edge becomes a path through coloured nodes.
    """
    if not np.array_equal(shapes(pack([g])), shapes(pack([h]))):
        return False
    numbers: dict[tuple[str, bytes], int] = {}
    (plain_g, colours_g), (plain_h, colours_h) = (_subdivided(graph, numbers) for graph in (g, h))
    if sorted(colours_g) != sorted(colours_h):
        return False
    return bool(plain_g.isomorphic_bliss(plain_h, color1=colours_g, color2=colours_h))


def _subdivided(graph: Graph, numbers: dict[tuple[str, bytes], int]) -> tuple[igraph.Graph, list[int]]:
    """An undirected graph without edge attributes, and node colours that make up for them.

    An undirected edge becomes u - x - v, an arc u - tail - head - v, a self-loop u - x. ``numbers`` holds the
    colours given so far; graphs to be compared share it.
    """
    import igraph

    columns = pack([graph])
    nodes, edges = node_keys(columns), edge_keys(columns)
    colours = [numbers.setdefault(("node", nodes.digest[rank].tobytes()), len(numbers)) for rank in nodes.rank.tolist()]
    pairs: list[tuple[int, int]] = []
    for (u, v), rank in zip(graph.edges.tolist(), edges.rank.tolist(), strict=True):
        kinds = ("loop",) if u == v else ("tail", "head") if graph.directed else ("edge",)
        path = [u]
        for kind in kinds:
            path.append(len(colours))
            colours.append(numbers.setdefault((kind, edges.digest[rank].tobytes()), len(numbers)))
        if u != v:
            path.append(v)
        pairs += pairwise(path)
    return igraph.Graph(len(colours), pairs), colours


FORMAT_VERSION = 1
"""Of certificates; hashed with them."""

DEFAULT_BUDGET = 500_000_000
"""Steps (array entries read) per graph: some ten seconds. Ordinary graphs take a few times their number of edges."""

_CHUNK = 20_000
"""Graphs per call of the compiled search, which cannot be interrupted."""


class CanonicalSearch(NamedTuple):
    """A packed collection together with what the search found."""

    columns: Columns
    packed: PackedGraphs
    nodes: Keys
    edges: Keys
    outcome: Outcome


def canonical_order(graph: Graph, *, budget: int = DEFAULT_BUDGET) -> NDArray[np.int64]:
    """The nodes in canonical order: ``g.relabeled(canonical_order(g))`` is equal for all isomorphic graphs.

    Raises :class:`WorkBudgetExceeded` when a very regular graph needs more than ``budget`` steps.
    """
    solved = search_orders(pack([graph]), budget)
    if not solved.outcome.solved[0]:
        raise _budget_error(graph, "the graph", budget)
    return solved.outcome.order


def certificate(graph: Graph, *, budget: int = DEFAULT_BUDGET) -> str:
    """32 hexadecimal digits that two graphs share exactly when they are isomorphic, the same on every machine.

    Raises :class:`WorkBudgetExceeded` as :func:`canonical_order` does.
    """
    text = _hash_forms(search_orders(pack([graph]), budget))[0]
    if text is None:
        raise _budget_error(graph, "the graph", budget)
    return text


def certificates(graphs: Iterable[Graph], *, budget: int = DEFAULT_BUDGET) -> list[str]:
    """The :func:`certificate` of each graph; much faster than one by one."""
    collection = GraphCollection(graphs)
    found, _ = _certify(collection, budget)
    texts = [text for text in found if text is not None]
    if len(texts) < len(found):
        hard = found.index(None)
        raise _budget_error(collection[hard], f"graphs[{hard}]", budget)
    return texts


def certificates_within(graphs: Iterable[Graph], budget: int = DEFAULT_BUDGET) -> list[str | None]:
    """The :func:`certificate` of each graph, None for one that is too regular for the budget."""
    return _certify(GraphCollection(graphs), budget)[0]


def is_isomorphic(g: Graph, h: Graph, *, budget: int = DEFAULT_BUDGET) -> bool:
    """Whether some renumbering of the nodes turns one graph into the other, attributes, weights and all.

    Pairs that exceed the budget go to igraph when it is installed; otherwise :class:`WorkBudgetExceeded`.
    """
    if _cheap_invariant(g) != _cheap_invariant(h):
        return False
    try:
        return g.relabeled(canonical_order(g, budget=budget)) == h.relabeled(canonical_order(h, budget=budget))
    except WorkBudgetExceeded:
        if not igraph_is_installed():
            raise
        return is_isomorphic_by_igraph(g, h)


def isomorphism_classes(graphs: Iterable[Graph], *, budget: int = DEFAULT_BUDGET) -> NDArray[np.int64]:
    """For each graph the number of its class; classes are numbered in order of first appearance.

    Graphs that exceed the budget go to igraph when it is installed; otherwise :class:`WorkBudgetExceeded`.
    """
    collection = GraphCollection(graphs)
    found, invariants = _certify(collection, budget)
    if None in found:
        found = _name_hard_graphs(collection, found, invariants, budget)
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in found], dtype=np.int64)


def _certify(graphs: GraphCollection, budget: int) -> tuple[list[str | None], list[int]]:
    """Certificates, None where the budget did not suffice, and weaker invariants that exist for all."""
    texts: list[str | None] = []
    invariants: list[int] = []
    for start in range(0, len(graphs), _CHUNK):
        solved = search_orders(graphs[start : start + _CHUNK].columns, budget)
        texts += _hash_forms(solved)
        invariants += solved.outcome.invariant.tolist()
    return texts, invariants


def search_orders(columns: Columns, budget: int) -> CanonicalSearch:
    """Search the canonical order of every graph of packed columns; ``outcome.solved`` tells where it was found."""
    if budget < 0:
        raise InvalidArgument(f"budget must be a number of steps, 0 or more; got {budget}")
    nodes, edges = node_keys(columns), edge_keys(columns)
    weights = np.zeros(1 + len(edges.digest), dtype=np.int64)
    weights[1:] = edges.digest[:, :8].copy().view("<i8")[:, 0]
    packed = PackedGraphs(
        as_kernel_type(columns.node_ptr),
        as_kernel_type(columns.edge_ptr),
        as_kernel_type(columns.edges),
        (columns.flags & Has.DIRECTION) != 0,
        nodes.rank,
        EdgeColours(edges.rank, weights),
    )
    return CanonicalSearch(columns, packed, nodes, edges, canonicalise(packed, budget))


def _hash_forms(solved: CanonicalSearch) -> list[str | None]:
    columns, outcome = solved.columns, solved.outcome
    ends, source = relabel_edges(solved.packed, outcome.order)
    first_node = np.repeat(columns.node_ptr[:-1], np.diff(columns.node_ptr))
    header = memoryview(np.insert(shapes(columns), 0, FORMAT_VERSION, axis=1).tobytes())
    node_bytes = memoryview(solved.nodes.digest[solved.nodes.rank[first_node + outcome.order]].tobytes())
    end_bytes = memoryview(ends.astype("<i4").tobytes())
    edge_bytes = memoryview(solved.edges.digest[solved.edges.rank[source]].tobytes())
    node_ptr, edge_ptr = columns.node_ptr.tolist(), columns.edge_ptr.tolist()
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
    return texts


def _cheap_invariant(graph: Graph) -> tuple[bytes, bytes]:
    return shapes(pack([graph])).tobytes(), np.sort(graph.degrees()).tobytes()


def _name_hard_graphs(
    graphs: GraphCollection, found: list[str | None], invariants: list[int], budget: int
) -> list[str | None]:
    """Give each graph without a certificate the name of a graph it is isomorphic to, or a new name."""
    hard = [k for k, text in enumerate(found) if text is None]
    if not igraph_is_installed():
        raise _budget_error(graphs[hard[0]], f"graphs[{hard[0]}]", budget)
    hard_invariants = {invariants[k] for k in hard}
    known: defaultdict[int, dict[str, int]] = defaultdict(dict)  # invariant -> name -> a graph of that name
    for k, text in enumerate(found):
        if text is not None and invariants[k] in hard_invariants:
            known[invariants[k]].setdefault(text, k)
    named = list(found)
    for k in hard:
        same = known[invariants[k]]
        found_in = (name for name, other in same.items() if is_isomorphic_by_igraph(graphs[k], graphs[other]))
        name = next(found_in, f"hard {k}")
        same.setdefault(name, k)
        named[k] = name
    return named


def _budget_error(graph: Graph, name: str, budget: int) -> WorkBudgetExceeded:
    return WorkBudgetExceeded(
        f"{name} {graph!r}: no canonical order found within budget={budget} steps; the graph is very "
        "regular. Pass a larger budget, or compare graphs with is_isomorphic or isomorphism_classes, which turn to "
        "igraph for such graphs: pip install 'graphmetric[igraph]'"
    )
