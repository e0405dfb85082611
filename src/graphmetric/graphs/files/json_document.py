"""JSON documents: one graph, a list of graphs, or an object with the list under ``graphs``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.files.attributes import AttributeOptions
from graphmetric.graphs.files.bulk import ParsedGraph, build_together
from graphmetric.graphs.files.file_format import EVERYTHING, FileFormat, Part
from graphmetric.graphs.files.json_graphs import JsonReader, graph_to_node_link
from graphmetric.graphs.files.json_values import format_json, parse_json, shortened
from graphmetric.graphs.files.source import Source, located
from graphmetric.graphs.graph import Graph


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
