"""Writer of our own binary format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, pack
from graphmetric.graphs.files.binary_layout import (
    BLOCK,
    CHECKSUM,
    END,
    FLAG_OF_COLUMN,
    GRAPHS_PER_BLOCK,
    LABEL_COLUMNS,
    MAGIC,
    PREFIX,
    checksum,
)
from graphmetric.graphs.files.json_values import format_json, plain
from graphmetric.graphs.files.source import located
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_to_json


def write_binary(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """Write graphs in blocks; no more than one block is in memory besides the graphs themselves."""
    totals = {"blocks": 0, "graphs": 0, "nodes": 0, "edges": 0}
    stream.write(MAGIC)
    for columns in _blocks(graphs):
        header, arrays = _encoded(columns, totals["graphs"])
        _write_block(stream, BLOCK, header, arrays)
        counts = (1, columns.num_graphs, int(columns.node_ptr[-1]), len(columns.edges))
        totals = {name: total + count for (name, total), count in zip(totals.items(), counts, strict=True)}
    _write_block(stream, END, totals, [])


def _blocks(graphs: Iterable[Graph]) -> Iterator[Columns]:
    if isinstance(graphs, GraphCollection):
        for start in range(0, len(graphs), GRAPHS_PER_BLOCK):
            yield graphs[start : start + GRAPHS_PER_BLOCK].columns
        return
    iterator = iter(graphs)
    while chunk := list(islice(iterator, GRAPHS_PER_BLOCK)):
        yield pack(chunk)


def _encoded(columns: Columns, first: int) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The block's header and its arrays as they go to disk; ``first`` is the number of its first graph."""
    arrays: dict[str, NDArray[Any]] = {
        "node_counts": _small(np.diff(columns.node_ptr)),
        "edge_counts": _small(np.diff(columns.edge_ptr)),
        "flags": columns.flags,
        "edges": _small(columns.edges),
    }
    header: dict[str, Any] = {"graphs": columns.num_graphs}
    for name in FLAG_OF_COLUMN:
        column = getattr(columns, name)
        if column is None:
            continue
        if name in LABEL_COLUMNS:
            arrays[name], header[name] = _encoded_labels(column, name)
        else:
            arrays[name] = column.astype(column.dtype.newbyteorder("<"), copy=False)
    if columns.ids is not None:
        header["ids"] = [_json_label(id, f"graphs[{first + k}]: id") for k, id in enumerate(columns.ids)]
    if columns.metadata is not None:
        header["metadata"] = [_json_metadata(first + k, given) for k, given in enumerate(columns.metadata)]
    header["columns"] = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    return header, list(arrays.values())


def _encoded_labels(column: LabelColumn, name: str) -> tuple[NDArray[Any], list[object]]:
    """Codes into the labels that occur; a slice shares the vocabulary of the whole collection."""
    used = np.bincount(column.codes, minlength=len(column.vocabulary)) > 0
    codes = (np.cumsum(used) - 1)[column.codes]
    kept = (label for label, occurs in zip(column.vocabulary, used.tolist(), strict=True) if occurs)
    return _small(codes), [_json_label(label, name) for label in kept]


def _json_label(label: Any, place: str) -> object:
    with located(None, place):
        data = label_to_json(label)
        if isinstance(data, dict):
            label_from_json(data)  # a tuple nested so deeply that it could not be read back
    return data


def _json_metadata(k: int, metadata: Any) -> Any:
    with located(None, f"graphs[{k}]"):
        return plain(metadata)


def _small(array: NDArray[Any]) -> NDArray[Any]:
    largest = int(array.max(initial=0))
    if int(array.min(initial=0)) < 0:
        raise InvalidGraph("counts and node numbers are not negative")
    kind = np.min_scalar_type(largest)
    return np.ascontiguousarray(array, dtype=kind.newbyteorder("<"))


def _write_block(stream: BinaryIO, kind: bytes, header: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    text = format_json(header, nan=True).encode("ascii")
    prefix = PREFIX.pack(kind, len(text), sum(array.nbytes for array in arrays))
    parts = [prefix, text, *(np.ascontiguousarray(array).tobytes() for array in arrays)]
    for part in parts:
        stream.write(part)
    stream.write(CHECKSUM.pack(checksum(parts)))
