"""Molecules: SMILES and RDKit."""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph, MissingExtra
from graphmetric.graphs.conversion import from_rdkit, from_smiles, to_rdkit, to_smiles
from graphmetric.graphs.graph import Graph

NEUTRAL = [
    "C",
    "CCO",
    "C#N",
    "C=C=C",
    "c1ccccc1",
    "CC(=O)Oc1ccccc1C(=O)O",
    "c1ccncc1",
    "C.C",
    "ClCBr",
    "[H][H]",
    "O=S(=O)(O)O",
]


def test_atoms_and_bonds() -> None:
    graph = from_smiles("N#CC=C", id=7)
    assert graph == Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="NCCC", edge_labels=["3", "1", "2"])
    assert graph.id == 7
    assert from_smiles("c1ccccc1").edge_labels == ("aromatic",) * 6
    assert sorted(from_smiles("c1ccccc1", kekulize=True).edge_labels) == ["1"] * 3 + ["2"] * 3
    assert from_smiles("[NH3]->[Fe]").edge_labels == ("dative",)


def test_hydrogens_charges_and_stereo_are_outside_the_graph() -> None:
    assert from_smiles("[H]C([H])([H])[H]") == from_smiles("C")
    assert from_smiles("C[O-]") == from_smiles("CO")
    assert from_smiles("F/C=C/F") == from_smiles("F/C=C\\F")
    assert from_smiles("[13CH4]") == from_smiles("C")
    with_hydrogens = Chem.AddHs(Chem.MolFromSmiles("C"))
    assert from_rdkit(with_hydrogens).node_labels == ("C", "H", "H", "H", "H")


def test_titles_and_names_become_ids() -> None:
    assert from_smiles("CCO ethanol").id == "ethanol"
    assert from_smiles("CCO\tethanol").id == "ethanol"
    assert from_smiles("CCO ethanol", id="other").id == "other"
    assert from_smiles("CCO").id is None


@pytest.mark.parametrize("smiles", NEUTRAL)
def test_neutral_molecules_round_trip(smiles: str) -> None:
    graph = from_smiles(smiles)
    assert from_rdkit(to_rdkit(graph)) == graph
    assert to_smiles(graph) == Chem.CanonSmiles(smiles)


def test_molecule_is_not_changed() -> None:
    molecule = Chem.MolFromSmiles("c1ccccc1")
    before = molecule.ToBinary()
    from_rdkit(molecule, kekulize=True)
    assert molecule.ToBinary() == before


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("CC(", r"'CC\(' cannot be read: syntax error around position 3"),
        ("C(C)(C)(C)(C)C", "valence for atom # 0 C, 5"),
        ("c1cccc1", "kekulize"),
        ("C1CC", "unclosed ring"),
        ("Xx", "syntax error around position 1"),
        ("hello world", "syntax error"),
        ("", "empty"),
        ("  ", "empty"),
        ("C\nC", "printable ASCII"),
        ("Ć", "printable ASCII"),
        ("\ud800", "printable ASCII"),
        ("C" * 5001, "5,001 characters; 5,000 are allowed"),
    ],
)
def test_reason_is_in_the_error_and_not_on_the_terminal(
    smiles: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidGraph, match=reason):
        from_smiles(smiles)
    assert capfd.readouterr() == ("", "")


def test_reason_from_older_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(rdBase, "CaptureErrorLog", raising=False)
    with pytest.raises(InvalidGraph, match="SMILES syntax"):
        from_smiles("CC(")


@given(st.text(max_size=20) | st.text("CNOc1234()[]=#+-@/\\.%", max_size=20))
def test_any_text_is_a_graph_or_our_error(text: str) -> None:
    with contextlib.suppress(InvalidGraph):
        assert isinstance(from_smiles(text), Graph)


def test_log_of_rdkit_is_as_before_even_with_threads() -> None:
    def attempt(k: int) -> bool:
        try:
            from_smiles("CC(" if k % 2 else "CCO")
        except InvalidGraph:
            return False
        return True

    before = rdBase.LogStatus()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(attempt, range(200))) == [True, False] * 100
    assert rdBase.LogStatus() == before


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(1), "no|none"),
        (Graph(1, node_labels=["Zz"]), "node 0 has label 'Zz', which is no element"),
        (Graph(1, node_labels=[6]), "label 6"),
        (Graph(1, [(0, 0)], node_labels="C"), "self-loop"),
        (Graph(2, [(0, 1)], node_labels="CC", directed=True), "undirected"),
        (Graph(2, [(0, 1)], node_labels="CC", edge_labels=["x"]), r"edge \(0, 1\) has label 'x'; bonds are '1', '2'"),
        (Graph(2, [(0, 1)], node_labels="FF", edge_labels=["3"]), "no neutral molecule.*valence"),
    ],
)
def test_impossible_molecules(graph: Graph, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidGraph, match=message):
        to_rdkit(graph)
    assert capfd.readouterr() == ("", "")


def test_unsanitized_and_left_out() -> None:
    for smiles, reason in (("C[N+](=O)[O-]", "atom # 1 N, 4"), ("c1cc[nH]c1", "kekulize")):
        graph = from_smiles(smiles)
        with pytest.raises(InvalidGraph, match=reason):
            to_rdkit(graph)
        assert from_rdkit(to_rdkit(graph, sanitize=False)) == graph
    with pytest.warns(ConversionWarning, match="to_rdkit left out edge_weights, metadata"):
        to_rdkit(Graph(2, [(0, 1)], node_labels="CC", edge_weights=[2], metadata={"a": 1}))


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="got a int"):
        from_smiles(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="got a str"):
        from_rdkit("C")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "rdkit", None)
    for call in (lambda: from_smiles("C"), lambda: to_smiles(Graph(1, node_labels="C"))):
        with pytest.raises(MissingExtra, match=r"pip install 'graphmetric\[molecules\]'"):
            call()
