"""The "graph dict": a graph as plain JSON values under the names of the constructor's arguments.

Defence against labels chosen so that a dictionary of them takes quadratic time.

Python's hash of an integer is the integer modulo 2**61 - 1, the same in every run, so that a file can hold thousands of
different integers with one hash. Strings are safe: their hashes differ from run to run.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.formats.json_values import plain, shortened
from graphmetric.formats.source import Limits
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_from_json, label_to_json

_SUSPICIOUS = 1000
_MOST_SHARING = 100


def refuse_hash_floods(labels: Sequence[Hashable]) -> None:
    """Raise if more than a hundred different labels share one hash."""
    if len(labels) <= _SUSPICIOUS or set(map(type, labels)) <= {str, bool, type(None)}:
        return
    hashes = list(map(hash, labels))
    ((common, count),) = Counter(hashes).most_common(1)
    if count > _SUSPICIOUS:
        spelled = {repr(label) for label, value in zip(labels, hashes, strict=True) if value == common}
        if len(spelled) > _MOST_SHARING:
            raise InvalidGraph(f"{len(spelled)} different labels have one hash; the file seems made to be slow to read")


def safe_key(name: Hashable) -> Hashable:
    """What stands for a name in a dictionary: itself where at most a few others can have its hash, else its text."""
    if isinstance(name, str) or (isinstance(name, int) and -(2**63) < name < 2**63):
        return name
    return type(name), repr(name)


KEYS = (
    "num_nodes",
    "edges",
    "node_labels",
    "edge_labels",
    "edge_weights",
    "node_features",
    "node_texts",
    "node_images",
    "directed",
    "id",
    "metadata",
)
_PLAIN_LABELS = {int, str, bool, type(None)}
"""Types of labels that are themselves in JSON; floats are checked for NaN one by one."""


def graph_to_dict(graph: Graph) -> dict[str, Any]:
    """A graph as JSON values; what a graph does not have is left out."""
    data: dict[str, Any] = {"num_nodes": graph.num_nodes, "edges": graph.edges.tolist()}
    if graph.directed:
        data["directed"] = True
    if graph.node_labels is not None:
        data["node_labels"] = [label_to_json(label) for label in graph.node_labels]
    if graph.edge_labels is not None:
        data["edge_labels"] = [label_to_json(label) for label in graph.edge_labels]
    if graph.edge_weights is not None:
        data["edge_weights"] = graph.edge_weights.tolist()
    if graph.node_features is not None:
        rows, width = graph.node_features.shape
        data["node_features"] = graph.node_features.tolist() if rows else {"width": width}
    if graph.node_texts is not None:
        data["node_texts"] = list(graph.node_texts)
    if graph.node_images is not None:
        data["node_images"] = _images_to_json(graph.node_images)
    if graph.id is not None:
        data["id"] = label_to_json(graph.id)
    if graph.metadata:
        data["metadata"] = plain(graph.metadata)
    return data


def graph_from_dict(data: dict[str, Any], limits: Limits) -> Graph:
    """The graph that :func:`graph_to_dict` wrote, or that somebody wrote by hand."""
    unknown = next((key for key in data if key not in KEYS), None)
    if unknown is not None:
        raise InvalidGraph(f"unknown key {shortened(unknown)}; a graph dict has {', '.join(KEYS)}")
    num_nodes = data.get("num_nodes")
    if not is_integer(num_nodes) or num_nodes < 0:
        raise InvalidGraph(f"num_nodes must be an integer >= 0; got {shortened(num_nodes)}")
    limits.check_nodes(num_nodes)
    return Graph(
        num_nodes,
        edge_pairs(data.get("edges", []), limits),
        node_labels=labels(data, "node_labels"),
        edge_labels=labels(data, "edge_labels"),
        edge_weights=numbers(data, "edge_weights"),
        node_features=_features(data.get("node_features"), limits),
        node_texts=_listed(data, "node_texts"),
        node_images=_images_from_json(data.get("node_images"), num_nodes, limits),
        directed=flag(data, "directed"),
        id=label_from_json(data.get("id")),
        metadata=mapping(data, "metadata"),
    )


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a JSON value is an integer (``true`` is not)."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a JSON value is a number that fits a float (``true`` is not)."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1023


def edge_pairs(edges: object, limits: Limits) -> list[list[int]]:
    """Edges as a list of pairs; checked here since numpy would pad strings and guess at mixtures."""
    if not isinstance(edges, list):
        raise InvalidGraph(f"edges must be a list of pairs; got {shortened(edges)}")
    limits.check_edges(len(edges))
    if not (set(map(type, edges)) <= {list} and set(map(type, chain.from_iterable(edges))) <= {int}):
        wrong = next(pair for pair in edges if not isinstance(pair, list) or not all(map(is_integer, pair)))
        raise InvalidGraph(f"edges must be pairs of node numbers; got {shortened(wrong)}")
    if not set(map(len, edges)) <= {2}:
        raise InvalidGraph(f"edges must be pairs; got {shortened(next(pair for pair in edges if len(pair) != 2))}")
    return edges


def labels(data: dict[str, Any], key: str) -> list[Any] | None:
    """A list of labels, or None."""
    values = _listed(data, key)
    return None if values is None else read_labels(values)


def read_labels(values: list[Any]) -> list[Any]:
    """Labels from their JSON form."""
    if not set(map(type, values)) <= _PLAIN_LABELS:
        values = [label_from_json(value) for value in values]
    refuse_hash_floods(values)
    return values


def numbers(data: dict[str, Any], key: str) -> list[float] | None:
    """A list of numbers, or None."""
    values = _listed(data, key)
    if values is not None:
        check_numbers(key, values)
    return values


def check_numbers(place: str, values: list[Any]) -> None:
    """Raise unless all are finite numbers; numpy would also take numerals in quotes."""
    if not all(map(is_number, values)):
        k, wrong = next((k, value) for k, value in enumerate(values) if not is_number(value))
        raise InvalidGraph(f"{place}[{k}] must be a finite number; got {shortened(wrong)}")


def flag(data: dict[str, Any], key: str, absent: bool | None = False) -> bool:
    """A truth value, ``absent`` (None counts as false) if there is none."""
    value = data.get(key, bool(absent))
    if not isinstance(value, bool):
        raise InvalidGraph(f"{key} must be true or false; got {shortened(value)}")
    return value


def mapping(data: dict[str, Any], key: str) -> dict[str, Any]:
    """A JSON object, empty if absent."""
    value = data.get(key)
    if value is not None and not isinstance(value, dict):
        raise InvalidGraph(f"{key} must be an object of names and values; got {shortened(value)}")
    return value or {}


def _listed(data: dict[str, Any], key: str) -> list[Any] | None:
    values = data.get(key)
    if values is not None and not isinstance(values, list):
        raise InvalidGraph(f"{key} must be a list; got {shortened(values)}")
    return values


def _features(rows: object, limits: Limits) -> NDArray[np.float64] | None:
    if rows is None:
        return None
    if isinstance(rows, dict) and list(rows) == ["width"] and is_integer(rows["width"]) and rows["width"] >= 0:
        limits.check_node_values(rows["width"])
        return np.empty((0, rows["width"]))
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InvalidGraph(f"node_features must be a list of lists of numbers; got {shortened(rows)}")
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InvalidGraph(f"node_features[{k}] has {len(row)} numbers, node_features[0] has {len(rows[0])}")
        check_numbers(f"node_features[{k}]", row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)


def _images_to_json(images: NDArray[Any]) -> dict[str, Any]:
    data = images.astype(images.dtype.newbyteorder("<"), copy=False).tobytes()
    encoded = base64.b64encode(data).decode("ascii")
    return {"dtype": str(images.dtype), "shape": list(images.shape), "base64": encoded}


def _images_from_json(data: object, num_nodes: int, limits: Limits) -> NDArray[Any] | None:
    if data is None:
        return None
    if not isinstance(data, dict) or set(data) != {"dtype", "shape", "base64"} or not isinstance(data["base64"], str):
        raise InvalidGraph('node_images must be {"dtype": ..., "shape": [...], "base64": "..."}')
    dtype, shape = data["dtype"], data["shape"]
    if dtype not in ("uint8", "float32"):
        raise InvalidGraph(f"node_images must be uint8 or float32; got {shortened(dtype)}")
    if not isinstance(shape, list) or len(shape) != 4 or not all(is_integer(size) and size >= 0 for size in shape):
        raise InvalidGraph(f"node_images needs a shape [nodes, height, width, channels]; got {shortened(shape)}")
    limits.check_node_values(math.prod(max(size, 1) for size in shape[1:]))
    try:
        content = base64.b64decode(data["base64"], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidGraph("node_images is not valid base64") from None
    kind = np.dtype(dtype).newbyteorder("<")
    if shape[0] != num_nodes or math.prod(shape) * kind.itemsize != len(content):
        raise InvalidGraph(f"node_images has {len(content)} bytes, which do not fill {num_nodes} images of {shape[1:]}")
    return np.frombuffer(content, dtype=kind).reshape(shape).astype(dtype)
