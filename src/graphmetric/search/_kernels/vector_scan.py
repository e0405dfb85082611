"""Distances of one vector to many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry


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
