"""A disk that is full or read-only, an output that nobody takes, and too little memory: told in one line each.

The conditions are real: a small file system is mounted in a name space of its own, which ends with the process.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphmetric as gm
from graphmetric._foundation.atomic_files import atomic_write, check_writable, make_folder
from graphmetric._foundation.limits import available_memory, check_memory
from graphmetric.cli import main
from graphmetric.errors import FileError, GraphMetricError, NotEnoughMemory
from graphmetric.formats.distance_matrices import write_matrix
from tests.command_line import run

QUICK = ["--preset", "small", "--steps", "2", "--label-budget", "60", "--jobs", "1"]
COMMANDS = {
    "convert": ["convert", "graphs.jsonl", "disk/graphs.gmg"],
    "convert to a folder": ["convert", "graphs.jsonl", "disk/graphs", "--to", "gexf"],
    "ged": ["ged", "molecules:3", "molecules:80", "--plot", "disk/edits.svg"],
    "label": ["label", "graphs.jsonl", "--pairs", "random:20", "--out", "disk/labels", "--jobs", "1"],
    "train": ["train", "graphs.jsonl", "--out", "disk/model", *QUICK],
    "embed": ["embed", "molecules", "graphs.jsonl", "--out", "disk/vectors.npy", "--jobs", "1"],
    "distance": ["distance", "molecules", "graphs.jsonl", "--out", "disk/distances.npy"],
    "distance as a table": ["distance", "molecules", "graphs.jsonl", "--out", "disk/distances.csv"],
    "index": ["index", "molecules", "graphs.jsonl", "--out", "disk/index", "--jobs", "1"],
    "search": ["search", "index", "molecules:3", "--plot", "disk/nearest.svg"],
    "search, many": ["search", "index", "graphs.jsonl", "--out", "disk/hits.csv"],
    "repair": ["repair", "matrix.npy", "disk/metric.npy"],
    "repair's figure": ["repair", "matrix.npy", "metric.npy", "--figure", "disk/repair.svg"],
    "evaluate": [
        "evaluate", "molecules", "graphs.jsonl", "--queries", "2", "--label-budget", "40", "--jobs", "1",
        "--report", "disk/report.html",
    ],
    "demo": ["demo", "--quick", "--jobs", "1", "--out", "disk/demo"],
}  # fmt: skip

_IN_A_NAME_SPACE = """
import contextlib, io, json, os, subprocess, sys
from graphmetric.cli import main

