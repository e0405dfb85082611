"""Paths, folders, patterns, streams; files that appear whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graphmetric.errors import ConversionWarning, FileError, InvalidArgument, InvalidGraph, UnknownFormat
from graphmetric.formats import available_formats, iter_graphs, read_graphs, write_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from tests.strategies import exact

PATH = Graph(2, [(0, 1)])


def test_a_folder_is_read_in_natural_order_and_files_name_their_graph(tmp_path: Path) -> None:
    for name in ("g10.json", "g2.json", "g1.graphml"):
        write_graphs(PATH, tmp_path / name)
    write_graphs([PATH, PATH], tmp_path / "two.jsonl")
    write_graphs(PATH.replace(id="own"), tmp_path / "z.gmg")
    write_graphs(PATH, tmp_path / "17.gmg.gz")
    write_graphs(PATH, tmp_path / "v1.2.gmg")
    for name in ("README.md", "LICENSE", ".hidden", "readme.txt", "notes.pdf"):
        (tmp_path / name).write_text("not graphs")
    ids = [17, "g1", "g2", "g10", None, None, "v1.2", "own"]
    assert [graph.id for graph in read_graphs(tmp_path)] == ids
    assert [graph.id for graph in iter_graphs(str(tmp_path))] == ids
    assert [graph.id for graph in read_graphs(tmp_path / "g*.json")] == ["g2", "g10"]
    assert read_graphs(tmp_path / "g2.json")[0].id is None


def test_patterns_reach_into_folders(tmp_path: Path) -> None:
    for folder in ("train", "test"):
        (tmp_path / folder).mkdir()
        write_graphs(PATH, tmp_path / folder / "1.gexf")
    assert len(read_graphs(f"{tmp_path}/**/*.gexf")) == 2
    with pytest.raises(FileError, match=r"has folders inside \(test, train\); read them by a pattern"):
        read_graphs(tmp_path)


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    write_graphs(PATH, tmp_path / "a[1].json")
    assert len(read_graphs(tmp_path / "a[1].json")) == 1


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("nothing.json", FileError, "no such file or folder"),
        ("x" * 5000, FileError, "cannot be opened: File name too long"),
        ("\0", FileError, "no such file or folder"),
        ("*.json", FileError, "no file matches this pattern"),
        ("empty", FileError, "has no graph files"),
        ("mixed", FileError, r"has 1 files of no known format \(data.bin\); choose files by a pattern"),
        ("mixed/data.bin", UnknownFormat, "the suffix '.bin' names no format; known are .gmg"),
    ],
)
def test_paths_that_lead_nowhere(tmp_path: Path, path: str, error: type[Exception], words: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "data.bin").write_bytes(b"")
    write_graphs(PATH, tmp_path / "mixed" / "a.json")
    with pytest.raises(error, match=words) as caught:
        read_graphs(tmp_path / path)
    assert str(tmp_path / path) in str(caught.value)


def test_names_of_formats() -> None:
    with pytest.raises(UnknownFormat, match="unknown format 'pickle'; known are graphmetric, jsonl"):
        read_graphs("x", format="pickle")
    assert len({known.name for known in available_formats()}) == len(available_formats())
    suffixes = [suffix for known in available_formats() for suffix in known.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_streams_need_a_format() -> None:
    with pytest.raises(InvalidArgument, match="needs format="):
        read_graphs(io.BytesIO())
    with pytest.raises(InvalidArgument, match="needs format="):
        write_graphs(PATH, io.BytesIO())
    with pytest.raises(InvalidArgument, match="binary mode"):
        read_graphs(io.StringIO(""), "json")  # type: ignore[arg-type]


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standard:
        buffer = io.BytesIO()

    monkeypatch.setattr("sys.stdout", Standard)
    write_graphs([PATH, PATH], "-", "jsonl")
    monkeypatch.undo()
    Standard.buffer.seek(0)
    monkeypatch.setattr("sys.stdin", Standard)
    assert list(read_graphs("-", "jsonl")) == [PATH, PATH]


def test_widths_that_do_not_fit_one_collection(tmp_path: Path) -> None:
    write_graphs([Graph(1, node_features=[[1.0]]), Graph(1, node_features=[[1.0, 2.0]])], tmp_path / "a.jsonl")
    with pytest.raises(FileError, match=r"node_features of shape .* after graphs with .*iter_graphs"):
        read_graphs(tmp_path / "a.jsonl")
    assert [graph.node_features.shape for graph in iter_graphs(tmp_path / "a.jsonl")] == [(1, 1), (1, 2)]  # type: ignore[union-attr]


@pytest.mark.slow
def test_many_graphs_of_both_kinds_of_readers(tmp_path: Path) -> None:
    graphs = [Graph(k % 4, [(0, 1)] if k % 4 > 1 else [], node_labels=[str(k)] * (k % 4)) for k in range(25_000)]
    write_graphs(graphs[:12_000], tmp_path / "a.jsonl")
    write_graphs(GraphCollection(graphs[12_000:]), tmp_path / "b.gmg")
    found = read_graphs(tmp_path)
    assert len(found) == len(graphs)
    for k in (0, 9_999, 10_000, 11_999, 12_000, 24_999):
        assert exact(found[k]) == exact(graphs[k])


def failing() -> Iterator[Graph]:
    yield PATH
    raise RuntimeError("the generator fails")


@pytest.mark.parametrize("name", ["a.gmg", "a.jsonl", "a.graphml.gz", "set"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    format = "tudataset" if name == "set" else None
    write_graphs(PATH, tmp_path / "other.gmg")
    if format is None:
        write_graphs([PATH] * 3, tmp_path / name)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(RuntimeError, match="the generator fails"):
        write_graphs(failing(), tmp_path / name, format)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    if format is None:
        assert len(read_graphs(tmp_path / name)) == 3


def test_who_reads_the_old_file_is_not_disturbed(tmp_path: Path) -> None:
    write_graphs(PATH, tmp_path / "a.gmg")
    before = (tmp_path / "a.gmg").read_bytes()
    with (tmp_path / "a.gmg").open("rb") as old:
        write_graphs([PATH] * 3, tmp_path / "a.gmg")
        assert old.read() == before


def test_only_graphs_are_written(tmp_path: Path) -> None:
    for path in (tmp_path / "a.gmg", tmp_path / "a.jsonl"):
        with pytest.raises(FileError, match=r"graphs\[1\] is of type str, not a Graph") as caught:
            write_graphs([PATH, "CCO"], path)  # type: ignore[list-item]
        assert isinstance(caught.value.__cause__, InvalidGraph)


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    write_graphs(PATH, tmp_path / "set", "tudataset")
    with pytest.raises(FileError, match="exists already"):
        write_graphs(PATH, tmp_path / "set", "tudataset")
    (tmp_path / "empty").mkdir()
    write_graphs([PATH.replace(id="a"), PATH], tmp_path / "empty", "gexf")
    assert sorted(path.name for path in (tmp_path / "empty").iterdir()) == ["1.gexf", "a.gexf"]


def test_two_graphs_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"graphs\[1\]: its file name a.gexf is already taken"):
        write_graphs([PATH.replace(id="a")] * 2, tmp_path / "set", "gexf")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        write_graphs(PATH, tmp_path / "missing" / "a.gmg")


def test_writing_follows_links_and_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "real.gmg").write_bytes(b"")
    (tmp_path / "link.gmg").symlink_to(tmp_path / "real.gmg")
    write_graphs(PATH, tmp_path / "link.gmg")
    assert (tmp_path / "link.gmg").is_symlink()
    assert len(read_graphs(tmp_path / "real.gmg")) == 1
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "real.gmg").stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_a_format_cannot_hold_is_named(tmp_path: Path) -> None:
    graph = Graph(1, directed=True, node_images=np.zeros((1, 1, 1, 1)), node_texts=["x"], metadata={"a": 1})
    with pytest.warns(
        ConversionWarning, match="format 'tve' cannot hold directed, metadata, node_images, node_texts; left out"
    ):
        write_graphs(GraphCollection([graph]), tmp_path / "a.tve")


def test_compressed_files_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.gmg.gz", "b.gmg.gz"):
        write_graphs(PATH, tmp_path / name)
    assert (tmp_path / "a.gmg.gz").read_bytes() == (tmp_path / "b.gmg.gz").read_bytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "format"), [("a.tve", None), ("set", "tudataset"), ("b.gexf", None)])
def test_with_warnings_as_errors_nothing_is_written(tmp_path: Path, name: str, format: str | None) -> None:
    with pytest.raises(ConversionWarning):
        write_graphs(Graph(1, node_texts=["x"], metadata={"a": 1}), tmp_path / name, format)
    assert not list(tmp_path.iterdir())


def test_a_number_is_not_a_source() -> None:
    with pytest.raises(InvalidArgument, match="path must be a path, or a stream opened in binary mode; got 5"):
        read_graphs(5)  # type: ignore[arg-type]
