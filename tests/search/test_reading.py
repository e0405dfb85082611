"""Molecules of queries are read as those of the index, whatever form they come in."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path

import pytest

import graphmetric as gm
from graphmetric.errors import ConversionWarning, FileError, InvalidArgument
from graphmetric.formats import MoleculeOptions
from graphmetric.formats.molecules import distinctions_in_labels
from tests.command_line import run

Chem = pytest.importorskip("rdkit.Chem")

SMILES = "C[NH3+] charged\nCN plain\nC[N+](C)(C)C methylated\n[O-]C=O formate\nOC=O acid\n"
CHARGED = MoleculeOptions(distinguish="charge")


def read(distinguish: tuple[str, ...] = ("charge",), text: str = SMILES) -> gm.GraphCollection:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)  # charges that do not count
        return gm.read_graphs(io.BytesIO(text.encode()), "smiles", distinguish=distinguish)


@pytest.fixture
def index() -> gm.GraphIndex:
    return gm.GraphIndex.build(read())


def test_every_form_of_a_query_is_read_alike(index: gm.GraphIndex) -> None:
    assert index.reading == CHARGED
    methylamine = gm.read_graphs(io.BytesIO(b"C[NH3+]\n"), "smiles", reading=index.reading)
    for query in ("C[NH3+]", Chem.MolFromSmiles("C[NH3+]"), methylamine[0]):
        found = index.search(query, 2)
        assert [(hit.id, hit.exact) for hit in found] == [("charged", 0), ("plain", 1)]
        assert index.explain(query, "plain").alignment.upper == 1
    assert [result[0].exact for result in index.search(methylamine)] == [0]
    with pytest.raises(
        InvalidArgument, match="queries were read by elements and bond types, the molecules of the index"
    ):
        index.search(read(()))


def test_the_record_is_kept(index: gm.GraphIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "idx")
    again = gm.GraphIndex.load(tmp_path / "idx")
    assert again.reading == CHARGED
    assert again.graphs[:2].reading == CHARGED
    again.add(["[NH4+]"], ids=["ammonium"])
    again.save(tmp_path / "idx")
    loaded = gm.GraphIndex.load(tmp_path / "idx")
    assert loaded.graph("ammonium").node_labels == ("N+",)
    with pytest.raises(InvalidArgument, match="new graphs were read by elements, bond types and stereo"):
        loaded.add(read(("stereo",)))
    assert loaded.reading == CHARGED


def test_smiles_and_collections_bring_their_record() -> None:
    assert gm.GraphIndex.build(["CCO", "CN"]).reading == MoleculeOptions()
    assert gm.GraphIndex.build(["CCO", "C[NH3+]"], reading=CHARGED).graph(1).node_labels == ("C", "N+")
    assert gm.GraphIndex.build(gm.load_dataset("molecules").graphs[3:9]).reading == MoleculeOptions()
    assert (read()[1:3] + read()).reading == CHARGED
    assert (read() + read(())).reading is None
    grown = gm.GraphIndex.build([])
    grown.add(read())
    assert grown.reading == CHARGED


def test_a_mixture_has_no_record() -> None:
    molecule, other = "CCO", gm.Graph(2, [(0, 1)], node_labels=["C", "N"])
    assert gm.as_graphs([molecule, molecule]).reading == MoleculeOptions()
    assert gm.as_graphs([molecule, other]).reading is None
    assert gm.as_graphs([other, molecule]).reading is None
    assert gm.GraphIndex.build(iter([other] * 4096 + [molecule])).reading is None


def test_labels_show_that_more_was_distinguished(tmp_path: Path) -> None:
    acetates = list(read(text="CC(=O)O acid\nCC(=O)[O-] acetate\n"))
    index = gm.GraphIndex.build(acetates)
    assert index.reading is None
    for query in ("CC(=O)[O-]", Chem.MolFromSmiles("CC(=O)[O-]"), read((), "CC(=O)[O-]\n")):
        with pytest.raises(
            InvalidArgument, match=r"labels such as 'O-' show that charge counted.*distinguish=\('charge'"
        ):
            index.search(query)
    assert index.search(acetates[1], 1)[0].id == "acetate"
    with pytest.raises(InvalidArgument, match="'O-' show that charge counted"):
        index.add(["CCO"])
    with pytest.raises(InvalidArgument, match="'O-' show that charge counted"):
        gm.GraphIndex.build(acetates, reading=MoleculeOptions())
    with pytest.raises(InvalidArgument, match="'O-' show that charge counted"):
        gm.GraphIndex.build(["CCO"]).add(acetates)
    with pytest.raises(InvalidArgument, match="'O-' show that charge counted"):
        gm.GraphIndex.build(["CCO", *acetates]).search("CCO")
    index.save(tmp_path / "idx")
    loaded = gm.GraphIndex.load(tmp_path / "idx")
    with pytest.raises(InvalidArgument, match="'O-' show that charge counted"):
        loaded.search("CC(=O)[O-]")
    loaded.reading = CHARGED
    assert loaded.search("CC(=O)[O-]", 1)[0].id == "acetate"
    assert gm.GraphIndex.build(acetates, reading=CHARGED).search("CC(=O)[O-]", 1)[0].id == "acetate"


@pytest.mark.parametrize(
    ("smiles", "distinction"),
    [
        ("[NH4+]", "charge"),
        ("[13CH4]", "isotope"),
        ("c1ccccc1", "aromaticity"),
        ("CCO", "hydrogens"),
        ("C[C@H](N)O", "stereo"),
        ("F/C=C/F", "stereo"),
    ],
)
def test_every_distinction_is_seen_in_labels(smiles: str, distinction: str) -> None:
    graph = gm.Graph.from_smiles(smiles, distinguish=distinction)
    assert tuple(distinctions_in_labels(graph.node_labels, graph.edge_labels)) == (distinction,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        plain = gm.Graph.from_smiles(smiles)
    assert distinctions_in_labels(plain.node_labels, plain.edge_labels) == {}


def test_an_index_without_the_record_says_so_once(tmp_path: Path) -> None:
    index = gm.GraphIndex.build(list(read(())))
    assert index.reading is None
    with pytest.warns(ConversionWarning, match="does not record how its molecules were read"):
        index.search("CN")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index.search("CN")
        index.search(Chem.MolFromSmiles("CN"))
        index.search(read()[0])
    index.reading = CHARGED
    index.save(tmp_path / "idx")
    assert gm.GraphIndex.load(tmp_path / "idx").search("C[NH3+]", 1)[0].id == "charged"


@pytest.mark.parametrize("record", [{"version": 2, "distinguish": []}, {"version": 1}, {"version": 1, "salts": 1}, []])
def test_a_record_of_later_programs_is_refused(record: object) -> None:
    with pytest.raises(InvalidArgument, match="this graphmetric reads version 1 of such records"):
        MoleculeOptions.from_dict(record)
    assert MoleculeOptions.from_dict(CHARGED.to_dict()) == CHARGED
    with pytest.raises(InvalidArgument, match="reading must be"):
        gm.GraphIndex.build(read(), reading="charge")  # type: ignore[arg-type]


def test_a_folder_with_a_record_of_later_programs_is_refused(
    index: gm.GraphIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MoleculeOptions, "to_dict", lambda self: {"version": 2, "salts": "largest"})
    with pytest.raises(FileError, match="reads version 1 of such records"):
        index.save(tmp_path / "idx")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, query, folder = tmp_path / "some.smi", tmp_path / "query.smi", tmp_path / "idx"
    smiles.write_text(SMILES)
    query.write_text("C[NH3+] asked\n")

    def ask(*arguments: object) -> list[tuple[object, float]]:
        code, text, errors = run(capsys, "search", folder, *arguments, "-k", 2, "--json")
        assert (code, errors) == (0, "")
        return [(hit["id"], hit["exact"]) for hit in json.loads(text)["hits"]]

    assert run(capsys, "index", smiles, "--out", folder, "--distinguish", "charge")[0] == 0
    expected = [("charged", 0), ("plain", 1)]
    assert ask(query) == ask("C[NH3+]", "--smiles") == ask(query, "--distinguish", "charge") == expected
    assert ask(f"{query}:0") == expected
    assert run(capsys, "search", folder, query, "--out", tmp_path / "hits.jsonl")[0] == 0
    assert json.loads((tmp_path / "hits.jsonl").read_text())["hits"][0]["exact"] == 0
    code, _, errors = run(capsys, "search", folder, query, "--distinguish", "stereo")
    assert (code, "read by elements, bond types and stereo" in errors) == (1, True)
    query.write_text("[NH4+] ammonium\n")
    assert run(capsys, "index", "add", folder, query)[0] == 0
    assert gm.GraphIndex.load(folder).graph("ammonium").node_labels == ("N+",)


def test_the_command_line_says_that_there_is_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gm.write_graphs(read(), tmp_path / "charged.gmg")
    assert run(capsys, "index", tmp_path / "charged.gmg", "--out", tmp_path / "charged")[0] == 0
    code, _, errors = run(capsys, "search", tmp_path / "charged", "CN", "--smiles")
    assert (code, "show that charge counted" in errors) == (1, True)
    assert run(capsys, "search", tmp_path / "charged", "CN", "--smiles", "--distinguish", "charge")[0] == 0
    gm.write_graphs(read(()), tmp_path / "some.gmg")
    assert run(capsys, "index", tmp_path / "some.gmg", "--out", tmp_path / "idx")[0] == 0
    code, _, errors = run(capsys, "search", tmp_path / "idx", "CN", "--smiles")
    assert (code, errors.count("does not record how its molecules were read")) == (0, 1)
    code, _, errors = run(capsys, "search", tmp_path / "idx", "CN", "--smiles", "--distinguish", "charge")
    assert (code, errors) == (0, "")
    assert run(capsys, "search", tmp_path / "idx", "plain", "--id")[2] == ""
