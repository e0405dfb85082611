"""What each protocol shows to a method, and what it keeps for the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric_research.protocols import PROTOCOLS, Protocol, make_protocol, mask_size_mismatches

Split = tuple[list[int], list[int], list[int]]


@st.composite
def splits(draw: st.DrawFn) -> Split:
    parts: Split = ([], [], [])
    for position in draw(st.permutations(range(draw(st.integers(0, 14))))):
        parts[draw(st.integers(0, 2))].append(position)
    return parts


def as_sets(pairs: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in pairs.tolist()}


def check_nothing_leaks(protocol: Protocol) -> None:
    training, validation, test = (
        as_sets(pairs) for pairs in (protocol.training_pairs(), protocol.validation_pairs(), protocol.test_pairs())
    )
    assert not training & validation
    assert not (training | validation) & test
    tested = set(protocol.test.tolist())
    assert not any(tested & pair for pair in training | validation)
    assert all(tested & pair for pair in test)


@given(splits(), st.sampled_from(sorted(PROTOCOLS)))
def test_pairs_are_disjoint_and_no_test_graph_is_seen(split: Split, name: str) -> None:
    count = sum(map(len, split))
    protocol = make_protocol(name, *split, classes=np.arange(count))
    check_nothing_leaks(protocol)
    train, val, test = map(len, split)
    assert len(as_sets(protocol.training_pairs())) == len(protocol.training_pairs()) == train * (train - 1) // 2
    assert len(as_sets(protocol.validation_pairs())) == len(protocol.validation_pairs()) == val * train
    assert len(protocol.test_pairs()) == test * (count if name == "paper" else train + val)
    assert sorted(protocol.database) == sorted(range(count) if name == "paper" else [*split[0], *split[1]])


@given(splits(), st.sampled_from(sorted(PROTOCOLS)))
def test_visible_distances_are_those_of_the_pairs(split: Split, name: str) -> None:
    count = sum(map(len, split))
    protocol = make_protocol(name, *split, classes=np.arange(count))
    distances = np.arange(count * count, dtype=float).reshape(count, count)
    visible = protocol.visible_distances(distances)
    known = as_sets(protocol.seen[np.argwhere(~np.isnan(visible))])
    diagonal = {frozenset([graph]) for graph in split[0]}
    assert known == as_sets(protocol.training_pairs()) | as_sets(protocol.validation_pairs()) | diagonal
    expected = distances[np.ix_(protocol.seen, protocol.seen)]
    assert (visible[~np.isnan(visible)] == expected[~np.isnan(visible)]).all()
    assert protocol.test_distances(distances).ravel().tolist() == distances[*protocol.test_pairs().T].tolist()


@pytest.mark.parametrize("name", ["molecules", "programs"])
def test_leak_free_has_no_class_on_both_sides(name: str) -> None:
    data = gm.load_dataset(name)
    with pytest.raises(InvalidArgument, match="the split leaks"):
        make_protocol("leak-free", *data.split, classes=data.isomorphism_classes)
    honest = data.leak_free()
    classes = gm.isomorphism_classes(honest.graphs)
    protocol = make_protocol("leak-free", *honest.split, classes=classes)
    assert not set(classes[protocol.queries]) & set(classes[protocol.seen])
    assert not set(classes[protocol.val]) & set(classes[protocol.train])
    assert set(protocol.database) == set(protocol.seen)
    assert len(protocol.queries) > 0


def test_size_filter() -> None:
    sizes = np.array([5, 7, 8, 20])
    left = mask_size_mismatches(np.ones((2, 4)), sizes[:2], sizes)
    assert np.argwhere(~np.isnan(left)).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]


def test_protocols_are_frozen() -> None:
    given_positions = np.array([0, 1])
    protocol = make_protocol("A", given_positions, [2], [3])
    with pytest.raises(ValueError, match="read-only"):
        protocol.train[0] = 3
    given_positions[0] = 9
    assert protocol.train.tolist() == [0, 1]


def test_wrong_input_is_explained() -> None:
    with pytest.raises(InvalidArgument, match="paper, A, leak-free"):
        make_protocol("B", [0], [1], [2])
    with pytest.raises(InvalidArgument, match="named twice"):
        make_protocol("A", [0, 1], [2], [1])
    with pytest.raises(InvalidArgument, match="list of positions"):
        make_protocol("A", [0, -1], [2], [1])
    with pytest.raises(InvalidArgument, match="list of positions"):
        make_protocol("A", [True, False], [2], [3])
    with pytest.raises(InvalidArgument, match="pass classes"):
        make_protocol("leak-free", [0], [1], [2])
