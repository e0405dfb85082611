"""Every data set by name.

The data sets that are read from a folder, and the layouts in which they are understood.

The embedded data sets: frozen files in the package, and networkx's atlas.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from graphmetric.datasets.dataset import Dataset
from graphmetric.datasets.known_distances import KnownDistances, ListedDistances
from graphmetric.datasets.layouts import (
    StoredSet,
    read_distances,
    read_gexf_set,
    read_json_set,
    read_npz_set,
    read_tu_set,
    without_edge_labels,
)
from graphmetric.errors import DatasetNotFound, FileError, InvalidArgument
from graphmetric.formats import read_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.splits import Split, hold_out_validation, split_indices


@dataclass(frozen=True)
class Layout:
    """One way in which a data set can lie in a folder."""

    place: str
    """The file or folder to look for, below the root, with {name} for the set's name."""
    contents: str
    read: Callable[[Path], StoredSet]

    def path(self, root: Path, name: str) -> Path:
        return root / self.place.format(name=name)


_COMPACT = (
    Layout("{name}.json", "graphs, with distances in {name}.ged.npz", read_json_set),
    Layout("{name}.npz", "graphs, with distances in {name}.ged.npz", read_npz_set),
)
_GEXF = (
    Layout("{name}/train", "one gexf file per graph, the others in {name}/test (SimGNN)", read_gexf_set),
    Layout("{name}/raw/{name}/train", "the same, below PyG's raw folder", read_gexf_set),
    Layout("raw/{name}/train", "the same", read_gexf_set),
)
_TU = (
    Layout("TU_{name}.npz", "graphs", read_npz_set),
    Layout("{name}/{name}_A.txt", "and its sister files (TUDataset)", read_tu_set),
    Layout("{name}/raw/{name}_A.txt", "the same, below PyG's raw folder", read_tu_set),
)


@dataclass(frozen=True)
class FolderSet:
    """A data set that the user has on disk."""

    name: str
    description: str
    licence: str
    layouts: tuple[Layout, ...]
    edge_labels_count: bool = True
    """Whether the known distances, and so the set by default, see edge labels."""

    def read(self, root: Path) -> StoredSet:
        """Read the first layout that is there."""
        for layout in self.layouts:
            path = layout.path(root, self.name)
            if path.exists():
                return layout.read(path)
        raise DatasetNotFound(self._not_found(root))

    def _not_found(self, root: Path) -> str:
        places = "\n".join(
            f"  {layout.path(root, self.name)}  {layout.contents.format(name=self.name)}" for layout in self.layouts
        )
        state = "" if root.is_dir() else ", which is not a folder"
        return (
            f"the files of {self.name} are not in {root.absolute()}{state}. Looked for:\n{places}\n"
            "Nothing is downloaded, since the public downloads of these sets are gone: put a copy in one of these "
            f"places, or say where it is with load_dataset({self.name!r}, root=...) or the environment variable "
            "GRAPHMETRIC_DATA. Distances as .pt or .pickle are never read. The sets 'molecules', 'programs' and "
            "'atlas' need no files."
        )


_UNSTATED = "Public research data; its publishers state no terms."
_NCI_AIDS = "Antiviral screen of the National Cancer Institute (NCI/DTP); the copies in use state no terms."

_TU_DESCRIPTIONS = {
    "MUTAG": "188 nitroaromatic compounds, mutagenic or not.",
    "PTC_MR": "344 compounds, carcinogenic for male rats or not.",
    "PTC_FR": "351 compounds, carcinogenic for female rats or not.",
    "PTC_MM": "336 compounds, carcinogenic for male mice or not.",
    "ENZYMES": "600 protein structures of six enzyme classes.",
    "PROTEINS": "1,113 protein structures, enzymes or not.",
    "NCI1": "4,110 compounds, active against lung cancer cells or not.",
    "AIDS": "2,000 compounds, active against HIV or not.",
    "Mutagenicity": "4,337 compounds, mutagenic or not.",
    "IMDB-BINARY": "1,000 ego networks of actors, from two film genres.",
}


def tu_set(name: str) -> FolderSet:
    """A set of the TUDataset collection, known or not."""
    described = _TU_DESCRIPTIONS.get(name, "See the collection's own description.")
    return FolderSet(name, f"TUDataset {name}: {described}", _UNSTATED, _TU)


