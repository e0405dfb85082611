"""Our own binary format: damage is noticed, lies with a right checksum too."""

from __future__ import annotations

import io
import json
import struct
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import FileError
from graphmetric.formats import ReadLimits, iter_graphs, read_graphs, write_graphs
from graphmetric.formats.binary import BLOCK, MAGIC
from graphmetric.graphs.graph import Graph

GRAPHS = [
    Graph(3, [(0, 1), (1, 2)], node_labels=list("CCO"), edge_weights=[1, 2], node_texts=["a", "b", "c"], id="x"),
    Graph(2, [(0, 1)], node_labels=["N", None]),
    Graph(2, [(1, 0)], directed=True, metadata={"class": 1}),
]


def written(graphs: list[Graph]) -> bytes:
    stream = io.BytesIO()
    write_graphs(graphs, stream, "graphmetric")
    return stream.getvalue()


def read(data: bytes, **options: Any) -> Any:
    return read_graphs(io.BytesIO(data), "graphmetric", **options)


DATA = written(GRAPHS)


@given(st.integers(0, len(DATA) - 1))
def test_truncation_is_noticed(length: int) -> None:
    with pytest.raises(FileError):
        read(DATA[:length])


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(DATA)
    damaged[place] ^= change
    with pytest.raises(FileError):
        read(bytes(damaged))


def test_bytes_after_the_end_are_noticed() -> None:
    with pytest.raises(FileError, match="bytes after the end mark"):
        read(DATA + b"x")


def test_a_block_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmetric.formats.binary.GRAPHS_PER_BLOCK", 1)
    whole = written(GRAPHS)
    second, third = (whole.index(BLOCK, whole.index(BLOCK) + 1), whole.rindex(BLOCK))
    with pytest.raises(FileError, match=r"the end mark promises .*'blocks': 3.*; found .*'blocks': 2"):
        read(whole[:second] + whole[third:])


def test_the_documented_layout_is_what_is_written() -> None:
    """Read a file as docs/formats.md describes it, with nothing from the package."""
    assert DATA.startswith(b"\x89GMG1\r\n\x1a\n")
    kind, header_size, payload_size = struct.unpack_from("<4sIQ", DATA, 9)
    assert kind == b"GRPH"
    start = 9 + 16
    header = json.loads(DATA[start : start + header_size])
    payload = DATA[start + header_size :][:payload_size]
    (stored,) = struct.unpack_from("<I", DATA, start + header_size + payload_size)
    assert stored == zlib.crc32(DATA[9 : start + header_size + payload_size])
    arrays, place = {}, 0
    for name, dtype, shape in header["columns"]:
        arrays[name] = np.frombuffer(payload, dtype, int(np.prod(shape)), place).reshape(shape)
        place += arrays[name].nbytes
    assert place == payload_size
    assert arrays["node_counts"].tolist() == [3, 2, 2]
    assert arrays["edges"].tolist() == [[0, 1], [1, 2], [0, 1], [1, 0]]
    assert arrays["edges"].dtype == np.uint8
    labels = [header["node_labels"][code] for code in arrays["node_labels"]]
    assert labels[:5] == ["C", "C", "O", "N", None]
    assert header["ids"] == ["x", None, None]
    assert header["metadata"] == [{}, {}, {"class": 1}]


def resealed(change: Any) -> bytes:
    """A file whose first block was changed and got a right checksum."""
    _, header_size, payload_size = struct.unpack_from("<4sIQ", DATA, len(MAGIC))
    start = len(MAGIC) + 16
    header = json.loads(DATA[start : start + header_size])
    payload = DATA[start + header_size :][:payload_size]
    arrays, place = {}, 0
    for name, dtype, shape in header["columns"]:
        arrays[name] = np.frombuffer(payload, dtype, int(np.prod(shape)), place).reshape(shape).copy()
        place += arrays[name].nbytes
    change(header, arrays)
    if header.pop("recount", True):
        header["columns"] = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps(header).encode()
    payload = b"".join(array.tobytes() for array in arrays.values())
    block = struct.pack("<4sIQ", BLOCK, len(text), len(payload)) + text + payload
    rest = DATA[start + header_size + payload_size + 4 :]
    return MAGIC + block + struct.pack("<I", zlib.crc32(block)) + rest


def put(name: str, place: Any, value: Any) -> Any:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


def head(name: str, value: Any) -> Any:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        header[name] = value

    return change


