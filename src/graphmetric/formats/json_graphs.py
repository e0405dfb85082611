"""A graph from one JSON object, in any of the three layouts people use.

JSON documents: one graph, a list of graphs, or an object with the list under ``graphs``.

JSON lines: one graph per line, as a graph dict or as node-link data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple

from graphmetric.errors import InvalidGraph
from graphmetric.formats.bulk import ParsedGraph, build_together
from graphmetric.formats.file_format import EVERYTHING, FileFormat, Part
from graphmetric.formats.graph_dict import (
    edge_pairs,
    flag,
    graph_from_dict,
    graph_to_dict,
    labels,
    mapping,
    numbers,
    read_labels,
)
from graphmetric.formats.json_values import format_json, parse_json, plain, shortened
from graphmetric.formats.named_attributes import (
    AttributeOptions,
    AttributeRows,
    GraphBuilder,
    choose_columns,
    names_to_write,
    with_names,
    without_names,
)
from graphmetric.formats.source import Source, located
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_from_json, label_to_json

_NODE_KEYS, _EDGE_KEYS = frozenset({"id"}), frozenset({"source", "target", "key"})
_PLAIN_KEYS = frozenset({"num_nodes", "edges", "node_labels", "edge_labels", "directed", "id", "metadata"})
_MOST_SHAPES = 100
_SMALL = 2**63
"""Beyond it many integers may share a hash; see hash_floods."""
_LABEL_LIST_KEYS = ("id", "nodes", "edges", "edge_labels", "edge_weights", "directed")


class JsonReader:
    """Makes graphs of JSON objects, in any of the three layouts."""

    def __init__(self, source: Source, options: AttributeOptions) -> None:
        self._source, self._options = source, options
        self._usual: dict[tuple[frozenset[tuple[str, ...]], ...], _UsualLabels | None] = {}

    def parsed(self, data: dict[str, Any], carefully: Callable[[], Graph], where: str | int | None) -> ParsedGraph:
        """The graph of an object, in lists if its parts are of the usual types, else to be built carefully."""
        try:
            node_link = "num_nodes" not in data and _is_node_link(data)
            parsed = (self._parsed_node_link if node_link else self._parsed_lists)(data, carefully, where)
        except (KeyError, TypeError, ValueError):  # our own errors are ValueErrors; carefully they name their place
            parsed = None
        return parsed or ParsedGraph(carefully, where)

    def graph(self, data: dict[str, Any], place: str) -> Graph:
        """The graph of an object; ``place`` is where it stands in the file, put before ``nodes[3]`` in errors."""
        return _graph_from_json(data, self._source, self._options, place)

    def _parsed_node_link(
        self, data: dict[str, Any], carefully: Callable[[], Graph], where: str | int | None
    ) -> ParsedGraph | None:
        """Node-link data whose nodes go by strings or by small integers; None, or some error, for anything else."""
        nodes, links = data["nodes"], data["links"] if "links" in data else data["edges"]
        if type(nodes) is not list or type(links) is not list:
            return None
        self._source.limits.check_nodes(len(nodes))
        self._source.limits.check_edges(len(links))
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
            tails, heads = list(map(numbers.__getitem__, tails)), list(map(numbers.__getitem__, heads))
        return ParsedGraph(
            carefully,
            where,
            len(nodes),
            tails,
            heads,
            directed=flag(data, "directed", self._options.directed),
            id=label_from_json(data.get("id")),
            metadata=with_names(mapping(data, "graph"), names),
            **self._columns(nodes, links),
        )

    def _parsed_lists(
        self, data: dict[str, Any], carefully: Callable[[], Graph], where: str | int | None
    ) -> ParsedGraph | None:
        """A graph dict, or a label list, of labels alone; None, or some error, for others."""
        is_dict = "num_nodes" in data
        num_nodes = data["num_nodes"] if is_dict else len(data["nodes"])
        if type(num_nodes) is not int or (is_dict and not _PLAIN_KEYS.issuperset(data)) or "edge_weights" in data:
            return None
        self._source.limits.check_nodes(num_nodes)
        ends = list(
            chain.from_iterable(edge_pairs(data.get("edges", []) if is_dict else data["edges"], self._source.limits))
        )
        node_labels, edge_labels = labels(data, "node_labels" if is_dict else "nodes"), labels(data, "edge_labels")
        if len(node_labels or ()) not in (0, num_nodes) or len(edge_labels or ()) not in (0, len(ends) // 2):
            return None
        if node_labels is not None and not is_dict and all(label is None for label in node_labels):
            node_labels = None
        return ParsedGraph(
            carefully,
            where,
            num_nodes,
            ends[::2],
            ends[1::2],
            directed=flag(data, "directed", None if is_dict else self._options.directed),
            node_labels=node_labels,
            edge_labels=edge_labels,
            id=label_from_json(data.get("id")),
            metadata=mapping(data, "metadata") if is_dict else _facts_of_label_list(data),
        )

    def _columns(self, nodes: list[dict[str, Any]], links: list[dict[str, Any]]) -> dict[str, Any]:
        """What :func:`choose_columns` gives, without its questions where labels are the only attributes."""
        shapes = frozenset(map(tuple, nodes)), frozenset(map(tuple, links))
        if shapes not in self._usual:
            if len(self._usual) > _MOST_SHAPES:
                self._usual.clear()
            self._usual[shapes] = _usual_labels(*shapes, self._options)
        usual = self._usual[shapes]
        if usual is not None:
            return {
                "node_labels": read_labels(list(map(itemgetter(usual.node), nodes))) if usual.node else None,
                "edge_labels": read_labels(list(map(itemgetter(usual.edge), links))) if usual.edge else None,
            }
        columns = choose_columns(
            AttributeRows(rows=nodes, without=_NODE_KEYS),
            AttributeRows(rows=links, without=_EDGE_KEYS),
            self._options,
            self._source,
        )
        texts = columns["node_texts"]
        if texts is not None and not {str}.issuperset(map(type, texts)):
            raise InvalidGraph("texts must be strings")
        return columns


class _UsualLabels(NamedTuple):
    """The only attributes of nodes and of edges; None where there are none."""

    node: str | None
    edge: str | None


def _usual_labels(
    nodes: frozenset[tuple[str, ...]], links: frozenset[tuple[str, ...]], options: AttributeOptions
) -> _UsualLabels | None:
    """The labels where all nodes have the same keys, all edges too, and none beyond the label."""
    found: list[str | None] = []
    for shapes, keys, names in ((nodes, _NODE_KEYS, options.node_label), (links, _EDGE_KEYS, options.edge_label)):
        attributes = [set(shape) - keys for shape in shapes]
        candidates = {names} if isinstance(names, str) else set(names or ())
        if len(attributes) > 1 or (attributes and (len(attributes[0]) > 1 or not attributes[0] <= candidates)):
            return None
        if isinstance(names, str) and attributes and not attributes[0]:
            return None
        found.append(next(iter(attributes[0]), None) if attributes else None)
    return _UsualLabels(*found) if found[0] not in (options.node_text, options.node_features) or not found[0] else None


def _graph_from_json(data: dict[str, Any], source: Source, options: AttributeOptions, place: str) -> Graph:
    if "num_nodes" in data:
        return graph_from_dict(data, source.limits)
    nodes = data.get("nodes")
    if not isinstance(nodes, list):
        raise InvalidGraph(f"a graph needs num_nodes or a list of nodes; found the keys {shortened(sorted(data))}")
    source.limits.check_nodes(len(nodes))
    if _is_node_link(data):
        return _from_node_link(data, source, options, place)
    return _from_label_list(data, source, options)


def _is_node_link(data: dict[str, Any]) -> bool:
    nodes = data["nodes"]
    return "links" in data or "multigraph" in data or (nodes and isinstance(nodes[0], dict) and "id" in nodes[0])


def _from_label_list(data: dict[str, Any], source: Source, options: AttributeOptions) -> Graph:
    """``nodes`` are labels (all null: none), ``edges`` pairs; keys of other names are metadata."""
    nodes = data["nodes"]
    return Graph(
        len(nodes),
        edge_pairs(data.get("edges"), source.limits),
        node_labels=None if all(label is None for label in nodes) else labels(data, "nodes"),
        edge_labels=labels(data, "edge_labels"),
        edge_weights=numbers(data, "edge_weights"),
        directed=flag(data, "directed", options.directed),
        id=label_from_json(data.get("id")),
        metadata=_facts_of_label_list(data),
    )


def _facts_of_label_list(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in _LABEL_LIST_KEYS}


def _from_node_link(data: dict[str, Any], source: Source, options: AttributeOptions, place: str) -> Graph:
    """The layout of networkx's ``node_link_data``, whose edges are under ``links`` before version 3.4."""
    builder = GraphBuilder(source, options, directed=flag(data, "directed", options.directed))
    links = data.get("links", data.get("edges"))
    if not isinstance(links, list):
        raise InvalidGraph('node-link data needs a list under "edges" or "links"')
    source.limits.check_edges(len(links))
    for k, node in enumerate(data["nodes"]):
        if not isinstance(node, dict) or "id" not in node:
            raise InvalidGraph(f'nodes[{k}] must be an object with an "id"; got {shortened(node)}')
        attributes = {key: value for key, value in node.items() if key != "id"}
        builder.add_node(_name(node["id"]), attributes, f"{place}nodes[{k}]")
    for k, link in enumerate(links):
        if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
            raise InvalidGraph(f'edges[{k}] must be an object with "source" and "target"; got {shortened(link)}')
        attributes = {key: value for key, value in link.items() if key not in ("source", "target", "key")}
        builder.add_edge(_name(link["source"]), _name(link["target"]), attributes, f"{place}edges[{k}]")
    return builder.build(
        place.rstrip("., ") or None, id=label_from_json(data.get("id")), metadata=mapping(data, "graph")
    )


