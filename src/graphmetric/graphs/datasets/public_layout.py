"""The layouts in which the benchmarks were once published: folders of gexf files, and TUDataset folders.

Their distances were published as pickles (PyG's ``*_ged.pt``, SimGNN's ``ged.pickle``), which can run any code when
read. They are never read; the data set says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from graphmetric.errors import FileError
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.datasets.stored_set import StoredSet
from graphmetric.graphs.files import read_graphs
from graphmetric.graphs.graph import Graph

_GEXF_ATTRIBUTES: dict[str, Any] = {
    "node_label": ("type",),
    "edge_label": ("valence",),
    "edge_weight": None,
    "node_features": None,
}
"""The benchmarks have element symbols and bond valences, or nothing at all."""
_PICKLES = ("*.pt", "*.pickle", "*.pkl")


def read_gexf_set(train_folder: Path) -> StoredSet:
    """``train/ID.gexf`` and, beside it, ``test/ID.gexf``: training graphs first, each part in the order of the ids.

    This is PyG's order, so positions agree with the benchmark's published matrices.
    """
    folder = train_folder.parent
    train, test = _numbered_files(train_folder), _numbered_files(folder / "test")
    graphs = GraphCollection(_read_one(path).replace(id=number) for number, path in [*train, *test])
    kind = _why_no_distances([folder, folder.parent, folder.parent.parent / "processed"])
    return StoredSet(graphs, None, kind, np.arange(len(train), len(graphs)))


def _numbered_files(folder: Path) -> list[tuple[int, Path]]:
    paths = list(folder.glob("*.gexf"))
    if not paths:
        raise FileError("there are no gexf files; the benchmark has some in train/ and some in test/", folder)
    unnumbered = next((path for path in paths if not path.stem.isdecimal()), None)
    if unnumbered is not None:
        raise FileError("the name of a benchmark graph must be its number, such as 42.gexf", unnumbered)
    return sorted((int(path.stem), path) for path in paths)


def _read_one(path: Path) -> Graph:
    (graph,) = read_graphs(path, **_GEXF_ATTRIBUTES)
    return graph


def read_tu_set(adjacency_file: Path) -> StoredSet:
    """A TUDataset folder, given by its ``NAME_A.txt``."""
    graphs = read_graphs(adjacency_file.parent)
    facts = graphs.columns.metadata
    classes = None if facts is None else np.array([about["class"] for about in facts], dtype=np.int64)
    return StoredSet(graphs, None, "none: TUDataset has classes, not distances", classes=classes)


def _why_no_distances(folders: Iterable[Path]) -> str:
    pickles = sorted({path for folder in folders for pattern in _PICKLES for path in folder.glob(pattern)})
    if not pickles:
        return "none: there are no distances beside the gexf files"
    names = ", ".join(path.name for path in pickles)
    return f"none: {names} would have to be unpickled, which can run any code, so it is never read"
