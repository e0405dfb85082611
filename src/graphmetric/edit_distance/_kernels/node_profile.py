"""What a node and its incident edges cost on their own: the ground that bipartite and Hausdorff matching stand on."""

from typing import NamedTuple

import numpy as np

from graphmetric.compiling import entry, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs


class NodeProfiles(NamedTuple):
    """One row for every node of a packed collection, computed once and used for all its pairs."""

    total_degree: Integers
    degree: Integers  # (nodes, codes + 1): incident edges by code; column 0 is not used
    edge_removal: Integers  # deleting (first collection) or inserting (second) all incident edges


def profile_nodes(graphs: PackedGraphs, costs: EditCostTables, inserted: bool) -> NodeProfiles:
    """Profiles of the second collection of a comparison have ``inserted`` set, those of the first have not."""
    n_codes = costs.edge_cost.shape[1]
    n_nodes = len(graphs.node_code)
    profiles = NodeProfiles(
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros((n_nodes, n_codes), dtype=np.int64),
        np.zeros(n_nodes, dtype=np.int64),
    )
    removal = costs.edge_cost[0, 0, :] if inserted else costs.edge_cost[0, :, 0]
    fill_profiles(graphs, costs.edge_reverse, np.ascontiguousarray(removal), profiles)
    return profiles


@entry
def fill_profiles(graphs: PackedGraphs, edge_reverse: Integers, removal: Integers, profiles: NodeProfiles) -> None:
    """Count every edge at both of its ends."""
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            code = graphs.edge_code[edge]
            tail, head = first + graphs.edge_tail[edge], first + graphs.edge_head[edge]
            profiles.total_degree[tail] += 1
            profiles.degree[tail, code] += 1
            profiles.total_degree[head] += 1
            profiles.degree[head, edge_reverse[code]] += 1
            profiles.edge_removal[tail] += removal[code]
            profiles.edge_removal[head] += removal[edge_reverse[code]]


@part
def compare_incident_edges(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    i: int,
    j: int,
    difference: Integers,
) -> None:
    """The cheapest way to turn the incident edges of one node into those of another, for all nodes of two graphs.

    Each edge counts in full. It is what an assignment between the two sets of edges costs when all deletions, all
    insertions and all substitutions of unequal codes cost the same; otherwise it takes the cheapest of each and is a
    lower bound. One call for each pair of graphs: arguments with this many arrays are too dear for an inner loop.
    """
    first_node, second_node = first.node_start[i], second.node_start[j]
    n_first, n_second = first.node_start[i + 1] - first_node, second.node_start[j + 1] - second_node
    others = profiles[1].total_degree[second_node : second_node + n_second]
    uniform = costs.uniform_edge
    deletion, insertion, substitution = costs.edge_floor[0, 0], costs.edge_floor[0, 1], costs.edge_floor[0, 2]
    degree, other_degree = profiles[0].degree, profiles[1].degree
    for u in range(n_first):
        total = profiles[0].total_degree[first_node + u]
        if uniform > 0:
            row = difference[u]
            for v in range(len(others)):
                row[v] = uniform * abs(total - others[v])
            continue
        for v in range(n_second):
            common = 0
            for code in range(1, degree.shape[1]):
                common += min(degree[first_node + u, code], other_degree[second_node + v, code])
            surplus, lack = total - common, others[v] - common
            replaced = min(surplus, lack)
            kept_apart = (surplus - replaced) * deletion + (lack - replaced) * insertion
            difference[u, v] = replaced * substitution + kept_apart