def call(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    left = sorted(os.path.relpath(os.path.join(at, name), "disk") for at, _, names in os.walk("disk") for name in names)
    return {"code": code, "errors": err.getvalue(), "left": [name for name in left if name != "filling"]}

commands, found = json.loads(sys.argv[1]), {}
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", "disk"], check=True)
with contextlib.suppress(OSError), open("disk/filling", "wb", buffering=0) as file:
    while file.write(bytes(4096)) == 4096:
        pass
found["full"] = {name: call(arguments) for name, arguments in commands.items()}
subprocess.run(["mount", "-o", "remount,ro", "disk"], check=True)
found["read-only"] = {name: call(arguments) for name, arguments in commands.items()}
print(json.dumps(found))
"""


def call_python(code: str, *arguments: str, folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **more)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workshop")
    graphs = gm.load_dataset("molecules").graphs[:12]
    gm.write_graphs(graphs, folder / "graphs.jsonl")
    gm.GraphIndex.build(gm.GraphDistance.load("molecules"), graphs, out=folder / "index")
    distances = np.random.default_rng(0).random((30, 30))
    np.save(folder / "matrix.npy", (distances + distances.T) * (1 - np.eye(30)))
    (folder / "disk").mkdir()
    return folder


@pytest.fixture(scope="module")
def small_disk(workshop: Path) -> dict[str, Any]:
    """What each command does when the folder ``disk`` is on a disk that is full, and on one that is read-only."""
    try:
        able = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", workshop / "disk"], check=False)
    except FileNotFoundError:
        able = None
    if able is None or able.returncode != 0:
        pytest.skip("needs Linux that lets this user mount a file system in a name space of its own")
    command = ["unshare", "-rm", sys.executable, "-c", _IN_A_NAME_SPACE, json.dumps(COMMANDS)]
    done = subprocess.run(command, cwd=workshop, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("state", ["full", "read-only"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_cannot_be_written_is_told(small_disk: dict[str, Any], name: str, state: str) -> None:
    found = small_disk[state][name]
    reason = os.strerror(errno.ENOSPC if state == "full" else errno.EROFS)
    assert found["code"] == 1, found
    assert "Traceback" not in found["errors"]
    last = found["errors"].splitlines()[-1]
    assert last.startswith("Error: "), found
    assert "disk/" in last
    assert reason in last or "bytes or more" in last
    assert not [left for left in found["left"] if ".part" in left], found


def test_a_failed_write_names_file_and_reason_and_leaves_nothing(tmp_path: Path) -> None:
    code = """
        import resource, sys
        from pathlib import Path
        from graphmetric._foundation.atomic_files import atomic_write
        from graphmetric.errors import FileError
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        Path("target").write_bytes(b"old")
        try:
            with atomic_write("target") as file:
                file.write(bytes(100_000))
        except FileError as error:
            print(error)
        print(sorted(path.name for path in Path().iterdir()), Path("target").read_bytes())
        """
    done = call_python(code, folder=tmp_path)
    assert done.stdout.splitlines() == [f"target: cannot be written: {os.strerror(errno.EFBIG)}", "['target'] b'old'"]


def test_unwritable_places_are_found_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, folder, said in [
        (tmp_path / "none" / "x.csv", False, f"there is no folder {tmp_path / 'none'}"),
        (tmp_path, False, os.strerror(errno.EISDIR)),
        (tmp_path / "file", True, os.strerror(errno.ENOTDIR)),
        (tmp_path / "file" / "below", True, os.strerror(errno.ENOTDIR)),
        (Path("/proc/x.csv"), False, "cannot be written"),
        (Path("/proc/new/folder"), True, "cannot be written"),
    ]:
        with pytest.raises(FileError, match="cannot be written") as caught:
            check_writable(path, folder=folder)
        assert said in str(caught.value)
    with pytest.raises(FileError, match=r"needs 1e\+06 TB or more, and its disk has"):
        check_writable(tmp_path / "x", size=10**18)
    check_writable(tmp_path / "new" / "folder", folder=True, size=1000)
    check_writable(tmp_path / ("x" * 255))
    with atomic_write(tmp_path / ("x" * 255)) as file:
        file.write(b"long")
    with pytest.raises(FileError, match="cannot be made"):
        make_folder(tmp_path / "file" / "below")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "x" * 255]


def test_errors_about_other_files_keep_their_names(tmp_path: Path) -> None:
    def read_another_file() -> None:
        with atomic_write(tmp_path / "target"):
            (tmp_path / "source").read_bytes()

    with pytest.raises(FileNotFoundError, match="source"):
        read_another_file()


def test_devices_and_links_are_written_through(tmp_path: Path) -> None:
    """Renaming a finished file to ``/dev/null`` would replace the device, for everybody, by that file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as file:
        file.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    (tmp_path / "link").symlink_to("target")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"linked")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"linked"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs the device /dev/full")