FOLDER_SETS = (
    FolderSet(
        "AIDS700nef",
        "700 compounds with at most 10 heavy atoms; node labels are element symbols. The benchmark's distances ignore "
        "bond types.",
        _NCI_AIDS,
        (*_COMPACT, *_GEXF),
        edge_labels_count=False,
    ),
    FolderSet(
        "LINUX",
        "1,000 program dependence graphs of Linux kernel functions with 4 to 10 nodes, unlabelled. Only 89 of them "
        "differ up to isomorphism: see Dataset.leak_free.",
        _UNSTATED,
        (*_COMPACT, *_GEXF),
    ),
    FolderSet(
        "IMDBMulti",
        "1,500 ego networks of actors with 7 to 89 nodes, unlabelled, from three film genres. Only 387 of them differ "
        "up to isomorphism: see Dataset.leak_free.",
        _UNSTATED,
        (*_COMPACT, *_GEXF),
    ),
    FolderSet(
        "ALKANE",
        "150 carbon skeletons of alkanes (trees), from GREYC.",
        _UNSTATED,
        (*_COMPACT, *_GEXF),
        edge_labels_count=False,
    ),
    FolderSet(
        "AIDS42k",
        "42,689 compounds with 2 to 222 heavy atoms; node labels are numbers of elements in order of appearance, edge "
        "labels bond types. The known distances count bond types.",
        _NCI_AIDS,
        _COMPACT,
    ),
    *(tu_set(name) for name in _TU_DESCRIPTIONS),
)


@dataclass(frozen=True)
class EmbeddedSet:
    """A data set that needs no files."""

    name: str
    description: str
    licence: str
    read_graphs: Callable[[], GraphCollection]

    def read(self) -> StoredSet:
        """The graphs, and exact distances of a fixed sample of their pairs."""
        graphs = self.read_graphs()
        with as_file(files(__package__) / "embedded" / f"{self.name}.ged.npz") as path:
            known, kind = read_distances(path, graphs)
        return StoredSet(graphs, known, kind)


def _read_frozen(name: str, sha256: str) -> GraphCollection:
    """A file of the package, checked against its checksum: results quoted for a set are for exactly these graphs."""
    with as_file(files(__package__) / "embedded" / f"{name}.gmg") as path:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != sha256:
            raise FileError(f"the embedded data set is damaged: sha256 {found}, expected {sha256}; reinstall", path)
        return read_graphs(path)


def _read_atlas() -> GraphCollection:
    from networkx.generators.atlas import graph_atlas_g

    graphs = (atlas for atlas in graph_atlas_g() if len(atlas))
    return GraphCollection(Graph(len(atlas), list(atlas.edges), id=atlas.name) for atlas in graphs)


MOLECULES_SHA256 = "977738ab3e1c4258af6babbbf484cce3c4aea42a1c85cb0d2a102a7f980f7dab"
PROGRAMS_SHA256 = "a0ac2612dd5af4ecbea0f09fc9637514a80d0125ec5b4681ee17feeaf7d2cdf8"

EMBEDDED_SETS = (
    EmbeddedSet(
        "molecules",
        "973 connected molecules with at most 10 heavy atoms of the NCI open database. Node labels are element "
        "symbols, edge labels bond types; ids are NSC numbers, and each graph's metadata has its SMILES.",
        "The structures are published by the National Cancer Institute's Developmental Therapeutics Program (NCI/DTP) "
        "and are not copyrighted; taken from the copy that RDKit (BSD-3-Clause) ships.",
        lambda: _read_frozen("molecules", MOLECULES_SHA256),
    ),
    EmbeddedSet(
        "programs",
        "3,975 control-flow graphs of functions of Python 3.11's standard library with 4 to 10 basic blocks: "
        "connected, undirected, unlabelled, without self-loops. Ids are module:qualified.name.",
        "Derived from the Python standard library, copyright Python Software Foundation, under the PSF License "
        "Version 2; the graphs hold no source text.",
        lambda: _read_frozen("programs", PROGRAMS_SHA256),
    ),
    EmbeddedSet(
        "atlas",
        "All 1,252 graphs with 1 to 7 nodes, no two isomorphic, as numbered in Read and Wilson's Atlas of Graphs.",
        "Built by networkx (BSD-3-Clause) when loaded.",
        _read_atlas,
    ),
)

