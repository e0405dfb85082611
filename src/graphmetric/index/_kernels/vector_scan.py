r"""Distances of one vector to many.

How far node states are apart along single axes, which bounds their matching distance from below.

Along an axis a the states of a graph are numbers, and the cheapest matching of numbers is the sorted one; call its cost
:math:`w_a`. For the best matching of the states themselves :math:`\sum_i |x_{ia}| \ge w_a`, with x_i the differences of
matched states, and so, by Minkowski's inequality over orthonormal axes,

.. math:: g = \sum_i \lVert x_i \rVert \ge \sqrt{\textstyle\sum_a (\sum_i |x_{ia}|)^2}
          \ge \sqrt{\textstyle\sum_a w_a^2}.

On axes that are not looked at, :math:`w_a \ge \delta_a`, the difference of the sums of the states. All of these
together are the difference of the pooled vectors: :math:`g^2 \ge \lVert \delta \rVert^2 + \sum_a (w_a^2 - \delta_a^2)`,
a over the axes looked at. The smaller graph is padded with zeros, as in the distance.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, part


class AxisValues(NamedTuple):
    """The states of graph g along some axes: rows start[g] .. start[g + 1] - 1, every column rising within them."""

    rows: NDArray[np.float32]
    start: NDArray[np.int64]


@entry
def add_axis_gaps(
    query: NDArray[np.float32], graphs: AxisValues, positions: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """The sum of w_a^2 - delta_a^2 for the query, (nodes, axes) with rising columns, and each graph at a position."""
    for p in range(len(positions)):
        first, last = graphs.start[positions[p]], graphs.start[positions[p] + 1]
        total = 0.0
        for axis in range(query.shape[1]):
            total += measure_axis(query[:, axis], graphs.rows[first:last, axis])
        out[p] = total


@part
def measure_axis(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """w^2 - delta^2 of two rising sequences of numbers."""
    n = max(len(a), len(b))
    a_zeros, b_zeros = n - len(a), n - len(b)
    a_negative, b_negative = count_negative(a), count_negative(b)
    apart, together = 0.0, 0.0
    for k in range(n):
        difference = pick(a, k, a_negative, a_zeros) - pick(b, k, b_negative, b_zeros)
        apart += abs(difference)
        together += difference
    return apart * apart - together * together


@part
def count_negative(values: NDArray[np.float32]) -> int:
    """Values below zero, which come first."""
    count = 0
    while count < len(values) and values[count] < 0:
        count += 1
    return count


@part
def pick(values: NDArray[np.float32], k: int, negative: int, zeros: int) -> float:
    """The k-th of the values in rising order with so many zeros among them."""
    if k < negative:
        return np.float64(values[k])
    if k < negative + zeros:
        return 0.0
    return np.float64(values[k - zeros])


@entry
def scan_vectors(vectors: NDArray[Any], query: NDArray[Any], blocks: int, out: NDArray[np.float32]) -> None:
    """Sums of Euclidean norms over ``blocks`` equal pieces of the differences to each row.

    Four running sums, which do not wait for each other, as in the matching distance.
    """
    width = len(query) // blocks
    fours = width // 4
    for row in range(len(vectors)):
        total = np.float32(0)
        for block in range(blocks):
            a, b = vectors[row, block * width : (block + 1) * width], query[block * width : (block + 1) * width]
            s0 = s1 = s2 = s3 = np.float32(0)
            for k in range(fours):
                c = 4 * k
                d0, d1, d2, d3 = a[c] - b[c], a[c + 1] - b[c + 1], a[c + 2] - b[c + 2], a[c + 3] - b[c + 3]
                s0, s1, s2, s3 = s0 + d0 * d0, s1 + d1 * d1, s2 + d2 * d2, s3 + d3 * d3
            for c in range(4 * fours, width):
                s0 += (a[c] - b[c]) * (a[c] - b[c])
            total += np.sqrt((s0 + s1) + (s2 + s3))
        out[row] = total
