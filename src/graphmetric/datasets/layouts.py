"""The compact layout: NAME.json or NAME.npz for the graphs, NAME.ged.npz for distances.

Text and plain arrays only; what would need unpickling is refused.

What the files of a data set say, in whatever layout they are.

The layouts in which the benchmarks were once published: folders of gexf files, and TUDataset folders.

Their distances were published as pickles (PyG's ``*_ged.pt``, SimGNN's ``ged.pickle``), which can run any code when
read. They are never read; the data set says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.datasets.known_distances import DistanceTable, KnownDistances, ListedDistances
from graphmetric.errors import FileError
from graphmetric.formats import read_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has, assemble_columns, pointers, read_only
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn


@dataclass(frozen=True)
class StoredSet:
    """The contents of files, before they are split and before edge labels are left out."""

    graphs: GraphCollection
    """With edge labels where the files have them."""
    known: KnownDistances | None
    """None where the files hold no distances."""
    distance_kind: str
    """A sentence on what the distances are, or why there are none."""
    test: NDArray[np.int64] | None = None
    """The benchmark's own test part, when it has one."""
    classes: NDArray[np.int64] | None = None


def without_edge_labels(graphs: GraphCollection) -> GraphCollection:
    """The same graphs, sharing all arrays but the edge labels."""
    columns = graphs.columns
    flags = columns.flags & np.uint8(~Has.EDGE_LABELS & 0xFF)
    return GraphCollection._of(replace(columns, edge_labels=None, flags=flags))


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


def read_json_set(path: Path) -> StoredSet:
    """Graphs as JSON: {"graphs": [{"id", "nodes": [label or null], "edges", "edge_labels", "split", "class"}]}."""
    with _errors_name(path):
        records: list[dict[str, Any]] = json.loads(path.read_bytes())["graphs"]
        graphs = _graphs_from_records(records)
        splits = [record.get("split") for record in records]
        classes = [record.get("class") for record in records]
        test = None if None in splits else np.flatnonzero(np.array(splits) == "test")
        known, kind = read_distances(path.with_suffix(".ged.npz"), graphs)
        return StoredSet(graphs, known, kind, test, None if None in classes else np.array(classes, dtype=np.int64))


def _graphs_from_records(records: list[dict[str, Any]]) -> GraphCollection:
    labels = list(chain.from_iterable(record["nodes"] for record in records))
    edges = list(chain.from_iterable(record["edges"] for record in records))
    edge_labels = None
    if all("edge_labels" in record for record in records):
        edge_labels = LabelColumn.from_values(chain.from_iterable(record["edge_labels"] for record in records))
    columns = assemble_columns(
        pointers([len(record["nodes"]) for record in records]),
        pointers([len(record["edges"]) for record in records]),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        node_labels=None if all(label is None for label in labels) else LabelColumn.from_values(labels),
        edge_labels=edge_labels,
        ids=tuple(record["id"] for record in records),
    )
    return GraphCollection._of(columns)


def read_npz_set(path: Path) -> StoredSet:
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
        known, kind = read_distances(path.with_suffix(".ged.npz"), graphs)
        return StoredSet(graphs, known, kind, classes=classes)


def _labels(values: NDArray[Any]) -> LabelColumn | None:
    """Integer labels as a column; None for a single value, which is how this layout writes "unlabelled"."""
    distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
    if len(distinct) < 2:
        return None
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return LabelColumn(read_only(rank[codes]), tuple(distinct[order].tolist()))


def read_distances(path: Path, graphs: GraphCollection) -> tuple[KnownDistances | None, str]:
    """The distances that lie beside the graphs, and what they are."""
    if not path.is_file():
        return None, f"none: there is no {path.name} beside the graphs"
    with _errors_name(path):
        arrays = _load_arrays(path)
        kind = str(arrays.get("kind", f"as {path.name} gives them; it does not say whether they are exact"))
        if "ids" in arrays:
            _check_same_ids(arrays["ids"], graphs)
        if "class_lb" in arrays:
            table = DistanceTable.of(arrays["class_lb"], arrays["class_ub"], arrays["iso_class"])
            return _of_same_size(table, graphs), f"bounds, exact where equal: {kind}"
        if arrays["ged"].ndim == 1:
            return ListedDistances.of(len(graphs), arrays["i"], arrays["j"], arrays["ged"]), kind
        return _of_same_size(DistanceTable.of(arrays["ged"]), graphs), kind


def _of_same_size(table: DistanceTable, graphs: GraphCollection) -> DistanceTable:
    if len(table) != len(graphs):
        raise ValueError(f"distances of {len(table)} graphs, but there are {len(graphs)}")
    return table


def _check_same_ids(ids: ArrayLike, graphs: GraphCollection) -> None:
    if tuple(np.asarray(ids).tolist()) != graphs.columns.ids:
        raise ValueError("the ids are not those of the graphs, in the same order")


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return dict(archive)


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Turn what a malformed file causes into an error that names the file."""
    try:
        yield
    except FileError:
        raise
    except KeyError as error:
        raise FileError(f"{error.args[0]!r} is missing", path) from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, EOFError, OSError, BadZipFile) as error:
        raise FileError(f"not a data set in the expected layout: {error}", path) from error
