"""Directed graphs as undirected ones whose edge codes name the labels in both directions.

With L edge labels 1..L and 0 for "no edge", the pair (u, v) gets the code forward + (L + 1) * backward. Seen from v the
two change places.
"""

import numpy as np

from graphmetric.edit_distance._kernels.packing import Integers, cap_edge_substitution


def merge_directions(
    n_nodes: int, tails: Integers, heads: Integers, labels: Integers, n_labels: int
) -> tuple[Integers, Integers]:
    """Unordered pairs, as (pairs, 2) with the smaller node first, and their codes. Self-loops must be gone before."""
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    keys, position = np.unique(low * n_nodes + high, return_inverse=True)
    codes = np.zeros(len(keys), dtype=np.int64)
    np.add.at(codes, position, np.where(tails < heads, labels, labels * (n_labels + 1)))
    pairs = np.stack([keys // max(n_nodes, 1), keys % max(n_nodes, 1)], axis=1)
    return pairs.astype(np.int64), codes


def price_both_directions(edge_cost: Integers) -> tuple[Integers, Integers]:
    """The edge cost table over such codes, and the code seen from the other end, from a table over labels."""
    single = cap_edge_substitution(edge_cost)
    n = len(single)
    backward, forward = np.divmod(np.arange(n * n), n)
    table = single[np.ix_(forward, forward)] + single[np.ix_(backward, backward)]
    return table, (backward + n * forward).astype(np.int64)
