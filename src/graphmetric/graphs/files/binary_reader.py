"""Reader of our own binary format: whole columns at once, every one checked.

A checksum finds accidents, not intent, so nothing is believed because the checksum is right.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from io import BufferedReader
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.columns import Columns
from graphmetric.graphs.files.binary_checks import check_block
from graphmetric.graphs.files.binary_layout import (
    BLOCK,
    CHECKSUM,
    COLUMN_TYPES,
    END,
    FLAG_OF_COLUMN,
    LABEL_COLUMNS,
    MAGIC,
    PREFIX,
    checksum,
)
from graphmetric.graphs.files.file_format import NoOptions
from graphmetric.graphs.files.graph_dict import is_integer, read_labels
from graphmetric.graphs.files.json_values import parse_json, shortened
from graphmetric.graphs.files.limits import Limits, too_large
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.labels import LabelColumn, label_from_json, spelling

_PIECE = 1 << 24
_PLAIN_IDS = {int, str, type(None)}


def read_binary(source: Source, options: NoOptions) -> Iterator[Columns]:
    """Block after block; a file that lacks its end mark is refused after its last whole block."""
    totals = {"blocks": 0, "graphs": 0, "nodes": 0, "edges": 0}
    with source.open() as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise source.error("this is not a graphmetric file: it does not start with the right bytes")
        while True:
            with source.located(f"block {totals['blocks']}"):
                kind, header, payload = _read_block(stream, source)
                columns = _decoded(header, payload, source) if kind == BLOCK else None
            if columns is None:
                break
            yield columns
            counts = (1, columns.num_graphs, int(columns.node_ptr[-1]), len(columns.edges))
            totals = {name: total + count for (name, total), count in zip(totals.items(), counts, strict=True)}
        if header != totals:
            raise source.error(f"the end mark promises {shortened(header)}; found {totals}", "end")
        if stream.read(1):
            raise source.error("there are bytes after the end mark", "end")


def _read_block(stream: BufferedReader[Any], source: Source) -> tuple[bytes, dict[str, Any], bytes]:
    prefix = _read_exactly(stream, PREFIX.size)
    kind, header_size, payload_size = PREFIX.unpack(prefix)
    if kind not in (BLOCK, END):
        raise InvalidGraph(f"expected a block of kind {BLOCK!r} or {END!r}; found {kind!r}")
    allowed = source.limits.max_document_bytes
    if header_size > allowed:
        raise too_large(f"a block header of {header_size:,} bytes", "max_document_bytes", f"{allowed:,}")
    text = _read_exactly(stream, header_size)
    header = parse_json(text)
    if not isinstance(header, dict):
        raise InvalidGraph("the block header is not a JSON object")
    expected = _payload_size(header, source.limits) if kind == BLOCK else 0
    if expected != payload_size:
        raise InvalidGraph(f"the columns need {expected} bytes; the block has {payload_size}")
    payload = _read_exactly(stream, payload_size)
    (stored,) = CHECKSUM.unpack(_read_exactly(stream, CHECKSUM.size))
    if stored != checksum((prefix, text, payload)):
        raise InvalidGraph("the checksum is wrong; the file is damaged")
    return kind, header, payload


def _read_exactly(stream: BufferedReader[Any], size: int) -> bytes:
    """Read piece by piece, so that a wrong size costs no memory."""
    pieces = []
    while size > 0:
        piece = stream.read(min(size, _PIECE))
        if not piece:
            raise InvalidGraph(f"the file ends {size} bytes too early; it is truncated")
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _payload_size(header: dict[str, Any], limits: Limits) -> int:
    listed = header.get("columns")
    if not isinstance(listed, list) or not all(_is_column(entry) for entry in listed):
        raise InvalidGraph(f"columns must be a list of [name, type, shape]; found {shortened(listed)}")
    names = [name for name, _, _ in listed]
    missing = {"node_counts", "edge_counts", "flags", "edges"} - set(names)
    if missing or len(set(names)) != len(names):
        raise InvalidGraph(f"each column occurs once and none may lack; found {shortened(names)}")
    for _, _, shape in listed:
        limits.check_node_values(math.prod(max(size, 1) for size in shape[1:]))
    return sum(np.dtype(kind).itemsize * math.prod(shape) for _, kind, shape in listed)


def _is_column(entry: object) -> bool:
    if not (isinstance(entry, list) and len(entry) == 3 and isinstance(entry[0], str) and entry[0] in COLUMN_TYPES):
        return False
    kinds, dimensions = COLUMN_TYPES[entry[0]]
    shape = entry[2]
    return (
        isinstance(entry[1], str)
        and entry[1] in kinds
        and isinstance(shape, list)
        and len(shape) == dimensions
        and all(is_integer(size) and 0 <= size < 2**48 for size in shape)
    )


def _decoded(header: dict[str, Any], payload: bytes, source: Source) -> Columns:
    arrays = _arrays(header, payload)
    count = len(arrays["flags"])
    if not is_integer(header.get("graphs")) or header["graphs"] != count:
        raise InvalidGraph(f"the header says {shortened(header.get('graphs'))} graphs, the columns {count}")
    node_ptr, edge_ptr = _pointers(arrays, "node"), _pointers(arrays, "edge")
    source.limits.check_nodes(int(np.diff(node_ptr).max(initial=0)))
    source.limits.check_edges(int(np.diff(edge_ptr).max(initial=0)))
    vocabularies = {name: _vocabulary(header, name) for name in LABEL_COLUMNS if name in arrays}
    check_block(arrays, vocabularies, node_ptr, edge_ptr)
    optional: dict[str, Any] = {
        name: LabelColumn(_as(arrays[name], np.int32), vocabularies[name])
        if name in vocabularies
        else _as(arrays[name], arrays[name].dtype.newbyteorder("="))
        for name in FLAG_OF_COLUMN
        if name in arrays
    }
    return Columns(
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        flags=arrays["flags"],
        edges=_as(arrays["edges"], np.int32),
        ids=_ids(header.get("ids"), count),
        metadata=_metadata(header.get("metadata"), count),
        **optional,
    )


def _arrays(header: dict[str, Any], payload: bytes) -> dict[str, NDArray[Any]]:
    arrays, offset = {}, 0
    for name, kind, shape in header["columns"]:
        size = math.prod(shape)
        arrays[name] = np.frombuffer(payload, dtype=kind, count=size, offset=offset).reshape(shape)
        offset += arrays[name].nbytes
    return arrays


def _pointers(arrays: dict[str, NDArray[Any]], kind: str) -> NDArray[np.int64]:
    counts = arrays[f"{kind}_counts"]
    if counts.size and counts.max() > 2**31:
        raise InvalidGraph(f"a graph has {counts.max()} {kind}s")
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ptr[1:], dtype=np.int64)
    return _read_only(ptr)


def _as(array: NDArray[Any], dtype: Any) -> Any:
    """A copy in the machine's own layout, so that the file's bytes can be freed."""
    return _read_only(array.astype(dtype))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _vocabulary(header: dict[str, Any], name: str) -> tuple[Hashable, ...]:
    listed = header.get(name)
    if not isinstance(listed, list):
        raise InvalidGraph(f"the header must list the {name}; found {shortened(listed)}")
    vocabulary = tuple(read_labels(listed))
    if len({spelling(label) for label in vocabulary}) != len(vocabulary):
        raise InvalidGraph(f"the header lists one of the {name} twice")
    return vocabulary


def _ids(listed: object, count: int) -> tuple[Hashable, ...] | None:
    if listed is None:
        return None
    if not isinstance(listed, list) or len(listed) != count:
        raise InvalidGraph(f"ids must be a list of {count}; found {shortened(listed)}")
    if set(map(type, listed)) <= _PLAIN_IDS:
        return tuple(listed)
    return tuple(label_from_json(id) for id in listed)


def _metadata(listed: object, count: int) -> tuple[dict[str, Any], ...] | None:
    if listed is None:
        return None
    if not isinstance(listed, list) or len(listed) != count or not all(isinstance(item, dict) for item in listed):
        raise InvalidGraph(f"metadata must be a list of {count} objects; found {shortened(listed)}")
    return tuple(listed)
