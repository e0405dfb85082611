"""Whatever people have at hand, as a graph or a collection of graphs; and every conversion by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import lru_cache
from typing import Any

import numpy as np

from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats.edge_lists import from_adjacency, from_edge_list, to_adjacency
from graphmetric.formats.libraries import (
    IfPresent,
    convert_igraph,
    convert_networkx,
    convert_pyg,
    from_igraph,
    from_networkx,
    from_pyg,
    to_igraph,
    to_networkx,
    to_pyg,
)
from graphmetric.formats.molecules import convert_rdkit, convert_smiles, from_rdkit, from_smiles, to_rdkit, to_smiles
from graphmetric.formats.not_kept import NotKept
from graphmetric.formats.values import shortened
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

Converter = Callable[[Any, NotKept], Graph]

_EXPECTED = (
    "expected a Graph, a networkx or igraph graph, a PyG Data, an rdkit Mol, a SMILES string, an adjacency matrix "
    "(numpy or scipy), or a tuple (edges, labels)"
)


def as_graph(thing: Any) -> Graph:
    """Anything that is recognisably one graph, by the default rules of its conversion; it is not changed.

    A :class:`Graph`, a networkx or igraph graph, a PyG ``Data``, an RDKit ``Mol``, a SMILES string, a square numpy
    array or scipy sparse matrix (adjacency), or a tuple ``(edges, labels)`` whose second part may be None.
    """
    not_kept = NotKept()
    graph = _convert(thing, not_kept)
    not_kept.warn("as_graph", "use the conversion by name, such as from_networkx, to choose what is kept")
    return graph


def as_graphs(things: Any) -> GraphCollection:
    """A collection from one graph, or from a list, iterator or stack of whatever :func:`as_graph` takes.

    A generator is consumed as it is packed, never held as objects. Problems name the item: ``graphs[17]: ...``.
    """
    if isinstance(things, GraphCollection):
        return things
    not_kept = NotKept()
    if _converter(things) is not None:
        collection = GraphCollection([_convert(things, not_kept)])
    else:
        collection = GraphCollection(_convert_each(_iterable(things), not_kept))
    not_kept.warn("as_graphs", "convert the graphs by name, such as with from_networkx, to choose what is kept")
    return collection


def _convert_each(things: Iterable[Any], not_kept: NotKept) -> Iterator[Graph]:
    for k, thing in enumerate(things):
        try:
            yield _convert(thing, not_kept)
        except (InvalidGraph, InvalidArgument) as error:
            raise type(error)(f"graphs[{k}]: {error}") from None


def _convert(thing: Any, not_kept: NotKept) -> Graph:
    converter = _converter(thing)
    if converter is None:
        raise InvalidArgument(f"{_described(thing)} is not a graph; {_EXPECTED}")
    return converter(thing, not_kept)


def _iterable(things: Any) -> Iterable[Any]:
    if hasattr(things, "to_data_list"):  # a PyG Batch
        return things.to_data_list()  # type: ignore[no-any-return]
    if isinstance(things, Mapping | Set):
        raise InvalidArgument(f"graphs must come in an order; got {_described(things)}: pass a list of its graphs")
    if isinstance(things, os.PathLike):
        raise InvalidArgument(f"{_described(things)} is a path; read it first with graphmetric.read_graphs")
    if isinstance(things, bytes) or not isinstance(things, Iterable):
        raise InvalidArgument(f"{_described(things)} is neither a graph nor a list of graphs; {_EXPECTED}")
    return things


def _converter(thing: Any) -> Converter | None:
    """How to make this thing a graph; None where it is not one graph."""
    if isinstance(thing, tuple):
        return _from_edges_and_labels if _is_edges_and_labels(thing) else None
    if isinstance(thing, np.ndarray):
        return _from_matrix if thing.ndim == 2 else None
    kind: type = type(thing)
    return _converter_of_type(kind)


@lru_cache(maxsize=256)
def _converter_of_type(kind: type) -> Converter | None:
    known = {(cls.__module__.partition(".")[0], cls.__name__) for cls in kind.__mro__}
    if ("torch_geometric", "Batch") in known:
        return None
    return next((converter for key, converter in _BY_CLASS.items() if key in known), None)


def _is_edges_and_labels(pair: tuple[Any, ...]) -> bool:
    """Whether this tuple is one graph rather than two: pairs of integers or strings, then labels."""
    if len(pair) != 2:
        return False
    edges, labels = pair
    if isinstance(edges, np.ndarray):
        edges = edges.tolist() if edges.ndim == 2 and edges.shape[1] == 2 else None
    if not isinstance(edges, list | tuple) or not all(_is_edge(edge) for edge in edges):
        return False
    if labels is None or isinstance(labels, Mapping | str):
        return True
    if isinstance(labels, np.ndarray):
        return labels.ndim == 1
    return isinstance(labels, list | tuple) and not any(_is_container_or_graph(label) for label in labels)


def _is_edge(edge: Any) -> bool:
    if not isinstance(edge, list | tuple) or len(edge) != 2:
        return False
    return all(isinstance(end, int | str | np.integer) for end in edge)


def _is_container_or_graph(label: Any) -> bool:
    return isinstance(label, list | np.ndarray) or (not isinstance(label, str) and _converter(label) is not None)


def _described(thing: Any) -> str:
    return f"{type(thing).__name__} {shortened(thing)}"


def _from_edges_and_labels(pair: Any, _: NotKept) -> Graph:
    return from_edge_list(*pair)


def _from_matrix(matrix: Any, _: NotKept) -> Graph:
    return from_adjacency(matrix)


_BY_CLASS: Mapping[tuple[str, str], Converter] = {
    ("graphmetric", "Graph"): lambda graph, _: graph,
    ("networkx", "Graph"): convert_networkx,
    ("igraph", "Graph"): convert_igraph,
    ("torch_geometric", "Data"): convert_pyg,
    ("rdkit", "Mol"): convert_rdkit,
    ("builtins", "str"): convert_smiles,
    ("scipy", "sparray"): _from_matrix,
    ("scipy", "spmatrix"): _from_matrix,
}

__all__ = [
    "IfPresent",
    "as_graph",
    "as_graphs",
    "from_adjacency",
    "from_edge_list",
    "from_igraph",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "to_adjacency",
    "to_igraph",
    "to_networkx",
    "to_pyg",
    "to_rdkit",
    "to_smiles",
]
