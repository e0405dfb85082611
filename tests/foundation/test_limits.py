"""How many threads ``n_jobs`` stands for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphmetric._foundation import limits
from graphmetric._foundation.limits import available_cores, effective_n_jobs
from graphmetric.errors import InvalidArgument


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of eight cores, and the folder in which its container states limits."""
    monkeypatch.setattr(limits, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    return tmp_path


def test_negative_numbers_count_cores(container: Path) -> None:
    assert [effective_n_jobs(n) for n in (None, 1, 3, 20, -1, -2, -8, -20)] == [1, 1, 3, 20, 8, 7, 1, 1]
    with pytest.raises(InvalidArgument, match="n_jobs is 0"):
        effective_n_jobs(0)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "10000 100000\n"}, 1),
        ({"cpu.max": "1600000 100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "200000\n"}, 8),
    ],
)
def test_a_container_limits_the_cores(container: Path, files: dict[str, str], cores: int) -> None:
    (container / "cpu").mkdir()
    for name, text in files.items():
        (container / name).write_text(text)
    assert available_cores() == cores


def test_the_affinity_limits_the_cores(container: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert available_cores() == 2
