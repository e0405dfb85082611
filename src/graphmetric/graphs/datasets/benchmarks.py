"""The data sets that are read from a folder, and the layouts in which they are understood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphmetric.errors import DatasetNotFound
from graphmetric.graphs.datasets.compact_layout import read_json_set, read_npz_set
from graphmetric.graphs.datasets.public_layout import read_gexf_set, read_tu_set
from graphmetric.graphs.datasets.stored_set import StoredSet


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
