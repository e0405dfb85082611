"""Methods that installed packages bring, found by entry points, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphmetric import Graph, graph_edit_distance
from graphmetric.edit_distance import method
from graphmetric.edit_distance.method import METHODS, find_method, method_names
from graphmetric.errors import InvalidArgument

MODULE = """
from graphmetric.edit_distance import BranchBound

class Named(BranchBound):
    name = "of-a-package"

class Misnamed(BranchBound):
    name = "other"
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an installed distribution with entry points."""
    (tmp_path / "brings_methods.py").write_text(MODULE)
    about = tmp_path / "brings_methods-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brings-methods\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[graphmetric.edit_distance_methods]\n"
        "of-a-package = brings_methods:Named\n"
        "misnamed = brings_methods:Misnamed\n"
        "missing = brings_methods:Missing\n"
        "absent = brings_no_methods:Named\n"
        "exact = brings_methods:Named\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return "brings-methods"


def test_a_package_brings_a_method(package: str) -> None:
    assert "of-a-package" in method_names()
    assert "of-a-package" not in METHODS
    assert graph_edit_distance(Graph(2), Graph(3), method="of-a-package").lower == 1
    assert find_method("exact") is METHODS["exact"]


@pytest.mark.parametrize("name", ["misnamed", "missing", "absent"])
def test_errors_name_the_package(package: str, name: str) -> None:
    with pytest.raises(InvalidArgument, match=package):
        find_method(name)


def test_an_absent_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "entry_points", lambda group: ())
    with pytest.raises(InvalidArgument, match=r"'hungarian', which comes with graphmetric-research: install"):
        graph_edit_distance(Graph(2), Graph(3), method="hungarian")
    with pytest.raises(InvalidArgument, match=r"unknown method 'magic'; choose from exact, dual"):
        graph_edit_distance(Graph(2), Graph(3), method="magic")


@pytest.mark.slow
@pytest.mark.parametrize("imports", ["", "import graphmetric_research.baselines.published"])
def test_names_do_not_depend_on_imports(imports: str) -> None:
    program = f"""
{imports}
from graphmetric.edit_distance import graph_edit_distance, method_names
from graphmetric.graphs.graph import Graph
print(graph_edit_distance(Graph(2), Graph(3), method="hungarian").upper, *method_names())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1.0", *method_names()]
