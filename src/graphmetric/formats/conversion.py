"""Conversion of common objects to graphs and collections; and every conversion by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats.edge_lists import from_adjacency, from_edge_list, to_adjacency
from graphmetric.formats.file_format import ConversionLosses, warns_at_the_end
from graphmetric.formats.libraries import (
    IfPresent,
    from_igraph,
    from_networkx,
    from_pyg,
    to_igraph,
    to_networkx,
    to_pyg,
)
from graphmetric.formats.molecules import MoleculeOptions, from_rdkit, from_smiles, to_rdkit, to_smiles
from graphmetric.formats.values import shortened
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

Converter = Callable[..., Graph]

_EXPECTED = (
    "expected a Graph, a networkx or igraph graph, a PyG Data, an rdkit Mol, a SMILES string, an adjacency matrix "
    "(numpy or scipy), or a tuple (edges, labels)"
)
_OF_MOLECULES = (from_rdkit.__wrapped__, from_smiles.__wrapped__)  # type: ignore[attr-defined]
"""The converters that take the options of molecules."""


@warns_at_the_end("use the conversion by name, such as from_networkx, to choose what is kept")
def as_graph(not_kept: ConversionLosses, thing: Any, reading: MoleculeOptions | None = None) -> Graph:
    """Anything that is recognizably one graph, by the default rules of its conversion; it is not changed.

    A :class:`Graph`, a networkx or igraph graph, a PyG ``Data``, an RDKit ``Mol``, a SMILES string, a square numpy
    array or scipy sparse matrix (adjacency), or a tuple ``(edges, labels)`` whose second part may be None.
    ``reading`` has the options for a SMILES string or a ``Mol``.
    """
    converter = _converter(thing)
    if converter is None:
        raise InvalidArgument(f"{_described(thing)} is not a graph; {_EXPECTED}")
    return _convert(converter, not_kept, thing, reading)


@warns_at_the_end("convert the graphs by name, such as with from_networkx, to choose what is kept")
def as_graphs(not_kept: ConversionLosses, things: Any, reading: MoleculeOptions | None = None) -> GraphCollection:
    """A collection from one graph, or from a list, iterator or stack of whatever :func:`as_graph` takes.

    A generator is consumed as it is packed, never held as objects. Problems name the item: ``graphs[17]: ...``.
    """
    if isinstance(things, GraphCollection):
        return things
    converter = _converter(things)
    if converter is not None:
        alone = _convert(converter, not_kept, things, reading)
        return GraphCollection([alone], reading=(reading or MoleculeOptions()) if is_molecule(things) else None)
    are_molecules: set[bool] = set()
    collection = GraphCollection(_convert_each(_iterable(things), not_kept, reading, are_molecules))
    if are_molecules == {True}:  # how the other graphs of a mixture were read is not known
        collection.reading = reading or MoleculeOptions()
    return collection


def is_graph(thing: Any) -> bool:
    """Return whether :func:`as_graph` takes this, so that it is one graph and not several."""
    return _converter(thing) is not None


def is_molecule(thing: Any) -> bool:
    """Return whether this is a SMILES string or an RDKit molecule, to which ``reading`` applies."""
    return _converter(thing) in _OF_MOLECULES


def _convert(converter: Converter, not_kept: ConversionLosses, thing: Any, reading: MoleculeOptions | None) -> Graph:
    if reading is None or converter not in _OF_MOLECULES:
        return converter(not_kept, thing)
    return converter(not_kept, thing, **asdict(reading))


def _convert_each(
    things: Iterable[Any], not_kept: ConversionLosses, reading: MoleculeOptions | None, are_molecules: set[bool]
) -> Iterator[Graph]:
    """Convert things; ``are_molecules`` gathers whether they are SMILES or RDKit molecules."""
    for k, thing in enumerate(things):
        try:
            are_molecules.add(is_molecule(thing))
            yield as_graph.__wrapped__(not_kept, thing, reading)  # type: ignore[attr-defined]
        except (InvalidGraph, InvalidArgument) as error:
            raise type(error)(f"graphs[{k}]: {error}") from None


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
    """Return the converter to one graph for this object; None if it is not one graph."""
    if isinstance(thing, tuple):
        return (lambda _, pair: from_edge_list(*pair)) if _is_edges_and_labels(thing) else None
    if isinstance(thing, np.ndarray):
        return _from_matrix if thing.ndim == 2 else None
    kind: type = type(thing)
    return _converter_of_type(kind)


@lru_cache(maxsize=256)
def _converter_of_type(kind: type) -> Converter | None:
    known = {(cls.__module__.partition(".")[0], cls.__name__) for cls in kind.__mro__}
    if ("torch_geometric", "Batch") in known:
        return None
    found = next((converter for key, converter in _BY_CLASS.items() if key in known), None)
    return getattr(found, "__wrapped__", found)  # which gathers what it leaves out


def _is_edges_and_labels(pair: tuple[Any, ...]) -> bool:
    """Return whether this tuple is one graph rather than two: pairs of integers or strings, then labels."""
    if len(pair) != 2:
        return False
    edges, labels = pair
    if isinstance(edges, np.ndarray):
        edges = edges.tolist() if edges.ndim == 2 and edges.shape[1] == 2 else None
    if not isinstance(edges, list | tuple) or not all(isinstance(edge, list | tuple) for edge in edges):
        return False
    if not all(len(edge) == 2 and all(isinstance(end, int | str | np.integer) for end in edge) for edge in edges):
        return False
    if labels is None or isinstance(labels, Mapping | str):
        return True
    if isinstance(labels, np.ndarray):
        return labels.ndim == 1
    return isinstance(labels, list | tuple) and all(
        isinstance(label, str) or not (isinstance(label, list | np.ndarray) or _converter(label)) for label in labels
    )


def _described(thing: Any) -> str:
    return f"{type(thing).__name__} {shortened(thing)}"


def _from_matrix(_: ConversionLosses, matrix: Any) -> Graph:
    return from_adjacency(matrix)


_BY_CLASS: Mapping[tuple[str, str], Any] = {
    ("graphmetric", "Graph"): lambda _, graph: graph,
    ("networkx", "Graph"): from_networkx,
    ("igraph", "Graph"): from_igraph,
    ("torch_geometric", "Data"): from_pyg,
    ("rdkit", "Mol"): from_rdkit,
    ("builtins", "str"): from_smiles,
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
