"""Data sets by name: embedded ones, and benchmarks from a folder.

::

    dataset.py          Dataset: graphs, split, known distances, the leak-free view
    known_distances.py  what is known of the distances: a table, or a list of pairs
    catalogue.py        load_dataset, and the names
    bundled.py          the embedded sets, which need no files
    benchmarks.py       the sets that are read from a folder
    compact_layout.py   NAME.json or NAME.npz with NAME.ged.npz
    public_layout.py    folders of gexf files, TUDataset folders
    stored_set.py       what either layout is read into
"""

from graphmetric.datasets.catalogue import dataset_names, load_dataset, recognize_dataset
from graphmetric.datasets.dataset import Dataset
from graphmetric.datasets.known_distances import KnownPairs

__all__ = ["Dataset", "KnownPairs", "dataset_names", "load_dataset", "recognize_dataset"]
