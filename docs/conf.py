"""How Sphinx builds the site: ``make docs``. The command reference is written here, from the commands' own help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from graphmetric import __version__
from graphmetric.cli import COMMANDS, cli

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"
_WIDTH = 100
"""Columns of a help text."""
_ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([^\[\]]+)\]\]")
_ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
_BARS = re.compile(r"(?<!\\)\|(\w[^|`]*)\|")
_RESEARCH = re.compile(r"\]\(((?:\.\./)+research/[^)#]+\.md)\)")

project = "graphmetric"
copyright = "The graphmetric developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_generated"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autosummary_generate = False  # the tables link to entries that are written out on the pages below them
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Sizes": "Sizes"}
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"graphmetric {version}"
html_show_sphinx = False
html_copy_source = False


def describe_commands() -> str:
    """One section of Markdown per command of the command line, with what its ``--help`` prints."""
    group = click.Context(cli, info_name="graphmetric", **cli.context_settings)
    sections = []
    for name in COMMANDS:
        command = cli.get_command(group, name)
        assert command is not None
        context = click.Context(command, parent=group, info_name=name, terminal_width=_WIDTH)
        sections.append(f"## {name}\n\n{COMMANDS[name]}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(sections)


def keep_as_written(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """``|V|`` is a number of nodes, not a substitution; "kind: text" under a field is a sentence, not a type."""
    lines[:] = [line if "math::" in line else _BARS.sub(r"\\|\1\\|", line) for line in lines]
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # napoleon looks for a type in the first line only; this one is an empty comment


def shorten_types(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write ``NDArray[float64]`` and ``ArrayLike`` as the source does."""

    def shorten(text: str | None) -> str | None:
        return None if text is None else _ARRAY.sub(r"NDArray[\1]", _ALIAS.sub(r"\1", text))

    return shorten(signature), shorten(returned)


def link_research(app: Any, page: str, source: list[str]) -> None:
    """Link pages of the folder research/, which are not part of the site, as files."""
    source[0] = _RESEARCH.sub(r"](path:\1)", source[0])


def setup(app: Any) -> None:
    """Sphinx calls this before it looks for pages."""
    GENERATED.mkdir(exist_ok=True)
    (GENERATED / "commands.md").write_text(describe_commands(), encoding="utf-8")
    app.connect("autodoc-process-docstring", keep_as_written, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", shorten_types)
    app.connect("source-read", link_research)
