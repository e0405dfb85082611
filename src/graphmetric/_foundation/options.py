"""Plain data: options to JSON values and back, JSON and CSV text, numbers and objects as text, and checks of values."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import ROUND_FLOOR, Context
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from graphmetric.errors import FileError, InvalidArgument

Options = TypeVar("Options")

_MOST_DIGITS = 17
"""Significant digits that tell any two numbers apart."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""The spelling of half of a character."""


def to_plain(options: Any) -> Any:
    """Nested options as dictionaries, lists, strings, numbers, booleans and None."""
    if is_dataclass(options):
        return {field.name: to_plain(getattr(options, field.name)) for field in fields(options)}
    return [to_plain(item) for item in options] if isinstance(options, tuple) else options


def spell_options(options: Any) -> str:
    """Options as Python code, without the fields that have their default values."""
    if isinstance(options, tuple):
        return f"({', '.join(map(spell_options, options))}{',' * (len(options) == 1)})"
    if not is_dataclass(options):
        return repr(options)
    changed = [
        f"{field.name}={spell_options(getattr(options, field.name))}"
        for field in fields(options)
        if field.repr and getattr(options, field.name) != _default_of(field)
    ]
    return f"{type(options).__name__}({', '.join(changed)})"


def _default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def from_plain(kind: type[Options], data: object, name: str | None = None) -> Options:
    """Rebuild options from the data of :func:`to_plain`: every field must be there and have its type, and no other.

    ``name`` is what messages call the options; by default it is the name of the class.
    """
    name = name or kind.__name__
    if not isinstance(data, Mapping):
        raise InvalidArgument(f"{name} must be a table of fields; got {data!r}")
    types = get_type_hints(kind)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if unknown := [str(key) for key in data if key not in known]:
        raise InvalidArgument(f"{name} has no field {', '.join(unknown)}; its fields are: {', '.join(known)}")
    if missing := [key for key in known if key not in data]:
        raise InvalidArgument(f"{name} lacks {', '.join(missing)}")
    return kind(**{key: _read(types[key], data[key], f"{name}.{key}") for key in known})


def _read(expected: Any, value: Any, name: str) -> Any:
    if is_dataclass(expected):
        return from_plain(expected, value, name)  # type: ignore[arg-type]
    origin, inner = get_origin(expected), get_args(expected)
    if origin in (Union, UnionType):  # "X | None", or a number or one of some words
        if value is None and NoneType in inner:
            return None
        words = [kind for kind in inner if get_origin(kind) is Literal and value in get_args(kind)]
        return _read(next(kind for kind in [*words, *inner] if kind is not NoneType), value, name)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise InvalidArgument(f"{name} must be a list; got {value!r}")
        return tuple(_read(inner[0], item, f"{name}[{k}]") for k, item in enumerate(value))
    if origin is Literal:
        return _checked(value in inner, value, name, f"one of {', '.join(map(str, inner))}")
    if expected is float:
        return float(_checked(_is_number(value, int | float), value, name, "a number"))
    if expected is int:
        return _checked(_is_number(value, int), value, name, "a whole number")
    expected = origin or expected
    return _checked(isinstance(value, expected), value, name, f"of type {expected.__name__}")


