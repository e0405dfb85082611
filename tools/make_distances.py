"""Freeze exact distances of a fixed sample of pairs of each embedded data set.

    python tools/make_distances.py [FOLDER]

Unit costs, bond types ignored; 10,000 pairs drawn with seed 0. The files say so themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import graphmetric as gm
from graphmetric.edit_distance.label_store import choose_pairs

TARGET = Path(__file__).parents[1] / "src/graphmetric/datasets/embedded"
SETS = ("molecules", "programs", "atlas")
PAIRS = 10_000


def distances_of(name: str) -> dict[str, np.ndarray]:
    """What the file of a set holds."""
    graphs = gm.load_dataset(name).graphs
    pairs = choose_pairs(graphs, f"random:{PAIRS}")
    found = gm.pairwise_edit_distances(graphs, pairs=pairs, n_jobs=-1)
    assert found.exact.all()
    kind = f"exact edit distances of {PAIRS} pairs drawn at random; unit costs, edge labels ignored"
    i, j = pairs.astype(np.int16).T
    return {"i": i, "j": j, "ged": found.upper.astype(np.uint8), "kind": np.array(kind)}


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    for name in SETS:
        np.savez_compressed(folder / f"{name}.ged.npz", **distances_of(name))
        print(name, (folder / f"{name}.ged.npz").stat().st_size, "bytes")
