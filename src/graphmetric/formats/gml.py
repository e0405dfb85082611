"""GML, the Graph Modelling Language that Gephi, igraph, Cytoscape and networkx export; networkx reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphmetric._foundation.options import format_json
from graphmetric.errors import FileError
from graphmetric.formats.attributes import (
    AttributeOptions,
    Content,
    GraphBuilder,
    Row,
    Scalar,
    attribute_format,
)
from graphmetric.formats.file_format import ConversionLosses, writer_of_lines
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import id_from_text, shortened
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_from_json

_KEY = re.compile("[A-Za-z][A-Za-z0-9_]{0,254}")
_PLACE = re.compile(r" at \((\d+), \d+\)$")
"""The line and column at the end of an error of networkx."""
_LONGEST = 200
"""Characters of an error of networkx, which may quote the rest of the file."""
_RESERVED = frozenset({"directed", "multigraph", "id", "node", "edge"})
"""Names in a graph that are not metadata."""


def read_gml(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """Read the graph of a GML file; what stands beside it is about the program that wrote it."""
    found = _parse(source)
    with source.record():
        builder = GraphBuilder(source, options, directed=found.is_directed())
        rows = {id: _scalars(row, "node", source) for id, row in found.nodes(data=True)}
        named_by_label = bool(rows) and all(row.get("label") == str(id) for id, row in rows.items())
        for id, row in rows.items():
            if named_by_label:  # networkx writes the name of every node as its label, in quotes
                del row["label"]
            builder.add_node(id, row, None)
        for tail, head, row in found.edges(data=True):
            builder.add_edge(tail, head, _scalars(row, "edge", source), None)
        attributes = _scalars(found.graph, "graph", source)
        id = attributes.pop("id", None)
        id = id_from_text(id) if isinstance(id, str) else label_from_json(id)
        yield builder.build(None, id=id, metadata=attributes)


def _parse(source: FileSource) -> Any:
    import networkx as nx

    lines = source.read_text().replace("\r\n", "\n").split("\n")
    lines = ["" if line.lstrip().startswith("#") else line for line in lines]  # networkx looks for quotes in comments
    try:
        return nx.parse_gml(lines, label="id")
    except RecursionError:
        raise source.error("not valid GML: lists are nested too deeply") from None
    except (nx.NetworkXError, ValueError) as error:
        problem, place = str(error), _PLACE.search(str(error))
        if place is not None:
            problem = problem[: place.start()]
        more = "..." if len(problem) > _LONGEST else ""
        where = None if place is None else int(place[1])
        raise source.error(f"not valid GML: {problem[:_LONGEST]}{more}", where) from None
    except (TypeError, AttributeError, IndexError, KeyError):  # a value where networkx expects a list, or a list
        raise source.error("not valid GML: expected graph [ ... ], with node [ ... ] and edge [ ... ] in it") from None


def _scalars(row: Mapping[str, Any], kind: str, source: FileSource) -> dict[str, Any]:
    """Numbers, texts and lists of these by name; other lists, such as graphics, are left out."""
    found = {}
    for name, value in row.items():
        if value in ((), []):  # networkx reads these two texts so
            value = "()" if value == () else "[]"
        items = value if isinstance(value, list) else [value]
        if any(isinstance(item, dict | list | tuple) for item in items):
            source.notice_left_out(f"{kind} attributes", [name], ", since they are lists")
        elif any(isinstance(item, float) and not math.isfinite(item) for item in items):
            raise source.error(f"{kind} attribute {name!r}: expected a finite number; found {shortened(value)}")
        elif name != "key" or kind != "edge":
            found[name] = value
    return found


def _lines(graph: Graph, k: int, not_kept: ConversionLosses) -> Iterator[str]:
    """A graph whose texts are ASCII, with other characters as in HTML."""
    _, id, rows = Content.of(graph, not_kept)
    if wrong := _RESERVED & rows["graph"][0].keys():
        raise FileError(f"GML cannot hold metadata called {min(wrong)!r}, which has another meaning there")
    about: Row = {"directed": int(graph.directed)}
    about |= {} if id is None else {"id": id}
    ends = [{"source": u, "target": v} for u, v in graph.edges.tolist()]
    yield "graph ["
    yield from _pairs(about | rows["graph"][0], "  ", "metadata", not_kept)
    for kind, names in (("node", [{"id": number} for number in range(graph.num_nodes)]), ("edge", ends)):
        for name, row in zip(names, rows[kind], strict=True):
            yield f"  {kind} ["
            yield from _pairs(name | row, "    ", f"{kind} attributes", not_kept)
            yield "  ]"
    yield "]"


def _pairs(row: Row, indent: str, what: str, not_kept: ConversionLosses) -> Iterator[str]:
    for name, value in row.items():
        if not _KEY.fullmatch(name):
            raise FileError(f"GML cannot hold the name {shortened(name)}; names are letters, digits and _")
        yield f"{indent}{name} {_written(value, what, not_kept)}"


def _written(value: Scalar, what: str, not_kept: ConversionLosses) -> str:
    if isinstance(value, bool):
        not_kept.change(f"{what} that are true or false come back as 1 or 0")
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        not_kept.change(f"{what} that are infinite come back as text")
        value = format_json(value, nan=True)
    if isinstance(value, float):
        text = repr(value)  # GML wants a decimal point also before an exponent
        return text if "." in text else text.replace("e", ".0e") if "e" in text else f"{text}.0"
    if isinstance(value, int):
        return str(value)
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise FileError(f"GML cannot hold {shortened(value)}, which has half of a character")
    return '"' + "".join(char if " " <= char <= "~" and char not in '"&' else f"&#{ord(char)};" for char in value) + '"'


GML = attribute_format(
    "gml",
    (".gml",),
    "GML (Gephi, igraph, Cytoscape, networkx), one graph per file",
    read=read_gml,
    write=writer_of_lines(_lines),
    one_graph_per_file=True,
    names_nodes=False,
)
