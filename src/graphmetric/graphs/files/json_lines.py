"""JSON lines: one graph per line, as a graph dict or as node-link data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.files.attributes import AttributeOptions
from graphmetric.graphs.files.bulk import ParsedGraph, build_together
from graphmetric.graphs.files.file_format import EVERYTHING, FileFormat, Part
from graphmetric.graphs.files.graph_dict import graph_to_dict
from graphmetric.graphs.files.json_graphs import JsonReader
from graphmetric.graphs.files.json_values import format_json, parse_json
from graphmetric.graphs.files.source import Source, located
from graphmetric.graphs.graph import Graph


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
