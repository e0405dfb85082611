"""Weisfeiler-Lehman colours of whole collections, counted per graph."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphmetric.features._kernels.arcs import Edges, build_arcs
from graphmetric.features._kernels.colours import refine_colours
from graphmetric.graphs.arrays import as_kernel_type
from graphmetric.graphs.attribute_keys import Keys, edge_keys, node_keys
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, Has


class ColourCounts(NamedTuple):
    """How often each colour of each round occurs in each graph."""

    colours: NDArray[np.int64]
    """The distinct colours, ascending. One means the same in every collection, and rounds share none."""
    counts: csr_array
    """(graphs, colours)."""


def count_colours(graphs: GraphCollection, rounds: int) -> ColourCounts:
    """Colours of rounds 0 (the tags) to ``rounds``; tags and directions count, numbers do not."""
    columns = graphs.columns
    found = node_colours(columns, rounds)
    colours, place = np.unique(found.ravel(), return_inverse=True)
    owner = np.tile(np.repeat(np.arange(len(graphs)), np.diff(columns.node_ptr)), rounds + 1)
    shape = (len(graphs), len(colours))
    return ColourCounts(colours, csr_array((np.ones(len(owner)), (owner, place.ravel())), shape=shape))


def node_colours(columns: Columns, rounds: int) -> NDArray[np.int64]:
    """(rounds + 1, nodes)."""
    tagged = replace(columns, node_features=None, node_texts=None, node_images=None, edge_weights=None)
    node_ptr, edge_ptr = as_kernel_type(columns.node_ptr), as_kernel_type(columns.edge_ptr)
    directed = (columns.flags & Has.DIRECTION) != 0
    arcs = build_arcs(Edges(node_ptr, edge_ptr, as_kernel_type(columns.edges), directed))
    found: NDArray[np.int64] = refine_colours(
        arcs, _key_numbers(node_keys(tagged)), _key_numbers(edge_keys(tagged)), np.int64(rounds)
    )
    return found


def _key_numbers(keys: Keys) -> NDArray[np.int64]:
    return keys.digest[:, :8].copy().view("<i8")[:, 0].astype(np.int64)[keys.rank]