def swap_edges(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["edges"][:2] = arrays["edges"][1::-1].copy()


def drop(name: str) -> Any:
    return lambda header, arrays: arrays.pop(name)


def claim(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["recount"] = False
    header["columns"][0][2] = [2**40]


def huge_image(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    header["recount"] = False
    header["columns"].append(["node_images", "|u1", [0, 2**47, 2**47, 2**47]])


LIES = [
    (put("edges", (0, 1), 3), "edge (0, 3) names node 3; the graph has 3 nodes (0..2)"),
    (put("edges", 0, (1, 0)), "larger end comes first"),
    (put("edges", 1, (0, 1)), "edge (0, 1) is not after the edge before it"),
    (swap_edges, "is not after the edge before it"),
    (put("node_labels", 0, 200), "node_labels uses code 200"),
    (put("node_texts", 0, 3), "node_texts must be strings; got None"),
    (put("edge_weights", 0, 0), "has weight 0"),
    (put("edge_weights", 0, np.nan), "edge_weights[0] is nan"),
    (put("flags", 0, 255), "flags has unknown bits"),
    (put("flags", 1, 16), "graphs claim to have node_features"),
    (put("node_counts", 0, 4), "the counts promise"),
    (put("edge_counts", 0, 1), "the counts promise"),
    (drop("edges"), "none may be missing"),
    (drop("node_texts"), "graphs claim to have node_texts"),
    (head("graphs", 4), "the header says 4 graphs, the columns 3"),
    (head("node_labels", ["C", "C", "N", None, "O"]), "twice"),
    (head("node_labels", 7), "the header must list the node_labels"),
    (head("ids", [1]), "ids must be a list of 3"),
    (head("metadata", [1, 2, 3]), "metadata must be a list of 3 objects"),
    (head("ids", [[1], None, None]), "is not one of"),
    (claim, "the block has"),
    (huge_image, "values per node; the limit is"),
]


@pytest.mark.parametrize(("change", "words"), LIES)
def test_lies_with_a_right_checksum(change: Any, words: str) -> None:
    with pytest.raises(FileError) as caught:
        read(resealed(change))
    assert caught.value.where == "block 0"
    assert words in str(caught.value)


def test_resealing_alone_changes_nothing() -> None:
    assert list(read(resealed(lambda header, arrays: None))) == GRAPHS


def test_limits_of_one_graph() -> None:
    with pytest.raises(FileError, match="3 nodes; the limit is 2"):
        read(DATA, limits=ReadLimits(max_nodes=2))
    with pytest.raises(FileError, match="2 edges; the limit is 1"):
        read(DATA, limits=ReadLimits(max_edges=1))


def test_graphs_before_a_truncation_can_still_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmetric.formats.binary.GRAPHS_PER_BLOCK", 1)
    (tmp_path / "a.gmg").write_bytes(written(GRAPHS)[:-60])
    graphs = iter_graphs(tmp_path / "a.gmg")
    assert next(graphs) == GRAPHS[0]
    with pytest.raises(FileError, match="truncated"):
        list(graphs)


def test_a_label_that_cannot_be_read_back_is_not_written() -> None:
    deep: Any = ()
    for _ in range(30):
        deep = (deep,)
    for label in (deep, frozenset({1})):
        with pytest.raises(FileError, match="node_labels"):
            written([Graph(1, node_labels=[label])])


def test_loading_makes_no_object_for_each_graph(shared_data: Path, tmp_path: Path) -> None:
    """42,689 graphs in a few hundred calls, which is why it takes well under 0.3 s of processor time."""
    from graphmetric.graphs.collection import GraphCollection
    from graphmetric.graphs.columns import assemble_columns
    from graphmetric.graphs.labels import LabelColumn

    data = dict(np.load(shared_data / "AIDS42k.npz"))
    labels, codes = np.unique(data["node_label"], return_inverse=True)
    columns = assemble_columns(
        data["node_ptr"],
        data["edge_ptr"],
        np.stack([data["edge_u"], data["edge_v"]], axis=1),
        node_labels=LabelColumn(codes.astype(np.int32), tuple(labels.tolist())),
    )
    write_graphs(GraphCollection._of(columns), tmp_path / "a.gmg")
    events = Counter[str]()
    sys.setprofile(lambda frame, event, argument: events.update([event]))
    try:
        found = read_graphs(tmp_path / "a.gmg")
    finally:
        sys.setprofile(None)
    assert events.total() < 10_000
    assert np.array_equal(found.columns.edges, columns.edges)
