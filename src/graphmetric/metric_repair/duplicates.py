r"""Merge indistinguishable items and solve for them once.

Two items are duplicates of each other if swapping them changes nothing: they have the same distances to all others, the
same weights, and the same ones are fixed. A swap of duplicates turns the nearest metric into a nearest metric, and
there is only one: duplicates stay duplicates in the result. They form groups, since two duplicates of one item are
duplicates of each other, (q r) = (p q)(p r)(p q). So the result has one number x_AB for all distances between two
groups and one number x_AA for all within a group, and such a matrix is a metric exactly if

.. math:: x_{AB} \le x_{AC} + x_{BC}, \quad x_{AA} \le 2 x_{AB}, \quad 0 \le x_{AA}.

These are the triangles of a small matrix that has two items of each group. Where the members of a group are given at
distance 0 and may stay there, one is enough: for any x_AB, the nearest x_AA that is allowed is 0. With the weights of
all pairs that a pair of the small matrix represents, both matrices have the same objective, and sums of multipliers are
multipliers, with the same lower bound. Nothing is approximated.

A thousand small graphs are often a hundred different ones, so this saves much time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmetric.metric_repair.nearness import Matrix, NearnessProblem, RepairDuals

Items = NDArray[np.int64]

_ROUNDING = 1e-14  # of a sum, for each of its numbers; missed duplicates cost time only


@dataclass(frozen=True, slots=True, eq=False)
class MergedProblem:
    """A problem and the small one that takes its place; both are one object if there are no duplicates."""

    whole: NearnessProblem
    small: NearnessProblem
    group: Items
    """(m,) the group of each item of the whole."""
    kept: Items
    """(r,) the items of the whole that the small problem has, ascending."""
    first: Items
    """(groups,) the item of the small problem that represents the group."""
    second: Items
    """(groups,) the other item that represents it; the same as the first if one is enough."""

    def expand(self, x: Matrix) -> Matrix:
        """Expand a matrix of the small problem, in which two items of a group may differ a little, to the whole.

        Their mean is no further away and violates nothing by more; where they agree it has the same bits.
        """
        if self.small is self.whole:
            return x
        a, b = self.first, self.second
        same, crossed = x[np.ix_(a, a)] + x[np.ix_(b, b)], x[np.ix_(a, b)] + x[np.ix_(b, a)]
        between = (same + crossed) / 4
        np.fill_diagonal(between, x[a, b])
        expanded: Matrix = between[np.ix_(self.group, self.group)]
        np.fill_diagonal(expanded, 0.0)
        return expanded

    def merge_duals(self, duals: RepairDuals) -> RepairDuals:
        """Convert multipliers of the whole, or of its first items, to those of the small problem."""
        m = len(duals.copy_of)
        if (self.group[duals.copy_of] != self.group[:m]).any():
            duals = duals.spread()  # items that were duplicates then are none now
        if self.small is self.whole:
            return duals
        odd = np.arange(len(self.group)) % 2 == 1
        stand_in = np.where(odd, self.second[self.group], self.first[self.group])
        stand_in[self.kept] = np.arange(len(self.kept))
        return duals.rename(stand_in.astype(np.int32))

    def expand_duals(self, duals: RepairDuals) -> RepairDuals:
        """Convert multipliers of the small problem to those of the whole."""
        if self.small is self.whole:
            return duals
        named = duals.rename(self.kept.astype(np.int32))
        return replace(named, copy_of=self.kept[self.first][self.group].astype(np.int32))


def merge_duplicates(problem: NearnessProblem) -> MergedProblem:
    """Find the groups of duplicates and replace each by one or two items."""
    firsts, group = np.unique(_find_first_duplicates(problem), return_inverse=True)
    seconds = _choose_seconds(problem, firsts, group)
    kept = np.union1d(firsts, seconds)
    whole = small = problem
    if len(kept) < len(group):
        small = _shrink(problem, kept, group)
        whole = replace(problem, largest_inverse=small.largest_inverse)  # duplicates move together
    return MergedProblem(whole, small, group, kept, np.searchsorted(kept, firsts), np.searchsorted(kept, seconds))


def _find_first_duplicates(problem: NearnessProblem) -> Items:
    """Return the first duplicate of each item, most often the item itself.

    One number per row distinguishes almost all rows that are no duplicates: without v_pq, the rows of duplicates p and
    q have the same sum, in which every column has a random factor.
    """
    parts = [values for values in (problem.given, problem.inverse_weights) if values is not None]
    first = np.arange(len(problem.given))
    factors = np.random.default_rng(0).random(len(first))
    sums = [np.einsum("ij,j->i", values, factors) - np.diagonal(values) * factors for values in parts]
    slacks = [_ROUNDING * len(first) * float(values.max(initial=0.0)) for values in parts]
    for p in range(len(first)):
        if first[p] != p:
            continue
        others = np.flatnonzero(first > p)
        for values, total, slack in zip(parts, sums, slacks, strict=True):
            apart = total[p] - values[p] * factors - (total - values[p] * factors[p])
            others = others[np.abs(apart[others]) <= slack]
            others = others[_can_swap(values, p, others)]
        first[others] = p
    return first


def _can_swap(values: Matrix, p: int, others: Items) -> NDArray[np.bool_]:
    """Return the mask of rows equal to that of p bit for bit, except in column p and in their own."""
    same = values[others] == values[p]
    same[:, p] = True
    same[np.arange(len(others)), others] = True
    return np.asarray(same.all(axis=1))


def _choose_seconds(problem: NearnessProblem, firsts: Items, group: Items) -> Items:
    """Return the last item of each group whose members may end up apart, otherwise the first."""
    last = np.zeros_like(firsts)
    np.maximum.at(last, group, np.arange(len(group)))
    together = (problem.given[firsts, last] == 0) & (problem.lower == 0)
    return np.where(together, firsts, last)


def _shrink(problem: NearnessProblem, kept: Items, group: Items) -> NearnessProblem:
    """Return the problem of the kept items, with the weights of all pairs that theirs represent."""
    corner = np.ix_(kept, kept)
    inverse = 1.0 if problem.inverse_weights is None else problem.inverse_weights[corner]
    fixed = None if problem.fixed is None else problem.fixed[corner]
    if fixed is not None and not np.triu(fixed, 1).any():
        fixed = None
    weighted = inverse / _count_pairs(group, kept)
    np.fill_diagonal(weighted, 0.0)
    easiest = float(weighted.max(initial=0.0))
    return replace(problem, given=problem.given[corner], inverse_weights=weighted, fixed=fixed, largest_inverse=easiest)


def _count_pairs(group: Items, kept: Items) -> Matrix:
    """Count the pairs that each pair of kept items represents; between two groups this may be a fraction."""
    mine = group[kept]
    size, shown = np.bincount(group)[mine], np.bincount(mine)[mine]
    within = np.maximum(1, size * (size - 1) / 2)  # at least 1, since the diagonal is divided by it
    return np.where(mine[:, None] == mine, within, np.outer(size / shown, size / shown))
