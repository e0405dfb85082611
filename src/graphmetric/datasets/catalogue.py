"""Data sets by name: where their files lie and how they are read.

``catalogue.json`` lists the sets with description and licence. The embedded ones are frozen files of the package and
networkx's atlas. The others are read from a folder of the user's, in one of three layouts:

* compact: ``NAME.json`` or ``NAME.npz`` for the graphs, ``NAME.ged.npz`` for distances; text and plain arrays only;
* gexf: a folder of gexf files, as SimGNN and PyG published the benchmarks;
* tu: TUDataset folders.

Distances were once published as pickles (PyG's ``*_ged.pt``, SimGNN's ``ged.pickle``), which can run any code when
read. They are never read; the data set says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from graphmetric.datasets.dataset import (
    Dataset,
    hold_out_validation,
    listed_distances,
    split_indices,
    tabled_distances,
)
from graphmetric.errors import DatasetNotFound, FileError, InvalidArgument
from graphmetric.formats import MoleculeOptions, read_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import GraphFlags, assemble_columns
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn
from graphmetric.graphs.pair_bounds import PairBounds

DATA_FOLDER_VARIABLE = "GRAPHMETRIC_DATA"

_PICKLES = ("*.pt", "*.pickle", "*.pkl")
_GEXF_ATTRIBUTES: dict[str, Any] = {
    "node_label": ("type",),
    "edge_label": ("valence",),
    "edge_weight": None,
    "node_features": None,
}
"""The benchmarks have element symbols and bond valences, or nothing at all."""


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that has a name."""

    name: str
    description: str
    licence: str
    layouts: tuple[str, ...]
    """Names in ``_LAYOUTS``; "embedded" for sets that need no files."""
    edge_labels_count: bool = True
    """Whether the known distances, and so the set by default, compare edge labels."""
    are_molecules: bool = False
    """Whether node labels are element symbols and edge labels bond types, so that a SMILES is a query for the set."""
    sha256: str | None = None
    """The checksum of an embedded file: results quoted for a set are for exactly these graphs."""

    @property
    def embedded(self) -> bool:
        return self.layouts == ("embedded",)


@dataclass(frozen=True)
class StoredSet:
    """The contents of files, before they are split and before edge labels are left out."""

    graphs: GraphCollection
    """With edge labels where the files have them."""
    known: PairBounds | None
    """None where the files hold no distances."""
    distance_kind: str
    """A sentence on what the distances are, or why there are none."""
    test: NDArray[np.int64] | None = None
    """The benchmark's own test part, when it has one."""
    classes: NDArray[np.int64] | None = None


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
    entry = _find(name)
    folder = Path(root if root is not None else os.environ.get(DATA_FOLDER_VARIABLE) or "data")
    stored = _read_embedded(entry) if entry.embedded else _read_folder(entry, folder)
    counted = entry.edge_labels_count
    has_labels = stored.graphs.any_has(GraphFlags.EDGE_LABELS)
    labelled = (counted if edge_labels is None else edge_labels) and has_labels
    known, kind = stored.known, stored.distance_kind
    if known is not None and has_labels and counted != labelled:
        verb, known = "count" if counted else "ignore", None
        kind = f"none: the known distances {verb} edge labels; load with edge_labels={counted} to get them"
    everything = np.arange(len(stored.graphs))
    if stored.test is None:
        split = split_indices(len(everything), random_state=random_state)
    else:
        given_train = np.setdiff1d(everything, stored.test)
        split = hold_out_validation(given_train, stored.test, random_state=random_state)
    graphs = stored.graphs if labelled else stored.graphs.without(["edge_labels"])
    return Dataset(
        name=entry.name,
        graphs=GraphCollection(graphs, reading=dataset_reading(name)),
        **split._asdict(),
        distance_bounds=PairBounds.from_distances([], []) if known is None else known,
        distance_kind=kind,
        description=entry.description,
        licence=entry.licence,
        classes=stored.classes,
    )


def dataset_names() -> list[str]:
    """All names that :func:`load_dataset` knows, embedded sets first; besides them any TUDataset as ``TU_<name>``."""
    return list(CATALOGUE)


def dataset_reading(name: str) -> MoleculeOptions | None:
    """The options by which the molecules of a data set were read, without loading it; None if it has no molecules."""
    return MoleculeOptions() if _find(name).are_molecules else None


def recognize_dataset(path: Path) -> str | None:
    """The name of the set whose compact layout this file is; None for any other file."""
    name = path.stem.removeprefix("TU_")
    if name not in CATALOGUE or not path.is_file():
        return None
    if path.suffix == ".json":
        with open(path, "rb") as file:
            return name if re.search(rf'"name"\s*:\s*"{name}"'.encode(), file.read(1000)) else None
    return name if path.suffix == ".npz" else None


