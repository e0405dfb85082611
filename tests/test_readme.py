"""The README is true: its Python gives what it shows, and its commands run."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from graphmetric.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def test_python_gives_what_it_shows() -> None:
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, verbose=False)
    assert tried >= 8
    assert failed == 0


def test_commands_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) >= 8
    for line in COMMANDS:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "graphmetric"
        main(arguments)
        assert capsys.readouterr().out, line


def test_files_it_points_to_exist() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
