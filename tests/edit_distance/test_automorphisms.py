"""Which nodes automorphisms make alike, by trying every permutation; and the search that rules out pairs by them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import graphmetric as gm
from graphmetric.edit_distance import ExactSearch
from graphmetric.edit_distance._kernels.dual_pair import (
    HELD,
    N_COLUMNS,
    N_ROWS,
    NODE_OF,
    UNKNOWN,
    find_orbits,
    load_dual_pair,
)
from graphmetric.edit_distance._kernels.dual_search import DualWork, rule_out_branch
from graphmetric.edit_distance._kernels.exact_search import SearchLimits
from graphmetric.edit_distance._kernels.packing import Integers, PackedProblem
from graphmetric.edit_distance._kernels.sparse_problem import (
    ALIVE,
    BRANCH,
    COLUMN,
    DEAD,
    END_PAIR,
    FIRST_PAIR,
    ROW,
    STATE,
)
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, QUERY, SWAPPED, TARGET, load_pair
from graphmetric.edit_distance.dual import dual_work, search_with_dual_bound
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.stopping import Watch

PAIR = np.zeros((1, 2), dtype=np.int64)


@njit
def find_orbits_of_pair(problem: PackedProblem, work: DualWork) -> None:
    load_pair(problem, 0, 0, work.base.pair)
    load_dual_pair(problem, 0, 0, work.base.pair, work.dual)
    find_orbits(work.base.pair, work.dual, work.orbits, QUERY, np.int64(0))
    find_orbits(work.base.pair, work.dual, work.orbits, TARGET, np.int64(0))


@njit
def rule_out_below(problem: PackedProblem, work: DualWork, fixed: Integers) -> None:
    """Make a level with all pairs below levels that fix some pairs, and rule out the last pair of ``fixed`` there."""
    load_pair(problem, 0, 0, work.base.pair)
    load_dual_pair(problem, 0, 0, work.base.pair, work.dual)
    state, whole, depth = work.sparse.state, work.sparse.whole, len(fixed) - 1
    for level in range(depth + 1):
        whole[ROW, level], whole[COLUMN, level], state[level, BRANCH] = fixed[level, 0], fixed[level, 1], level
        work.orbits.known[QUERY, level] = UNKNOWN
    at = depth
    state[depth, FIRST_PAIR] = depth
    for row in range(work.dual.sizes[N_ROWS]):
        for column in range(work.dual.sizes[N_COLUMNS] + 1):
            if row == fixed[depth, 0] and column == fixed[depth, 1]:
                state[depth, BRANCH] = at
            whole[ROW, at], whole[COLUMN, at], whole[STATE, at] = row, column, ALIVE
            at += 1
    state[depth, END_PAIR] = at
    rule_out_branch(work, depth)


def circulant(
    n: int, jumps: dict[int, int], period: int = 1, *, directed: bool = False, loops: int = 0, chord: bool = False
) -> gm.Graph:
    """Nodes in a ring, each joined to those some jumps away, by edges with a label for each jump.

    Labels repeat after so many nodes, every nth node has a self-loop, and a chord takes most of the symmetry away.
    """
    edges = {}
    for jump, label in jumps.items():
        for u in range(n):
            v = (u + jump) % n
            if u != v:
                edges.setdefault((u, v) if directed else (min(u, v), max(u, v)), label)
    edges |= {(u, u): 0 for u in range(0, n, loops)} if loops else {}
    if chord:
        edges[0, n // 2] = 1
    listed = sorted(edges)
    return gm.Graph(
        n,
        listed,
        node_labels=[u % period for u in range(n)],
        edge_labels=[edges[edge] for edge in listed],
        directed=directed,
    )


@st.composite
def ring_graphs(draw: st.DrawFn, most_nodes: int, directed: bool) -> gm.Graph:
    n = draw(st.integers(1, most_nodes))
    jumps = draw(st.dictionaries(st.integers(1, 3), st.integers(0, 1), max_size=2))
    graph = circulant(
        n,
        jumps,
        draw(st.integers(1, 3)),
        directed=directed,
        loops=draw(st.integers(0, 2)),
        chord=n > 1 and draw(st.booleans()),
    )
    return graph.relabeled(draw(st.permutations(range(n))))


def orbits_by_permutations(graph: gm.Graph, held: set[int]) -> list[set[int]]:
    """For each node the nodes to which permutations take it that change nothing and hold some nodes."""
    n, labels = graph.num_nodes, graph.node_labels
    assert labels is not None
    assert graph.edge_labels is not None
    edges = {}
    for (u, v), label in zip(graph.edges.tolist(), graph.edge_labels, strict=True):
        edges[u, v] = label
        if not graph.directed:
            edges[v, u] = label
    found = [{u} for u in range(n)]
    for image in permutations(range(n)):
        keeps = all(labels[u] == labels[image[u]] for u in range(n)) and all(image[u] == u for u in held)
        if keeps and {(image[u], image[v]): label for (u, v), label in edges.items()} == edges:
            for u in range(n):
                found[u].add(image[u])
    return found


@pytest.mark.slow
@given(st.data(), st.booleans())
@settings(deadline=None, max_examples=100)
def test_orbits_are_those_of_all_automorphisms(data: st.DataObject, directed: bool) -> None:
    graph = data.draw(ring_graphs(6, directed))
    held = data.draw(st.sets(st.integers(0, graph.num_nodes - 1), max_size=2))
    graphs = gm.GraphCollection([graph])
    problem = encode(graphs, graphs, gm.EditCosts())
    work = dual_work(problem, PAIR)
    work.orbits.lines[HELD] = [u in held for u in range(graph.num_nodes)]
    find_orbits_of_pair(problem.packed, work)
    expected = orbits_by_permutations(graph, held)
    for side in (QUERY, TARGET):
        classes = work.orbits.classes[side, 0]
        assert [set(np.flatnonzero(classes == classes[u]).tolist()) for u in range(graph.num_nodes)] == expected


@pytest.mark.slow
@given(st.data(), st.booleans())
@settings(deadline=None, max_examples=100)
def test_pairs_are_ruled_out_together_if_automorphisms_that_hold_fixed_ones_join_them(
    data: st.DataObject, directed: bool
) -> None:
    graphs = [data.draw(ring_graphs(6, directed)) for _ in range(2)]
    problem = encode(gm.GraphCollection(graphs[:1]), gm.GraphCollection(graphs[1:]), gm.EditCosts())
    n_rows, n_columns = sorted(graph.num_nodes for graph in graphs)
    rows, columns = data.draw(st.permutations(range(n_rows))), data.draw(st.permutations(range(n_columns)))
    fixed = np.array([*zip(rows, columns, strict=False)][: data.draw(st.integers(1, 3))], dtype=np.int64)
    if data.draw(st.booleans()):
        fixed[-1, 1] = n_columns  # the row is deleted
    work = dual_work(problem, PAIR)
    rule_out_below(problem.packed, work, fixed)
    query, target = graphs[::-1] if work.base.pair.sizes[SWAPPED] else graphs
    nodes, (row, column) = work.dual.lines[NODE_OF, :n_columns].tolist(), fixed[-1].tolist()
    rows_alike = orbits_by_permutations(query, set(fixed[:-1, 0].tolist()))[row]
    columns_alike = {n_columns}
    if column < n_columns:
        others = orbits_by_permutations(target, {nodes[k] for k in fixed[:-1, 1].tolist()})[nodes[column]]
        columns_alike = {nodes.index(v) for v in others}
    level = work.sparse.whole[:, len(fixed) - 1 :][:, : n_rows * (n_columns + 1)]
    dead = {(int(r), int(k)) for r, k, state in level[[ROW, COLUMN, STATE]].T if state == DEAD}
    assert dead == {(r, k) for r in rows_alike for k in columns_alike}


COSTS = [
    gm.EditCosts(),
    gm.EditCosts(node_substitute=3, node_delete=0.5, node_insert=1, edge_delete=2, edge_insert=0.25, edge_substitute=1),
]


@given(st.data(), st.booleans(), st.sampled_from(COSTS))
@settings(deadline=None)
def test_symmetric_graphs_have_the_distances_of_the_other_search(
    data: st.DataObject, directed: bool, costs: gm.EditCosts
) -> None:
    graphs = gm.GraphCollection([data.draw(ring_graphs(8, directed)) for _ in range(2)])
    check_distances(graphs, costs)


def limbs(count: int, length: int) -> gm.Graph:
    """A centre with some equal limbs."""
    inner = [(1 + limb * length + k, 2 + limb * length + k) for limb in range(count) for k in range(length - 1)]
    return gm.Graph(1 + count * length, [(0, 1 + limb * length) for limb in range(count)] + inner)


def grid(rows: int, columns: int) -> gm.Graph:
    across = [(columns * i + k, columns * i + k + 1) for i in range(rows) for k in range(columns - 1)]
    return gm.Graph(rows * columns, across + [(u, u + columns) for u in range((rows - 1) * columns)])


def joined_rings(jump: int) -> gm.Graph:
    """Two rings of five nodes, each node joined to one of the other ring: a prism, or with jump 2 Petersen's graph."""
    outer, inner = [(u, (u + 1) % 5) for u in range(5)], [(5 + u, 5 + (u + jump) % 5) for u in range(5)]
    return gm.Graph(10, outer + inner + [(u, u + 5) for u in range(5)])


