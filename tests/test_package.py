"""The source archive is whole, the package page has no dead links, and the metadata agree with each other."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email import message_from_bytes
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")

ROOT = Path(__file__).parents[1]
TEXTS = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
SHIPPED = ("src", "tests", "docs", "examples", "benchmarks", "tools", "research")
_BUILD = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tarfile.TarFile:
    """Built from a copy, so that nothing is left in the checkout."""
    copy, out = tmp_path_factory.mktemp("checkout") / "graphmetric", tmp_path_factory.mktemp("dist")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "_build", "_generated", "kernels-*")
    for name in SHIPPED:
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    for file in ROOT.iterdir():
        if file.is_file() and (not file.name.startswith(".") or file.suffix == ".yaml"):
            shutil.copy(file, copy)
    subprocess.run([sys.executable, "-c", _BUILD, str(out)], cwd=copy, check=True, capture_output=True)
    (path,) = out.iterdir()
    return tarfile.open(path)


@pytest.mark.slow
def test_the_source_archive_is_whole(archive: tarfile.TarFile) -> None:
    shipped = {name.partition("/")[2] for name in archive.getnames()}
    for name in (*TEXTS, "CITATION.cff", "LICENSE", "Makefile", "constraints.txt", "setup.py"):
        assert name in shipped
    for folder in SHIPPED:
        kept = {".py", ".md", ".css", ".svg", ".json", ".safetensors", ".gmg", ".npz", ".ipynb"}
        here = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*") if p.suffix in kept and p.is_file()}
        here = {name for name in here if not re.search(r"__pycache__|_build|_generated|\.egg-info", name)}
        assert here <= shipped, sorted(here - shipped)[:5]
    assert not [name for name in shipped if "__pycache__" in name or name.endswith(".pyc")]


@pytest.mark.slow
def test_the_page_of_the_package_stands_alone(archive: tarfile.TarFile) -> None:
    (name,) = (name for name in archive.getnames() if re.fullmatch(r"[^/]+/PKG-INFO", name))
    member = archive.extractfile(name)
    assert member is not None
    about = message_from_bytes(member.read())
    page = about.get_payload()
    assert isinstance(page, str)
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["Author"] == "The graphmetric developers"
    assert about["License-Expression"] == "MIT"
    assert "pip install -e '.[learn]'" in page
    assert "the paper and the code (`docs/paper_map.md`)" in page  # a link keeps its text and names its file
    assert not [target for target in re.findall(r"\]\(([^)]+)\)", page) if "://" not in target]
    named = re.findall(r"`((?:docs|src|examples)/[^`]+|[A-Z]+\.(?:md|cff))`", page)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_links_are_absolute_once_there_is_an_address() -> None:
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.describe_package("![p](docs/p.svg) [a](docs/a.md) [b](https://b/c)", "https://host/files")
    assert page == "![p](https://host/files/docs/p.svg) [a](https://host/files/docs/a.md) [b](https://b/c)"
    assert module.describe_package("![p](docs/p.svg)\n\n[a](docs/a.md), [x/y.py](src/x/y.py)") == (
        "a (`docs/a.md`), `src/x/y.py`"
    )


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    changes = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    assert changes[0][0] == version
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {version}\n" in citation
    assert f"date-released: {changes[0][1]}\n" in citation
