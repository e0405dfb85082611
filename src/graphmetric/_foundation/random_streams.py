"""Random streams by name: independent of each other, and of what users draw from the same seed.

``default_rng(seed)`` is how users draw their own subsets. A stream of ours that began the same way would draw the very
graphs that they drew; ``default_rng([seed, 0])`` does, as trailing zeros do not count.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np


def seed_sequence(seed: int, name: str, *numbers: int) -> np.random.SeedSequence:
    """The seeds of the stream of this name; ``numbers`` tell its parts apart, such as steps."""
    words = np.frombuffer(blake2b(name.encode(), digest_size=8).digest(), dtype="<u4").tolist()
    return np.random.SeedSequence(seed, spawn_key=(*words, *numbers))


def random_stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """A generator for the stream of this name."""
    return np.random.default_rng(seed_sequence(seed, name, *numbers))
