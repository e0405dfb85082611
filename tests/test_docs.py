"""The documentation is true: links lead somewhere, examples run, collected pages are up to date."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
import pytest

import graphmetric as gm
from graphmetric.cli import COMMANDS, cli, main
from graphmetric.edit_distance import store
from graphmetric.features import featurizer
from graphmetric.index.folder import store as index_folder
from graphmetric.index.postgres import store as postgres_store
from graphmetric.learned import model_folder
from graphmetric.training import checkpoint

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCES = ROOT / "src" / "graphmetric"
RESEARCH = ROOT / "research"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not path.relative_to(DOCS).parts[0].startswith("_"))
FULL_TABLES = sorted(path for path in (RESEARCH / "results").glob("*.md") if path.name != "README.md")
NOTES = [RESEARCH / "notes.md", RESEARCH / "results" / "README.md", *FULL_TABLES]
RESEARCH_PAGES = [RESEARCH / "reproduce.md", RESEARCH / "scale.md"]
RUN = [DOCS / "index.md", *sorted((DOCS / "howto").glob("*.md"))]
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
FENCE = re.compile(r"(?ms)(?:<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<kind>\S*)\n(?P<text>.*?)^```$")
MAP_ROW = re.compile(
    r"^\| (?P<part>[^|]+) \|(?:[^|]*\|)? \[[^]]+\]\((?P<file>[^)]+)\) \| `(?P<name>\w+)` \|$", re.MULTILINE
)


class Block(NamedTuple):
    """One fenced example of a page."""

    kind: str
    text: str
    runs: bool


def name_of(page: Path) -> str:
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()


def load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks_of(page: Path) -> Iterator[Block]:
    for found in FENCE.finditer(page.read_text(encoding="utf-8")):
        yield Block(found["kind"], found["text"], found["reason"] is None)


def commands_of(block: Block) -> list[list[str]]:
    """What is typed after each prompt, without the program's own name."""
    lines = [shlex.split(line.removeprefix("$ ")) for line in block.text.splitlines()]
    assert all(line[0] == "graphmetric" for line in lines), block.text
    return [line[1:] for line in lines]


