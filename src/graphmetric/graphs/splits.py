"""Training, validation and test parts: by seed, from a given test part, and disjoint up to isomorphism."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument

FRACTIONS = (0.6, 0.2, 0.2)
"""Training, validation, test: the parts used by the paper and by the works it is compared with."""


class Split(NamedTuple):
    """Three disjoint, sorted arrays of positions."""

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]


def split_indices(
    n: int,
    fractions: tuple[float, float, float] = FRACTIONS,
    random_state: int | np.random.Generator | None = 0,
) -> Split:
    """Deal ``0 .. n - 1`` to training, validation and test at random.

    Each part is within one of its exact share, and the parts cover everything.

    Example:
        >>> [len(part) for part in split_indices(700)]
        [420, 140, 140]
    """
    if n < 0:
        raise InvalidArgument(f"n must not be negative; got {n}")
    shares = _checked_fractions(fractions)
    ends = np.floor(np.cumsum(shares) * n + 0.5).astype(np.int64)
    shuffled = np.random.default_rng(random_state).permutation(n)
    return Split(*(np.sort(part).astype(np.int64) for part in np.split(shuffled, ends[:2])))


def hold_out_validation(
    given_train: ArrayLike,
    given_test: ArrayLike,
    fraction: float = FRACTIONS[1],
    random_state: int | np.random.Generator | None = 0,
) -> Split:
    """Keep a benchmark's test part and draw the validation part, a ``fraction`` of all, from its training part.

    Example:
        >>> [len(part) for part in hold_out_validation(range(560), range(560, 700))]
        [420, 140, 140]
    """
    train, test = np.sort(np.asarray(given_train, np.int64)), np.sort(np.asarray(given_test, np.int64))
    if not 0 <= fraction < 1:
        raise InvalidArgument(f"the validation fraction must be at least 0 and below 1; got {fraction}")
    wanted = math.floor(fraction * (len(train) + len(test)) + 0.5)
    if wanted > len(train):
        raise InvalidArgument(f"a validation part of {wanted} does not fit in a training part of {len(train)}")
    held_out = np.zeros(len(train), dtype=bool)
    held_out[np.random.default_rng(random_state).permutation(len(train))[:wanted]] = True
    return Split(train[~held_out], train[held_out], test)


def separate_classes(
    split: Split,
    classes: ArrayLike,
    fractions: tuple[float, float, float] = FRACTIONS,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[NDArray[np.int64], Split]:
    """One item per class, so that no class is in two parts; returns the kept items and their split.

    The first member of each class is kept. A class whose members all lie in one part stays in that part; a class
    that straddles parts goes, in an order drawn by seed, to the part that is furthest below its share. The split
    counts positions among the kept items. Items outside the split are left out.
    """
    shares = _checked_fractions(fractions)
    number = np.asarray(classes)
    part = np.full(len(number), -1)
    for code, members in enumerate(split):
        part[members] = code
    dealt = np.flatnonzero(part >= 0)
    distinct, first, class_of = np.unique(number[dealt], return_index=True, return_inverse=True)
    present = np.zeros((len(distinct), len(shares)), dtype=bool)
    present[class_of, part[dealt]] = True
    home = _deal(present, shares, np.random.default_rng(random_state))
    order = np.argsort(first)
    parts = (np.flatnonzero(home[order] == code) for code in range(len(shares)))
    return dealt[first[order]], Split(*parts)


def hold_out_classes(
    classes: ArrayLike, fraction: float, random_state: int | np.random.Generator | None = 0
) -> NDArray[np.int64]:
    """Positions of items to keep out: whole classes, drawn by seed, until they hold the fraction of all items.

    A class that would leave fewer than half of the rest is passed over, so that a few large classes cannot take all.

    Example:
        >>> hold_out_classes([0, 1, 1, 2, 3, 3], 0.3).tolist()
        [3, 4, 5]
    """
    number = np.asarray(classes)
    if not 0 < fraction < 1:
        raise InvalidArgument(f"the fraction to hold out must be above 0 and below 1; got {fraction}")
    distinct, class_of, sizes = np.unique(number, return_inverse=True, return_counts=True)
    wanted, most = fraction * len(number), (1 + fraction) / 2 * len(number)
    held, taken = 0, []
    for k in np.random.default_rng(random_state).permutation(len(distinct)):
        if held >= wanted:
            break
        if held + sizes[k] <= most:
            taken.append(k)
            held += int(sizes[k])
    return np.flatnonzero(np.isin(class_of, taken)).astype(np.int64)


def _deal(present: NDArray[np.bool_], shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The part of each class, given in which parts it has members."""
    home: NDArray[np.intp] = present.argmax(axis=1)
    straddling = present.sum(axis=1) > 1
    counts = np.bincount(home[~straddling], minlength=len(shares))
    for k in rng.permutation(np.flatnonzero(straddling)):
        home[k] = np.argmax(shares * len(present) - counts)
        counts[home[k]] += 1
    return home


def _checked_fractions(fractions: tuple[float, float, float]) -> NDArray[np.float64]:
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares >= 0).all() or not math.isclose(shares.sum(), 1.0, abs_tol=1e-9):
        raise InvalidArgument(f"fractions must be three numbers, not negative, that add up to 1; got {fractions!r}")
    return shares
