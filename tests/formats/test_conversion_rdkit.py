"""Molecules: SMILES and RDKit."""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph, MissingExtra
from graphmetric.formats.conversion import as_graphs, from_rdkit, from_smiles, to_rdkit, to_smiles
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
    with pytest.warns(ConversionWarning, match="charges of molecules do not count"):
        assert from_smiles("C[O-]") == from_smiles("CO")
    with pytest.warns(ConversionWarning, match="stereochemistry of molecules does not count"):
        assert from_smiles("F/C=C/F") == from_smiles("F/C=C\\F")
    with pytest.warns(ConversionWarning, match="isotopes of molecules do not count"):
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


@pytest.mark.slow
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
        (Graph(1, node_labels=["Zz"]), "node 0 has label 'Zz', which is not an element symbol"),
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


@pytest.mark.filterwarnings("ignore:charges of molecules do not count")
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


NAPROXEN = "C[C@@H](c1ccc2cc(OC)ccc2c1)C(=O)O", "C[C@H](c1ccc2cc(OC)ccc2c1)C(=O)O"


def test_what_does_not_count_is_said() -> None:
    with pytest.warns(ConversionWarning, match="stereochemistry of molecules does not count.*--distinguish stereo"):
        first, second = as_graphs(list(NAPROXEN))
    assert first.is_isomorphic(second)
    with pytest.warns(ConversionWarning, match="charges and isotopes of molecules do not count") as said:
        as_graphs(["[13CH4]", "C[O-]", "[13CH4]"])
    assert len(said) == 1
    with pytest.warns(ConversionWarning, match="stereochemistry"):
        from_smiles("F/C=C/F")


@pytest.mark.parametrize(
    ("smiles", "distinguish", "nodes", "edges"),
    [
        ("C[N+](=O)[O-]", "charge", ("C", "N+", "O", "O-"), ("1", "2", "1")),
        ("[Ca+2]", ["charge"], ("Ca+2",), ()),
        ("c1cc[nH]c1", ("aromaticity", "hydrogens"), ("cH", "cH", "cH", "nH", "cH"), ("aromatic",) * 5),
        ("[13CH4]", "isotope", ("13C",), ()),
        ("F/C=C/F", "stereo", ("F", "C", "C", "F"), ("1", "2(E)", "1")),
        ("F/C=C\\F", "stereo", ("F", "C", "C", "F"), ("1", "2(Z)", "1")),
        ("CCO", "all", ("CH3", "CH2", "OH"), ("1", "1")),
    ],
)
def test_labels_of_what_is_distinguished(smiles: str, distinguish: Any, nodes: Any, edges: Any) -> None:
    graph = from_smiles(smiles, distinguish=distinguish)
    assert graph.node_labels == nodes
    assert graph.edge_labels == edges


def test_mirror_images_are_apart_when_asked_for_however_atoms_are_numbered() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    first, second = (from_smiles(smiles, distinguish="stereo") for smiles in NAPROXEN)
    assert not first.is_isomorphic(second)
    for seed in range(5):
        other = chem.MolToSmiles(chem.MolFromSmiles(NAPROXEN[0]), doRandom=True, canonical=False)
        assert from_smiles(other, distinguish="stereo").is_isomorphic(first), seed


def test_unknown_distinctions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"distinguish takes charge, stereo, aromaticity, .* got 'colour'"):
        from_smiles("C", distinguish="colour")
