"""What is shipped: the source archive is whole, and the page of the package has no links that lead nowhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from email import message_from_bytes
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")

ROOT = Path(__file__).parents[1]
SHIPPED = ("src", "tests", "docs", "examples", "benchmarks", "tools")
_BUILD = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tarfile.TarFile:
    """Built from a copy, so that nothing is left in the checkout."""
    copy, out = tmp_path_factory.mktemp("checkout") / "graphmetric", tmp_path_factory.mktemp("dist")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "_build", "_generated", "kernels-*")
    for name in SHIPPED:
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    for file in ROOT.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copy(file, copy)
    subprocess.run([sys.executable, "-c", _BUILD, str(out)], cwd=copy, check=True, capture_output=True)
    (path,) = out.iterdir()
    return tarfile.open(path)


def test_the_source_archive_is_whole(archive: tarfile.TarFile) -> None:
    shipped = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "Makefile", "constraints.txt", "setup.py"):
        assert name in shipped
    for folder in SHIPPED:
        kept = {".py", ".md", ".css", ".svg", ".json", ".safetensors", ".gmg", ".npz"}
        here = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*") if p.suffix in kept and p.is_file()}
        here = {name for name in here if not re.search(r"__pycache__|_build|_generated|\.egg-info", name)}
        assert here <= shipped, sorted(here - shipped)[:5]
    assert not [name for name in shipped if "__pycache__" in name or name.endswith(".pyc")]


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
    assert "pip install graphmetric" in page
    assert "where each equation" in page  # the text of a link is kept
    assert not [target for target in re.findall(r"\]\(([^)]+)\)", page) if "://" not in target]
