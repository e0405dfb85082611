"""The attributes of nodes and edges: one table of columns, and many graphs packed into one set of arrays.

:data:`COLUMNS` is the only list of the attributes a graph may have. ``Graph``, collections, files and features read
names, types, checks and presence bits from it. :class:`Columns` holds the attributes of many graphs at once, and
:func:`assemble_columns` checks and sorts whole collections as ``Graph`` does for a single graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntFlag
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.options import format_count
from graphmetric.errors import InvalidGraph
from graphmetric.graphs.labels import LabelColumn

AnyArray = TypeVar("AnyArray", bound=np.ndarray)


def read_only(array: AnyArray) -> AnyArray:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


def as_kernel_type(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view; numba compiles a kernel anew for every combination of writable arguments."""
    return read_only(np.ascontiguousarray(array).view())


class GraphFlags(IntFlag):
    """Presence bits of a graph, so that graphs with and without a column can share a collection."""

    DIRECTION = 1
    NODE_LABELS = 2
    EDGE_LABELS = 4
    EDGE_WEIGHTS = 8
    NODE_FEATURES = 16
    NODE_TEXTS = 32
    NODE_IMAGES = 64


def _number_array(name: str, values: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iufb" and array.size:
            array = np.asarray(values, dtype=object)  # text is refused, though numpy would parse it
            if any(isinstance(value, str | bytes) for value in array.ravel()):
                raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidGraph(f"{name} must be numbers, rows of equal length") from None


def _vector_array(name: str, values: Any) -> NDArray[np.float64]:
    array = _number_array(name, values)
    return array.reshape(0, 0) if array.size == 0 and array.ndim < 2 else array


def _image_array(name: str, values: Any) -> NDArray[Any]:
    try:
        return np.array(values)
    except ValueError:
        raise InvalidGraph(f"{name} must all have one shape (height, width) or (height, width, channels)") from None


def _labels(name: str, values: Any) -> LabelColumn:
    if not isinstance(values, Iterable):
        raise InvalidGraph(f"{name} must be a sequence, one entry for each of the {name[:4]}s; got {values!r}")
    return LabelColumn.from_values(values)


@dataclass(frozen=True, slots=True)
class Column:
    """One kind of attribute, present on all nodes (or edges) of a graph or on none."""

    name: str
    """The name in the constructor of ``Graph``, in files and in :class:`Columns`."""
    per: Literal["node", "edge"]
    flag: GraphFlags
    """The bit that says that a graph has it."""
    convert: Callable[[str, Any], Any]
    """Turns what a user gives into an array or a :class:`LabelColumn`."""
    dtypes: tuple[str, ...] = ()
    """Types of the array; empty for labels and texts, which are kept as codes into a vocabulary."""
    dimensions: int = 1
    shape: str = ""
    """The shape of the array, in words."""
    allows_zero: bool = True
    """Whether the number 0 is allowed."""
    only_strings: bool = False
    """Whether only strings are allowed."""

    @property
    def coded(self) -> bool:
        """True if the column is a :class:`LabelColumn`."""
        return not self.dtypes

    def read(self, values: Any, rows: int) -> Any:
        """The column of one graph from what a user gave, with every value checked."""
        column = self.convert(self.name, values)
        found = len(column) if self.coded or column.ndim else 0
        if found != rows:
            entries, expected = format_count(found, "entry", "entries"), format_count(rows, self.per)
            raise InvalidGraph(f"{self.name} has {entries}; the graph has {expected}")
        if not self.coded:
            if 0 < column.ndim == self.dimensions - 1:
                column = column[..., None]
            if column.ndim != self.dimensions:
                words = "one number per edge" if self.dimensions == 1 else f"shape {self.shape}"
                raise InvalidGraph(f"{self.name} must have {words}; got shape {column.shape}")
            if column.dtype not in map(np.dtype, self.dtypes):
                if column.dtype.kind != "f":
                    raise InvalidGraph(f"{self.name} must be uint8 (0..255) or floats; got {column.dtype}")
                with np.errstate(over="ignore"):  # what overflows is refused as infinite
                    column = column.astype(self.dtypes[-1])
        self.check(column)
        return column

    def check(self, column: Any, ptr: NDArray[np.int64] | None = None, flags: NDArray[np.uint8] | None = None) -> None:
        """Raise unless every value is allowed.

        ``ptr`` and ``flags`` are those of packed graphs, where rows of graphs that lack the column hold fillers.
        """
        if self.coded:
            size = len(column.vocabulary)
            if ptr is not None and len(column) and not 0 <= column.codes.min() <= column.codes.max() < size:
                raise InvalidGraph(f"{self.name} uses code {column.codes.max()} of a vocabulary of {size}")
            if not self.only_strings or all(isinstance(value, str) for value in column.vocabulary):
                return
            wrong = np.array([not isinstance(value, str) for value in column.vocabulary])[column.codes]
            wrong &= self._counted(ptr, flags)
        else:
            wrong = ~np.isfinite(column)
            if not self.allows_zero:
                wrong |= (column == 0) & self._counted(ptr, flags)
        if wrong.any():
            self._refuse(column, np.argwhere(wrong)[0], ptr)

    def _counted(self, ptr: NDArray[np.int64] | None, flags: NDArray[np.uint8] | None) -> Any:
        return True if ptr is None or flags is None else np.repeat((flags & self.flag) != 0, np.diff(ptr))

    def _refuse(self, column: Any, place: NDArray[np.intp], ptr: NDArray[np.int64] | None) -> None:
        where = ""
        value = column.vocabulary[column.codes[place[0]]] if self.coded else column[tuple(place)]
        if ptr is not None:
            graph = owner_of_row(ptr, place[0])
            place[0] -= ptr[graph]
            where = f"graphs[{graph}]: "
        if self.only_strings:
            raise InvalidGraph(f"{where}{self.name} must be strings; got {value!r}")
        rule = f"{self.name} are finite numbers"
        if not self.allows_zero:
            rule = f"no edge has weight {value:g}: weights are finite and not 0, since 0 means that there is no edge"
        index = ", ".join(map(str, place.tolist()))
        raise InvalidGraph(f"{where}{self.name}[{index}] is {value:g}; {rule}")


_TABLE = (
    Column("node_labels", "node", GraphFlags.NODE_LABELS, _labels),
    Column("edge_labels", "edge", GraphFlags.EDGE_LABELS, _labels),
    Column("edge_weights", "edge", GraphFlags.EDGE_WEIGHTS, _number_array, ("f8",), allows_zero=False),
    Column("node_features", "node", GraphFlags.NODE_FEATURES, _vector_array, ("f8",), 2, "(nodes, d)"),
    Column("node_texts", "node", GraphFlags.NODE_TEXTS, _labels, only_strings=True),
    Column(
        "node_images",
        "node",
        GraphFlags.NODE_IMAGES,
        _image_array,
        ("u1", "f4"),
        4,
        "(nodes, height, width[, channels])",
    ),
)
COLUMNS = {column.name: column for column in _TABLE}
"""Every kind of attribute by name, in the order in which files and keys have them."""
NODE_COLUMNS = tuple(name for name, column in COLUMNS.items() if column.per == "node")
EDGE_COLUMNS = tuple(name for name, column in COLUMNS.items() if column.per == "edge")
LABEL_COLUMNS = tuple(name for name, column in COLUMNS.items() if column.coded)
ALL_FLAGS = int(sum(GraphFlags))
"""Every bit that has a meaning."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Graph ``k`` owns node rows ``node_ptr[k]:node_ptr[k+1]`` and edge rows ``edge_ptr[k]:edge_ptr[k+1]``.

    A column is None when no graph has it; where only some graphs have it, the others' rows hold fillers and their
    bit in ``flags`` is off.
    """

    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]
    flags: NDArray[np.uint8]
    """:class:`GraphFlags` bits, one byte per graph."""
    edges: NDArray[np.int32]
    """(edges, 2); node numbers are local to their graph, rows sorted within it."""
    node_labels: LabelColumn | None = None
    edge_labels: LabelColumn | None = None
    edge_weights: NDArray[np.float64] | None = None
    node_features: NDArray[np.float64] | None = None
    node_texts: LabelColumn | None = None
    node_images: NDArray[Any] | None = None
    ids: tuple[Hashable, ...] | None = None
    metadata: tuple[Mapping[str, Any], ...] | None = None

    @property
    def num_graphs(self) -> int:
        return len(self.flags)

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays; vocabularies, ids and metadata are not counted."""
        columns = (getattr(self, field.name) for field in fields(self))
        arrays = (column.codes if isinstance(column, LabelColumn) else column for column in columns)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def present(self) -> dict[str, Any]:
        """The columns of :data:`COLUMNS` that some graph has, by name."""
        found = ((name, getattr(self, name)) for name in COLUMNS)
        return {name: column for name, column in found if column is not None}

    def has_row(self, name: str) -> NDArray[np.bool_]:
        """Return the mask of the rows of a column whose graphs have it; the others hold fillers."""
        column = COLUMNS[name]
        ptr = self.node_ptr if column.per == "node" else self.edge_ptr
        return np.repeat((self.flags & column.flag) != 0, np.diff(ptr))

    def take(self, index: NDArray[np.intp]) -> Columns:
        """The chosen graphs, copied together in the given order."""
        node_rows, node_ptr = _gathered_rows(self.node_ptr, index)
        edge_rows, edge_ptr = _gathered_rows(self.edge_ptr, index)
        rows = {"node": node_rows, "edge": edge_rows}
        changes = {name: column[rows[COLUMNS[name].per]] for name, column in self.present().items()}
        for name in ("ids", "metadata"):
            values = getattr(self, name)
            changes[name] = None if values is None else tuple(values[k] for k in index.tolist())
        flags, edges = self.flags[index], self.edges[edge_rows]
        return replace(self, node_ptr=node_ptr, edge_ptr=edge_ptr, flags=flags, edges=edges, **changes)

    def without(self, names: Iterable[str]) -> Columns:
        """Return the graphs without some of their columns; all other arrays are shared."""
        dropped: dict[str, Any] = {name: None for name in names if getattr(self, name) is not None}
        bits = sum(COLUMNS[name].flag for name in dropped)
        return replace(self, flags=read_only(self.flags & np.uint8(ALL_FLAGS & ~bits)), **dropped) if dropped else self


def pointers(sizes: Any) -> NDArray[np.int64]:
    """Return the start of each run of rows, and the end of the last one."""
    ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return read_only(ptr)


def owner_of_row(ptr: NDArray[np.int64], row: int) -> int:
    """The graph that a row belongs to."""
    return int(np.searchsorted(ptr, row, side="right")) - 1


def _gathered_rows(ptr: NDArray[np.int64], index: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts, sizes = ptr[index], ptr[index + 1] - ptr[index]
    new_ptr = pointers(sizes)
    return np.arange(new_ptr[-1]) + np.repeat(starts - new_ptr[:-1], sizes), new_ptr


def concatenate(parts: Sequence[Columns]) -> Columns:
    """One packed collection after the other."""
    if len(parts) == 1:
        return parts[0]
    counts = {"node": [part.num_nodes for part in parts], "edge": [len(part.edges) for part in parts]}
    return Columns(
        node_ptr=pointers(np.concatenate([np.diff(part.node_ptr) for part in parts])),
        edge_ptr=pointers(np.concatenate([np.diff(part.edge_ptr) for part in parts])),
        flags=read_only(np.concatenate([part.flags for part in parts])),
        edges=read_only(np.concatenate([part.edges for part in parts])),
        ids=_joined_tuples(parts, "ids", None),
        metadata=_joined_tuples(parts, "metadata", {}),
        **join_columns([part.present() for part in parts], counts, "parts"),
    )


def join_columns(
    parts: Sequence[Mapping[str, Any]], counts: Mapping[str, Sequence[int]], item: str, position: int = 0
) -> dict[str, Any]:
    """The columns of several parts end to end; a part that lacks a column gets fillers.

    ``counts`` are the rows per node and per edge of each part. Errors count the parts from ``position``.
    """
    joined = {}
    for column in COLUMNS.values():
        found = [part.get(column.name) for part in parts]
        if any(values is not None for values in found):
            if not column.coded:
                _check_shapes_agree(column, found, item, position)
            like = next(values for values in found if values is not None)
            filled = [
                _filler(like, length) if values is None else values
                for values, length in zip(found, counts[column.per], strict=True)
            ]
            joined[column.name] = LabelColumn.concatenate(filled) if column.coded else read_only(np.concatenate(filled))
    return joined


def _filler(like: Any, rows: int) -> Any:
    if isinstance(like, LabelColumn):
        return LabelColumn(np.zeros(rows, dtype=np.int32), (None,))
    return np.zeros((rows, *like.shape[1:]), dtype=like.dtype)


def _check_shapes_agree(column: Column, arrays: Sequence[NDArray[Any] | None], item: str, position: int) -> None:
    present = [(k, array) for k, array in enumerate(arrays, position) if array is not None]
    first, expected = present[0]
    words = f"{column.name[5:]} per {column.per}"
    for k, array in present:
        if array.shape[1:] != expected.shape[1:] or array.dtype != expected.dtype:
            raise InvalidGraph(
                f"{item}[{k}]: {words} {array.shape[1:]} ({array.dtype}) differs from {item}[{first}]: "
                f"{expected.shape[1:]} ({expected.dtype}); one collection has one shape per column"
            )


def _joined_tuples(parts: Sequence[Columns], name: str, filler: Any) -> tuple[Any, ...] | None:
    if all(getattr(part, name) is None for part in parts):
        return None
    filled = (getattr(part, name) or (filler,) * part.num_graphs for part in parts)
    return tuple(chain.from_iterable(filled))


def assemble_columns(
    node_ptr: ArrayLike,
    edge_ptr: ArrayLike,
    edges: NDArray[np.integer],
    *,
    directed: bool | NDArray[np.bool_] = False,
    flags: NDArray[np.uint8] | None = None,
    in_order: bool = False,
    ids: tuple[Hashable, ...] | None = None,
    metadata: tuple[Mapping[str, Any], ...] | None = None,
    **columns: LabelColumn | NDArray[Any] | None,
) -> Columns:
    """Packed graphs from arrays, checked as ``Graph`` checks one graph.

    Args:
        node_ptr: Where the nodes of each graph start, and where the last ones end.
        edge_ptr: The same for edges.
        edges: (edges, 2), in any order and orientation; the edge columns are sorted along with them.
        directed: Whether the graphs are directed; may be given graph by graph.
        flags: :class:`GraphFlags` bits of each graph, if the graphs differ in their columns; instead of ``directed``.
        in_order: Whether to refuse edges that are not oriented and sorted yet, rather than sort them.
        ids: One per graph.
        metadata: One mapping per graph.
        columns: Attributes by their names in :data:`COLUMNS`.
    """
    node_starts = _checked_pointers("node_ptr", node_ptr)
    edge_starts = _checked_pointers("edge_ptr", edge_ptr)
    if len(node_starts) != len(edge_starts):
        raise InvalidGraph(f"node_ptr is for {len(node_starts) - 1} graphs, edge_ptr for {len(edge_starts) - 1}")
    starts = {"node": node_starts, "edge": edge_starts}
    present: dict[str, Any] = {name: column for name, column in columns.items() if column is not None}
    if flags is None:
        own = int(sum(COLUMNS[name].flag for name in present))
        flags = np.broadcast_to(np.where(directed, np.uint8(own | 1), np.uint8(own)), len(node_starts) - 1)
    _check_flags(flags, len(node_starts) - 1, present)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise InvalidGraph(f"edges must have two columns; got shape {edges.shape}")
    for name, column in {"edges": edges, **present}.items():
        rows = edge_starts if name == "edges" else starts[COLUMNS[name].per]
        if len(column) != rows[-1]:
            raise InvalidGraph(f"{name} has {len(column)} rows; the counts promise {rows[-1]}")
    for name, column in present.items():
        COLUMNS[name].check(column, starts[COLUMNS[name].per], flags)
        if COLUMNS[name].coded:
            present[name] = LabelColumn(column.codes.astype(np.int32, copy=False), column.vocabulary)
    pairs, order = _sort_packed_edges(edges, node_starts, edge_starts, flags, in_order)
    if order is not None:
        present |= {name: present[name][order] for name in EDGE_COLUMNS if name in present}
    return Columns(
        node_starts,
        edge_starts,
        read_only(flags.astype(np.uint8)),
        read_only(pairs.astype(np.int32, order="C", copy=pairs is edges)),
        ids=ids,
        metadata=metadata,
        **present,
    )


def _checked_pointers(name: str, given: ArrayLike) -> NDArray[np.int64]:
    ptr = np.asarray(given, dtype=np.int64)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise InvalidGraph(f"{name} must start at 0 and never decrease")
    return read_only(ptr.copy()) if ptr.flags.writeable else ptr  # those of :func:`pointers` are shared


def _check_flags(flags: NDArray[np.uint8], graphs: int, present: Mapping[str, Any]) -> None:
    if len(flags) != graphs:
        raise InvalidGraph(f"flags has {len(flags)} entries; the pointers are for {graphs} graphs")
    found = int(np.bitwise_or.reduce(flags, initial=0))
    if found & ~ALL_FLAGS:
        raise InvalidGraph(f"flags has unknown bits: {found & ~ALL_FLAGS:#x}")
    for name, column in COLUMNS.items():
        if found & column.flag and name not in present:
            raise InvalidGraph(f"graphs claim to have {name}, but there is no such column")


def _sort_packed_edges(
    edges: NDArray[np.integer],
    node_ptr: NDArray[np.int64],
    edge_ptr: NDArray[np.int64],
    flags: NDArray[np.uint8],
    in_order: bool,
) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
    """:func:`sort_edges` for packed graphs; a function of its own so that what it needs per edge is freed early."""
    counts, sizes = np.diff(edge_ptr), np.diff(node_ptr)
    sizes = np.repeat(sizes.astype(np.min_scalar_type(sizes.max(initial=0))), counts)  # a byte each for small graphs
    directed = (flags & GraphFlags.DIRECTION) != 0
    arcs = np.repeat(directed, counts) if directed.any() else False
    pairs: Any = edges
    if not np.can_cast(edges.dtype, np.int32):
        pairs = edges.astype(np.int64)
    elif not in_order:  # edges in order are only looked at, in files of small graphs a byte per node number
        pairs = edges.astype(np.int32)
    return sort_edges(pairs, sizes, arcs, edge_ptr, in_order=in_order)


def edge_order(pairs: NDArray[Any], directed: bool) -> NDArray[np.intp]:
    """Put undirected edges as (small, large), in place, and return the order that sorts them."""
    if not directed:
        pairs.sort(axis=1)
    return np.lexsort((pairs[:, 1], pairs[:, 0]))


def sort_edges(
    pairs: NDArray[np.int64],
    sizes: Any,
    directed: Any,
    ptr: NDArray[np.int64] | None = None,
    *,
    in_order: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
    """Edges oriented and sorted within each graph, and the order that sorted them (None if they already were).

    ``ptr`` says where the edges of each graph start, None for a single graph; ``sizes`` and ``directed`` are the
    number of nodes and the direction of its graph, per edge or for all edges. ``pairs`` is changed in place. Raises
    :class:`InvalidGraph` where an end point is not a node or an edge occurs twice, and with ``in_order``, which changes
    nothing, where there is anything to sort.
    """
    _check_ends(pairs, sizes, ptr)
    tails, heads = pairs[:, 0], pairs[:, 1]
    turned = (tails > heads) & np.logical_not(directed)
    if turned.any():
        if in_order:
            words = _edge_words(pairs, int(turned.argmax()), ptr)
            raise InvalidGraph(f"{words} is undirected, but its larger end comes first")
        pairs[turned] = pairs[turned, ::-1]
    # Neighbors are compared, not subtracted: that is right for unsigned numbers too, and np.diff is slow if short.
    ascending = (tails[1:] > tails[:-1]) | ((tails[1:] == tails[:-1]) & (heads[1:] > heads[:-1]))
    if ptr is not None:
        new_graph = ptr[(ptr > 0) & (ptr < len(pairs))] - 1  # where an edge and the next are of different graphs
        ascending[new_graph] = True
    if ascending.all():
        return pairs, None
    if in_order:
        words = _edge_words(pairs, 1 + int(ascending.argmin()), ptr)
        raise InvalidGraph(f"{words} is not after the edge before it")
    owner = () if ptr is None else (np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)),)
    order = np.lexsort((heads, tails, *owner))
    pairs = pairs[order]
    twice = (pairs[1:] == pairs[:-1]).all(axis=1)
    if ptr is not None:
        twice[new_graph] = False
    if twice.any():
        row = int(twice.argmax())
        u, v = pairs[row].tolist()
        either = "" if np.broadcast_to(directed, len(order))[order[row]] else f" (as ({u}, {v}) or ({v}, {u}))"
        words = _edge_words(pairs, row, ptr)
        raise InvalidGraph(f"{words} is given twice{either}; merge parallel edges, for instance into a weight")
    return pairs, order


def _check_ends(pairs: NDArray[np.int64], sizes: Any, ptr: NDArray[np.int64] | None) -> None:
    tails, heads = pairs[:, 0], pairs[:, 1]
    outside = np.maximum(tails, heads) >= sizes
    if pairs.dtype.kind == "i":  # unsigned in files
        outside |= np.minimum(tails, heads) < 0
    if outside.any():
        row = int(outside.argmax())
        u, v = pairs[row].tolist()
        size = int(np.broadcast_to(sizes, len(pairs))[row])
        has = f"{size} node{'s' * (size != 1)} (0..{size - 1})" if size else "no nodes"
        node = v if 0 <= u < size else u
        raise InvalidGraph(f"{_edge_words(pairs, row, ptr)} names node {node}; the graph has {has}")


def _edge_words(pairs: NDArray[np.int64], row: int, ptr: NDArray[np.int64] | None) -> str:
    u, v = pairs[row].tolist()
    return f"{'' if ptr is None else f'graphs[{owner_of_row(ptr, row)}]: '}edge ({u}, {v})"
