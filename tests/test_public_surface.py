"""What ``import graphmetric`` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import graphmetric as gm


def test_all_is_exactly_what_imports() -> None:
    assert "GraphDistance" in gm.__all__
    assert set(gm.__all__) <= set(dir(gm))
    for name in gm.__all__:
        assert getattr(gm, name).__module__.startswith("graphmetric.")


def test_unknown_name_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match="load_dataset"):
        gm.load_datasets  # noqa: B018


@pytest.mark.parametrize("code", ["import graphmetric", "import graphmetric.cli"])
def test_import_is_lazy(code: str) -> None:
    heavy = "{'torch', 'numba', 'scipy', 'networkx', 'sklearn', 'matplotlib', 'lxml', 'numpy'}"
    check = f"{code}; import sys; found = sorted({heavy} & set(sys.modules)); sys.exit(repr(found) if found else 0)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
