"""Compiled code: kept where it can be, announced once, outside of time limits, and never needed on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graphmetric

SCRIPT = """
import logging, time
if {log}:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from graphmetric._foundation.compilation import cache_problem
from graphmetric._foundation.limits import clock
from graphmetric.features._kernels.neighbours import Edges, fill_edges
{before}
began, clock_began = time.monotonic(), clock()
edges = Edges(np.array([0, 2]), np.array([0, 1]), np.array([[0, 1]], dtype=np.int32), np.array([False]))
dense = np.zeros((1, 2, 2))
fill_edges(edges, np.array([3.0]), np.array([0]), dense)
assert dense.tolist() == [[[0, 3], [3, 0]]], dense
print(time.monotonic() - began, clock() - clock_began)
print(cache_problem())
"""


def compile_in_process(cache: Path, before: str = "", *, log: bool = True) -> tuple[float, float, str, str]:
    """Seconds of a first call, the same by our clock, why code is not kept, and what was said."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(before=before, log=log)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    times, problem = done.stdout.splitlines()
    wall, counted = map(float, times.split())
    return wall, counted, problem, done.stderr


@pytest.mark.slow
def test_code_is_compiled_once_and_kept(tmp_path: Path) -> None:
    wall, counted, problem, said = compile_in_process(tmp_path)
    assert problem == "None"
    assert said.count("compiling graphmetric's loops") == 1
    assert "once" in said
    assert counted < wall / 2  # a time limit would not have counted the compilation
    _, _, problem, said = compile_in_process(tmp_path)
    assert (problem, said) == ("None", "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_to_is_gone_without() -> None:
    _, _, problem, said = compile_in_process(Path("/proc/nobody/writes/here"))
    assert problem.startswith("/proc/nobody/writes/here")
    assert "in every process, as it cannot be kept: /proc/nobody" in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_full_disk_is_gone_without(tmp_path: Path) -> None:
    full = "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))"
    _, _, problem, _ = compile_in_process(tmp_path, full)
    assert problem.startswith(str(tmp_path))
    assert not list(tmp_path.rglob("*.tmp.*"))


@pytest.mark.slow
def test_code_is_made_again_exactly_where_a_source_has_changed(tmp_path: Path) -> None:
    package = tmp_path / "graphmetric"
    package.mkdir()
    kernels = [package / f"{name}.py" for name in ("entry", "part", "other")]
    monkeypatched = f"""
from pathlib import Path
from graphmetric._foundation import compilation
compilation._PACKAGE = Path({str(package)!r})
print(compilation._digest_of(Path({str(kernels[0])!r})), compilation._digest_of(Path({str(kernels[2])!r})))
"""

    def digests(text_of_part: str) -> list[str]:
        kernels[0].write_text("from graphmetric.part import add\n")
        kernels[1].write_text(text_of_part)
        kernels[2].write_text("x = 1\n")
        return subprocess.check_output([sys.executable, "-c", monkeypatched], text=True).split()

    before, after = digests("a = 1\n"), digests("a = 2\n")
    assert before[0] != after[0]
    assert before[1] == after[1]


@pytest.mark.slow
def test_kernels_of_another_package_follow_what_they_import(tmp_path: Path) -> None:
    """In a copy of this package, beside another one; a file of each is edited after its code was kept."""
    unwanted = shutil.ignore_patterns("__pycache__", "datasets", "shipped_models", "page")
    package = shutil.copytree(Path(graphmetric.__file__).parent, tmp_path / "graphmetric", ignore=unwanted)
    other = tmp_path / "beside"
    (other / "_kernels").mkdir(parents=True)
    for folder in (other, other / "_kernels"):
        (folder / "__init__.py").touch()
    (other / "_kernels" / "sums.py").write_text(
        "from graphmetric._foundation.compilation import entry\n"
        "from beside._kernels.own import own\n"
        "from graphmetric.features._kernels.addend import addend\n"
        "@entry\ndef add(x):\n    return x + own() + addend()\n"
    )
    parts = {"own": other / "_kernels" / "own.py", "addend": package / "features" / "_kernels" / "addend.py"}
    program = (
        "import time\n"
        "from graphmetric._foundation.limits import clock\n"
        "from beside._kernels.sums import add\n"
        "began, wall = clock(), time.monotonic()\n"
        "print(add(1), clock() - began < (time.monotonic() - wall) / 2)\n"
    )

    def run(**values: int) -> list[str]:
        for name, value in values.items():
            parts[name].write_text(
                f"from graphmetric._foundation.compilation import part\n@part\ndef {name}():\n    return {value}\n"
            )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )  # fmt: skip
        return [*done.stdout.split(), str(done.stderr.count("compiling graphmetric's loops"))]

    assert run(own=10, addend=100) == ["111", "True", "1"]  # announced, and the clock stood still
    assert run()[::2] == ["111", "0"]
    assert run(addend=200) == ["211", "True", "1"]
    assert run(own=20) == ["221", "True", "1"]


@pytest.mark.slow
def test_it_is_announced_without_logging_and_without_a_terminal(tmp_path: Path) -> None:
    said = compile_in_process(tmp_path, log=False)[3]
    assert said.count("\n") == said.count("compiling graphmetric's loops, which takes up to a minute") == 1


@pytest.mark.slow
def test_damaged_code_is_made_again(tmp_path: Path) -> None:
    compile_in_process(tmp_path)
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(b"\x80damaged")
    _, _, problem, said = compile_in_process(tmp_path)
    assert problem == "None"
    assert "compiling" in said
