"""One record per run: what was run on what, with which seeds and versions, and what came out; JSON files."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from dataclasses import asdict, dataclass, fields
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
    """One run of one method; checked when made, and equal after a way through a file."""

    method: str
    """Its name in reports; runs that differ in more than their seeds have different names."""
    dataset: str
    protocol: str
    """One of the names in :mod:`graphmetric.evaluation.protocols`, with any filter of pairs said in words."""
    scores: dict[str, float]
    """By the names of :meth:`Scores.to_dict`, in plain units."""
    axioms: dict[str, Any] | None
    """As :meth:`MeasuredAxioms.to_dict` gives them; None if not measured."""
    configuration: dict[str, Any]
    """Every parameter that matters, as plain JSON; only entries named in ``seeds`` differ between runs of a method."""
    seeds: dict[str, int]
    """By what they are for, e.g. ``{"random_state": 0}``."""
    versions: dict[str, str]
    """See :func:`installed_versions`."""
    cpu_seconds: float
    """Of all threads together."""
    wall_seconds: float
    date: str
    """When the run ended, ISO 8601."""

    def __post_init__(self) -> None:
        for name in ("method", "dataset", "protocol", "date"):
            _check(_is_text(getattr(self, name)), self, name, "a text that is not empty")
        for name in ("cpu_seconds", "wall_seconds"):
            _check(_is_duration(getattr(self, name)), self, name, "a number of seconds, 0 or more")
        _check(_is_table(self.scores, _is_finite), self, "scores", "finite numbers by name")
        _check(_is_table(self.seeds, _is_whole), self, "seeds", "whole numbers by name")
        _check(_is_table(self.versions, _is_text), self, "versions", "texts by name")
        _check(_is_date(self.date), self, "date", "a date in the form of ISO 8601, such as 2026-01-31T12:00:00")
        _check(self.axioms is None or isinstance(self.axioms, dict), self, "axioms", "a table, or None")
        _check(isinstance(self.configuration, dict), self, "configuration", "a table")
        for name in ("axioms", "configuration", "scores", "seeds", "versions"):
            object.__setattr__(self, name, _copy_json(getattr(self, name), name))

    def to_json(self) -> str:
        """The text of the file."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> RunRecord:
        """The record of a text that :meth:`to_json` gave; a field that is unknown, missing or wrong is refused."""
        try:
            content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repetition)
        except (ValueError, RecursionError) as error:
            raise FileError(f"is not valid JSON: {error}") from None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise FileError("is not the record of a run")
        if (found := content.pop("version", None)) != VERSION:
            raise FileError(f"has version {found!r}; this graphmetric reads records of version {VERSION}")
        known = [field.name for field in fields(cls)]
        if unknown := [name for name in content if name not in known]:
            raise FileError(f"has unknown fields: {', '.join(unknown)}; a record has {', '.join(known)}")
        if missing := [name for name in known if name not in content]:
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
    """The record of one file; raises FileError, with the path, for anything else."""
    try:
        return RunRecord.from_json(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", path) from None
    except FileError as error:
        raise FileError(error.problem, path) from None


def read_records(folder: str | os.PathLike[str]) -> list[RunRecord]:
    """Every record of a folder, in the order of the file names; a ``.json`` file that is not a record is an error."""
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


def _check(right: bool, record: RunRecord, name: str, allowed: str) -> None:
    if not right:
        raise InvalidArgument(f"{name} of a record must be {allowed}; got {getattr(record, name)!r}")


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


def _is_table(value: object, is_right: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(key) and is_right(item) for key, item in value.items())


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    return (isinstance(value, float) or _is_whole(value)) and math.isfinite(value)  # type: ignore[arg-type]


def _is_duration(value: object) -> bool:
    return _is_finite(value) and value >= 0  # type: ignore[operator]


def _is_date(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _refuse_repetition(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(entries)
    if len(found) < len(entries):
        raise ValueError("a name occurs twice in one table")
    return found