def _name(value: object) -> Hashable:
    """A node's id; networkx's tuples arrive as lists."""
    if isinstance(value, list):
        return tuple(_name(item) for item in value)
    return label_from_json(value)


def graph_to_node_link(graph: Graph) -> dict[str, Any]:
    """The layout that networkx's ``node_link_graph`` reads; a graph's own id stands beside ``graph``."""
    names = names_to_write(graph, (int, str))
    ids = range(graph.num_nodes) if names is None else names
    nodes: list[dict[str, Any]] = [{"id": id} for id in ids]
    for name, values in _node_attributes(graph).items():
        for node, value in zip(nodes, values, strict=True):
            node[name] = value
    edges: list[dict[str, Any]] = [{"source": ids[u], "target": ids[v]} for u, v in graph.edges.tolist()]
    for name, values in _edge_attributes(graph).items():
        for edge, value in zip(edges, values, strict=True):
            edge[name] = value
    metadata = graph.metadata if names is None else without_names(graph.metadata)
    data = {"directed": graph.directed, "multigraph": False, "graph": plain(metadata)}
    data |= {"nodes": nodes, "edges": edges}
    return data if graph.id is None else {"id": label_to_json(graph.id)} | data


def _node_attributes(graph: Graph) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    if graph.node_labels is not None:
        columns["label"] = [label_to_json(label) for label in graph.node_labels]
    if graph.node_features is not None:
        columns["features"] = graph.node_features.tolist()
    if graph.node_texts is not None:
        columns["text"] = list(graph.node_texts)
    return columns


