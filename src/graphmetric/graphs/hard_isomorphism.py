"""Isomorphism of very regular graphs, by igraph (an extra; GPL)."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from graphmetric.graphs.attribute_keys import edge_keys, node_keys, shapes
from graphmetric.graphs.columns import pack
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import igraph


def igraph_is_installed() -> bool:
    return find_spec("igraph") is not None


def is_isomorphic_by_igraph(g: Graph, h: Graph) -> bool:
    """Whether two graphs are isomorphic, attributes, weights and all; no limit on the work.

    igraph knows colours of nodes only, so every edge becomes a path through coloured nodes.
    """
    if not np.array_equal(shapes(pack([g])), shapes(pack([h]))):
        return False
    numbers: dict[tuple[str, bytes], int] = {}
    (plain_g, colours_g), (plain_h, colours_h) = (_subdivided(graph, numbers) for graph in (g, h))
    if sorted(colours_g) != sorted(colours_h):
        return False
    return bool(plain_g.isomorphic_bliss(plain_h, color1=colours_g, color2=colours_h))


def _subdivided(graph: Graph, numbers: dict[tuple[str, bytes], int]) -> tuple[igraph.Graph, list[int]]:
    """An undirected graph without edge attributes, and node colours that make up for them.

    An undirected edge becomes u - x - v, an arc u - tail - head - v, a self-loop u - x. ``numbers`` holds the
    colours given so far; graphs to be compared share it.
    """
    import igraph

    columns = pack([graph])
    nodes, edges = node_keys(columns), edge_keys(columns)
    colours = [numbers.setdefault(("node", nodes.digest[rank].tobytes()), len(numbers)) for rank in nodes.rank.tolist()]
    pairs: list[tuple[int, int]] = []
    for (u, v), rank in zip(graph.edges.tolist(), edges.rank.tolist(), strict=True):
        kinds = ("loop",) if u == v else ("tail", "head") if graph.directed else ("edge",)
        path = [u]
        for kind in kinds:
            path.append(len(colours))
            colours.append(numbers.setdefault((kind, edges.digest[rank].tobytes()), len(numbers)))
        if u != v:
            path.append(v)
        pairs += pairwise(path)
    return igraph.Graph(len(colours), pairs), colours
