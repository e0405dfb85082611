"""Distance matrices in files: what is written is read, and what is damaged is refused by name."""

from __future__ import annotations

import builtins
import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmetric.errors import FileError, InvalidArgument, LimitExceeded, MissingExtra, UnknownFormat
from graphmetric.formats.distance_matrices import read_matrix, write_matrix
from tests.metric_repair.random_matrices import distance_matrices

FORMATS = [".npy", ".npz", ".csv"]
ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Z")), min_size=1).map(lambda t: f"g{t}")


@pytest.fixture(params=[*FORMATS, ".parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return tmp_path / f"distances{request.param}"


@pytest.mark.slow
@ONE_FOLDER
@given(data=st.data(), matrix=distance_matrices(), condensed=st.booleans(), named=st.booleans())
def test_what_is_written_is_read(path: Path, data: Any, matrix: np.ndarray, condensed: bool, named: bool) -> None:
    if len(matrix) == 0 and condensed:
        return
    unknown = data.draw(st.lists(st.integers(0, max(len(matrix) ** 2 - 1, 0)), max_size=3)) if len(matrix) > 1 else []
    for i, j in (divmod(at, len(matrix)) for at in unknown):
        if i != j:
            matrix[i, j] = matrix[j, i] = np.nan
    ids = tuple(data.draw(st.lists(NAMES, min_size=len(matrix), max_size=len(matrix), unique=True))) if named else None
    write_matrix(path, matrix, ids=ids, condensed=condensed)
    stored = read_matrix(path)
    assert np.array_equal(stored.matrix, matrix, equal_nan=True)
    assert stored.matrix.dtype == np.float64
    assert stored.condensed == condensed
    keeps_names = path.suffix == ".npz" or (path.suffix != ".npy" and not condensed)
    if keeps_names and len(matrix):
        assert stored.ids == ids


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
@ONE_FOLDER
@given(data=st.data())
def test_damage_is_a_file_error_or_another_matrix(tmp_path: Path, suffix: str, data: Any) -> None:
    path = tmp_path / f"damaged{suffix}"
    write_matrix(path, np.abs(np.arange(5.0)[:, None] - np.arange(5.0)) / 3, ids=tuple("abcde"))
    content = bytearray(path.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*created on Python 2", UserWarning)  # numpy's word on a damaged header
        try:
            outcome: Any = read_matrix(path).matrix.ndim
        except FileError as error:
            outcome = error.path
    assert outcome in (2, str(path))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_was_cut_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    write_matrix(path, np.ones((6, 6)) - np.eye(6))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileError, match="cut"):
        read_matrix(path)


TABLES = {
    "plain": "0,1,2\n1,0,3\n2,3,0\n",
    "header": "a,b,c\n0,1,2\n1,0,3\n2,3,0\n",
    "numbers as header": "7,8,9\n0,1,2\n1,0,3\n2,3,0\n",
    "names": "a,0,1,2\nb,1,0,3\nc,2,3,0\n",
    "both": "id,a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n",
    "numbered by a table program": ",0,1,2\n0,0,1,2\n1,1,0,3\n2,2,3,0\n",
    "semicolons, spaces, empty lines": "\ufeff0 ; 1; 2\r\n\r\n1;0;3\r\n2;3;0\r\n",
    "tabs": "0\t1\t2\n1\t0\t3\n2\t3\t0",
    "condensed": "1\n2\n3\n",
    "condensed with header": "distance\n1\n2\n3\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_recognised_by_their_shape(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLES[name], encoding="utf-8", newline="")
    stored = read_matrix(path)
    assert stored.matrix.tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    ids = {"header": "abc", "names": "abc", "both": "abc", "numbers as header": "789"}.get(name)
    expected = ("0", "1", "2") if name == "numbered by a table program" else None if ids is None else tuple(ids)
    assert stored.ids == expected
    assert stored.condensed == name.startswith("condensed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,x\n", r"table.csv: line 2: column 2: 'x' is not a number"),
        ("0,1,2\n1,0\n", r"table.csv: line 2: has 2 columns; the first line has 3"),
        ("0,1,2\n1,0,3\n", r"table.csv: has 2 lines of 3 numbers; a matrix is square"),
        ("0,1\n1,0\n2,3\n2,3\n", r"table.csv: has 4 lines of 2 numbers; a matrix is square"),
        ("id,a,b\na,0,1\nc,1,0\n", r"column 'b' and row 'c' are at the same place 2"),
        ("1\n2\n", r"holds 2 distances"),
        ('0,"1\n1,0\n', r"table.csv: line 2: is not a readable table"),
    ],
)
def test_wrong_tables_are_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        read_matrix(path)


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "array.npy"
    wrong: dict[str, Any] = {
        "instead of numbers": np.array([[{}]], dtype=object),
        "not a square matrix": np.zeros((2, 3)),
        "3 distances|holds 4 distances": np.zeros(4),
        "holds <U1": np.array([["a"]]),
    }
    for message, array in wrong.items():
        np.save(path, array)
        with pytest.raises(FileError, match=message):
            read_matrix(path)
    np.save(path, np.asfortranarray([[0, 1], [2, 0]], dtype=np.int16))
    assert read_matrix(path).matrix.tolist() == [[0, 1], [2, 0]]


def test_archives_name_their_matrix(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, anything=np.zeros((2, 2)))
    assert read_matrix(path).matrix.shape == (2, 2)
    np.savez(path, a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    with pytest.raises(FileError, match="has no array 'distances'; it has: a, b"):
        read_matrix(path)
    np.savez(path, distances=np.zeros((2, 2)), ids=np.array(["a", "b", "c"]))
    with pytest.raises(FileError, match="has 3 names for 2 items"):
        read_matrix(path)
    np.savez(path, distances=np.zeros((2, 2)), ids=np.array([1, 2]))
    with pytest.raises(FileError, match="list of texts"):
        read_matrix(path)


def test_a_file_that_announces_much_takes_no_memory(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (20_000, 20_000)})
    path = tmp_path / "bomb.npy"
    path.write_bytes(header.getvalue())
    with pytest.raises(FileError, match="holds less than the 3,200,000,000 bytes"):
        read_matrix(path)
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("distances.npy", header.getvalue())
    with pytest.raises(FileError, match="holds less than the 3,200,000,000 bytes"):
        read_matrix(tmp_path / "bomb.npz")


@pytest.mark.parametrize("suffix", FORMATS)
def test_limits(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"large{suffix}"
    write_matrix(path, np.zeros((11, 11)))
    with pytest.raises(LimitExceeded, match="max_items"):
        read_matrix(path, max_items=10)
    write_matrix(path, np.zeros((11, 11)), condensed=True)
    with pytest.raises(LimitExceeded, match="11 items; the limit is 10"):
        read_matrix(path, max_items=10)


def test_no_such_file_or_format(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.csv: cannot be read"):
        read_matrix(tmp_path / "none.csv")
    with pytest.raises(UnknownFormat, match=r"\.npy, \.npz, \.csv, \.parquet; got suffix '\.pkl'"):
        read_matrix(tmp_path / "none.pkl")
    with pytest.raises(FileError, match="cannot be written"):
        write_matrix(tmp_path / "no-folder" / "a.npy", np.zeros((2, 2)))


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for matrix, options in (
        (np.zeros((2, 3)), {}),
        (np.zeros((2, 2)), {"ids": ("a",)}),
        (np.zeros((0, 0)), {"condensed": True}),
    ):
        with pytest.raises(InvalidArgument):
            write_matrix(tmp_path / "a.npy", matrix, **options)
    assert list(tmp_path.iterdir()) == []


def test_parquet_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return imported(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"pip install 'graphmetric\[parquet\]'"):
        write_matrix(tmp_path / "a.parquet", np.zeros((2, 2)))
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtra, match="parquet"):
        read_matrix(tmp_path / "b.parquet")
