"""Files that we write, with a bit flipped, cut, or damaged in other ways: refused, or the same result as before.

The formats of others (``.npy``, ``.npz`` and ``.csv`` for matrices) have no checksum over all that they hold, so that
another number in them is not noticed; of these only our own errors are asked.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

import graphmetric as gm
from graphmetric.edit_distance import blocks
from graphmetric.errors import GraphMetricError
from graphmetric.formats.distance_matrices import read_matrix, write_matrix
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.training.checkpoint import CheckpointFolder, TrainingState
from tests.fuzz.mutations import delete_piece, flip_bits, insert_snippet, nest, repeat_piece, replace_number, set_bytes

MUTATIONS = (flip_bits, set_bytes, delete_piece, repeat_piece, insert_snippet, replace_number, nest)
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Kind:
    """Files of one kind in a folder."""

    name: str
    make: Callable[[Path], None]
    read: Callable[[Path], object]
    """What is read, in a form that can be compared."""
    checked: bool = True
    """Whether a change of what they hold must be noticed."""


@dataclass
class Damage:
    """What became of damaged files."""

    outcomes: Counter[tuple[str, str]]
    """(kind, outcome) -> inputs."""
    failures: list[str]


def all_kinds() -> list[Kind]:
    """Every kind of file that the package writes and reads again."""
    molecules = gm.load_dataset("molecules").graphs[:6]
    model = LearnedDistance.load("unlabelled")
    plain = gm.GraphCollection([gm.Graph(g.num_nodes, g.edges) for g in molecules])
    rng = np.random.default_rng(0)
    matrix = rng.random((5, 5))
    matrix = matrix + matrix.T
    np.fill_diagonal(matrix, 0)

    def label_in_blocks(folder: Path) -> None:
        before, blocks.choose_width = blocks.choose_width, lambda plan, workers: 4
        try:
            with ThreadPoolExecutor(1) as pool:
                gm.label_graphs(molecules, folder, executor=pool)
        finally:
            blocks.choose_width = before

    def matrix_kind(suffix: str) -> Kind:
        names = None if suffix == ".npy" else tuple("abcde")
        return Kind(
            f"matrix {suffix}",
            lambda folder: write_matrix(folder / f"m{suffix}", matrix, ids=names),
            lambda folder: _bytes_of(read_matrix(folder / f"m{suffix}").matrix),
            checked=False,
        )

    return [
        Kind("labels", lambda folder: _nothing(gm.label_graphs(molecules, folder, n_jobs=1)),
             lambda folder: gm.read_labels(folder, molecules).digest()),
        Kind("blocks", label_in_blocks, lambda folder: gm.read_labels(folder, molecules).digest()),
        Kind("store", lambda folder: _nothing(gm.pairwise_edit_distances(molecules, store=folder)),
             lambda folder: _bytes_of(gm.pairwise_edit_distances(molecules, store=folder).upper)),
        Kind("graphs .gmg", lambda folder: gm.write_graphs(molecules, folder / "g.gmg"),
             lambda folder: gm.isomorphism_classes(gm.read_graphs(folder / "g.gmg")).tolist()
             + [repr(graph) for graph in gm.read_graphs(folder / "g.gmg")]),
        Kind("model", lambda folder: model.save(folder / "model"),
             lambda folder: LearnedDistance.load(folder / "model").digest),
        Kind("index", lambda folder: _nothing(gm.GraphIndex.build(molecules, out=folder / "index")),
             lambda folder: _search(folder, molecules)),
        Kind("index with model", lambda folder: _nothing(gm.GraphIndex.build(model, plain, out=folder / "index")),
             lambda folder: _search(folder, plain)),
        Kind("checkpoint", _make_checkpoint, _read_checkpoint),
        *map(matrix_kind, (".npy", ".npz", ".csv")),
    ]  # fmt: skip


def damage_every_byte(kind: Kind, folder: Path, random: Random, most: int) -> Damage:
    """Flip a bit of every byte of every file, ``most`` of each, and cut it at as many places, a tenth."""
    return _damage(kind, folder, lambda files: _every_byte(files, random, most))


def damage_at_random(kind: Kind, folder: Path, random: Random, inputs: int) -> Damage:
    """Damage some file in some way, again and again."""

    def plan(files: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
        for _ in range(inputs):
            name = random.choice(sorted(files))
            yield name, random.choice(MUTATIONS)(random, files[name])[:_LARGEST]

    return _damage(kind, folder, plan)


def nest_descriptions(kind: Kind, folder: Path) -> Damage:
    """Put an object nested more deeply than Python recurses in the place of every JSON file."""
    deep = b'{"a":' * 100_000
    return _damage(kind, folder, lambda files: ((name, deep) for name in files if name.endswith(".json")))


def _every_byte(files: dict[str, bytes], random: Random, most: int) -> Iterator[tuple[str, bytes]]:
    for name, data in files.items():
        for at in sorted(random.sample(range(len(data)), min(most, len(data)))):
            yield name, data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
        for length in random.sample(range(len(data)), min(-(-most // 10), len(data))):
            yield name, data[:length]


def _damage(kind: Kind, folder: Path, plan: Callable[[dict[str, bytes]], Iterator[tuple[str, bytes]]]) -> Damage:
    """Read the files with each change of the plan; the files are as before for the next."""
    place, found = folder / kind.name.replace(" ", "-").replace(".", ""), Damage(Counter(), [])
    place.mkdir(parents=True)
    kind.make(place)
    files = {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}
    expected = kind.read(place)
    _restore(place, files)
    for name, damaged in plan(files):
        (place / name).write_bytes(damaged)
        outcome = _outcome(kind, place, expected)
        found.outcomes[kind.name, outcome.partition(":")[0]] += 1
        if outcome.startswith(("foreign", "different")) and len(found.failures) < 20:
            found.failures.append(f"{kind.name}: {name}: {outcome}")
        if outcome == "refused":
            (place / name).write_bytes(files[name])
        else:
            _restore(place, files)
    return found


def _outcome(kind: Kind, place: Path, expected: object) -> str:
    try:
        result = kind.read(place)
    except GraphMetricError:
        return "refused"
    except Exception as error:
        return f"foreign error: {error!r}"
    if result == expected:
        return "the same"
    return "another number" if not kind.checked else f"different: {str(result)[:200]}"


def _restore(place: Path, files: dict[str, bytes]) -> None:
    """Bring back the files; a reader may have written some of them."""
    shutil.rmtree(place)
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)


def _search(folder: Path, graphs: gm.GraphCollection) -> object:
    index = gm.GraphIndex.load(folder / "index", verify=True)
    return index.ids, [(hit.id, hit.distance) for hit in index.range_search(graphs[2], 3.0)]


JOB = {"seed": 0}


def _make_checkpoint(folder: Path) -> None:
    weights = {"w": torch.arange(12, dtype=torch.float32), "b": torch.tensor(3)}
    CheckpointFolder(folder, JOB, 0).save(TrainingState(step=5, history=[{"step": 5, "loss": 0.5}]), {"model": weights})


def _read_checkpoint(folder: Path) -> object:
    found = CheckpointFolder(folder, JOB, 0).restore(torch.device("cpu"))
    if found is None:
        return None
    counters, parts = found
    return str(counters), {part: {k: v.tolist() for k, v in own.items()} for part, own in parts.items()}


def _bytes_of(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _nothing(value: object) -> None:
    del value
