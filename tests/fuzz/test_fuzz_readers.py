"""A small run of the fuzzer; the long one is a command of its own."""

from __future__ import annotations

import io
import warnings
from random import Random

import pytest

from graphmetric.errors import ConversionWarning, FileError
from graphmetric.formats import available_formats, batch_building, iter_graphs
from tests.fuzz.fuzz_readers import run_batch
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import all_seeds
from tests.strategies import exact

INPUTS = 2_000


@pytest.mark.filterwarnings("ignore::graphmetric.errors.ConversionWarning")
def test_every_format_has_valid_seeds() -> None:
    from tests.fuzz.fuzz_readers import read_input

    seeds = all_seeds()
    assert set(seeds) == {known.name for known in available_formats()}
    for name, inputs in seeds.items():
        for files in inputs:
            assert read_input(name, files) == "graphs", name


@pytest.mark.slow
def test_damaged_files_end_in_graphs_or_our_errors() -> None:
    report = run_batch(seed=12345, numbers=range(INPUTS))
    assert not report.failures, report.failures[0]
    assert sum(report.outcomes.values()) == INPUTS
    for known in available_formats():
        assert report.outcomes[known.name, "graphs"] > 0
        assert report.outcomes[known.name, "FileError"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tve", "jsonl", "json"])
def test_graphs_built_together_are_those_built_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds, random = all_seeds()[name], Random(7)
    for _ in range(300):
        good, bad = (random.choice(seeds)[""].rstrip(b"\n") for _ in range(2))
        bad = mutated(random, name, bad) if random.random() < 0.8 else bad
        parts = [good, good, bad, good, good]
        data = b'{"graphs": [' + b",".join(parts) + b"]}" if name == "json" else b"\n".join(parts)
        monkeypatch.setattr(batch_building, "_FEWEST", 1)
        quickly = read_until_wrong(data, name)
        monkeypatch.setattr(batch_building, "_FEWEST", 10**9)
        assert quickly == read_until_wrong(data, name)


def read_until_wrong(data: bytes, name: str) -> list[object]:
    """The graphs before the first error, and the error."""
    found: list[object] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        try:
            found.extend(map(exact, iter_graphs(io.BytesIO(data), name)))
        except FileError as error:
            found.append(str(error))
    return found
