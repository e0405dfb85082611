"""Collect where the code departs from the paper, and why, into one page.

    python tools/collect_departures.py [PAGE]

Every docstring that says "Differs from the paper" gives one entry, up to the end of that paragraph's last sentence.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "graphmetric"
PAGE = ROOT / "docs" / "departures.md"
MARK = "Differs from the paper"
STAGES = {
    "features": "What is embedded",
    "encoder": "Encoder",
    "distance": "Distance and loss",
    "training": "Training",
    "metric_repair": "Triangle fixing",
    "edit_distance": "Edit distance",
}
"""Folders in the order of the paper; any others come after them under their own names."""
INTRODUCTION = """# Departures from the paper

Where the code does something else than *Graph Neural Distance Metric Learning with Graph-BERT* says, and why. Every
entry is a paragraph of a docstring, next to the code it speaks of; "there" and "its" mean the paper.
`python tools/collect_departures.py` writes this page. Which equation is where: [the paper and the code](paper_map.md).
"""


class Departure(NamedTuple):
    """One paragraph, and where it stands."""

    file: Path
    """Below the package."""
    name: str
    """The name of the class or function; empty for a module."""
    equations: tuple[int, ...]
    """The equations of the same docstring."""
    text: str
    """Markdown."""


def find_departures(sources: Path = SOURCES) -> list[Departure]:
    """Find all departures, in the order of stage, file and line."""
    files = sorted(sources.rglob("*.py"), key=lambda path: _place(path.relative_to(sources)))
    return [found for path in files for found in _departures_of(path, sources)]


def render_page(departures: list[Departure]) -> str:
    """The page, in Markdown."""
    lines, stage = [INTRODUCTION], ""
    for found in departures:
        if found.file.parts[0] != stage:
            stage = found.file.parts[0]
            lines.append(f"## {STAGES.get(stage, stage)}\n")
        lines.append(_entry(found))
    return "\n".join(lines)


def _place(path: Path) -> tuple[int, str]:
    order = list(STAGES)
    return order.index(path.parts[0]) if path.parts[0] in order else len(order), str(path)


def _departures_of(path: Path, sources: Path) -> Iterator[Departure]:
    for name, text in _docstrings(ast.parse(path.read_text(encoding="utf-8"))):
        equations = tuple(sorted(int(number) for number in re.findall(r"\\qquad \((\d+)\)", text)))
        paragraphs = text.split("\n\n")
        for start, paragraph in enumerate(paragraphs):
            if paragraph.startswith(MARK):
                yield Departure(path.relative_to(sources), name, equations, _as_markdown(_whole(paragraphs[start:])))


def _docstrings(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Names and docstrings, in the order of the file."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(module):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield "" if isinstance(node, ast.Module) else node.name, text


def _whole(paragraphs: list[str]) -> str:
    """The first paragraph, with those after it as long as a displayed formula interrupts its sentence."""
    end = next((k for k, text in enumerate(paragraphs) if text.rstrip().endswith(".")), len(paragraphs) - 1)
    return "\n\n".join(paragraphs[: end + 1])


def _as_markdown(text: str) -> str:
    text = text.removeprefix(f"{MARK}:").strip()
    text = re.sub(r"\.\. math:: (.+)", r"$$\1$$", text)
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    text = re.sub(r":\w+:`~?([^`]+)`", lambda role: f"`{role[1].rpartition('.')[2]}`", text)
    return text.replace("``", "`")


def _entry(found: Departure) -> str:
    path = found.file.as_posix()
    title = f"**{f'`{found.name}`' if found.name else found.file.stem.replace('_', ' ')}**"
    equations = f"Eq. {', '.join(map(str, found.equations))}, " if found.equations else ""
    text = f"{title} ({equations}[{path}](../src/graphmetric/{path})): {found.text}"
    return "\n\n".join(_filled(paragraph) for paragraph in text.split("\n\n")) + "\n"


def _filled(paragraph: str) -> str:
    """One width for all, whatever the indentation of the docstring was."""
    if paragraph.startswith("$$"):
        return paragraph
    return fill(" ".join(paragraph.split()), width=118, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    departures = find_departures()
    page.write_text(render_page(departures), encoding="utf-8")
    print(f"{page}: {len(departures)} departures")
