"""Where to draw the nodes: the same graph always gets the same picture."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.graph import Graph

_LARGEST_BY_STRESS = 150
"""Kamada-Kawai looks best and is cubic; larger components get a force-directed layout."""

Positions = NDArray[np.float64]


def layout(graph: Graph) -> Positions:
    """Positions with neighbours about one unit apart, components side by side, wider than tall, from the origin on."""
    skeleton = nx.Graph()
    skeleton.add_nodes_from(range(graph.num_nodes))
    skeleton.add_edges_from((u, v) for u, v in graph.edges.tolist() if u != v)
    positions = np.zeros((graph.num_nodes, 2))
    left = 0.0
    for component in sorted(nx.connected_components(skeleton), key=lambda nodes: (-len(nodes), min(nodes))):
        nodes = sorted(component)
        placed = _lay_flat(_component_layout(skeleton.subgraph(nodes), nodes))
        positions[nodes] = placed + np.array([left, 0.0])
        left += placed[:, 0].max() + 1.0
    return positions


def _component_layout(component: nx.Graph, nodes: list[int]) -> Positions:
    if len(nodes) == 1:
        return np.zeros((1, 2))
    if len(nodes) <= _LARGEST_BY_STRESS:
        places = nx.kamada_kawai_layout(component, pos=nx.circular_layout(nodes))
    else:
        places = nx.spring_layout(component, seed=0)
    raw = np.array([places[node] for node in nodes])
    lengths = [np.linalg.norm(places[u] - places[v]) for u, v in component.edges]
    return raw / max(float(np.mean(lengths)), 1e-9)


def _lay_flat(positions: Positions) -> Positions:
    """Turn the longest extent to the horizontal and move the corner to the origin."""
    centered = positions - positions.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    if len(axes) == 2 and len(positions) > 2:
        axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]  # the sign of an axis is arbitrary
        centered = centered @ axes.T
    return np.asarray(centered - centered.min(axis=0))
