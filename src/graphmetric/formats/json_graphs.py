"""JSON: one graph per object, in any of the three layouts people use; documents of one or many graphs, and JSON lines.

* The graph dict: ``num_nodes`` and ``edges``, and columns under the names of the constructor's arguments.
* A label list: ``nodes`` are labels, ``edges`` pairs; keys of other names are metadata.
* Node-link data, as networkx's ``node_link_data`` gives them: ``nodes`` are objects with an ``id``.

Objects of the usual form are read many at a time, all others one by one, with errors that name the element.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import format_json, parse_json
from graphmetric.errors import InvalidGraph
from graphmetric.formats.attributes import (
    AttributeOptions,
    AttributeRows,
    GraphBuilder,
    attribute_format,
    choose_columns,
    listed_columns,
    names_to_write,
    rows_of_columns,
    with_names,
    without_names,
)
from graphmetric.formats.batch_building import ParsedGraph, build_together
from graphmetric.formats.file_format import EVERYTHING, ConversionLosses, FileFormat, Part, writer_of_lines
from graphmetric.formats.file_source import FileSource, ReadLimits, located
from graphmetric.formats.values import is_integer, is_number, plain, read_labels, shortened
from graphmetric.graphs.columns import COLUMNS
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_from_json, label_to_json

_LISTED = [name for name in COLUMNS if name != "node_images"]
_KEYS = ("num_nodes", "edges", *COLUMNS, "directed", "id", "metadata")
_LABEL_LIST_KEYS = ("edges", "edge_labels", "edge_weights", "directed", "id")
_NODE_KEYS, _EDGE_KEYS = frozenset({"id"}), frozenset({"source", "target", "key"})
_NODE_ATTRIBUTES = {"label": "node_labels", "features": "node_features", "text": "node_texts"}
_EDGE_ATTRIBUTES = {"label": "edge_labels", "weight": "edge_weights"}
_MOST_SHAPES = 100
_SMALL = 2**63
"""Beyond it many integers may share a hash; see :mod:`graphmetric.formats.values`."""


def read_json(source: FileSource, options: AttributeOptions) -> Iterator[Part]:
    """The graphs of a JSON document."""
    return build_together(source, _parsed_document(source, options))


def _parsed_document(source: FileSource, options: AttributeOptions) -> Iterator[ParsedGraph]:
    with source.located():
        document = parse_json(source.read_text())
        single = isinstance(document, dict) and not isinstance(document.get("graphs"), list)
        listed = [document] if single else document["graphs"] if isinstance(document, dict) else document
        if not isinstance(listed, list):
            expected = "expected a graph, a list of graphs or an object with graphs"
            raise InvalidGraph(f"{expected}; got {shortened(document)}")
    reader = _JsonReader(source, options)
    for k, data in enumerate(listed):
        where = None if single else f"graphs[{k}]"
        with source.record(where):
            if not isinstance(data, dict):
                raise InvalidGraph(f"expected a graph as a JSON object; got {shortened(data)}")
            yield reader.parsed(data, partial(reader.build_strict, data, "" if single else f"graphs[{k}]."), where)


def read_json_lines(source: FileSource, options: AttributeOptions) -> Iterator[Part]:
    """Graphs line by line; blank lines are skipped."""
    return build_together(source, _parsed_lines(source, options))


def _parsed_lines(source: FileSource, options: AttributeOptions) -> Iterator[ParsedGraph]:
    reader = _JsonReader(source, options)

    def build_strict(line: str, number: int) -> Graph:
        # The text is parsed once more: to keep the objects of a thousand lines would cost more time than it saves.
        return reader.build_strict(_object(line, number), f"line {number}, ")

    for number, line in source.lines():
        if not line.isspace():
            with source.record(number):
                yield reader.parsed(_object(line, number), partial(build_strict, line, number), number)


def _object(line: str, number: int) -> dict[str, Any]:
    data = parse_json(line, number)
    if not isinstance(data, dict):
        raise InvalidGraph(f"expected one graph as a JSON object; got a {type(data).__name__}")
    return data


class _JsonReader:
    """Makes graphs of JSON objects, in any of the three layouts."""

    def __init__(self, source: FileSource, options: AttributeOptions) -> None:
        self._source, self._options = source, options
        self._usual: dict[tuple[frozenset[tuple[str, ...]], ...], dict[str, str]] = {}
        """The keys of nodes and of links, where labels are all they have, and the names of these labels."""

    def parsed(self, data: dict[str, Any], build_strict: Callable[[], Graph], where: str | int | None) -> ParsedGraph:
        """The graph of an object; what is wrong with it is said when its turn comes to be built."""
        try:
            return self._in_lists(data, build_strict, where)
        except InvalidGraph as error:
            return ParsedGraph(where, partial(_refuse, error))

    def _in_lists(
        self, data: dict[str, Any], build_strict: Callable[[], Graph], where: str | int | None
    ) -> ParsedGraph:
        """The graph in lists; node-link data of unusual parts need the strict builder."""
        limits, nodes = self._source.limits, data.get("nodes")
        if "num_nodes" in data:
            return _parsed_dict(data, limits, where)
        if not isinstance(nodes, list):
            found = f"found the keys {shortened(sorted(data))}"
            raise InvalidGraph(f"a graph needs num_nodes or a list of nodes; {found}")
        limits.check(nodes=len(nodes))
        if not ("links" in data or "multigraph" in data or (nodes and isinstance(nodes[0], dict) and "id" in nodes[0])):
            return _parsed_dict(self._dict_of_label_list(data), limits, where)
        try:
            columns = self._parsed_node_link(data)
        except (KeyError, TypeError, ValueError):  # our errors, too; the strict builder adds their location
            columns = None
        return ParsedGraph(where, build_strict, **columns or {})

    def _parsed_node_link(self, data: dict[str, Any]) -> dict[str, Any] | None:
        """Node-link data whose nodes go by strings or by small integers; None, or some error, for anything else."""
        nodes = data["nodes"]
        links = data["links"] if "links" in data else data["edges"]
        if type(links) is not list or len(links) > self._source.limits.max_edges:
            return None
        names = [node["id"] for node in nodes]
        tails, heads = [link["source"] for link in links], [link["target"] for link in links]
        kind = type(names[0]) if names else str
        if not {kind}.issuperset(map(type, chain(names, tails, heads))) or kind not in (str, int):
            return None
        if names != list(range(len(names))):
            if kind is int and (min(names) <= -_SMALL or max(names) >= _SMALL):
                return None
            numbers = {name: number for number, name in enumerate(names)}
            if len(numbers) < len(names):
                return None
            tails = list(map(numbers.__getitem__, tails))
            heads = list(map(numbers.__getitem__, heads))
        return {
            "num_nodes": len(nodes),
            "tails": tails,
            "heads": heads,
            "directed": _flag(data, self._options.directed),
            "id": label_from_json(data.get("id")),
            "metadata": with_names(_mapping(data, "graph"), names),
            "columns": self._columns(nodes, links),
        }

    def _dict_of_label_list(self, data: dict[str, Any]) -> dict[str, Any]:
        """The graph dict that says the same as a label list."""
        nodes = data["nodes"]
        known = {key: data[key] for key in _LABEL_LIST_KEYS if key in data}
        if any(label is not None for label in nodes):
            known["node_labels"] = nodes
        facts = {key: value for key, value in data.items() if key != "nodes" and key not in _LABEL_LIST_KEYS}
        given = {"num_nodes": len(nodes), "edges": None, "directed": bool(self._options.directed)}
        return given | known | {"metadata": facts}

    def _columns(self, nodes: list[dict[str, Any]], links: list[dict[str, Any]]) -> dict[str, Any]:
        """Choose the columns as :func:`choose_columns` does, with a shortcut if labels are the only attributes."""
        shapes = frozenset(map(tuple, nodes)), frozenset(map(tuple, links))
        usual = self._usual.get(shapes)
        if usual is not None:
            return {
                name: read_labels(list(map(itemgetter(key), nodes if name == "node_labels" else links)))
                for name, key in usual.items()
            }
        rows = AttributeRows("node", nodes, without=_NODE_KEYS), AttributeRows("edge", links, without=_EDGE_KEYS)
        columns = choose_columns(*rows, self._options, self._source)
        names = {f"{attributes.kind}_labels": attributes.names() for attributes in rows}
        chosen = {name for name, column in columns.items() if column is not None}
        alike = max(map(len, shapes)) <= 1 and max(map(len, names.values())) <= 1
        if alike and chosen == {name for name in names if names[name]} and len(self._usual) < _MOST_SHAPES:
            self._usual[shapes] = {name: found[0] for name, found in names.items() if found}
        return columns

    def build_strict(self, data: dict[str, Any], place: str) -> Graph:
        """The layout of networkx's ``node_link_data``, whose edges are under ``links`` before version 3.4.

        ``place`` is where the object stands in the file, put before ``nodes[3]`` in errors.
        """
        builder = GraphBuilder(self._source, self._options, directed=_flag(data, self._options.directed))
        links = data.get("links", data.get("edges"))
        if not isinstance(links, list):
            raise InvalidGraph('node-link data needs a list under "edges" or "links"')
        self._source.limits.check(edges=len(links))
        for k, node in enumerate(data["nodes"]):
            if not isinstance(node, dict) or "id" not in node:
                raise InvalidGraph(f'nodes[{k}] must be an object with an "id"; got {shortened(node)}')
            attributes = {key: value for key, value in node.items() if key not in _NODE_KEYS}
            builder.add_node(_name(node["id"]), attributes, f"{place}nodes[{k}]")
        for k, link in enumerate(links):
            if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
                raise InvalidGraph(f'edges[{k}] must be an object with "source" and "target"; got {shortened(link)}')
            attributes = {key: value for key, value in link.items() if key not in _EDGE_KEYS}
            builder.add_edge(_name(link["source"]), _name(link["target"]), attributes, f"{place}edges[{k}]")
        where = place.rstrip("., ") or None
        return builder.build(where, id=label_from_json(data.get("id")), metadata=_mapping(data, "graph"))


def _refuse(error: InvalidGraph) -> Graph:
    raise error


def _name(value: object) -> Hashable:
    """A node's id; networkx's tuples arrive as lists."""
    return tuple(map(_name, value)) if isinstance(value, list) else label_from_json(value)


def graph_from_dict(data: dict[str, Any], limits: ReadLimits) -> Graph:
    """The graph that :func:`graph_to_dict` wrote, or that somebody wrote by hand."""
    return _parsed_dict(data, limits, None).build()


def _parsed_dict(data: dict[str, Any], limits: ReadLimits, where: str | int | None) -> ParsedGraph:
    unknown = next((key for key in data if key not in _KEYS), None)
    if unknown is not None:
        raise InvalidGraph(f"unknown key {shortened(unknown)}; a graph dict has {', '.join(_KEYS)}")
    num_nodes = data.get("num_nodes")
    if not is_integer(num_nodes) or num_nodes < 0:
        raise InvalidGraph(f"num_nodes must be an integer >= 0; got {shortened(num_nodes)}")
    limits.check(nodes=num_nodes)
    ends = list(chain.from_iterable(_edge_pairs(data, limits)))
    return ParsedGraph(
        where,
        num_nodes=num_nodes,
        tails=ends[::2],
        heads=ends[1::2],
        directed=_flag(data),
        id=label_from_json(data.get("id")),
        metadata=_mapping(data, "metadata"),
        columns={name: _column(name, data, limits) for name in data if name in COLUMNS},
    )


def _column(name: str, data: dict[str, Any], limits: ReadLimits) -> Any:
    if name == "node_features":
        return _features(data[name], limits)
    if name == "node_images":
        return _images_from_json(data[name], data["num_nodes"], limits)
    values: list[Any] | None = _entry(data, name, None, list, "a list")
    if name == "edge_weights":
        _check_numbers(name, values or ())
    return read_labels(values) if values is not None and name.endswith("labels") else values


def _entry(data: dict[str, Any], key: str, absent: Any, kind: type, expected: str) -> Any:
    """The value of a key, ``absent`` if there is none; raises if it is of another type."""
    value = data.get(key, absent)
    if value is not absent and not isinstance(value, kind):
        raise InvalidGraph(f"{key} must be {expected}; got {shortened(value)}")
    return value


def _mapping(data: dict[str, Any], key: str) -> dict[str, Any]:
    return _entry(data, key, None, dict, "an object of names and values") or {}


def _flag(data: dict[str, Any], absent: bool | None = False) -> bool:
    return _entry(data, "directed", bool(absent), bool, "true or false")  # type: ignore[no-any-return]


def _edge_pairs(data: dict[str, Any], limits: ReadLimits) -> list[list[int]]:
    """Edges as a list of pairs; checked here since numpy would pad strings and guess at mixtures."""
    edges = data.get("edges", [])
    if not isinstance(edges, list):
        raise InvalidGraph(f"edges must be a list of pairs; got {shortened(edges)}")
    limits.check(edges=len(edges))
    if not (set(map(type, edges)) <= {list} and set(map(type, chain.from_iterable(edges))) <= {int}):
        wrong = next(pair for pair in edges if not isinstance(pair, list) or not all(map(is_integer, pair)))
        raise InvalidGraph(f"edges must be pairs of node numbers; got {shortened(wrong)}")
    if not set(map(len, edges)) <= {2}:
        raise InvalidGraph(f"edges must be pairs; got {shortened(next(pair for pair in edges if len(pair) != 2))}")
    return edges


def _check_numbers(place: str, values: Iterable[Any]) -> None:
    """Raise unless all are finite numbers; numpy would also take numerals in quotes."""
    if not all(map(is_number, values)):
        k, wrong = next((k, value) for k, value in enumerate(values) if not is_number(value))
        raise InvalidGraph(f"{place}[{k}] must be a finite number; got {shortened(wrong)}")


def _features(rows: object, limits: ReadLimits) -> NDArray[np.float64] | None:
    if rows is None:
        return None
    if isinstance(rows, dict) and list(rows) == ["width"] and is_integer(rows["width"]) and rows["width"] >= 0:
        limits.check(node_values=rows["width"])
        return np.empty((0, rows["width"]))
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InvalidGraph(f"node_features must be a list of lists of numbers; got {shortened(rows)}")
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InvalidGraph(f"node_features[{k}] has {len(row)} numbers, node_features[0] has {len(rows[0])}")
        _check_numbers(f"node_features[{k}]", row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)


def _images_from_json(data: object, num_nodes: int, limits: ReadLimits) -> NDArray[Any] | None:
    if data is None:
        return None
    if not isinstance(data, dict) or set(data) != {"dtype", "shape", "base64"} or not isinstance(data["base64"], str):
        raise InvalidGraph('node_images must be {"dtype": ..., "shape": [...], "base64": "..."}')
    dtype, shape = data["dtype"], data["shape"]
    if dtype not in ("uint8", "float32"):
        raise InvalidGraph(f"node_images must be uint8 or float32; got {shortened(dtype)}")
    if not isinstance(shape, list) or len(shape) != 4 or not all(is_integer(size) and size >= 0 for size in shape):
        raise InvalidGraph(f"node_images needs a shape [nodes, height, width, channels]; got {shortened(shape)}")
    limits.check(node_values=math.prod(max(size, 1) for size in shape[1:]))
    try:
        content = base64.b64decode(data["base64"], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidGraph("node_images is not valid base64") from None
    kind = np.dtype(dtype).newbyteorder("<")
    if shape[0] != num_nodes or math.prod(shape) * kind.itemsize != len(content):
        raise InvalidGraph(f"node_images has {len(content)} bytes, which do not fill {num_nodes} images of {shape[1:]}")
    return np.frombuffer(content, dtype=kind).reshape(shape).astype(dtype)


def graph_to_dict(graph: Graph) -> dict[str, Any]:
    """A graph as JSON values; what a graph does not have is left out."""
    data: dict[str, Any] = {"num_nodes": graph.num_nodes, "edges": graph.edges.tolist()}
    if graph.directed:
        data["directed"] = True
    data |= _json_columns(graph, {name: name for name in _LISTED})
    if graph.node_features is not None and not graph.num_nodes:
        data["node_features"] = {"width": graph.node_features.shape[1]}
    if (images := graph.node_images) is not None:
        content = images.astype(images.dtype.newbyteorder("<"), copy=False).tobytes()
        encoded = base64.b64encode(content).decode("ascii")
        data["node_images"] = {"dtype": str(images.dtype), "shape": list(images.shape), "base64": encoded}
    if graph.id is not None:
        data["id"] = label_to_json(graph.id)
    if graph.metadata:
        data["metadata"] = plain(graph.metadata)
    return data


def _graph_to_node_link(graph: Graph) -> dict[str, Any]:
    """The layout that networkx's ``node_link_graph`` reads; a graph's own id stands beside ``graph``."""
    names = names_to_write(graph, (int, str))
    ids = list(range(graph.num_nodes)) if names is None else names
    ends = graph.edges.tolist()
    nodes = {"id": ids} | _json_columns(graph, _NODE_ATTRIBUTES)
    edges = {"source": [ids[u] for u, _ in ends], "target": [ids[v] for _, v in ends]}
    edges |= _json_columns(graph, _EDGE_ATTRIBUTES)
    metadata = graph.metadata if names is None else without_names(graph.metadata)
    data: dict[str, Any] = {} if graph.id is None else {"id": label_to_json(graph.id)}
    data |= {"directed": graph.directed, "multigraph": False, "graph": plain(metadata)}
    data["nodes"] = rows_of_columns(nodes, graph.num_nodes)
    data["edges"] = rows_of_columns(edges, graph.num_edges)
    return data


def _json_columns(graph: Graph, names: Mapping[str, str]) -> dict[str, list[Any]]:
    columns = listed_columns(graph, names)
    return {
        name: list(map(label_to_json, column)) if names[name].endswith("labels") else column
        for name, column in columns.items()
    }


def write_json(graphs: Iterable[Graph], stream: BinaryIO, not_kept: ConversionLosses) -> None:
    """Node-link data: alone if it is one graph, so that networkx can read it; else as a list under ``graphs``."""
    iterator = enumerate(graphs)
    first = list(islice(iterator, 2))
    single = len(first) == 1
    stream.write(b"" if single else b'{"graphs":[\n')
    for k, graph in chain(first, iterator):
        with located(None, f"graphs[{k}]"):
            text = format_json(_graph_to_node_link(graph))
        stream.write((b",\n" if k else b"") + text.encode("ascii"))
    stream.write(b"\n" if single else b"\n]}\n")


JSON_DOCUMENT = attribute_format(
    "json", (".json",), "JSON node-link data (networkx), one graph or many", read=read_json, write=write_json
)

JSON_LINES = FileFormat(
    "jsonl",
    (".jsonl", ".ndjson"),
    "JSON lines: one graph dict (or node-link object) per line; streams",
    holds=EVERYTHING,
    read=read_json_lines,
    write=writer_of_lines(lambda graph, k, not_kept: [format_json(graph_to_dict(graph))]),
    options=AttributeOptions,
)
