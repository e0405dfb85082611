"""What a step sees, against plain loops."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training import TrainingOptions
from graphmetric.training.mini_batches import MiniBatch, MiniBatches, RandomStream, generator

OPTIONS = TrainingOptions(epochs=1, steps=None, graphs_per_step=6)


def seen(batch: MiniBatch) -> list[tuple[int, int, float, float]]:
    """Pairs in the numbers of the collection, with their bounds."""
    ends = batch.graphs[batch.pairs]
    return [(int(i), int(j), lo, up) for (i, j), lo, up in zip(ends, batch.lower, batch.upper, strict=True)]


def listed(labels: PairBounds) -> list[tuple[int, int, float, float]]:
    return [(int(i), int(j), lo, up) for (i, j), lo, up in zip(labels.pairs, labels.lower, labels.upper, strict=True)]


@st.composite
def label_sets(draw: st.DrawFn) -> PairBounds:
    names = draw(st.lists(st.integers(0, 60), min_size=2, max_size=18, unique=True))
    possible = [(i, j) for i in names for j in names if i < j]
    pairs = draw(st.lists(st.sampled_from(possible), min_size=1, unique=True)) if possible else []
    lower = np.arange(len(pairs), dtype=float)
    return PairBounds(np.array(pairs), lower, lower + draw(st.integers(0, 2)))


@given(label_sets(), st.integers(2, 8), st.integers(0, 3))
def test_a_step_sees_labelled_pairs_with_their_bounds(labels: PairBounds, size: int, step: int) -> None:
    batches = MiniBatches(labels, replace(OPTIONS, graphs_per_step=size), seed=0)
    batch = batches.at(step)
    assert len(batch.pairs) > 0
    assert set(seen(batch)) <= set(listed(labels))
    assert len(batch.graphs) <= max(size, 2)
    assert np.unique(batch.graphs).tolist() == batch.graphs.tolist()


def all_pairs(count: int) -> PairBounds:
    pairs = np.column_stack(np.triu_indices(count, 1))
    return PairBounds.from_distances(pairs, np.arange(len(pairs)))


def test_a_block_uses_every_label_among_its_graphs() -> None:
    everything = all_pairs(20)
    labels = everything.take(np.flatnonzero(np.random.default_rng(0).random(len(everything)) < 0.6))
    batches = MiniBatches(labels, OPTIONS, seed=1)
    assert batches.in_blocks
    for step in range(3 * batches.num_steps):
        batch = batches.at(step)
        inside = set(batch.graphs.tolist())
        among = [label for label in listed(labels) if label[0] in inside and label[1] in inside]
        assert sorted(seen(batch)) == sorted(among)


def test_an_epoch_of_blocks_sees_every_graph_once() -> None:
    batches = MiniBatches(all_pairs(20), OPTIONS, seed=0)
    assert batches.in_blocks
    assert batches.steps_per_epoch == 4
    graphs = np.concatenate([batches.at(step).graphs for step in range(4)])
    assert sorted(graphs.tolist()) == list(range(20))
    assert batches.at(0).graphs.tolist() != batches.at(4).graphs.tolist()


def test_an_epoch_of_few_labels_sees_every_pair_once() -> None:
    ring = PairBounds.from_distances([(k, (k + 1) % 50) for k in range(50)], np.arange(50))
    batches = MiniBatches(ring, OPTIONS, seed=0)
    assert not batches.in_blocks
    counts = Counter(label for step in range(batches.num_steps) for label in seen(batches.at(step)))
    assert counts == Counter(listed(ring))


def test_the_number_of_pairs_is_capped() -> None:
    batches = MiniBatches(all_pairs(20), replace(OPTIONS, pairs_per_step=4), seed=0)
    batch = batches.at(0)
    assert len(batch.pairs) == 4
    assert set(seen(batch)) <= set(listed(all_pairs(20)))


def test_steps_are_functions_of_the_seed() -> None:
    one, same, other = (MiniBatches(all_pairs(20), OPTIONS, seed=seed) for seed in (3, 3, 4))
    one.at(9)  # out of order: nothing depends on what was drawn before
    assert seen(one.at(5)) == seen(same.at(5))
    assert seen(one.at(5)) != seen(other.at(5))


def test_unlabelled_pairs_come_with_alpha_only() -> None:
    labels = PairBounds.from_distances([(7, 3), (3, 5)], [2, 4])
    options = replace(OPTIONS, loss="masked", alpha=0.5)
    batch = MiniBatches(labels, options, seed=0).at(0)
    known = {frozenset((i, j)): (lower, upper) for i, j, lower, upper in seen(batch)}
    same, unknown = (0, 0), (0, np.inf)
    assert known == {
        frozenset({3}): same,
        frozenset({5}): same,
        frozenset({7}): same,
        frozenset({3, 7}): (2, 2),
        frozenset({3, 5}): (4, 4),
        frozenset({5, 7}): unknown,
    }


def test_nothing_to_train_on() -> None:
    with pytest.raises(InvalidArgument, match="nothing to train on"):
        MiniBatches(PairBounds.from_distances([], []), OPTIONS, seed=0)


def disjoint(*parts: PairBounds) -> PairBounds:
    """The labels of each part, its graphs numbered after those of the parts before."""
    first, moved = 0, []
    for part in parts:
        moved.append(PairBounds(part.pairs + first, part.lower, part.upper))
        first += int(part.pairs.max()) + 1
    return moved[0].concatenate(*moved[1:])


def test_blocks_are_drawn_within_parts() -> None:
    """Groups of 18 and 30: blocks of six fit into either, so all have all fifteen pairs."""
    batches = MiniBatches(disjoint(all_pairs(18), all_pairs(30)), OPTIONS, seed=0)
    assert batches.in_blocks
    assert batches.steps_per_epoch == 8
    for epoch in range(5):
        found = [batches.at(8 * epoch + k) for k in range(8)]
        assert sorted(np.concatenate([batch.graphs for batch in found]).tolist()) == list(range(48))
        assert [len(batch.pairs) for batch in found] == [15] * 8
    turns = ["".join("b" if batches.at(8 * epoch + k).graphs[0] >= 18 else "a" for k in range(8)) for epoch in range(9)]
    assert all(turn.count("a") == 3 for turn in turns)
    assert any("ab" in turn and "ba" in turn for turn in turns)  # parts take turns in no fixed order


def test_many_small_parts_share_a_block() -> None:
    batches = MiniBatches(disjoint(*[all_pairs(3)] * 40), OPTIONS, seed=0)
    assert batches.in_blocks
    assert batches.steps_per_epoch == 20  # two triangles each
    counts = Counter(label for step in range(20) for label in seen(batches.at(step)))
    assert counts == Counter(listed(batches.labels))


def test_pairs_without_a_graph_in_common_are_drawn_one_by_one() -> None:
    single = disjoint(*[all_pairs(2)] * 40)
    batches = MiniBatches(single, OPTIONS, seed=0)
    assert not batches.in_blocks
    counts = Counter(label for step in range(batches.steps_per_epoch) for label in seen(batches.at(step)))
    assert counts == Counter(listed(single))


def test_one_part_is_drawn_as_ever() -> None:
    """The order of an epoch is the plain permutation that it was before there were parts."""
    batches = MiniBatches(all_pairs(20), OPTIONS, seed=3)
    order = generator(3, RandomStream.EPOCHS, 1).permutation(20)
    for k in range(4):
        assert batches.at(4 + k).graphs.tolist() == sorted(order[5 * k : 5 * k + 5].tolist())
