"""The pages of research are true: commands are spelled right, examples run, links lead somewhere."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from graphmetric_research.cli import cli

FOLDER = Path(__file__).parents[1]
PAGES = [FOLDER / "README.md", FOLDER / "reproduce.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_spelled_right(page: Path) -> None:
    """Also those that take hours, and those of the help of the command."""
    text = page.read_text(encoding="utf-8") + (cli.help or "")
    lines = re.findall(r"^ *(?:\$ )?graphmetric-research (.+)$", text, re.MULTILINE)
    assert len(lines) >= 7
    for line in lines:
        given = shlex.split(line)
        assert cli.make_context("graphmetric-research", list(given)).params["experiment"] == given[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_is_short_and_gives_what_it_shows() -> None:
    readme = FOLDER / "README.md"
    assert len(readme.read_text(encoding="utf-8").split()) < 400
    failed, tried = doctest.testfile(str(readme), module_relative=False, verbose=False)
    assert tried == 4
    assert failed == 0
