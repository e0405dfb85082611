"""Tags: the hashable values on nodes and edges, stored as small integers into a shared vocabulary."""

from __future__ import annotations

import base64
import binascii
import math
import reprlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """A column of tags: ``codes[i]`` is the place of the i-th tag in ``vocabulary``."""

    codes: NDArray[np.int32]
    """One code per node or edge."""
    vocabulary: tuple[Hashable, ...]
    """The distinct tags, in order of first appearance. Shared by all slices of a column."""

    def __post_init__(self) -> None:
        self.codes.flags.writeable = False

    @classmethod
    def from_values(cls, values: Iterable[Hashable]) -> LabelColumn:
        """Encode tags, numbering them in order of first appearance."""
        values = values if isinstance(values, list | tuple) else list(values)
        if _are_plain(values):
            by_tag = {value: code for code, value in enumerate(dict.fromkeys(values))}
            return cls(np.fromiter(map(by_tag.__getitem__, values), np.int32, len(values)), tuple(by_tag))
        return cls(*_number_tags([_checked_tag(value) for value in values]))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Hashable]:
        vocabulary = self.vocabulary
        return (vocabulary[code] for code in self.codes.tolist())

    def values(self) -> tuple[Hashable, ...]:
        """The tags themselves."""
        return tuple(self)

    def __getitem__(self, rows: slice | NDArray[Any]) -> LabelColumn:
        """The column restricted to ``rows``, as arrays are indexed; slices share memory."""
        return LabelColumn(self.codes[rows], self.vocabulary)

    def compact(self) -> LabelColumn:
        """Return the column without labels that no row has."""
        used = np.bincount(self.codes, minlength=len(self.vocabulary)) > 0
        codes = np.cumsum(used, dtype=np.int32)[self.codes] - 1
        return LabelColumn(codes, tuple(compress(self.vocabulary, used.tolist())))

    @staticmethod
    def concatenate(columns: list[LabelColumn]) -> LabelColumn:
        """One column after the other, over the union of their vocabularies."""
        if len({id(column.vocabulary) for column in columns}) == 1:  # slices of one collection
            return LabelColumn(np.concatenate([column.codes for column in columns]), columns[0].vocabulary)
        numbers, vocabulary = _number_tags([tag for column in columns for tag in column.vocabulary])
        starts = accumulate((len(column.vocabulary) for column in columns), initial=0)
        parts = [numbers[start + column.codes] for start, column in zip(starts, columns, strict=False)]
        return LabelColumn(np.concatenate([numbers[:0], *parts]), vocabulary)


def _number_tags(tags: Sequence[Hashable]) -> tuple[NDArray[np.int32], tuple[Hashable, ...]]:
    """A code for each tag, and the distinct tags in order of first appearance."""
    places: dict[Hashable, int] = {}
    codes = [places.setdefault(spelling(tag), len(places)) for tag in tags]
    return np.array(codes, dtype=np.int32), tuple(dict(zip(codes, tags, strict=True)).values())


def spelling(value: Hashable) -> Hashable:
    """Equal only for tags that are also written alike, unlike 1, 1.0 and True, or 0.0 and -0.0."""
    if isinstance(value, tuple):
        return tuple, tuple(spelling(item) for item in value)
    return type(value), value.hex() if isinstance(value, float) else value


_SMALL = 1 << 63
_LONGEST_INTEGER = 10_000
"""Bits; Python refuses to write much longer integers in decimal."""


def _is_plain(value: object) -> bool:
    """Strings and small integers, nearly all tags there are, need no further look."""
    kind = type(value)
    return kind is str or (kind is int and -_SMALL < value < _SMALL)  # type: ignore[operator]


def _are_plain(values: Sequence[object]) -> bool:
    """Return whether all are strings, small integers or None, with no two equal values written differently."""
    kinds = set(map(type, values))
    if not kinds <= {str, int, type(None)}:
        return False
    integers = values if kinds == {int} else [value for value in values if type(value) is int] if int in kinds else ()
    return not integers or (min(integers) > -_SMALL and max(integers) < _SMALL)  # type: ignore[type-var, operator]


def _checked_tag(value: object) -> Hashable:
    if _is_plain(value):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        raise InvalidGraph("a label is NaN, which is not equal to itself; use None for a missing label")
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise InvalidGraph(f"a label is an integer of {value.bit_length()} bits; {_LONGEST_INTEGER} are allowed")
    try:
        hash(value)
    except TypeError:
        kind = type(value).__name__
        raise InvalidGraph(f"label {value!r} is a {kind}, not hashable; use a string, number or tuple") from None
    return value


_DEEPEST_LABEL = 16
"""Tuples within tuples; what is read from files must not exhaust the stack."""


def label_to_json(value: Hashable, depth: int = 0) -> object:
    """A tag as JSON that :func:`label_from_json` turns back into the same value and type."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple) and depth < _DEEPEST_LABEL:
        return {"tuple": [label_to_json(item, depth + 1) for item in value]}
    raise InvalidGraph(
        f"label {reprlib.repr(value)} is of type {type(value).__name__}, which has no lasting form; labels that are "
        f"saved or certified are strings, numbers, bytes, None or tuples of these, nested up to {_DEEPEST_LABEL} deep"
    )


def label_from_json(data: object, depth: int = 0) -> Hashable:
    """The tag that :func:`label_to_json` wrote."""
    if _is_plain(data):
        return data
    if data is None or isinstance(data, bool | int | str | float):
        return _checked_tag(data)
    if isinstance(data, dict) and len(data) == 1 and depth < _DEEPEST_LABEL:
        kind, content = next(iter(data.items()))
        if kind == "tuple" and isinstance(content, list):
            return tuple(label_from_json(item, depth + 1) for item in content)
        if kind == "bytes" and isinstance(content, str):
            try:
                return base64.b64decode(content, validate=True)
            except (binascii.Error, ValueError):
                raise InvalidGraph("a label of bytes is not valid base64") from None
        if kind == "float" and content in ("inf", "-inf"):
            return float(content)
    raise InvalidGraph(
        f"label {reprlib.repr(data)} is not one of: string, number, true, false, null, "
        '{"tuple": [...]}, {"bytes": "base64"}'
    )


def label_key(value: Hashable, depth: int = 0) -> bytes:
    """Bytes that are equal exactly when the tags are, on every machine; the base of certificates."""
    if isinstance(value, bool | int) or (isinstance(value, float) and value.is_integer()):
        return b"i%d" % int(value)  # 1 == 1.0 == True in Python, so also here
    if isinstance(value, float):
        return b"f" + value.hex().encode("ascii")
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if value is None:
        return b"n"
    if isinstance(value, tuple) and depth < _DEEPEST_LABEL:
        parts = [label_key(item, depth + 1) for item in value]
        return b"t" + b"".join(b"%d:" % len(part) + part for part in parts)
    label_to_json(value, depth)  # raises: what cannot be saved cannot be certified
    raise AssertionError("unreachable")