def _read_catalogue() -> dict[str, CatalogueEntry]:
    listed = json.loads((files(__package__) / "catalogue.json").read_text(encoding="utf-8"))
    return {entry["name"]: CatalogueEntry(**entry | {"layouts": tuple(entry["layouts"])}) for entry in listed}


CATALOGUE = _read_catalogue()


def _find(name: str) -> CatalogueEntry:
    if name in CATALOGUE:
        return CATALOGUE[name]
    bare = name.removeprefix("TU_")
    if bare != name and bare.replace("-", "_").isidentifier():
        described = f"TUDataset {bare}: See the collection's own description."
        unlisted = CatalogueEntry(bare, described, CATALOGUE["MUTAG"].licence, ("tu",))
        listed = CATALOGUE.get(bare, unlisted)
        return listed if listed.layouts == unlisted.layouts else unlisted
    embedded = [entry.name for entry in CATALOGUE.values() if entry.embedded]
    others = [entry.name for entry in CATALOGUE.values() if not entry.embedded]
    raise InvalidArgument(
        f"there is no data set {name!r}; embedded: {', '.join(embedded)}; "
        f"from a folder: {', '.join(others)}, and any other TUDataset as 'TU_<name>'"
    )


def _read_embedded(entry: CatalogueEntry) -> StoredSet:
    """The graphs, and exact distances of a fixed sample of their pairs."""
    graphs = _read_atlas() if entry.sha256 is None else _read_frozen(entry.name, entry.sha256)
    with as_file(files(__package__) / "embedded" / f"{entry.name}.ged.npz") as path:
        return StoredSet(graphs, *_read_distances(path, graphs))


def _read_frozen(name: str, sha256: str) -> GraphCollection:
    with as_file(files(__package__) / "embedded" / f"{name}.gmg") as path:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != sha256:
            raise FileError(f"the embedded data set is damaged: sha256 {found}, expected {sha256}; reinstall", path)
        return read_graphs(path)


def _read_atlas() -> GraphCollection:
    from networkx.generators.atlas import graph_atlas_g

    graphs = (atlas for atlas in graph_atlas_g() if len(atlas))
    return GraphCollection(Graph(len(atlas), list(atlas.edges), id=atlas.name) for atlas in graphs)


def _read_folder(entry: CatalogueEntry, root: Path) -> StoredSet:
    """Read the first layout that is there."""
    looked_for = []
    for layout in (layout for kind in entry.layouts for layout in _LAYOUTS[kind]):
        path = root / layout.place.format(name=entry.name)
        if path.exists():
            return layout.read(path)
        looked_for.append(f"  {path}  {layout.contents.format(name=entry.name)}")
    places = "\n".join(looked_for)
    state = "" if root.is_dir() else ", which is not a folder"
    raise DatasetNotFound(
        f"the files of {entry.name} are not in {root.absolute()}{state}. Looked for:\n{places}\n"
        "Nothing is downloaded, since the public downloads of these sets are gone: put a copy in one of these "
        f"places, or say where it is with load_dataset({entry.name!r}, root=...) or the environment variable "
        "GRAPHMETRIC_DATA. Distances as .pt or .pickle are never read. The sets 'molecules', 'programs' and "
        "'atlas' need no files."
    )


def _read_gexf_set(train_folder: Path) -> StoredSet:
    """``train/ID.gexf`` and, beside it, ``test/ID.gexf``: training graphs first, each part in the order of the ids.

    This is PyG's order, so positions agree with the benchmark's published matrices.
    """
    folder = train_folder.parent
    train, test = _numbered_files(train_folder), _numbered_files(folder / "test")
    read = (read_graphs(path, **_GEXF_ATTRIBUTES)[0].replace(id=number) for number, path in [*train, *test])
    graphs = GraphCollection(read)
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


def _why_no_distances(folders: Iterable[Path]) -> str:
    pickles = sorted({path for folder in folders for pattern in _PICKLES for path in folder.glob(pattern)})
    if not pickles:
        return "none: there are no distances beside the gexf files"
    names = ", ".join(path.name for path in pickles)
    return f"none: {names} would have to be unpickled, which can run any code, so it is never read"


def _read_tu_set(adjacency_file: Path) -> StoredSet:
    """A TUDataset folder, given by its ``NAME_A.txt``."""
    graphs = read_graphs(adjacency_file.parent)
    facts = graphs.columns.metadata
    classes = None if facts is None else np.array([about["class"] for about in facts], dtype=np.int64)
    return StoredSet(graphs, None, "none: TUDataset has classes, not distances", classes=classes)


