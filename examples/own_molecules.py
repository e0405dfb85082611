"""Molecules of one's own, as SMILES: a distance learned from them, and the nearest of them to a new one.

Run it: python examples/own_molecules.py
It needs RDKit: pip install 'graphmetric[molecules]'. For a file of SMILES: graphmetric train molecules.smi --out model/
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
from typing import Any

import graphmetric as gm
from graphmetric.errors import MissingExtra

MOLECULES = """
CC(=O)O acetic acid
CC(C)=O acetone
CCO ethanol
OCC(O)CO glycerol
NC(N)=O urea
CC(O)C(=O)O lactic acid
CC(=O)C(=O)O pyruvic acid
OC(=O)CC(O)(C(=O)O)C(=O)O citric acid
NCC(=O)O glycine
CC(N)C(=O)O alanine
NC(CO)C(=O)O serine
NC(CS)C(=O)O cysteine
CC(C)C(N)C(=O)O valine
CC(C)CC(N)C(=O)O leucine
NC(Cc1ccccc1)C(=O)O phenylalanine
NC(Cc1ccc(O)cc1)C(=O)O tyrosine
c1ccccc1 benzene
Cc1ccccc1 toluene
C=Cc1ccccc1 styrene
Oc1ccccc1 phenol
COc1ccccc1 anisole
Nc1ccccc1 aniline
Oc1ccccc1O catechol
Oc1ccc(O)cc1 hydroquinone
O=Cc1ccccc1 benzaldehyde
COc1cc(C=O)ccc1O vanillin
O=CC=Cc1ccccc1 cinnamaldehyde
OC(=O)c1ccccc1 benzoic acid
OC(=O)c1ccccc1O salicylic acid
CC(=O)Oc1ccccc1C(=O)O aspirin
CC(=O)Nc1ccc(O)cc1 paracetamol
NCCc1ccccc1 phenethylamine
NCCc1ccc(O)c(O)c1 dopamine
NCCc1c[nH]cn1 histamine
c1ccncc1 pyridine
OC(=O)c1cccnc1 nicotinic acid
CN1CCCC1c1cccnc1 nicotine
O=c1cc[nH]c(=O)[nH]1 uracil
Cn1cnc2c1c(=O)n(C)c(=O)n2C caffeine
"""
NEW = "CNCC(O)c1ccc(O)c(O)c1 adrenaline"


def main(new: str = NEW, max_steps: int = 300, **options: Any) -> list[str]:
    """Learn from the molecules above and search them; returns the names of the nearest by the learned distance."""
    try:
        molecules = [read(line) for line in MOLECULES.strip().splitlines()]
    except MissingExtra as missing:
        print("skipped:", missing)
        return []
    model = gm.GraphDistance("small", max_steps=max_steps, **options).fit(molecules)
    index = gm.GraphIndex.build(model, molecules)

    query = read(new)
    found = index.search(query, k=5)
    print(f"nearest to {query.id} of {len(molecules)} molecules, by the learned distance:")
    for hit in found:
        print(f"  {hit.distance:5.2f}  {hit.id}")
    nearest = index.search(query, k=1, certified=True)[0]
    print(f"proven to be nearest: {nearest.id}, {nearest.exact:g} edits (atoms, bonds and their kinds)")
    for edit in nearest.edit_path or ():
        print(f"  {edit}")
    return [str(hit.id) for hit in found]


def read(line: str) -> gm.Graph:
    """A molecule from a SMILES and its name."""
    smiles, name = line.split(" ", 1)
    return gm.Graph.from_smiles(smiles, id=name)


if __name__ == "__main__":
    main(*sys.argv[1:2])