DATA_FOLDER_VARIABLE = "GRAPHMETRIC_DATA"

_CATALOGUE: dict[str, EmbeddedSet | FolderSet] = {
    **{known.name: known for known in EMBEDDED_SETS},
    **{known.name: known for known in FOLDER_SETS},
}


def load_dataset(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    edge_labels: bool | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """A data set by name.

    Args:
        name: ``"molecules"``, ``"programs"`` and ``"atlas"`` are embedded; :func:`dataset_names` lists all.
        root: The folder with the files of sets that are not embedded; by default the environment variable
            ``GRAPHMETRIC_DATA``, else ``./data``.
        edge_labels: Whether to keep edge labels (bond types), where the set has any. By default as the set's known
            distances have it: those of AIDS700nef ignore bond types (so do ``"molecules"``, its embedded twin), those
            of AIDS42k count them; TU sets keep theirs. Loaded the other way, a set comes without its distances.
        random_state: Seed of the split. A benchmark's own test part stays as it is; validation is drawn from its
            training part, so that 60/20/20 % results.

    Raises:
        InvalidArgument: No set has this name.
        DatasetNotFound: The files are not in ``root``; the message says which files in which layout belong there.
    """
    chosen = _find(name)
    if isinstance(chosen, EmbeddedSet):
        stored, counted = chosen.read(), False
    else:
        stored = chosen.read(_data_folder(root))
        counted = chosen.edge_labels_count
    labelled = (counted if edge_labels is None else edge_labels) and stored.graphs.any_has(Has.EDGE_LABELS)
    known, kind = _fitting_distances(stored, labelled, counted)
    return Dataset(
        name=chosen.name,
        graphs=stored.graphs if labelled else without_edge_labels(stored.graphs),
        **_split(stored, random_state)._asdict(),
        known=known,
        distance_kind=kind,
        description=chosen.description,
        licence=chosen.licence,
        classes=stored.classes,
    )


def dataset_names() -> list[str]:
    """All names that :func:`load_dataset` knows, embedded sets first; besides them any TUDataset as ``TU_<name>``."""
    return list(_CATALOGUE)


def recognize_dataset(path: Path) -> str | None:
    """The name of the set whose compact layout this file is; None for any other file."""
    name = path.stem.removeprefix("TU_")
    if name not in _CATALOGUE or not path.is_file():
        return None
    if path.suffix == ".json":
        with open(path, "rb") as file:
            return name if re.search(rf'"name"\s*:\s*"{name}"'.encode(), file.read(1000)) else None
    return name if path.suffix == ".npz" else None


def _find(name: str) -> EmbeddedSet | FolderSet:
    if name in _CATALOGUE:
        return _CATALOGUE[name]
    if name.startswith("TU_") and name.removeprefix("TU_").replace("-", "_").isidentifier():
        return tu_set(name.removeprefix("TU_"))
    raise InvalidArgument(
        f"there is no data set {name!r}; embedded: {', '.join(known.name for known in EMBEDDED_SETS)}; "
        f"from a folder: {', '.join(known.name for known in FOLDER_SETS)}, and any other TUDataset as 'TU_<name>'"
    )


def _data_folder(root: str | os.PathLike[str] | None) -> Path:
    return Path(root if root is not None else os.environ.get(DATA_FOLDER_VARIABLE) or "data")


def _split(stored: StoredSet, random_state: int | np.random.Generator | None) -> Split:
    everything = np.arange(len(stored.graphs))
    if stored.test is None:
        return split_indices(len(everything), random_state=random_state)
    return hold_out_validation(np.setdiff1d(everything, stored.test), stored.test, random_state=random_state)


def _fitting_distances(stored: StoredSet, labelled: bool, counted: bool) -> tuple[KnownDistances, str]:
    """The stored distances if they were computed for graphs like the loaded ones, with or without edge labels."""
    nothing = ListedDistances.of(len(stored.graphs))
    if stored.known is None:
        return nothing, stored.distance_kind
    if counted == labelled or not stored.graphs.any_has(Has.EDGE_LABELS):
        return stored.known, stored.distance_kind
    verb = "count" if counted else "ignore"
    return nothing, f"none: the known distances {verb} edge labels; load with edge_labels={counted} to get them"
