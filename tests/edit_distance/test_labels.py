"""Choosing pairs and labelling them into a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.edit_distance.label_store import choose_pairs, label_graphs, read_labels
from graphmetric.errors import FileError, InvalidArgument


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
