"""The laws of splits: disjoint, covering, of the right size, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.datasets.dataset import (
    FRACTIONS,
    Split,
    hold_out_classes,
    hold_out_validation,
    separate_classes,
    split_indices,
)
from graphmetric.errors import InvalidArgument

seeds = st.integers(0, 2**32 - 1)


@st.composite
def fractions(draw: st.DrawFn) -> tuple[float, float, float]:
    parts = draw(st.tuples(*[st.integers(0, 100)] * 3).filter(any))
    train, val = parts[0] / sum(parts), parts[1] / sum(parts)
    return train, val, max(0.0, 1 - train - val)


def assert_partition(split: Split, everything: np.ndarray) -> None:
    joined = np.concatenate(split)
    assert np.array_equal(np.sort(joined), everything)
    for part in split:
        assert part.dtype == np.int64
        assert np.array_equal(part, np.sort(part))


@given(st.integers(0, 500), fractions(), seeds)
def test_every_item_is_in_exactly_one_part(n: int, shares: tuple[float, float, float], seed: int) -> None:
    split = split_indices(n, shares, seed)
    assert_partition(split, np.arange(n))
    for part, share in zip(split, shares, strict=True):
        assert abs(len(part) - share * n) <= 1 + 1e-9


@given(st.integers(0, 300), seeds)
def test_a_seed_means_one_split(n: int, seed: int) -> None:
    for once, again in zip(split_indices(n, random_state=seed), split_indices(n, random_state=seed), strict=True):
        assert np.array_equal(once, again)


def test_seeds_differ_and_stay_what_they_were() -> None:
    assert not np.array_equal(split_indices(100, random_state=0).test, split_indices(100, random_state=1).test)
    # Published results name a seed, so a seed must mean the same split for ever.
    assert split_indices(20, random_state=0).test.tolist() == [1, 9, 14, 15]


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.4, 0.2), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5)])
def test_fractions_that_are_none(shares: tuple[float, ...]) -> None:
    with pytest.raises(InvalidArgument, match="add up to 1"):
        split_indices(10, shares)  # type: ignore[arg-type]


def test_a_negative_count() -> None:
    with pytest.raises(InvalidArgument, match="negative"):
        split_indices(-1)


@given(st.integers(0, 200), st.integers(0, 200), seeds)
def test_validation_comes_out_of_training_only(num_train: int, num_test: int, seed: int) -> None:
    positions = np.random.default_rng(seed).permutation(num_train + num_test)
    train, test = positions[:num_train], positions[num_train:]
    wanted = int(0.2 * len(positions) + 0.5)
    if wanted > num_train:
        with pytest.raises(InvalidArgument, match="does not fit"):
            hold_out_validation(train, test, random_state=seed)
        return
    split = hold_out_validation(train, test, random_state=seed)
    assert_partition(split, np.arange(len(positions)))
    assert np.array_equal(split.test, np.sort(test))
    assert len(split.val) == wanted
    assert np.array_equal(split.val, hold_out_validation(train, test, random_state=seed).val)


def test_benchmark_sizes() -> None:
    assert [len(part) for part in hold_out_validation(range(560), range(560, 700))] == [420, 140, 140]
    assert [len(part) for part in hold_out_validation(range(1200), range(1200, 1500))] == [900, 300, 300]


def test_validation_fraction_out_of_range() -> None:
    with pytest.raises(InvalidArgument, match="fraction"):
        hold_out_validation([0, 1], [2], fraction=1.0)


@given(st.lists(st.integers(0, 12), max_size=60), seeds)
def test_separated_classes(classes: list[int], seed: int) -> None:
    split = split_indices(len(classes), random_state=seed)
    kept, separated = separate_classes(split, classes, random_state=seed)

    assert_partition(separated, np.arange(len(kept)))
    firsts = sorted({number: classes.index(number) for number in classes}.values())
    assert kept.tolist() == firsts
    for name in Split._fields:
        lone = {c for c in classes if all(k in getattr(split, name) for k, d in enumerate(classes) if d == c)}
        assert lone <= {classes[kept[k]] for k in getattr(separated, name)}
    again = separate_classes(split, classes, random_state=seed)[1]
    assert all(np.array_equal(a, b) for a, b in zip(separated, again, strict=True))


@given(st.integers(1, 40), seeds)
def test_straddling_classes_are_dealt_by_share(num_classes: int, seed: int) -> None:
    """Every class is in every part, so all of them are dealt, and the shares come out as exactly as they can."""
    n = 3 * num_classes
    split = Split(*(np.arange(start, n, 3) for start in range(3)))
    _, separated = separate_classes(split, np.repeat(np.arange(num_classes), 3), random_state=seed)
    for part, share in zip(separated, FRACTIONS, strict=True):
        assert abs(len(part) - share * num_classes) <= 1


def test_the_furthest_part_below_its_share_is_served_first() -> None:
    split = Split(np.array([0, 1, 2, 3, 4, 5, 6, 7]), np.array([8]), np.array([9]))
    classes = np.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 0])  # only class 0 straddles
    kept, separated = separate_classes(split, classes)
    assert kept.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert separated.val.tolist() == [0]  # train is above 60 %; val and test lack as much, and val comes first
    assert separated.test.tolist() == []
    assert separated.train.tolist() == [1, 2, 3, 4, 5, 6, 7]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.floats(0.01, 0.99), st.integers(0, 5))
def test_held_out_classes_are_whole(classes: list[int], fraction: float, seed: int) -> None:
    held = hold_out_classes(classes, fraction, seed)
    kept = np.setdiff1d(np.arange(len(classes)), held)
    assert not {classes[k] for k in held} & {classes[k] for k in kept}
    assert len(held) <= (1 + fraction) / 2 * len(classes)
    assert held.tolist() == hold_out_classes(classes, fraction, seed).tolist()
    if len(held) < fraction * len(classes):  # only where every other class is too large
        sizes = np.bincount([classes[k] for k in kept])
        assert (len(held) + sizes[sizes > 0] > (1 + fraction) / 2 * len(classes)).all()


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1.0, float("nan")])
def test_fractions_to_hold_out(fraction: float) -> None:
    with pytest.raises(InvalidArgument, match="above 0 and below 1"):
        hold_out_classes([0, 1, 2], fraction)
