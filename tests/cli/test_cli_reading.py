"""The options that every command has that reads graphs, and what is said about what was read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphmetric import Graph, read_graphs, write_graphs
from graphmetric.cli import graph_sources
from graphmetric.cli.graph_sources import Reading
from graphmetric.errors import ConversionWarning, FileError, InvalidArgument
from graphmetric.formats import MoleculeOptions, ReadLimits
from tests.command_line import run

READING = ("info", "convert", "ged", "label", "train", "evaluate", "distance", "embed", "index", "search")
OPTIONS = ("--format", "--node-label", "--edge-label", "--directed / --undirected", "--distinguish", "--skip-bad")
OPTIONS = (*OPTIONS, "--reading-limits", "--root")

NODE_LINK = {
    "nodes": [{"id": 0, "kind": "a", "label": "x"}, {"id": 1, "kind": "b", "label": "x"}],
    "edges": [{"source": 0, "target": 1, "relation": "calls", "label": "y"}],
}


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(NODE_LINK) + "\n")
    return path


@pytest.mark.parametrize("command", READING)
def test_every_command_that_reads_graphs_has_the_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    text = run(capsys, command, "--help")[1]
    assert [option for option in OPTIONS if option not in text] == []


def test_attributes_are_chosen(capsys: pytest.CaptureFixture[str], calls: Path) -> None:
    report = json.loads(run(capsys, "info", calls, "--json")[1])
    assert (report["node_labels"], report["edge_labels"], report["directed"]) == ({"x": 2}, {"y": 1}, 0)
    chosen = ["--node-label", "kind", "--edge-label", "relation", "--directed"]
    code, text, errors = run(capsys, "info", calls, "--json", *chosen)
    report = json.loads(text)
    assert (code, report["node_labels"], report["edge_labels"]) == (0, {"a": 1, "b": 1}, {"calls": 1})
    assert (report["directed"], report["edges"]["max"]) == (1, 1)
    assert "node attributes 'label' left out (choose by node_label=..., or by --node-label" in errors
    code, _, errors = run(capsys, "info", calls, "--node-label", "colour")
    assert code == 1
    assert "no node has the attribute 'colour'; nodes have 'kind', 'label'" in errors


def test_reading_options_are_found_without_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_nothing(*_: object, **__: object) -> None:
        raise AssertionError("a data set is loaded")

    monkeypatch.setattr(graph_sources, "load_dataset", load_nothing)
    assert Reading().molecule_options("molecules:3") == MoleculeOptions()
    assert Reading(str(tmp_path)).molecule_options("AIDS700nef") == MoleculeOptions()  # whose files are not there
    assert Reading().molecule_options("programs") is None
    (tmp_path / "some.smi").write_text("CCO\n")
    given = {"distinguish": ("charge",), "directed": True, "on_error": "skip"}
    charged = MoleculeOptions("charge")
    assert Reading(options=given).molecule_options(str(tmp_path / "some.smi")) == charged
    assert Reading(molecules=charged).molecule_options(str(tmp_path / "some.smi")) == charged


def test_python_and_command_line_read_alike(capsys: pytest.CaptureFixture[str], calls: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.gmg"
    assert run(capsys, "convert", calls, target, "--node-label", "kind", "--undirected")[0] == 0
    with pytest.warns(ConversionWarning, match="left out"):
        assert list(read_graphs(target)) == list(read_graphs(calls, node_label="kind", directed=False))


@pytest.mark.slow
def test_warnings_are_words_without_source_lines(calls: Path) -> None:
    command = [sys.executable, "-m", "graphmetric", "info", str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    advice = "left out (choose by {0}_label=..., or by --{0}-label on the command line)"
    assert done.stderr.splitlines() == [
        f"note: {calls}: node attributes 'kind' {advice.format('node')}",
        f"note: {calls}: edge attributes 'relation' {advice.format('edge')}",
    ]


def test_direction_can_be_given_or_changed(tmp_path: Path) -> None:
    (tmp_path / "arcs.tve").write_text("t # 0\nv 0\nv 1\ne 1 0\n")
    assert read_graphs(tmp_path / "arcs.tve", directed=True)[0] == Graph(2, [(1, 0)], directed=True)
    for suffix in (".gmg", ".jsonl", ".graphml"):
        path = tmp_path / f"graph{suffix}"
        write_graphs([Graph(2, [(1, 0)], directed=True), Graph(2, [(1, 0)])], path)
        assert list(read_graphs(path, directed=True)) == [
            Graph(2, [(1, 0)], directed=True),
            Graph(2, [(0, 1), (1, 0)], directed=True),
        ]
        assert list(read_graphs(path, directed=False)) == [Graph(2, [(0, 1)])] * 2
        assert [graph.directed for graph in read_graphs(path)] == [True, False]
    path = tmp_path / "differing.jsonl"
    write_graphs(Graph(2, [(0, 1), (1, 0)], directed=True, edge_labels="ab", id="g"), path)
    with pytest.raises(FileError, match=r"differing.jsonl: graph 'g': arcs \(0, 1\) and \(1, 0\) differ"):
        read_graphs(path, directed=False)


BAD = {
    ".jsonl": '{"num_nodes": 1}\n{"num_nodes": -1}\n[\n{"num_nodes": 2}\n',
    ".json": '{"graphs": [{"num_nodes": 1}, {"num_nodes": -1}, 7, {"num_nodes": 2}]}',
    ".tve": "t # 0\nv 0\nt # 1\nv 0\ne 0 5\nt # 2\nv zero\ne 0 1\nx\nt # 3\nv 0\nv 1\n",
    ".graphml": '<graphml><graph id="a"><node id="n"/></graph><graph><node/></graph><graph edgedefault="x"/>'
    '<graph id="b"><node id="n"/><node id="m"/></graph></graphml>',
}


@pytest.mark.parametrize("suffix", BAD)
def test_bad_graphs_can_be_skipped(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"some{suffix}"
    path.write_text(BAD[suffix])
    with pytest.raises(FileError):
        read_graphs(path)
    with pytest.warns(
        ConversionWarning, match=f"2 graphs could not be read and were left out; the first: .*some{suffix}"
    ):
        assert read_graphs(path, on_error="skip").sizes.tolist() == [1, 2]
    code, text, errors = run(capsys, "info", path, "--skip-bad", "--json")
    assert (code, json.loads(text)["graphs"]) == (0, 2)
    assert "note: 2 graphs could not be read" in errors


def test_whole_files_are_skipped_but_not_all(tmp_path: Path) -> None:
    write_graphs(Graph(1), tmp_path / "a.json")
    (tmp_path / "b.json").write_text("{")
    with pytest.warns(
        ConversionWarning, match="1 graph could not be read and was left out; the first: .*b.json: line 1"
    ):
        assert len(read_graphs(tmp_path, on_error="skip")) == 1
    with pytest.raises(FileError, match=r"b\.json"):
        read_graphs(tmp_path / "b.json", on_error="skip")
    with pytest.raises(InvalidArgument, match="on_error must be 'raise' or 'skip'; got 'ignore'"):
        read_graphs(tmp_path, on_error="ignore")  # type: ignore[arg-type]


def test_limits_hold_also_where_bad_graphs_are_skipped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "three.jsonl"
    write_graphs([Graph(1), Graph(3), Graph(2)], path)
    with pytest.raises(FileError, match="3 nodes; the limit is 2"):
        read_graphs(path, on_error="skip", limits=ReadLimits(max_nodes=2))
    code, _, errors = run(capsys, "info", path, "--reading-limits", "max_nodes=2")
    assert code == 1
    assert "three.jsonl: line 2: 3 nodes; the limit is 2" in errors
    assert "--reading-limits max_nodes=..." in errors
    assert (
        run(capsys, "info", path, "--reading-limits", "max_nodes=2", "--reading-limits", "max_nodes=3,max_graphs=3")[0]
        == 0
    )
    assert run(capsys, "info", path, "--reading-limits", "none")[0] == 0
    assert "names are max_bytes" in run(capsys, "info", path, "--reading-limits", "nodes=2")[2]


def test_format_is_named_where_the_suffix_does_not_tell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "graphs.dat").write_text("t # 0\nv 0\n")
    assert run(capsys, "info", tmp_path / "graphs.dat")[0] == 1
    assert run(capsys, "info", tmp_path / "graphs.dat", "--format", "tve")[0] == 0
    assert run(capsys, "ged", tmp_path / "graphs.dat", tmp_path / "graphs.dat", "--format", "tve")[0] == 0
    assert run(capsys, "convert", tmp_path / "graphs.dat", tmp_path / "out.gmg", "--format", "tve")[0] == 0


def test_options_of_files_are_not_ignored_by_data_sets(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--node-label", "x"], ["--directed"], ["--undirected"], ["--skip-bad"]):
        code, _, errors = run(capsys, "info", "molecules", *option)
        assert code == 1
        assert f"{option[0]} is for files; molecules is a data set" in errors


@pytest.mark.parametrize("suffix", [".jsonl", ".tve", ".json"])
def test_files_without_graphs_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"nothing{suffix}"
    path.write_text("[]" if suffix == ".json" else "")
    with pytest.warns(ConversionWarning, match=f"nothing{suffix} holds no graphs"):
        assert len(read_graphs(path)) == 0
    code, _, errors = run(capsys, "info", path)
    assert code == 1
    assert f"Error: {path} holds no graphs" in errors
    write_graphs(Graph(1), tmp_path / "one.jsonl")
    path.with_name(f"also{suffix}").write_text(path.read_text())
    with pytest.warns(ConversionWarning, match=f"2 files hold no graphs: .*also{suffix}, .*nothing{suffix}"):
        assert len(read_graphs(tmp_path)) == 1


def test_ids_and_labels_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    escape = "\x1b]0;owned\x07"
    write_graphs([Graph(1, node_labels=[escape], id=escape), Graph(1, node_labels=["b\u202e"])], path)
    for arguments in (["info", path], ["ged", f"{path}:0", f"{path}:1"], ["info", f"{tmp_path}/no{escape}"]):
        _, text, errors = run(capsys, *arguments)
        assert not {"\x1b", "\x07", "\u202e"} & set(text + errors)
        assert "\\x1b" in text + errors


def test_mirror_images_are_0_apart_unless_stereo_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    pair = ["C[C@@H](N)C(=O)O", "C[C@H](N)C(=O)O"]
    (tmp_path / "two.smi").write_text("\n".join(pair))
    for given in ([*pair, "--smiles"], [f"{tmp_path}/two.smi:0", f"{tmp_path}/two.smi:1"]):
        _, text, errors = run(capsys, "ged", *given, "--json")
        assert json.loads(text)["upper"] == 0
        assert "stereochemistry of molecules does not count" in errors
        _, text, errors = run(capsys, "ged", *given, "--json", "--distinguish", "stereo,charge")
        assert (json.loads(text)["upper"], errors) == (1, "")
    assert "distinguish takes charge, stereo" in run(capsys, "ged", *pair, "--smiles", "--distinguish", "colour")[2]


def test_half_characters_are_refused_or_spelled_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    path.write_text('{"num_nodes": 1, "id": "\\ud83d\\ude00"}\n{"num_nodes": 1, "id": "\\ud83d"}\n')
    with pytest.raises(FileError, match=r"half.jsonl: line 2: a text has half of a character"):
        read_graphs(path)
    for suffix in (".tve", ".dot", ".gml", ".graphml"):
        with pytest.raises(FileError, match=r"half of a character|cannot hold|a word without"):
            write_graphs(Graph(1, node_labels=["\ud800"]), tmp_path / f"out{suffix}")
        assert not (tmp_path / f"out{suffix}").exists()
    file = tmp_path / "not-utf8-\udcff.json"
    write_graphs(Graph(1), file)
    (graph,) = read_graphs(tmp_path / "*.json")
    assert graph.id == "not-utf8-\\udcff"
    code, text, _ = run(capsys, "info", file)
    assert (code, "not-utf8-" in text) == (0, True)


def test_measurements_that_make_everything_different_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "measured.jsonl"
    write_graphs([Graph(5, [(0, 1), (1, 2)], node_features=rng.normal(size=(5, 2))) for _ in range(4)], path)
    sentence = "node_features are different on 100% of the nodes"
    assert sentence in run(capsys, "info", path, "--json")[1]
    assert sentence in run(capsys, "ged", f"{path}:0", f"{path}:1")[2]
    assert sentence not in run(capsys, "ged", f"{path}:0", f"{path}:1", "--ignore", "node_features")[2]
    assert sentence in run(capsys, "label", path, "--out", tmp_path / "labels", "--jobs", "1")[2]
    kinds = tmp_path / "kinds.jsonl"
    write_graphs([Graph(5, [(0, 1), (1, 2)], node_features=np.eye(2)[[0, 1, 0, 1, 0]]) for _ in range(4)], kinds)
    assert "are different on" not in run(capsys, "info", kinds, "--json")[1]


def test_names_as_labels_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "named.jsonl"
    write_graphs([Graph(5, node_labels=[f"{k}-{i}" for i in range(5)]) for k in range(4)], path)
    assert "node_labels are different on 100% of the nodes, as names are" in run(capsys, "info", path, "--json")[1]


def test_info_says_what_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "molecules.jsonl"
    write_graphs([Graph(2, [(0, 1)], node_labels=["C", "O"], edge_labels=["2"])], path)
    report = json.loads(run(capsys, "info", path, "--json")[1])
    assert report["counts"] == ["nodes", "edges", "node labels", "edge labels"]
    assert any("charge, stereochemistry and isotopes do not count" in sentence for sentence in report["unusual"])
    assert "an edit distance counts" in run(capsys, "info", path)[1]


def test_info_names_graphs_by_their_ids(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    large = Graph(60, [(k, k + 1) for k in range(59)])
    named = [large.replace(id="huge"), *(Graph(2, [], id=f"pair {k}") for k in range(6)), Graph(0, id="nothing")]
    write_graphs(named, tmp_path / "named.jsonl")
    notes = json.loads(run(capsys, "info", tmp_path / "named.jsonl", "--json")[1])["unusual"]
    assert "huge has 60 nodes, the median is 2" in notes
    assert "graphs without nodes (1): nothing" in notes
    assert "graphs that are not connected (6): pair 0, pair 1, pair 2, pair 3, pair 4, ..." in notes
    write_graphs([graph.replace(id=None) for graph in named], tmp_path / "bare.jsonl")
    notes = json.loads(run(capsys, "info", tmp_path / "bare.jsonl", "--json")[1])["unusual"]
    assert "graphs[0] has 60 nodes, the median is 2" in notes
    assert "graphs without nodes (1): graphs[7]" in notes
    write_graphs([Graph(1, id=name) for name in "abcbb"], tmp_path / "twice.gmg")
    notes = json.loads(run(capsys, "info", tmp_path / "twice.gmg", "--json")[1])["unusual"]
    assert "ids are not unique: 3 for 5 graphs; b is the id of 3" in notes
