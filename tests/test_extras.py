"""Without extras everything else works, and what needs a missing one says how to install it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from graphmetric.errors import EXTRAS, MissingExtra, needs_extra

ROOT = Path(__file__).parents[1]
OF_DEVELOPERS = {"docs", "notebooks", "test"}
IMPORT_ALL = """
import sys
sys.path.append(sys.argv[1])
from importlib import import_module
import measure_house, try_extras
from graphmetric.errors import MissingExtra
with try_extras.hidden_packages(package for packages in try_extras.EXTRAS.values() for package in packages):
    for module in measure_house.list_modules():
        try:
            import_module(module)
        except MissingExtra:
            pass
        except ImportError as error:
            print(module, error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--hide", "all"], ["--hide", "learn"], ["--hide-each"]], ids=" ".join)
def test_what_needs_a_missing_extra_says_how_to_install_it(arguments: list[str]) -> None:
    command = [sys.executable, str(ROOT / "tools" / "try_extras.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_module_loads_or_names_the_extra() -> None:
    """The inner modules of the service are loaded by its command, which looks for their packages first."""
    command = [sys.executable, "-c", IMPORT_ALL, str(ROOT / "tools")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line for line in said if not line.startswith("graphmetric.serve.")] == []


def test_the_table_of_extras_is_that_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras.keys() - OF_DEVELOPERS == EXTRAS.keys()
    for extra, packages in EXTRAS.items():
        required = {re.split(r"[\[<>=]", requirement)[0] for requirement in extras[extra]} - {"graphmetric"}
        assert required <= set(packages.values())


def test_another_module_keeps_its_own_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"), needs_extra("plot", "a plot"):
        import nowhere_to_be_found  # type: ignore[import-not-found]  # noqa: F401
    with (
        pytest.raises(MissingExtra, match=r"a plot needs matplotlib.*'graphmetric\[plot\]'"),
        needs_extra("plot", "a plot"),
    ):
        raise ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure")
