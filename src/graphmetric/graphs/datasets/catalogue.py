"""Every data set by name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.columns import Has
from graphmetric.graphs.datasets.benchmarks import FOLDER_SETS, FolderSet, tu_set
from graphmetric.graphs.datasets.bundled import EMBEDDED_SETS, EmbeddedSet
from graphmetric.graphs.datasets.dataset import Dataset
from graphmetric.graphs.datasets.known_distances import KnownDistances, ListedDistances
from graphmetric.graphs.datasets.stored_set import StoredSet, without_edge_labels
from graphmetric.graphs.splits import Split, hold_out_validation, split_indices

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
