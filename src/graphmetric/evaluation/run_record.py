"""One record per run, kept as a JSON file: method, data, seeds, versions and scores."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric.errors import FileError, InvalidArgument

FORMAT = "graphmetric run"
VERSION = 1
_PACKAGES = ("graphmetric", "numpy", "torch")
"""What results depend on; those that are not installed are left out."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of one method; it is checked when it is made, and equal after it was written and read."""

    method: str
    """Its name in reports; runs that differ in more than their seeds have different names."""
    dataset: str
    protocol: str
    """One of the names in :mod:`graphmetric.evaluation.protocols`, with any filter of pairs in words."""
    scores: dict[str, float]
    """By the names of :meth:`Scores.to_dict`, in plain units."""
    axioms: dict[str, Any] | None
    """As :meth:`MeasuredAxioms.to_dict` gives them; None if not measured."""
    configuration: dict[str, Any]
    """Every parameter that matters, as plain JSON; only entries named in ``seeds`` differ between runs of a method."""
    seeds: dict[str, int]
    """The seeds by their purpose, such as ``{"random_state": 0}``."""
    versions: dict[str, str]
    """See :func:`installed_versions`."""
    cpu_seconds: float
    """CPU time of all threads together."""
    wall_seconds: float
    date: str
    """When the run ended, ISO 8601."""

    def __post_init__(self) -> None:
        for name, (is_right, allowed) in _FIELDS.items():
            value = getattr(self, name)
            if not is_right(value):
                raise InvalidArgument(f"{name} of a record must be {allowed}; got {value!r}")
            if isinstance(value, dict):
                object.__setattr__(self, name, _copy_json(value, name))

    def to_json(self) -> str:
        """The text of the file."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> RunRecord:
        """Read the text of :meth:`to_json`; a field that is unknown, missing or wrong is refused."""
        try:
            content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repetition)
        except (ValueError, RecursionError) as error:
            raise FileError(f"is not valid JSON: {error}") from None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise FileError("is not the record of a run")
        if (found := content.pop("version", None)) != VERSION:
            raise FileError(f"has version {found!r}; this graphmetric reads records of version {VERSION}")
        if unknown := [name for name in content if name not in _FIELDS]:
            raise FileError(f"has unknown fields: {', '.join(unknown)}; a record has {', '.join(_FIELDS)}")
        if missing := [name for name in _FIELDS if name not in content]:
            raise FileError(f"lacks the fields {', '.join(missing)}")
        try:
            return cls(**content)
        except InvalidArgument as error:
            raise FileError(str(error)) from None


def write_record(folder: str | os.PathLike[str], record: RunRecord) -> Path:
    """Write a record into a folder of records, under a name of its own, and return the path.

    The name ends in a digest of the content: records of other runs are never overwritten, the same one is.
    """
    target = Path(folder)
    make_folder(target)
    text = record.to_json().encode()
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{record.method} {record.dataset} {record.protocol}")[:80].strip("-")
    path = target / f"{words}-{hashlib.sha256(text).hexdigest()[:12]}.json"
    with atomic_write(path) as file:
        file.write(text)
    return path


def read_record(path: str | os.PathLike[str]) -> RunRecord:
    """Read the record of one file; raises FileError, with the path, if it is not one."""
    try:
        return RunRecord.from_json(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from None
    except FileError as error:
        raise FileError(error.problem, path) from None


def read_records(folder: str | os.PathLike[str]) -> list[RunRecord]:
    """Read all records of a folder, in the order of the file names; any other ``.json`` file is an error."""
    if not Path(folder).is_dir():
        raise FileError("is not a folder of records", folder)
    return [read_record(path) for path in sorted(Path(folder).glob("*.json"))]


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on; torch only if it is installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _copy_json(value: Any, name: str) -> Any:
    """A deep copy that shares nothing with the caller; refuses what would come back from a file as something else."""
    try:
        copied = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{name} of a record must be plain JSON: {error}") from None
    if copied != value:
        raise InvalidArgument(
            f"{name} of a record must be plain JSON: tables with texts as keys, lists and no tuples; got {value!r}"
        )
    return copied


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return (isinstance(value, float) or _is_whole(value)) and math.isfinite(value)


def _is_table_of(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(_is_text(k) and is_right(v) for k, v in value.items())


def _is_date(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


_TEXT = (_is_text, "a text that is not empty")
_SECONDS = (lambda value: _is_finite(value) and value >= 0, "a number of seconds, 0 or more")
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "method": _TEXT,
    "dataset": _TEXT,
    "protocol": _TEXT,
    "scores": (_is_table_of(_is_finite), "finite numbers by name"),
    "axioms": (lambda value: value is None or isinstance(value, dict), "a table, or None"),
    "configuration": (lambda value: isinstance(value, dict), "a table"),
    "seeds": (_is_table_of(_is_whole), "whole numbers by name"),
    "versions": (_is_table_of(_is_text), "texts by name"),
    "cpu_seconds": _SECONDS,
    "wall_seconds": _SECONDS,
    "date": (_is_date, "a date in the form of ISO 8601, such as 2026-01-31T12:00:00"),
}
"""What each field of a record may be, as a check and in words."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _refuse_repetition(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(entries)
    if len(found) < len(entries):
        raise ValueError("a name occurs twice in one table")
    return found
