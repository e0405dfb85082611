"""Records of runs that never were, for the tests of records and reports."""

from __future__ import annotations

from typing import Any

from graphmetric_research.run_record import RunRecord

PLAIN: dict[str, Any] = {
    "method": "small",
    "dataset": "AIDS700nef",
    "protocol": "A",
    "scores": {"rho": 0.9, "mse": 0.001},
    "axioms": None,
    "configuration": {"preset": "small", "random_state": 0, "heads": [1, None, {"a": 0.5}]},
    "seeds": {"random_state": 0},
    "versions": {"python": "3.11"},
    "cpu_seconds": 1.5,
    "wall_seconds": 2,
    "date": "2026-01-31T12:00:00+00:00",
}


def make_record(**changes: Any) -> RunRecord:
    return RunRecord(**{**PLAIN, **changes})


def make_seeded(seed: int, **changes: Any) -> RunRecord:
    """A run of the same configuration with another seed."""
    configuration = {**PLAIN["configuration"], "random_state": seed}
    return make_record(seeds={"random_state": seed}, configuration=configuration, **changes)