def check_distances(graphs: gm.GraphCollection, costs: gm.EditCosts) -> int:
    """Compare both searches on all pairs; returns the most expansions."""
    problem = encode(graphs, graphs, costs)
    pairs = np.array([(i, j) for i in range(len(graphs)) for j in range(len(graphs))])
    limits = SearchLimits(np.full(len(pairs), NO_LIMIT), 0, NO_LIMIT, 0)
    found, expected = search_with_dual_bound(problem, pairs, limits, Watch()), ExactSearch().solve(problem, pairs)
    np.testing.assert_array_equal(found.upper, expected.upper)
    np.testing.assert_array_equal(found.lower, expected.upper)
    return int(found.expanded.max())


@pytest.mark.parametrize("costs", COSTS, ids=["unit", "asymmetric"])
def test_grids_rings_limbs_and_other_graphs_with_many_automorphisms(costs: gm.EditCosts) -> None:
    complete_bipartite = gm.Graph(9, [(u, v) for u in range(4) for v in range(4, 9)])
    ring = gm.Graph(10, [(u, (u + 1) % 10) for u in range(10)])
    graphs = [
        joined_rings(1),
        joined_rings(2),
        ring,
        grid(2, 5),
        grid(3, 3),
        limbs(3, 3),
        limbs(4, 2),
        complete_bipartite,
    ]
    assert check_distances(gm.GraphCollection(graphs), costs) > 20
