"""Where graphs come from on the command line: a data set's name, a file, a folder or a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.conversion import from_smiles
from graphmetric.graphs.datasets import Dataset, dataset_names, load_dataset, recognize_dataset
from graphmetric.graphs.files import read_graphs
from graphmetric.graphs.graph import Graph


@dataclass(frozen=True, slots=True)
class Source:
    """Graphs and how they were understood."""

    graphs: GraphCollection
    read_as: str
    dataset: Dataset | None = None
    """With its split and distances, where it is one that is known by name."""


def open_source(
    source: str, *, file_format: str | None = None, root: str | None = None, edge_labels: bool | None = None
) -> Source:
    """Read graphs from a data set's name or from a path.

    A file in the layout of a known benchmark is read as that benchmark, so that AIDS700nef comes without bond labels
    from its file as it does from its name; name a format to read it plainly.
    """
    path = Path(source)
    if file_format is None and not path.exists() and source in dataset_names():
        dataset = load_dataset(source, root=root, edge_labels=edge_labels)
        return Source(dataset.graphs, "data set", dataset)
    if file_format is None and (name := recognize_dataset(path)) is not None:
        dataset = load_dataset(name, root=path.parent, edge_labels=edge_labels)
        return Source(dataset.graphs, f"the benchmark {name}", dataset)
    return Source(read_graphs(source, format=file_format), file_format or "files")


def open_graph(text: str, *, root: str | None = None, smiles: bool = False) -> Graph:
    """One graph: a file that holds one, ``SOURCE:POSITION``, or a SMILES."""
    if smiles:
        return from_smiles(text, id=text)
    source, colon, position = text.rpartition(":")
    if not colon or Path(text).exists() or not position.isdecimal():
        graphs = open_source(text, root=root).graphs
        if len(graphs) != 1:
            raise InvalidArgument(f"{text} holds {len(graphs)} graphs; choose one as {text}:0, {text}:1, ...")
        return graphs[0]
    graphs = open_source(source, root=root).graphs
    if int(position) >= len(graphs):
        raise InvalidArgument(f"{source} holds {len(graphs)} graphs, so {text} does not exist; the first is {source}:0")
    return graphs[int(position)]
