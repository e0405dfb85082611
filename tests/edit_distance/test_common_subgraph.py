"""Maximum common subgraphs through the public door."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric import Graph, maximum_common_subgraph
from graphmetric.errors import InvalidArgument


@pytest.mark.slow
def test_the_subgraph_is_in_both() -> None:
    molecules = gm.load_dataset("molecules").graphs
    rng = np.random.default_rng(0)
    for i, j in rng.integers(len(molecules), size=(40, 2)).tolist():
        there = maximum_common_subgraph(molecules[i], molecules[j])
        back = maximum_common_subgraph(molecules[j], molecules[i])
        assert there.proven
        assert there.size == back.size
        assert there.subgraph.is_isomorphic(back.subgraph)
        assert there.distance == molecules[i].num_nodes + molecules[j].num_nodes - 2 * there.size
        assert maximum_common_subgraph(molecules[i], molecules[j], connected=True).size <= there.size


def test_what_counts_can_be_chosen() -> None:
    single, double = (Graph(2, [(0, 1)], edge_labels=[kind]) for kind in "12")
    assert maximum_common_subgraph(single, double).size == 1
    assert maximum_common_subgraph(single, double, ignore={"edge_labels"}).size == 2
    assert maximum_common_subgraph(Graph(0), single).size == 0
    assert repr(maximum_common_subgraph(single, single)) == "CommonSubgraph(2 of 2 and 2 nodes)"


def test_a_limit_gives_the_best_so_far() -> None:
    rng = np.random.default_rng(3)
    first, second = (Graph(30, np.argwhere(np.triu(rng.random((30, 30)) < 0.4, 1))) for _ in range(2))
    found = maximum_common_subgraph(first, second, node_limit=50)
    assert not found.proven
    assert found.size > 3
    assert "or more" in repr(found)
    with pytest.raises(InvalidArgument, match="at least 1"):
        maximum_common_subgraph(first, second, node_limit=0)


@pytest.mark.parametrize("name", ["AIDS700nef", "LINUX"])
def test_public_sizes_are_those_of_connected_subgraphs(shared_data: Path, name: str) -> None:
    data = gm.load_dataset(name, root=shared_data)
    with np.load(shared_data / f"{name}.ged.npz") as stored:
        published = stored["mcs_published"]
    rng = np.random.default_rng(1)
    pairs = rng.integers(len(data.graphs), size=(3000, 2))
    pairs = pairs[published[pairs[:, 0], pairs[:, 1]] >= 0]
    sizes = gm.common_subgraph_sizes(data.graphs, pairs=pairs, connected=True)
    assert np.array_equal(sizes, published[pairs[:, 0], pairs[:, 1]])