def parse_json(text: str | bytes, line: int | None = None) -> Any:
    """The value of a JSON text; the error has ``line``, or else the line within the text, but no file."""
    try:
        value = json.loads(text)
        if _HALF.search(text if isinstance(text, str) else text.decode("latin-1")):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except UnicodeEncodeError:
        raise FileError("a text has half of a character (a lone surrogate, as \\ud800)", None, line) from None
    except json.JSONDecodeError as error:
        raise FileError(f"not valid JSON: {error.msg} (column {error.colno})", None, line or error.lineno) from None
    except UnicodeDecodeError:
        raise FileError("not valid JSON: not UTF-8") from None
    except RecursionError:
        raise FileError("this JSON cannot be read: nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise FileError("this JSON cannot be read: a number has too many digits") from None


def format_json(value: Any, *, nan: bool = False) -> str:
    """JSON on one line, ASCII only so that any string survives."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=nan)
    except ValueError as error:
        raise FileError(f"cannot be written as JSON: {error}") from None


def format_csv(rows: Iterable[Sequence[Any]], end: str = "\n") -> str:
    """CSV, each line with this end."""
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue()


def check_fields(options: Any, least: Mapping[str, float], positive: Iterable[str] = ()) -> None:
    """Check the choices and numbers of a dataclass of options; None passes.

    A field whose type is a ``Literal`` must be one of its values, the fields in ``least`` finite and at least their
    bound, and those in ``positive`` finite and above 0.
    """
    for name, kind in get_type_hints(type(options)).items():
        value, allowed = getattr(options, name), get_args(kind)
        if (name in least or name in positive) and value is not None:
            _checked(_is_number(value, Real), value, name, "a number")
        if get_origin(kind) is Literal and value not in allowed:
            raise InvalidArgument(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
        if name in least and value is not None and not least[name] <= value < math.inf:
            raise InvalidArgument(f"{name} must be {least[name]} or more; got {value}")
        if name in positive and value is not None and not 0 < value < math.inf:
            raise InvalidArgument(f"{name} must be above 0, and finite; got {value}")


def checked_count(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number that a caller gave, of Python or numpy; raise InvalidArgument if it is not one."""
    right = _is_number(value, Integral) and value >= least
    return int(_checked(right, value, name, f"a whole number, {least} or more"))


def checked_number(value: Any, name: str, allowed: str) -> float:
    """Return a number of at least 0 that a caller gave; ``allowed`` says in words what the message should ask for."""
    return float(_checked(_is_number(value, Real) and value >= 0, value, name, allowed))


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _checked(right: bool, value: Any, name: str, allowed: str) -> Any:
    if not right:
        raise InvalidArgument(f"{name} must be {allowed}; got {value!r}")
    return value


def format_number(value: float, digits: int = 6) -> str:
    """A number with at most this many significant digits; zero has no sign."""
    return f"{value + 0.0:.{digits}g}"


def format_lower(bound: float, digits: int = 6) -> str:
    """A lower bound with at most this many significant digits, rounded down so that it stays one.

    Example:
        >>> format_lower(2.9999999)
        '2.99999'
    """
    return f"{Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(bound + 0.0):.{digits}g}"


def format_interval(lower: float, upper: float, digits: int = 6) -> str:
    """Two bounds with as many digits as tell them apart, or one number where they are equal.

    Example:
        >>> format_interval(3, 5)
        '3 .. 5'
        >>> format_interval(0.000999999999, 0.001)
        '0.000999999999 .. 0.001'
    """
    if lower == upper:
        return format_number(upper, digits)
    while digits < _MOST_DIGITS and format_number(lower, digits) == format_number(upper, digits):
        digits += 1
    return f"{format_number(lower, digits)} .. {format_number(upper, digits)}"


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun; ``plural`` if that is not the noun with an s.

    Example:
        >>> format_count(1, "edit"), format_count(1200, "edit"), format_count(2, "entry", "entries")
        ('1 edit', '1,200 edits', '2 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def same_description(text: object, other: object) -> bool:
    """Return whether two texts describe equal costs or methods, such as ``EditCosts(node_delete=2)``; a ``repr`` each.

    Stored jobs know their costs by such a text. Earlier versions wrote equal ones in other ways: 2 as 2.0, or a table
    of prices in the order in which it was given. So the values are compared that the texts name.

    Example:
        >>> same_description("EditCosts(node_delete=2.0)", "EditCosts(node_delete=2)")
        True
    """
    if text == other:
        return True
    if not isinstance(text, str) or not isinstance(other, str):
        return False
    try:
        return bool(_parse_description(text) == _parse_description(other))
    except (ValueError, SyntaxError, TypeError, IndexError, RecursionError, MemoryError):
        return False  # not a text of this form


def _parse_description(text: str) -> Any:
    return _described_value(ast.parse(text, mode="eval").body)


def _described_value(node: ast.expr) -> Any:
    """The value of literals, infinities, sets and calls; a call is its name with its arguments."""
    if isinstance(node, ast.Name) and node.id == "inf":
        return math.inf
    if isinstance(node, ast.Dict):
        items = zip(node.keys, node.values, strict=True)
        return {_described_value(key): _described_value(value) for key, value in items if key is not None}
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_described_value, node.elts))
    if isinstance(node, ast.Set):
        return frozenset(map(_described_value, node.elts))
    if isinstance(node, ast.Call):
        return _described_call(node)
    return ast.literal_eval(node)


def _described_call(node: ast.Call) -> Any:
    name = ast.unparse(node.func)
    arguments = [_described_value(argument) for argument in node.args]
    if name == "frozenset":
        return frozenset(*arguments)
    if name.startswith("np."):  # np.float64(2.0)
        return arguments[0]
    return name, tuple(arguments), {keyword.arg: _described_value(keyword.value) for keyword in node.keywords}
