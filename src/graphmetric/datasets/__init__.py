"""Data sets by name: embedded ones, and benchmarks from a folder.

::

    dataset.py    Dataset: graphs, split, known distances, the leak-free view
    catalogue.py  load_dataset, the names, and how the files are read
"""

from graphmetric.datasets.catalogue import dataset_names, dataset_reading, load_dataset, recognize_dataset
from graphmetric.datasets.dataset import Dataset, KnownPairs

__all__ = ["Dataset", "KnownPairs", "dataset_names", "dataset_reading", "load_dataset", "recognize_dataset"]
