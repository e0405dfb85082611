"""Write the embedded data set "molecules": small molecules of the NCI open database, from the file in the RDKit wheel.

    python tools/make_molecules.py [OUTPUT.gmg]

The National Cancer Institute's Developmental Therapeutics Program (NCI/DTP) publishes the structures, which are not
copyrighted; RDKit (BSD-3-Clause) ships the first 5,000 as ``Data/NCI/first_5K.smi``. Kept are those that RDKit can
read, that are connected, and that have at most ten heavy atoms. Hydrogens are left implicit and charges, isotopes and
stereochemistry are left out, as in AIDS700nef; the SMILES in the metadata still has them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rdkit import Chem, RDConfig, rdBase

from graphmetric.formats import write_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

SOURCE = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
TARGET = Path(__file__).parents[1] / "src/graphmetric/datasets/embedded/molecules.gmg"
MOST_ATOMS = 10


def small_molecules(source: Path = SOURCE, most_atoms: int = MOST_ATOMS) -> Iterator[Graph]:
    """The molecules of a file of lines ``SMILES <tab> NSC number`` that fit the data set."""
    with rdBase.BlockLogs():  # nine structures cannot be read; RDKit would report each on stderr
        for line in source.read_text(encoding="ascii").splitlines():
            smiles, number = line.split("\t")
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is not None and fits(molecule, most_atoms):
                yield to_graph(molecule, smiles, f"NSC {number}")


def fits(molecule: Chem.Mol, most_atoms: int) -> bool:
    """Whether the molecule is connected and small."""
    return molecule.GetNumAtoms() <= most_atoms and len(Chem.GetMolFrags(molecule)) == 1


def to_graph(molecule: Chem.Mol, smiles: str, name: str) -> Graph:
    """Atoms with their symbols, bonds with their types: single, double, triple, aromatic."""
    bonds = list(molecule.GetBonds())
    return Graph(
        molecule.GetNumAtoms(),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        node_labels=[atom.GetSymbol() for atom in molecule.GetAtoms()],
        edge_labels=[str(bond.GetBondType()).lower() for bond in bonds],
        id=name,
        metadata={"smiles": smiles},
    )


if __name__ == "__main__":
    graphs = GraphCollection(small_molecules())
    write_graphs(graphs, sys.argv[1] if len(sys.argv) > 1 else TARGET)
    print(graphs)