def prose_of(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors_of(page: Path) -> set[str]:
    """The anchors of its headings, as MyST and the code hosts spell them."""
    titles = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def numbers_of(text: str) -> set[str]:
    """Numbers as they are spelled; that of AIDS700nef or p@10 is a name."""
    return set(re.findall(r"(?<![\w@.])(?:\d[\d,]*)?\.?\d+(?![\w])", text))


@pytest.mark.parametrize("page", [*PAGES, *NOTES, *RESEARCH_PAGES], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose_of(page)):
        assert "://" not in target, f"{target} may be dead tomorrow"
        file, _, anchor = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        assert linked.is_file(), target
        assert not anchor or anchor in anchors_of(linked), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_a_link_that_reads_as_a_path_leads_to_that_path(page: Path) -> None:
    for text, target in re.findall(r"\[([\w./]+\.py)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert target.endswith(text), text


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for text in (block.text for block in blocks_of(page) if block.kind == "{toctree}"):
            entries = [line for line in text.splitlines() if line and not line.startswith(":")]
            listed |= {page.parent / f"{entry}.md" for entry in entries}
    assert listed == set(PAGES)


def test_results_repeat_the_full_tables() -> None:
    """Every number of the short page stands in a full table or in the notes; intervals for samples are in brackets."""
    known = set().union(*(numbers_of(page.read_text(encoding="utf-8")) for page in NOTES))
    for line in (DOCS / "results.md").read_text(encoding="utf-8").splitlines():
        assert numbers_of(re.sub(r"\([^)]*\)", "", line)) <= known, line


def test_pages_are_short_enough_to_be_read() -> None:
    words = {page: sum(bool(re.search(r"\w", word)) for word in page.read_text().split()) for page in [*PAGES, *TOP]}
    assert words[ROOT / "README.md"] <= 700
    assert words[DOCS / "results.md"] <= 2_500
    assert sum(words.values()) < 22_000


@pytest.mark.parametrize("page", FULL_TABLES, ids=name_of)
def test_every_full_table_names_its_command_and_commit(page: Path) -> None:
    """The command stands in the text of the section, the commit there or in the last column of the table."""
    sections = re.split(r"^##+ ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    commit = re.compile(r"`[0-9a-f]{7}`")
    for title, _, text in (section.partition("\n") for section in sections):
        paragraphs = [block for block in text.split("\n\n") if block.strip()]
        tables = [block for block in paragraphs if block.lstrip().startswith("|")]
        prose = "\n".join(block for block in paragraphs if block not in tables)
        command = r"`(python (benchmarks|tools|examples)/\w+\.py|graphmetric(-research| reproduce)|make )"
        assert re.search(command, prose), title
        assert re.search(r"2026-11-\d\d", prose), title
        named = set(re.findall(r"\b(?:benchmarks|tools|examples|tests/fuzz)/\w+\.py", prose))
        assert all((ROOT / name).is_file() or (RESEARCH / name).is_file() for name in named), title
        for table in tables:
            assert commit.search(prose) or all(commit.search(row) for row in table.strip().splitlines()[2:]), title


def test_every_command_has_a_section() -> None:
    text = load_module(DOCS / "conf.py").describe_commands()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(COMMANDS)
    for name in COMMANDS:
        assert f"Usage: graphmetric {name} " in text
    assert text.count("-h, --help") == len(COMMANDS)  # as the command line has it


def documented_names() -> Iterator[str]:
    """Full names of what the API reference writes out."""
    for page in sorted((DOCS / "api").glob("*.md")):
        module = "graphmetric"
        for directive, name in re.findall(r"^\.\. (\w+):: ?(\S*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            if directive == "currentmodule":
                module = name
            elif directive in ("autoclass", "autofunction", "autodata"):
                yield name if name.startswith("graphmetric.") else f"{module}.{name}"


def test_every_public_name_is_documented_once() -> None:
    times = Counter(documented_names())
    assert {name: times[f"graphmetric.{name}"] for name in gm.__all__} == dict.fromkeys(gm.__all__, 1)
    assert max(times.values()) == 1


@pytest.mark.parametrize("name", sorted(documented_names()))
def test_documented_name_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert getattr(importlib.import_module(module), attribute).__doc__


def test_paper_map_has_every_equation() -> None:
    rows = MAP_ROW.findall((DOCS / "paper_map.md").read_text(encoding="utf-8"))
    assert [part for part, _, _ in rows if part.isdecimal()] == [str(number) for number in range(1, 17)]
    assert len(rows) > 16
    for part, file, name in rows:
        source = (DOCS / file).read_text(encoding="utf-8")
        defined = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        assert name in defined, f"{file} has no {name}"
        if part.isdecimal():
            assert source.count(rf"\qquad ({part})") == 1, f"{file} does not hold equation {part}"


@pytest.mark.slow
def test_departures_are_up_to_date() -> None:
    tool = load_module(ROOT / "tools" / "collect_departures.py")
    found = tool.find_departures()
    mentions = sum(path.read_text(encoding="utf-8").count(tool.MARK) for path in SOURCES.rglob("*.py"))
    assert len(found) == mentions, "a departure must be a paragraph of a docstring of its own"
    written = (DOCS / "departures.md").read_text(encoding="utf-8")
    assert written == tool.render_page(found), "run: python tools/collect_departures.py"


def test_departures_follow_the_docstrings(tmp_path: Path) -> None:
    tool = load_module(ROOT / "tools" / "collect_departures.py")
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "fusion.py").write_text(
        'def fuse():\n    r"""Sum.\n\n    .. math:: z = 1 \\qquad (8)\n\n    Differs from the paper: :math:`z` is,\n\n'
        '    .. math:: z = 2,\n\n    twice :class:`~a.b.One`.\n\n    Not this.\n    """\n'
    )
    (found,) = tool.find_departures(tmp_path)
    assert (found.name, found.equations) == ("fuse", (8,))
    assert found.text == "$z$ is,\n\n$$z = 2,$$\n\ntwice `One`."


def test_numbers_in_words_are_those_of_the_code() -> None:
    from graphmetric.training.supervision import MOST_MUTATIONS

    assert MOST_MUTATIONS == 10
    assert "ten of one graph at most" in (DOCS / "howto" / "labels.md").read_text(encoding="utf-8")


def test_versions_of_our_own_files_are_those_of_the_code() -> None:
    known = {
        "a model's folder": (model_folder.VERSION, model_folder.READABLE),
        "fitted features in it": (featurizer.STATE_VERSION, (featurizer.STATE_VERSION,)),
        "a checkpoint of a training": (checkpoint.VERSION, (checkpoint.VERSION,)),
        "an index folder": (index_folder.VERSION, index_folder.READABLE),
        "an index in PostgreSQL": (postgres_store.VERSION, postgres_store.READABLE),
        "distances of a job, in rows": (store.FORMAT, (store.FORMAT,)),
        "distances of a job, in blocks": (store.BLOCK_FORMAT, (store.BLOCK_FORMAT,)),
    }
    page = (DOCS / "formats.md").read_text()
    for what, (written, read) in known.items():
        assert f"| {what} | {written} | {', '.join(map(str, read))} |" in page


def test_only_console_and_python_examples_are_shown() -> None:
    """Others would not be run and could rot."""
    kinds = {block.kind for page in RUN for block in blocks_of(page)}
    assert kinds <= {"python", "console", "{toctree}", ""}
    assert all(block.text.startswith(">>> ") for page in RUN for block in blocks_of(page) if block.kind == "python")


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_commands_are_spelled_right(page: Path) -> None:
    """Also those that take too long to run."""
    for name, *arguments in (line for b in blocks_of(page) if b.kind == "console" for line in commands_of(b)):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        command.make_context(name, arguments)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples find in their folder: some graphs, and a model of them."""
    folder = tmp_path_factory.mktemp("workshop")
    graphs = gm.load_dataset("molecules").graphs[:60]
    (folder / "my-graphs").mkdir()
    for place, graph in enumerate(graphs):
        gm.write_graphs([graph], folder / "my-graphs" / f"{place:02d}.json")
    model = gm.GraphDistance("small", max_steps=20, label_budget=300, n_jobs=1).fit(graphs)
    model.save(folder / "model")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_examples_give_what_they_show(
    page: Path, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = shutil.copytree(workshop, tmp_path / "here")
    monkeypatch.chdir(here)
    names: dict[str, object] = {}
    for block in blocks_of(page):
        if block.kind == "python" and block.runs:
            test = doctest.DocTestParser().get_doctest(block.text, names, name_of(page), str(page), 0)
            failures: list[str] = []
            result = doctest.DocTestRunner(verbose=False).run(test, out=failures.append, clear_globs=False)
            assert result.failed == 0, "".join(failures)
            names = test.globs
        elif block.kind == "console" and block.runs:
            for arguments in commands_of(block):
                main(arguments)
                assert capsys.readouterr().out
    assert os.getcwd() == str(here)
