"""Graphs from and to the libraries people already use; each is imported only when its own functions are called."""

from graphmetric.graphs.conversion.adjacency import from_adjacency, to_adjacency
from graphmetric.graphs.conversion.attributes import IfPresent
from graphmetric.graphs.conversion.edge_list import from_edge_list
from graphmetric.graphs.conversion.igraph import from_igraph, to_igraph
from graphmetric.graphs.conversion.networkx import from_networkx, to_networkx
from graphmetric.graphs.conversion.pyg import from_pyg, to_pyg
from graphmetric.graphs.conversion.rdkit import from_rdkit, from_smiles, to_rdkit, to_smiles
from graphmetric.graphs.conversion.recognition import as_graph, as_graphs

__all__ = [
    "IfPresent",
    "as_graph",
    "as_graphs",
    "from_adjacency",
    "from_edge_list",
    "from_igraph",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "to_adjacency",
    "to_igraph",
    "to_networkx",
    "to_pyg",
    "to_rdkit",
    "to_smiles",
]
