"""What passes between the readers and writers of the file formats of distance matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import LimitExceeded
from graphmetric.memory import check_memory


class Content(NamedTuple):
    """Numbers of a file, one dimension if condensed, and names of the items."""

    values: NDArray[np.float64]
    ids: tuple[str, ...] | None


def check_count(count: int, max_items: int, path: object) -> None:
    """Raise if a file holds more numbers than the largest matrix that is allowed, or than fit into memory."""
    if count > max_items**2:
        raise LimitExceeded(
            f"{count:,} numbers, more than a matrix of {max_items:,} items has (for data you trust: max_items=...)",
            path,
        )
    check_memory(8 * count, f"{path}: a matrix of {count:,} numbers", "give a matrix of fewer items")
