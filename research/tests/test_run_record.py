"""Records: through a file and back, and nothing but records."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric._foundation.versions import installed_versions
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.evaluation import measure_axioms
from graphmetric_research.run_record import RunRecord, read_record, read_records, write_record
from research.tests.run_records import PLAIN, make_record, make_seeded

texts = st.text(min_size=1).filter(str.strip).filter(lambda text: text.isprintable())
finite = st.floats(allow_nan=False, allow_infinity=False)
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
records = st.builds(
    RunRecord,
    method=texts,
    dataset=texts,
    protocol=texts,
    scores=st.dictionaries(texts, finite, max_size=4),
    axioms=st.none() | st.dictionaries(st.text(), plain_json, max_size=3),
    configuration=st.dictionaries(st.text(), plain_json, max_size=3),
    seeds=st.dictionaries(texts, st.integers(), max_size=2),
    versions=st.dictionaries(texts, texts, max_size=2),
    cpu_seconds=st.floats(0, 1e9),
    wall_seconds=st.floats(0, 1e9),
    date=st.datetimes().map(lambda moment: moment.isoformat()),
)


@pytest.mark.slow
@given(records)
def test_round_trip(record: RunRecord) -> None:
    assert RunRecord.from_json(record.to_json()) == record
    assert RunRecord.from_json(record.to_json().encode()) == record


def test_folder_of_records(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "runs"
    first, second = make_seeded(0), make_seeded(1, method="../no way/out|")
    paths = {write_record(folder, record) for record in (first, second, first)}
    assert len(paths) == 2, "the same record is written to the same file, another one to another"
    assert sorted(folder.iterdir()) == sorted(paths)
    found = read_records(folder)
    assert len(found) == 2
    assert first in found
    assert second in found


def test_record_is_a_copy() -> None:
    configuration = {"layers": [1]}
    record = make_record(configuration=configuration)
    configuration["layers"].append(2)
    assert record.configuration == {"layers": [1]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": " "}, "method .* text"),
        ({"dataset": 3}, "dataset"),
        ({"scores": {"rho": math.nan}}, "finite numbers"),
        ({"scores": {"rho": True}}, "finite numbers"),
        ({"scores": [0.5]}, "finite numbers"),
        ({"seeds": {"random_state": 0.5}}, "whole numbers"),
        ({"versions": {"numpy": 2}}, "texts by name"),
        ({"cpu_seconds": -1}, "0 or more"),
        ({"wall_seconds": "1"}, "0 or more"),
        ({"date": "yesterday"}, "ISO 8601"),
        ({"axioms": [1]}, "a table, or None"),
        ({"configuration": None}, "a table"),
        ({"configuration": {"a": (1, 2)}}, "no tuples"),
        ({"configuration": {1: 2}}, "texts as keys"),
        ({"configuration": {"a": np.arange(2)}}, "plain JSON"),
        ({"configuration": {"a": math.inf}}, "plain JSON"),
    ],
)
def test_wrong_fields_are_explained(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make_record(**changes)


def edited(**changes: Any) -> str:
    return json.dumps({"format": "graphmetric run", "version": 1, **PLAIN, **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (edited(colour="red"), "unknown fields: colour"),
        (
            json.dumps({k: v for k, v in json.loads(edited()).items() if k not in ("seeds", "date")}),
            "lacks .*seeds, date",
        ),
        (edited(version=2), "version 2"),
        (edited(format="something"), "not the record of a run"),
        ("[]", "not the record of a run"),
        (edited(cpu_seconds=math.nan), "NaN is not a number"),
        (edited()[:-5], "not valid JSON"),
        (edited().replace('"method"', '"date": "", "method"'), "twice"),
        ("[" * 100_000, "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (edited(seeds={"random_state": "0"}), "whole numbers"),
    ],
)
def test_reading_is_strict(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=message) as raised:
        read_records(tmp_path)
    assert str(path) in str(raised.value)


def test_unreadable_places_are_explained(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not a folder of records"):
        read_records(tmp_path / "absent")
    with pytest.raises(FileError, match="cannot be read"):
        read_record(tmp_path / "absent.json")


def test_installed_versions_are_of_what_matters() -> None:
    found = installed_versions()
    assert found["numpy"] == np.__version__
    assert set(found) <= {"python", "graphmetric", "numpy", "torch"}
    assert make_record(versions=found).versions == found


def test_measured_axioms_fit_a_record() -> None:
    for matrix in (1 - np.eye(4), np.arange(9.0).reshape(3, 3), np.empty((0, 0))):
        plain = measure_axioms(matrix, n_jobs=1).to_dict()
        assert make_record(axioms=plain).axioms == plain
