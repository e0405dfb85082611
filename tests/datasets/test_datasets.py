"""The real benchmarks, where they are at hand: counts, distances, leaks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphmetric.datasets import load_dataset
from graphmetric.datasets.catalogue import CATALOGUE
from graphmetric.errors import InvalidArgument
from tests.datasets.dataset_checks import assert_disjoint_up_to_isomorphism, assert_well_formed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parts", "classes", "leakage"),
    [
        ("AIDS700nef", [420, 140, 140], 667, 0.064),
        ("LINUX", [600, 200, 200], 89, 0.975),
        ("IMDBMulti", [900, 300, 300], 387, 0.79),
    ],
)
def test_benchmarks(shared_data: Path, name: str, parts: list[int], classes: int, leakage: float) -> None:
    data = load_dataset(name, shared_data)
    assert_well_formed(data)
    assert [len(part) for part in data.split] == parts
    assert data.test.tolist() == list(range(parts[0] + parts[1], sum(parts)))
    assert len(set(data.isomorphism_classes.tolist())) == classes
    assert data.leakage() == pytest.approx(leakage, abs=0.005)
    stored = json.loads((shared_data / f"{name}.json").read_bytes())["graphs"]
    assert as_partition(data.isomorphism_classes.tolist()) == as_partition([graph["iso_class"] for graph in stored])
    same = data.isomorphism_classes[:, None] == data.isomorphism_classes
    assert np.array_equal(data.distances == 0, same)

    free = data.leak_free()
    assert len(free.graphs) == classes
    assert_disjoint_up_to_isomorphism(free)
    for part, share in zip(free.split, (0.6, 0.2, 0.2), strict=True):
        assert abs(len(part) - share * classes) < 3
    assert (np.triu(free.distances == 0) == np.eye(classes, dtype=bool)).all()


def as_partition(numbers: list[int]) -> list[int]:
    return [numbers.index(number) for number in numbers]


def test_exact_and_bounded_distances(shared_data: Path) -> None:
    aids, imdb = load_dataset("AIDS700nef", shared_data), load_dataset("IMDBMulti", shared_data)
    assert not np.isnan(aids.distances).any()
    assert aids.distances.max() == 23
    assert np.isnan(imdb.distances).mean() == pytest.approx(0.14, abs=0.001)
    assert (imdb.lower <= imdb.upper).all()
    assert imdb.classes is not None
    assert np.bincount(imdb.classes).tolist() == [500, 500, 500]


def test_aids42k(shared_data: Path) -> None:
    data = load_dataset("AIDS42k", shared_data)
    assert len(data.graphs) == 42689
    assert len(data.known_pairs.i) == 7110
    with pytest.raises(InvalidArgument, match="known_pairs"):
        _ = data.distances
    plain = load_dataset("AIDS42k", shared_data, edge_labels=False)
    assert plain.graphs[0].edge_labels is None
    assert "count edge labels" in plain.distance_kind


@pytest.mark.slow
@pytest.mark.parametrize("name", [entry.name for entry in CATALOGUE.values() if not entry.embedded])
def test_every_stored_set_loads(shared_data: Path, name: str) -> None:
    data = load_dataset(name, shared_data)
    assert_well_formed(data)
    assert data.description.removeprefix(f"TUDataset {name}: ").startswith(f"{len(data.graphs):,} ")
    if data.classes is not None:
        assert len(data.classes) == len(data.graphs)
