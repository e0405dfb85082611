"""Values as files have them: JSON values, numbers written as text, and the checks that every reader makes of them.

Labels are also checked for being chosen so that a dictionary of them takes quadratic time. Python's hash of an integer
is the integer modulo 2**61 - 1, the same in every run, so that a file can hold thousands of different integers with one
hash. Strings are safe: their hashes differ from run to run.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from graphmetric.errors import FileError, InvalidGraph
from graphmetric.graphs.labels import label_from_json

_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")
_REAL = re.compile(r"-?(?:[0-9]{1,400}\.[0-9]{0,400}|\.[0-9]{1,400}|[0-9]{1,400}(?=[eE]))(?:[eE][+-]?[0-9]{1,4})?")
_PLAIN_LABELS = {int, str, bool, type(None)}
"""Types of labels that are themselves in JSON; floats are checked for NaN one by one."""
_SUSPICIOUS = 1000
_MOST_SHARING = 100


def plain(value: Any, place: str = "metadata") -> Any:
    """Metadata as JSON values: numpy scalars become numbers, tuples lists; anything else is refused by name."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(item, place) for item in value]
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise FileError(f"{place} has the key {wrong!r}; JSON keys are strings")
        return {key: plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    raise FileError(f"{place} is of type {type(value).__name__}, which JSON cannot hold")


def shortened(value: object, limit: int = 60) -> str:
    """A value for an error message."""
    if isinstance(value, dict | list) and len(value) > limit:
        return f"a {type(value).__name__} of {len(value)} entries"
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a JSON value is an integer (``true`` is not)."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a JSON value is a number that fits a float (``true`` is not)."""
    if isinstance(value, float):
        return math.isfinite(value)
    return is_integer(value) and abs(value) < 2**1023


def integer_from_text(text: str) -> str | int:
    """An integer if this is how integers are usually spelled, else the text itself."""
    return int(text) if _INTEGER.fullmatch(text) else text


def id_from_text(text: str | None) -> str | int | None:
    """A graph's id: text that is an integer's usual spelling becomes that integer, empty text None."""
    return integer_from_text(text) if text else None


def value_from_text(text: str) -> str | int | float:
    """An integer or a finite number with a decimal point or exponent in their usual spelling, else the text itself."""
    if _REAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return integer_from_text(text)


def read_labels(values: list[Any]) -> list[Any]:
    """Labels from their JSON form."""
    if not set(map(type, values)) <= _PLAIN_LABELS:
        values = [label_from_json(value) for value in values]
    _refuse_hash_floods(values)
    return values


def _refuse_hash_floods(labels: Sequence[Hashable]) -> None:
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
    """Return the dictionary key of a name: itself if at most a few others can have its hash, else its ``repr``."""
    if isinstance(name, str) or (isinstance(name, int) and -(2**63) < name < 2**63):
        return name
    return type(name), repr(name)
