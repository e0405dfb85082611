"""Progress is seen on terminals, in notebooks and where it is asked for, and is in nobody's way elsewhere."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from graphmetric._foundation import progress as module
from graphmetric._foundation.progress import announce, lasting, progress, verbose_progress

FIT = """
import logging, sys
import graphmetric as gm
if {log}:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
graphs = gm.load_dataset("molecules").graphs[:20]
gm.GraphDistance("small", max_steps=3, label_budget=60, n_jobs=1, verbose={verbose}).fit(graphs)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("log", "verbose"), [(False, True), (False, None), (False, False), (True, True)])
def test_verbose_is_seen_with_or_without_logging(log: bool, verbose: bool | None) -> None:
    script = FIT.format(log=log, verbose=verbose)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, elsewhere = (done.stdout, done.stderr) if log else (done.stderr, done.stdout)
    assert said.count("step 3, epoch") == (1 if verbose else 0)
    assert "step 3" not in elsewhere


def test_a_job_that_cannot_say_how_far_it_is_shows_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = threading.Event()
    for name in ("_TICK_SECONDS", "_VERBOSE_EVERY_SECONDS", "_SILENT_SECONDS"):
        monkeypatch.setattr(module, name, 0.001)
    monkeypatch.setattr(module, "announce", lambda text: shown.set() if text.startswith("waiting: 0 s") else None)
    with verbose_progress(True), lasting("waiting"):
        assert shown.wait(60)
    assert not [thread for thread in threading.enumerate() if "tick" in thread.name]


class Closed(io.StringIO):
    """As a terminal that was closed."""

    def isatty(self) -> bool:
        raise ValueError("I/O operation on closed file")

    def write(self, text: str) -> int:
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("stream", [None, Closed(), io.StringIO()])
def test_no_kind_of_standard_error_is_in_the_way(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.0)
    with verbose_progress(True), progress("counting", 2, "sheep") as bar:
        announce("now")
        bar.advance(2, note="all white")
    if isinstance(stream, io.StringIO) and not isinstance(stream, Closed):
        assert stream.getvalue().startswith("now\ncounting: 2 of 2 sheep")
        assert "all white" in stream.getvalue()
        assert "\x1b" not in stream.getvalue()


def lines_of(seconds: list[float], verbose: bool | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a job that advances at these seconds writes to a standard error that is no terminal."""
    stream, now = io.StringIO(), [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with verbose_progress(verbose), progress("counting", None) as bar:
        for now[0] in seconds:
            bar.advance()
    return stream.getvalue().splitlines()


def test_a_script_sees_a_line_after_two_seconds_and_then_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [1.9, 2.1, 7.0, 31.0, 33.0, 61.0, 64.0]
    assert lines_of(seconds, None, monkeypatch) == [f"counting: {shown} s" for shown in (2, 33, 64)]
    assert lines_of(seconds, True, monkeypatch) == [f"counting: {shown} s" for shown in (2, 31, 61)]


def test_a_program_can_have_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_of([3.0, 60.0], False, monkeypatch) == []
    monkeypatch.setattr(logging.getLogger("graphmetric"), "level", logging.WARNING)
    assert lines_of([3.0, 60.0], None, monkeypatch) == []


def test_lines_go_to_the_log_alone_where_there_is_one(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.0)
    with caplog.at_level(logging.INFO), progress("counting", None) as bar:
        bar.advance(note="bound 3")
    assert "counting: 0 s, bound 3" in caplog.text
    assert capsys.readouterr().err == ""


class Handle:
    def __init__(self, shown: list[dict[str, str]]) -> None:
        self.shown = shown

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(data)


def notebook(shown: list[dict[str, str]], shell: str) -> dict[str, ModuleType]:
    """What of IPython is looked at, inside of a shell of this kind."""
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")

    def show(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        shown.append(data)
        return Handle(shown)

    ipython.get_ipython = type(shell, (), {})  # type: ignore[attr-defined]
    display.display = show  # type: ignore[attr-defined]
    return {"IPython": ipython, "IPython.display": display}


@pytest.mark.parametrize("shell", ["ZMQInteractiveShell", "TerminalInteractiveShell"])
def test_a_notebook_gets_a_bar_that_goes_in_the_end(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    for name, part in notebook(shown, shell).items():
        monkeypatch.setitem(sys.modules, name, part)
    for name in ("_SILENT_SECONDS", "_DRAW_EVERY_SECONDS"):
        monkeypatch.setattr(module, name, 0.0)
    with progress("training", 10, "steps") as bar:
        bar.advance(3, note="loss <1")
        bar.advance(4)
    if shell == "TerminalInteractiveShell":
        assert shown == []
        return
    assert 'value="3" max="10"' in shown[0]["text/html"]
    assert "loss &lt;1" in shown[0]["text/html"]
    assert shown[1]["text/plain"].startswith("training: 7 of 10 steps")
    assert shown[-1] == {"text/plain": "", "text/html": ""}
