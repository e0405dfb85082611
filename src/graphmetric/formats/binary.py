"""Our own format for collections: compact, quick, streaming, without loss; docs/formats.md describes it for others.

::

    file   = MAGIC block* end
    block  = "GRPH" header_size:u32 payload_size:u64  header:JSON  payload  crc32:u32
    end    = "END!" header_size:u32 0:u64             header:JSON           crc32:u32

All numbers are little-endian; the checksum is over everything of its block before it. A checksum finds accidents, not
intent, so nothing is believed because the checksum is right: every column is checked.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from functools import reduce
from io import BufferedReader
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import format_json, parse_json
from graphmetric.errors import InvalidGraph
from graphmetric.formats.file_format import EVERYTHING, ConversionLosses, FileFormat, NoOptions
from graphmetric.formats.file_source import FileSource, ReadLimits, located
from graphmetric.formats.values import is_integer, plain, read_labels, shortened
from graphmetric.graphs.collection import GraphCollection, pack
from graphmetric.graphs.columns import COLUMNS, Columns, assemble_columns, pointers, read_only
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_to_json, spelling

MAGIC = b"\x89GMG1\r\n\x1a\n"
"""Not text, and destroyed by line-end conversion, so that either mistake is noticed at once."""
BLOCK = b"GRPH"
END = b"END!"
PREFIX = struct.Struct("<4sIQ")
CHECKSUM = struct.Struct("<I")

GRAPHS_PER_BLOCK = 65_536

_UNSIGNED = ("|u1", "<u2", "<u4", "<u8")
_COUNTS = dict.fromkeys(("node_counts", "edge_counts"), (_UNSIGNED, 1))
_NECESSARY = _COUNTS | {"flags": (("|u1",), 1), "edges": (_UNSIGNED, 2)}
_COLUMN_TYPES = _NECESSARY | {
    name: (_UNSIGNED if column.coded else tuple(np.dtype(f"<{kind}").str for kind in column.dtypes), column.dimensions)
    for name, column in COLUMNS.items()
}
"""Name -> types allowed on disk, number of dimensions."""
_PIECE = 1 << 24
_PLAIN_IDS = {int, str, type(None)}


def checksum(parts: Iterable[bytes | memoryview]) -> int:
    """The crc32 of the parts one after the other."""
    return reduce(lambda value, part: zlib.crc32(part, value), parts, 0)


def _counts(columns: Columns) -> dict[str, int]:
    """Count the contents of one block; the end mark repeats the sums."""
    return {"blocks": 1, "graphs": columns.num_graphs, "nodes": columns.num_nodes, "edges": len(columns.edges)}


def read_binary(source: FileSource, options: NoOptions) -> Iterator[Columns]:
    """Block after block; a file that lacks its end mark is refused after its last whole block."""
    totals = Counter(blocks=0, graphs=0, nodes=0, edges=0)
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
            totals.update(_counts(columns))
        if header != dict(totals):
            raise source.error(f"the end mark promises {shortened(header)}; found {dict(totals)}", "end")
        if stream.read(1):
            raise source.error("there are bytes after the end mark", "end")


def _read_block(stream: BufferedReader[Any], source: FileSource) -> tuple[bytes, dict[str, Any], bytes]:
    prefix = _read_exactly(stream, PREFIX.size)
    kind, header_size, payload_size = PREFIX.unpack(prefix)
    if kind not in (BLOCK, END):
        raise InvalidGraph(f"expected a block of kind {BLOCK!r} or {END!r}; found {kind!r}")
    if header_size > source.limits.max_document_bytes:
        raise source.limits.exceeded("max_document_bytes", f"a block header of {header_size:,} bytes")
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


def _payload_size(header: dict[str, Any], limits: ReadLimits) -> int:
    listed = header.get("columns")
    if not isinstance(listed, list) or not all(map(_is_column, listed)):
        raise InvalidGraph(f"columns must be a list of [name, type, shape]; found {shortened(listed)}")
    names = [name for name, _, _ in listed]
    if len(set(names)) != len(names) or not _NECESSARY.keys() <= set(names):
        raise InvalidGraph(f"each column occurs once and none may be missing; found {shortened(names)}")
    for _, _, shape in listed:
        limits.check(node_values=math.prod(max(size, 1) for size in shape[1:]))
    return sum(np.dtype(kind).itemsize * math.prod(shape) for _, kind, shape in listed)


def _is_column(entry: object) -> bool:
    if not isinstance(entry, list) or len(entry) != 3:
        return False
    name, kind, shape = entry
    kinds, dimensions = _COLUMN_TYPES.get(name, ((), 0)) if isinstance(name, str) else ((), 0)
    sizes = shape if isinstance(shape, list) and len(shape) == dimensions else [None]
    return kind in kinds and all(is_integer(size) and 0 <= size < 2**48 for size in sizes)


def _decoded(header: dict[str, Any], payload: bytes, source: FileSource) -> Columns:
    arrays, offset = {}, 0
    for name, kind, shape in header["columns"]:
        array = np.frombuffer(payload, dtype=kind, count=math.prod(shape), offset=offset).reshape(shape)
        arrays[name], offset = array, offset + array.nbytes
    count = len(arrays["flags"])
    if not is_integer(header.get("graphs")) or header["graphs"] != count:
        raise InvalidGraph(f"the header says {shortened(header.get('graphs'))} graphs, the columns {count}")
    for kind in ("node", "edge"):
        source.limits.check(**{f"{kind}s": int(arrays[f"{kind}_counts"].max(initial=0))})
    columns: dict[str, Any] = {
        name: LabelColumn(arrays[name], _vocabulary(header, name)) if column.coded else _copied(arrays[name])
        for name, column in COLUMNS.items()
        if name in arrays
    }
    ids = _one_per_graph(header, "ids", count)
    if ids is not None and not set(map(type, ids)) <= _PLAIN_IDS:
        ids = [label_from_json(id) for id in ids]
    metadata = _one_per_graph(header, "metadata", count)
    if not set(map(type, metadata or ())) <= {dict}:
        raise InvalidGraph(f"metadata must be a list of {count} objects; found {shortened(metadata)}")
    return assemble_columns(
        pointers(arrays["node_counts"].astype(np.int64)),
        pointers(arrays["edge_counts"].astype(np.int64)),
        arrays["edges"],
        flags=arrays["flags"],
        in_order=True,
        ids=None if ids is None else tuple(ids),
        metadata=None if metadata is None else tuple(metadata),
        **columns,
    )


def _copied(array: NDArray[Any]) -> NDArray[Any]:
    """A copy in the machine's own layout, so that the file's bytes can be freed."""
    return read_only(array.astype(array.dtype.newbyteorder("=")))


def _vocabulary(header: dict[str, Any], name: str) -> tuple[Hashable, ...]:
    listed = header.get(name)
    if not isinstance(listed, list):
        raise InvalidGraph(f"the header must list the {name}; found {shortened(listed)}")
    vocabulary = tuple(read_labels(listed))
    if len({spelling(label) for label in vocabulary}) != len(vocabulary):
        raise InvalidGraph(f"the header lists one of the {name} twice")
    return vocabulary


def _one_per_graph(header: dict[str, Any], name: str, count: int) -> list[Any] | None:
    listed = header.get(name)
    if listed is not None and (not isinstance(listed, list) or len(listed) != count):
        raise InvalidGraph(f"{name} must be a list of {count}; found {shortened(listed)}")
    return listed


def write_binary(graphs: Iterable[Graph], stream: BinaryIO, not_kept: ConversionLosses) -> None:
    """Write graphs in blocks; no more than one block is in memory besides the graphs themselves."""
    totals = Counter(blocks=0, graphs=0, nodes=0, edges=0)
    stream.write(MAGIC)
    for columns in _blocks(graphs):
        header, arrays = _encoded(columns, totals["graphs"])
        _write_block(stream, BLOCK, header, arrays)
        totals.update(_counts(columns))
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
    for name, column in columns.present().items():
        if COLUMNS[name].coded:
            used = column.compact()  # a slice shares the vocabulary of the whole collection
            arrays[name], header[name] = _small(used.codes), [_json_label(label, name) for label in used.vocabulary]
        else:
            arrays[name] = column.astype(column.dtype.newbyteorder("<"), copy=False)
    if columns.ids is not None:
        header["ids"] = [_json_label(id, f"graphs[{first + k}]: id") for k, id in enumerate(columns.ids)]
    if columns.metadata is not None:
        header["metadata"] = []
        for k, facts in enumerate(columns.metadata, first):
            with located(None, f"graphs[{k}]"):
                header["metadata"].append(plain(facts))
    header["columns"] = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    return header, list(arrays.values())


def _json_label(label: Any, place: str) -> object:
    with located(None, place):
        data = label_to_json(label)
        if isinstance(data, dict):
            label_from_json(data)  # a tuple nested so deeply that it could not be read back
    return data


def _small(array: NDArray[Any]) -> NDArray[Any]:
    """The array as the smallest unsigned integers that hold it."""
    assert array.min(initial=0) >= 0
    kind = np.min_scalar_type(int(array.max(initial=0)))
    return np.ascontiguousarray(array, dtype=kind.newbyteorder("<"))


def _write_block(stream: BinaryIO, kind: bytes, header: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    text = format_json(header, nan=True).encode("ascii")
    prefix = PREFIX.pack(kind, len(text), sum(array.nbytes for array in arrays))
    parts = [prefix, text, *(np.ascontiguousarray(array).tobytes() for array in arrays)]
    for part in parts:
        stream.write(part)
    stream.write(CHECKSUM.pack(checksum(parts)))


BINARY = FileFormat(
    "graphmetric",
    (".gmg",),
    "our own compact binary format; holds everything; streams",
    holds=EVERYTHING,
    read=read_binary,
    write=write_binary,
)
