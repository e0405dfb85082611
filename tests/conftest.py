"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Compiled loops are slow on their first example only; a deadline would blame whichever example came first.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """Ctrl-C is heard, also where a shell that started the tests in the background has switched it off."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public benchmark data, which is not part of the project."""
    folder = Path(os.environ.get("GRAPHMETRIC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "AIDS700nef.json").exists():
        pytest.skip(f"no benchmark data in {folder}; set GRAPHMETRIC_DATA")
    return folder
