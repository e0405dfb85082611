"""What `make test` runs is the same in every run: random examples do not depend on what ran before."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import PROFILE
from tests.clocks import counted_seconds

DRAWN = """
from hypothesis import given, strategies as st
import conftest
drawn = []
@given(st.integers(), st.floats(), st.text())
def draw(number, fraction, text):
    drawn.append((number, fraction, text))
draw()
print(ascii(drawn))
"""


def examples() -> list[tuple[int, str]]:
    drawn: list[tuple[int, str]] = []

    @settings(max_examples=50)
    @given(st.integers(), st.text())
    def draw(number: int, text: str) -> None:
        drawn.append((number, text))

    draw()
    return drawn


@pytest.mark.skipif(PROFILE == "random", reason="new examples are asked for")
def test_examples_do_not_depend_on_the_modules_that_are_imported(tmp_path: Path) -> None:
    """Hypothesis would draw their constants: other ones in each process of a run with several."""
    before = examples()
    file = tmp_path / "local_module.py"
    file.write_text("\n".join(f"x{k} = {987_654_321 + k}, 'unusual {k}'" for k in range(300)))
    spec = importlib.util.spec_from_file_location("local_module", file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["local_module"] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        assert examples() == before
    finally:
        del sys.modules["local_module"]


@pytest.mark.slow
@pytest.mark.skipif(PROFILE == "random", reason="new examples are asked for")
def test_every_process_draws_the_same_examples() -> None:
    runs = [subprocess.check_output([sys.executable, "-c", DRAWN], cwd=Path(__file__).parents[1]) for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(runs[0]) > 100


def test_counted_seconds_pass_when_the_clock_is_read_and_real_ones_come_back() -> None:
    from graphmetric._foundation.limits import Deadline, DeadlineExceeded, clock

    with counted_seconds(1) as seconds:
        deadline = Deadline.after(3)
        assert clock() + 1 == clock()
        with pytest.raises(DeadlineExceeded):
            deadline.check()
        assert seconds.readings == 4
    with counted_seconds(0):
        assert clock() == clock()
