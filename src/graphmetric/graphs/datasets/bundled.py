"""The embedded data sets: frozen files in the package, and networkx's atlas."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files

from graphmetric.errors import FileError
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.datasets.compact_layout import read_distances
from graphmetric.graphs.datasets.stored_set import StoredSet
from graphmetric.graphs.files import read_graphs
from graphmetric.graphs.graph import Graph


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
