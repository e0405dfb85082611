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
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def test_python_gives_what_it_shows() -> None:
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, verbose=False)
    assert tried >= 8
    assert failed == 0


@pytest.mark.slow
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


def test_every_number_of_its_table_is_a_result() -> None:
    """A row repeats numbers of one row of the results, and every number below the table is among the results, too."""
    section = README.split("## Accuracy and speed")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|`]+`): [^|]+ \| (.+) \|$", section, re.MULTILINE)
    assert len(rows) >= 5
    for method, cells in rows:
        shown = numbers_of(cells)
        assert any(shown <= numbers_of(line) for line in RESULTS.splitlines() if method in line), method
        assert cells.count("±") == 2, f"{method} lacks its intervals over queries"
    sentences = section.rpartition("|\n")[2]
    assert len(numbers_of(sentences)) >= 5
    assert numbers_of(sentences) <= numbers_of(RESULTS)


def numbers_of(text: str) -> set[str]:
    """Numbers as they are spelled; that of AIDS700nef or p@10 is a name."""
    return set(re.findall(r"(?<![\w@.])(?:\d[\d,]*)?\.?\d+(?![\w])", text))