def _read_json_set(path: Path) -> StoredSet:
    """Graphs as JSON: {"graphs": [{"id", "nodes": [label or null], "edges", "edge_labels", "split", "class"}]}."""
    columns = read_graphs(path, "json").columns
    facts = columns.metadata or ({},) * columns.num_graphs
    splits, classes = ([about.get(key) for about in facts] for key in ("split", "class"))
    graphs = GraphCollection._of(replace(columns, metadata=None))
    with _errors_name(path):
        if None in (columns.ids or (None,)):
            raise KeyError("id")
        return StoredSet(
            graphs,
            *_read_distances(path.with_suffix(".ged.npz"), graphs),
            test=None if None in splits else np.flatnonzero(np.array(splits) == "test"),
            classes=None if None in classes else np.array(classes, dtype=np.int64),
        )


def _read_npz_set(path: Path) -> StoredSet:
    """Graphs as arrays node_ptr, node_label, edge_ptr, edge_u, edge_v and, if any, edge_label and graph_label."""
    with _errors_name(path):
        arrays = _load_arrays(path)
        columns = assemble_columns(
            arrays["node_ptr"],
            arrays["edge_ptr"],
            np.column_stack([arrays["edge_u"], arrays["edge_v"]]),
            node_labels=_labels(arrays["node_label"]),
            edge_labels=_labels(arrays["edge_label"]) if "edge_label" in arrays else None,
            ids=tuple(range(len(arrays["node_ptr"]) - 1)),
        )
        graphs = GraphCollection._of(columns)
        classes = arrays["graph_label"].astype(np.int64) if "graph_label" in arrays else None
        return StoredSet(graphs, *_read_distances(path.with_suffix(".ged.npz"), graphs), classes=classes)


def _labels(values: NDArray[Any]) -> LabelColumn | None:
    """Integer labels as a column; None for a single value, which is how this layout writes "unlabelled"."""
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    if len(distinct) < 2:
        return None
    order = np.argsort(first)
    return LabelColumn(np.argsort(order).astype(np.int32)[codes], tuple(distinct[order].tolist()))


def _read_distances(path: Path, graphs: GraphCollection) -> tuple[PairBounds | None, str]:
    """The distances that lie beside the graphs, and what they are."""
    if not path.is_file():
        return None, f"none: there is no {path.name} beside the graphs"
    with _errors_name(path):
        arrays = _load_arrays(path)
        kind = str(arrays.get("kind", f"as {path.name} gives them; it does not say whether they are exact"))
        if "ids" in arrays and tuple(arrays["ids"].tolist()) != graphs.columns.ids:
            raise ValueError("the ids are not those of the graphs, in the same order")
        if "class_lb" in arrays:
            table = [arrays["class_lb"], arrays["class_ub"], arrays["iso_class"]]
            kind = f"bounds, exact where equal: {kind}"
        elif arrays["ged"].ndim == 1:
            return listed_distances(len(graphs), arrays["i"], arrays["j"], arrays["ged"]), kind
        else:
            table = [arrays["ged"]]
        if len(table[-1]) != len(graphs):
            raise ValueError(f"distances of {len(table[-1])} graphs, but there are {len(graphs)}")
        return tabled_distances(*table), kind


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return dict(archive)


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Turn what a malformed file causes into an error that names the file."""
    try:
        yield
    except FileError as error:
        if error.path is not None:
            raise
        raise FileError(error.problem, path, error.where) from None
    except KeyError as error:
        raise FileError(f"{error.args[0]!r} is missing", path) from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, EOFError, OSError, BadZipFile) as error:
        raise FileError(f"not a data set in the expected layout: {error}", path) from error


class _Layout(NamedTuple):
    """One way in which a data set can lie in a folder."""

    place: str
    """The file or folder to look for, below the root, with {name} for the set's name."""
    contents: str
    read: Callable[[Path], StoredSet]


_LAYOUTS = {
    "compact": (
        _Layout("{name}.json", "graphs, with distances in {name}.ged.npz", _read_json_set),
        _Layout("{name}.npz", "graphs, with distances in {name}.ged.npz", _read_npz_set),
    ),
    "gexf": (
        _Layout("{name}/train", "one gexf file per graph, the others in {name}/test (SimGNN)", _read_gexf_set),
        _Layout("{name}/raw/{name}/train", "the same, below PyG's raw folder", _read_gexf_set),
        _Layout("raw/{name}/train", "the same", _read_gexf_set),
    ),
    "tu": (
        _Layout("TU_{name}.npz", "graphs", _read_npz_set),
        _Layout("{name}/{name}_A.txt", "and its sister files (TUDataset)", _read_tu_set),
        _Layout("{name}/raw/{name}_A.txt", "the same, below PyG's raw folder", _read_tu_set),
    ),
}
