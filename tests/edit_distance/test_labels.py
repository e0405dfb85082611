"""Choosing pairs and labelling them into a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.edit_distance.label_store import choose_pairs, label_graphs, open_labels, read_labels
from graphmetric.edit_distance.store import read_description, write_description
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.graphs.pair_bounds import PairBounds


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:60]


@given(st.sampled_from(["all", "random:1", "random:37", "near:5", "near:300", "near:100000"]), st.integers(2, 25))
@settings(max_examples=30)
def test_pairs_are_distinct_and_ordered(choice: str, count: int) -> None:
    graphs = gm.load_dataset("molecules").graphs[:count]
    pairs = choose_pairs(graphs, choice)
    number = choice.partition(":")[2]
    assert len(pairs) == min(int(number) if number else 10**9, count * (count - 1) // 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert (pairs >= 0).all()
    assert (pairs < count).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert np.array_equal(pairs, choose_pairs(graphs, choice))


def test_near_pairs_are_nearer_than_random_ones(molecules: gm.GraphCollection) -> None:
    near, random = (
        gm.pairwise_edit_distances(molecules, pairs=choose_pairs(molecules, f"{kind}:100")).upper.mean()
        for kind in ("near", "random")
    )
    assert near < 0.7 * random


@pytest.mark.parametrize("choice", ["some", "random", "random:x", "near:0", "near:-3", ""])
def test_other_choices_are_refused(molecules: gm.GraphCollection, choice: str) -> None:
    with pytest.raises(InvalidArgument, match="'all', 'random:N' or 'near:N'"):
        choose_pairs(molecules, choice)


@pytest.mark.parametrize("costs", [gm.EditCosts(), gm.EditCosts(node_substitute=0.5, edge_insert=2, node_delete=3)])
def test_collection_bounds_are_below_the_distances(molecules: gm.GraphCollection, costs: gm.EditCosts) -> None:
    few = molecules[:25]
    bounds = CollectionBounds.of(few, costs)
    lower = np.array([bounds.to_all(k) for k in range(len(few))])
    distances = gm.pairwise_edit_distances(few, costs=costs).distances
    assert (lower <= distances + 1e-9).all()
    assert lower.mean() > 0.4 * distances.mean()


def test_labels_are_written_and_read(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    made = label_graphs(molecules, tmp_path, pairs="random:200", n_jobs=1)
    assert made.exact.all()
    assert not (tmp_path / "work").exists()
    for labels in (read_labels(tmp_path, molecules), label_graphs(molecules, tmp_path, pairs="random:200")):
        assert np.array_equal(labels.pairs, made.pairs)
        assert np.array_equal(labels.upper, made.upper)


def test_labels_of_others_are_refused(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    label_graphs(molecules[:10], tmp_path, n_jobs=1)
    with pytest.raises(InvalidArgument, match="10 other graphs"):
        read_labels(tmp_path, molecules[:9])
    with pytest.raises(InvalidArgument, match="its pairs differ"):
        label_graphs(molecules[:10], tmp_path, pairs="random:3")


def test_broken_folders_are_explained(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no labels\.json"):
        read_labels(tmp_path)
    label_graphs(molecules[:10], tmp_path, n_jobs=1)
    data = (tmp_path / "labels.block").read_bytes()
    (tmp_path / "labels.block").write_bytes(data[:100])
    with pytest.raises(FileError, match="cannot be read as labels"):
        read_labels(tmp_path)
    (tmp_path / "labels.block").unlink()
    with pytest.raises(FileError, match="has not finished"):
        read_labels(tmp_path)
    (tmp_path / "labels.npz").touch()
    with pytest.raises(FileError, match="a version that is no longer read; label the graphs again"):
        read_labels(tmp_path)
    (tmp_path / "labels.json").write_text("{")
    with pytest.raises(FileError, match="cannot be read"):
        read_labels(tmp_path)


def as_networkx(graphs: gm.GraphCollection) -> list[nx.Graph]:
    return [graph.to_networkx() for graph in graphs]


def test_graphs_come_in_any_form(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    made = label_graphs(as_networkx(molecules[:6]), tmp_path, n_jobs=1)
    assert read_labels(tmp_path, as_networkx(molecules[:6])).digest() == made.digest()
    assert len(open_labels(str(tmp_path), as_networkx(molecules[:6]))) == 15
    with pytest.raises(InvalidArgument, match="6 other graphs"):
        read_labels(tmp_path, list(molecules[:5]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graphs": 3}, "neither a graph nor a list of graphs"),
        ({"graphs": [3]}, r"graphs\[0\]: int 3 is not a graph"),
        ({"folder": None}, "folder must be a path; got NoneType"),
        ({"pairs": [[0, 1]]}, "pairs is .*it takes 'all'"),
        ({"random_state": "x"}, "random_state must be a whole number"),
        ({"costs": {"node_delete": 2}}, r"costs must be graphmetric\.EditCosts"),
        ({"method": 3}, "method is of type int"),
    ],
)
def test_wrong_types_are_refused(
    molecules: gm.GraphCollection, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    given = {"graphs": molecules[:3], "folder": tmp_path / "labels", "n_jobs": 1} | change
    with pytest.raises(InvalidArgument, match=message):
        label_graphs(given.pop("graphs"), given.pop("folder"), **given)
    assert not (tmp_path / "labels").exists()


@pytest.mark.parametrize("read", [read_labels, open_labels])
def test_wrong_types_of_readers_are_refused(
    molecules: gm.GraphCollection, tmp_path: Path, read: Callable[..., object]
) -> None:
    label_graphs(molecules[:3], tmp_path, n_jobs=1)
    with pytest.raises(InvalidArgument, match="folder must be a path"):
        read(molecules[:3], tmp_path)
    with pytest.raises(InvalidArgument, match="neither a graph nor a list"):
        read(tmp_path, 3)


@pytest.mark.parametrize("pairs", ["near:3", "random:3", "all"])
@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_graphs_have_no_pairs(
    molecules: gm.GraphCollection, tmp_path: Path, pairs: str, count: int
) -> None:
    assert len(label_graphs(molecules[:count], tmp_path, pairs=pairs, n_jobs=1)) == 0
    assert len(read_labels(tmp_path)) == 0


def test_equal_costs_are_the_same_job(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    table = {
        ("C", "N"): 1.0,
        ("C", "O"): 1.0,
        ("N", "O"): 1.0,
        **{(x, y): 1.0 for x in "CNO" for y in ["S", "F", "Cl"]},
    }
    first = label_graphs(molecules[:4], tmp_path, costs=gm.EditCosts(node_delete=2, node_insert=2), n_jobs=1)
    again = label_graphs(molecules[:4], tmp_path, costs=gm.EditCosts(node_insert=2.0, node_delete=2.0), n_jobs=1)
    assert first.digest() == again.digest()
    again.check_costs(gm.EditCosts(node_delete=2.0, node_insert=2.0))
    with pytest.raises(InvalidArgument, match="EditCosts\\(node_delete=2, node_insert=2\\)"):
        again.check_costs(gm.EditCosts())
    ordered, turned = (gm.EditCosts(edge_substitute=dict(order)) for order in (table.items(), reversed(table.items())))
    gm.pairwise_edit_distances([gm.Graph(2), gm.Graph(3)], costs=ordered, store=tmp_path / "store")
    gm.pairwise_edit_distances([gm.Graph(2), gm.Graph(3)], costs=turned, store=tmp_path / "store")


def test_folders_of_earlier_versions_are_resumed(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    costs = gm.EditCosts(node_delete=2, node_insert=2)
    made = label_graphs(molecules[:4], tmp_path, costs=costs, method=gm.ExactSearch(node_limit=1000), n_jobs=1)
    description = read_description(tmp_path / "labels.json")
    description.pop("digest")
    description["costs"] = "EditCosts(node_delete=np.float64(2.0), node_insert=2.0)"
    description["method"] = description["method"].replace("1000", "1000.0")
    write_description(tmp_path / "labels.json", description)
    read_labels(tmp_path).check_costs(costs)
    again = label_graphs(molecules[:4], tmp_path, costs=costs, method=gm.ExactSearch(node_limit=1000), n_jobs=1)
    assert again.digest() == made.digest()
    with pytest.raises(InvalidArgument, match="its method differ"):
        label_graphs(molecules[:4], tmp_path, costs=costs, method=gm.ExactSearch(node_limit=1001), n_jobs=1)


def test_bounds_have_no_negative_zero() -> None:
    bounds = PairBounds([[0, 1]], [-0.0], [-0.0])
    assert str(bounds.lower[0]) == str(bounds.upper[0]) == "0.0"