@pytest.mark.parametrize("arguments", [["info", "molecules"], ["info", "molecules", "--json"]])
def test_a_full_disk_behind_standard_output(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "graphmetric", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"Error: standard output: cannot be written: {os.strerror(errno.ENOSPC)}\n"


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "graphmetric", "info", "molecules", "--json"]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout is not None
    job.stdout.close()
    assert job.stderr is not None
    assert job.stderr.read() == ""
    job.stderr.close()
    job.wait()


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_name_prints_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    names = ["\u00e9", "\u4e2d", "\x1b[31mred", "a\nb"]
    lines = [json.dumps({"id": name, "num_nodes": 1, "edges": [], "node_labels": [name]}) for name in names]
    (tmp_path / "names.jsonl").write_text("\n".join(lines))
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for arguments in (["info", "names.jsonl"], ["ged", "names.jsonl:0", "names.jsonl:2"], ["info", "\udc80"]):
        command = [sys.executable, "-m", "graphmetric", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == (0 if arguments[1] != "\udc80" else 1), done.stderr
        assert b"Traceback" not in done.stderr
        assert b"\x1b" not in done.stdout
        if arguments[0] == "ged":
            assert b"\\x1b[31mred" in done.stdout
            assert "\u00e9".encode(encoding if encoding != "ascii" else "utf-8", "backslashreplace") in done.stdout


@pytest.mark.slow
def test_too_little_memory_is_a_sentence(workshop: Path) -> None:
    code = """
        import resource, sys
        import numpy, torch
        from graphmetric.cli import main
        import graphmetric.cli.graph_files as info
        def torch_takes_all(*_, **__):
            torch.empty(1 << 40)
        def numpy_takes_all(*_, **__):
            numpy.ones(1 << 40)
        def python_takes_all(*_, **__):
            bytearray(1 << 40)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        for info.open_source in (torch_takes_all, numpy_takes_all, python_takes_all):  # real errors of allocations
            try:
                main(["info", "molecules"])
            except SystemExit as stop:
                print(stop.code)
        """
    done = call_python(code, folder=workshop)
    assert done.stdout.split() == ["1", "1", "1"]
    assert len(done.stderr.splitlines()) == 3
    assert all(line.startswith("Error: there is not enough memory (") for line in done.stderr.splitlines()), done.stderr


def test_memory_is_estimated_before_it_is_taken() -> None:
    left = available_memory()
    assert left is not None
    assert left > 10**7
    check_memory(1000, "a trifle")
    with pytest.raises(NotEnoughMemory, match=r"a matrix needs about 1e\+06 TB of memory; .* are available: take less"):
        check_memory(1e18, "a matrix", "take less")
    assert issubclass(NotEnoughMemory, MemoryError)
    assert issubclass(NotEnoughMemory, GraphMetricError)


def test_a_fault_of_ours_is_not_hidden(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import graphmetric.cli.graph_files as info

    def divide(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("never")

    monkeypatch.setattr(info, "open_source", divide)
    code, _, errors = run(capsys, "info", "molecules")
    assert code == 70
    assert "Traceback" in errors
    assert "ZeroDivisionError: never" in errors
    assert "Please report it" in errors


def test_main_gives_back_nothing_on_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) in (None, 0)
    assert capsys.readouterr().out


def test_half_characters_are_escaped(tmp_path: Path) -> None:
    """They can come from Python, where a text may hold them; no file may be lost because of one."""
    write_matrix(tmp_path / "distances.csv", np.zeros((1, 1)), ids=("\ud8000",))
    assert "\\ud8000" in (tmp_path / "distances.csv").read_text(encoding="utf-8")


def test_no_answer_is_not_a_number(capsys: pytest.CaptureFixture[str], workshop: Path, tmp_path: Path) -> None:
    """Weights that are finite and far too large: every command refuses, none prints nan."""
    model = gm.GraphDistance.load("molecules")
    for weights in model.model_.parameters():
        weights.data.fill_(1e38)
    model.save(tmp_path / "large")
    graphs = workshop / "graphs.jsonl"
    for arguments in (
        ["distance", "MODEL", f"{graphs}:0", f"{graphs}:1"],
        ["distance", "MODEL", str(graphs), "--out", str(tmp_path / "d.npy")],
        ["embed", "MODEL", str(graphs), "--out", str(tmp_path / "v.npy")],
        ["evaluate", "MODEL", str(graphs), "--queries", "2", "--label-budget", "30", "--jobs", "1"],
    ):
        code, text, errors = run(capsys, *(str(tmp_path / "large") if a == "MODEL" else a for a in arguments))
        assert code == 1, (arguments, text)
        assert "not finite" in errors
        assert "nan" not in text