def _edge_attributes(graph: Graph) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    if graph.edge_labels is not None:
        columns["label"] = [label_to_json(label) for label in graph.edge_labels]
    if graph.edge_weights is not None:
        columns["weight"] = graph.edge_weights.tolist()
    return columns


def read_json(source: Source, options: AttributeOptions) -> Iterator[Part]:
    """The graphs of a JSON document."""
    return build_together(source, _parsed(source, options))


def _parsed(source: Source, options: AttributeOptions) -> Iterator[ParsedGraph]:
    with source.located():
        document = parse_json(source.read_text())
        single = isinstance(document, dict) and not isinstance(document.get("graphs"), list)
        listed = [document] if single else _listed(document)
    reader = JsonReader(source, options)
    for k, data in enumerate(listed):
        where = None if single else f"graphs[{k}]"
        with source.record(where):
            if not isinstance(data, dict):
                raise InvalidGraph(f"expected a graph as a JSON object; got {shortened(data)}")
            yield reader.parsed(data, partial(reader.graph, data, "" if single else f"graphs[{k}]."), where)


def _listed(document: Any) -> list[Any]:
    graphs = document["graphs"] if isinstance(document, dict) else document
    if not isinstance(graphs, list):
        raise InvalidGraph(f"expected a graph, a list of graphs or an object with graphs; got {shortened(document)}")
    return graphs


def write_json(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """Node-link data: alone if it is one graph, so that networkx can read it; else as a list under ``graphs``."""
    iterator = enumerate(graphs)
    first = list(islice(iterator, 2))
    single = len(first) == 1
    stream.write(b"" if single else b'{"graphs":[\n')
    for k, graph in chain(first, iterator):
        with located(None, f"graphs[{k}]"):
            text = format_json(graph_to_node_link(graph))
        stream.write((b",\n" if k else b"") + text.encode("ascii"))
    stream.write(b"\n" if single else b"\n]}\n")


JSON_DOCUMENT = FileFormat(
    name="json",
    suffixes=(".json",),
    description="JSON node-link data (networkx), one graph or many",
    holds=EVERYTHING - {"node_images"},
    read=read_json,
    write=write_json,
    options=AttributeOptions,
    names_nodes=True,
)


def read_json_lines(source: Source, options: AttributeOptions) -> Iterator[Part]:
    """Graphs line by line; blank lines are skipped."""
    return build_together(source, _parsed_lines(source, options))


def _parsed_lines(source: Source, options: AttributeOptions) -> Iterator[ParsedGraph]:
    reader = JsonReader(source, options)
    for number, line in source.lines():
        if not line.isspace():
            with source.record(number):
                yield reader.parsed(_object(line, number), partial(_carefully, reader, line, number), number)


def _object(line: str, number: int) -> dict[str, Any]:
    data = parse_json(line, number)
    if not isinstance(data, dict):
        raise InvalidGraph(f"expected one graph as a JSON object; got a {type(data).__name__}")
    return data


def _carefully(reader: JsonReader, line: str, number: int) -> Graph:
    # The text is parsed once more: to keep the objects of a thousand lines would cost more time than it saves.
    return reader.graph(_object(line, number), f"line {number}, ")


def write_json_lines(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """One graph dict per line."""
    for k, graph in enumerate(graphs):
        with located(None, f"graphs[{k}]"):
            line = format_json(graph_to_dict(graph))
        stream.write(line.encode("ascii") + b"\n")


JSON_LINES = FileFormat(
    name="jsonl",
    suffixes=(".jsonl", ".ndjson"),
    description="JSON lines: one graph dict (or node-link object) per line; streams",
    holds=EVERYTHING,
    read=read_json_lines,
    write=write_json_lines,
    options=AttributeOptions,
)
