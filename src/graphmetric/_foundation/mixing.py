"""Hashing for kernels of any folder, with the same bits on every machine: 64-bit integer arithmetic only.

Hashes travel as int64 but are computed as uint64, where overflow is defined.
"""

from __future__ import annotations

import numpy as np

from graphmetric._foundation.compilation import counted_part

_ODD_A = np.uint64(0x9E3779B97F4A7C15)
_ODD_B = np.uint64(0xBF58476D1CE4E5B9)
_ODD_C = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)


@counted_part
def scramble(value: int) -> np.int64:
    """Spread an integer over 64 bits."""
    x = (np.uint64(value) + _ODD_A) * _ODD_B
    x = (x ^ (x >> _HALF)) * _ODD_C
    return np.int64(x ^ (x >> _HALF))


@counted_part
def mix(state: int, value: int) -> np.int64:
    """Absorb a value into a running hash; the order of values counts."""
    x = (np.uint64(state) ^ np.uint64(value)) * _ODD_B
    return np.int64((x ^ (x >> _HALF)) * _ODD_A + _ODD_C)


@counted_part
def add_product(total: int, a: int, b: int) -> np.int64:
    """total + a * b modulo 2**64; sums of such do not depend on their order."""
    return np.int64(np.uint64(total) + np.uint64(a) * np.uint64(b))
