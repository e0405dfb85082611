"""A small run of the fuzzer; the long one is a command of its own."""

from __future__ import annotations

from graphmetric.graphs.files import formats
from tests.fuzz.fuzz_readers import run_batch
from tests.fuzz.seeds import all_seeds

INPUTS = 2_000


def test_every_format_has_valid_seeds() -> None:
    from tests.fuzz.fuzz_readers import read_input

    seeds = all_seeds()
    assert set(seeds) == {known.name for known in formats()}
    for name, inputs in seeds.items():
        for files in inputs:
            assert read_input(name, files) == "graphs", name


def test_damaged_files_end_in_graphs_or_our_errors() -> None:
    report = run_batch(seed=12345, numbers=range(INPUTS))
    assert not report.failures, report.failures[0]
    assert sum(report.outcomes.values()) == INPUTS
    for known in formats():
        assert report.outcomes[known.name, "graphs"] > 0
        assert report.outcomes[known.name, "FileError"] > 0
