"""Defence against labels chosen so that a dictionary of them takes quadratic time.

Python's hash of an integer is the integer modulo 2**61 - 1, the same in every run, so that a file can hold thousands of
different integers with one hash. Strings are safe: their hashes differ from run to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from graphmetric.errors import InvalidGraph

_SUSPICIOUS = 1000
_MOST_SHARING = 100


def refuse_hash_floods(labels: Sequence[Hashable]) -> None:
    """Raise if more than a hundred different labels share one hash."""
    if len(labels) <= _SUSPICIOUS or set(map(type, labels)) <= {str, bool, type(None)}:
        return
    hashes = list(map(hash, labels))
    ((common, count),) = Counter(hashes).most_common(1)
    if count > _SUSPICIOUS:
        spelled = {repr(label) for label, value in zip(labels, hashes, strict=True) if value == common}
        if len(spelled) > _MOST_SHARING:
            raise InvalidGraph(f"{len(spelled)} different labels have one hash; the file seems made to be slow to read")


def safe_key(name: Hashable) -> Hashable:
    """What stands for a name in a dictionary: itself where at most a few others can have its hash, else its text."""
    if isinstance(name, str) or (isinstance(name, int) and -(2**63) < name < 2**63):
        return name
    return type(name), repr(name)
