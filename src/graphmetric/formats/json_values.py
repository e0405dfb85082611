"""JSON in and out, with the failures of Python's parser turned into messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphmetric.errors import FileError

_HALF = re.compile(r"\\u[dD][89a-fA-F]")


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
        raise FileError("not valid JSON for us: nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise FileError("not valid JSON for us: a number has too many digits") from None


def format_json(value: Any, *, nan: bool = False) -> str:
    """JSON on one line, ASCII only so that any string survives."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=nan)
    except ValueError as error:
        raise FileError(f"cannot be written as JSON: {error}") from None


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
    raise FileError(f"{place} is a {type(value).__name__}, which JSON cannot hold")


def shortened(value: object, limit: int = 60) -> str:
    """A value for an error message."""
    if isinstance(value, dict | list) and len(value) > limit:
        return f"a {type(value).__name__} of {len(value)} entries"
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= limit else text[: limit - 3] + "..."
