"""Sets of small numbers as 64-bit words."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _type_highest_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.uint64), generate


def _type_lowest_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


highest_bit = cast(Callable[[np.uint64], int], intrinsic(_type_highest_bit))
"""Position of the highest bit of a word that is not zero."""
lowest_bit = cast(Callable[[np.uint64], int], intrinsic(_type_lowest_bit))
"""Position of the lowest bit of a word that is not zero."""
