"""index and search as a user meets them."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

import graphmetric as gm
from graphmetric.cli import cli, main
from graphmetric.cli import search as search_module
from graphmetric.search.hits import SearchProgress, SearchResult
from tests.command_line import run
from tests.edit_distance.hard_graphs import sparse


@pytest.fixture(scope="module")
def folders(
    model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Of a model and of an index that the command made."""
    root = tmp_path_factory.mktemp("commands")
    model.save(root / "model")
    gm.write_graphs(molecules[:30], root / "graphs.gmg")
    done = CliRunner().invoke(
        cli, ["index", str(root / "model"), str(root / "graphs.gmg"), "--out", str(root / "idx"), "--jobs", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "30 graphs indexed" in done.output
    return root / "model", root / "idx"


def search(index: Path, *arguments: str) -> str:
    done = CliRunner().invoke(cli, ["search", str(index), *arguments])
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout


def test_learned_and_certified(folders: tuple[Path, Path], molecules: gm.GraphCollection) -> None:
    found = json.loads(search(folders[1], "molecules:4", "-k", "3", "--json"))
    assert found["hits"][0]["id"] == molecules[4].id
    assert found["report"]["exact"]
    assert found["counts"].startswith("the learned distance counts nodes, edges and node labels; node features")
    assert "edge weights do not count" in search(folders[1], "molecules:4")
    certified = json.loads(search(folders[1], "molecules:40", "-k", "3", "--certified", "--explain", "--json"))
    assert certified["counts"] == "the edit distance counts nodes, edges and every attribute that the graphs have"
    for hit in certified["hits"]:
        assert hit["proven"]
        assert hit["exact"] == len(hit["edits"]) == sum(hit["edit_counts"].values())
        assert "edits (exact)" in hit["explanation"]
    assert "(proven)" in search(folders[1], "molecules:40", "--certified", "--time-limit", "30")
    assert "evaluated exactly" in search(folders[1], "molecules:40", "--explain")


def test_other_queries_and_conditions(folders: tuple[Path, Path], molecules: gm.GraphCollection) -> None:
    by_id = json.loads(search(folders[1], str(molecules[4].id), "--id", "-k", "1", "--json"))
    assert by_id["hits"][0]["distance"] == pytest.approx(0, abs=1e-4)
    by_smiles = json.loads(search(folders[1], "CCO", "--smiles", "-k", "2", "--json"))["hits"]
    ethanol = gm.Graph.from_smiles("CCO").replace(edge_labels=None)  # the index has no bond types
    assert [hit["distance"] for hit in by_smiles] == [
        h.distance for h in gm.GraphIndex.load(folders[1]).search(ethanol, 2)
    ]
    only = json.loads(search(folders[1], "molecules:4", "--where", "class=2", "--distinct", "--json"))
    assert {hit["metadata"]["class"] for hit in only["hits"]} == {2}
    assert len(json.loads(search(folders[1], "molecules:4", "--within", "1e9", "--json"))["hits"]) == 30


def test_all_within_a_radius(folders: tuple[Path, Path], molecules: gm.GraphCollection) -> None:
    asked = ("molecules:40", "--certified", "--within", "6", "--jobs", "1", "--json")
    exact = gm.pairwise_edit_distances(molecules[40:41], molecules[:30]).distances[0]
    found = json.loads(search(folders[1], *asked))
    assert [hit["exact"] for hit in found["hits"]] == sorted(exact[exact <= 6].tolist())
    report = found["report"]
    assert (report["undecided"], report["undecided_lower"], report["complete"]) == (0, None, True)
    assert sum(report["stages"].values()) + len(found["hits"]) <= report["graphs"] == 30
    limited = json.loads(search(folders[1], *asked, "--limit", "element=0", "--limit", "nodes_deleted=1"))
    assert len(limited["hits"]) < len(found["hits"])
    assert all(hit["edit_counts"]["nodes_relabeled"] == 0 for hit in limited["hits"])


def test_ctrl_c_prints_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = [sparse(40, seed) for seed in range(8)]
    gm.GraphIndex.build(trees[:7], ids=range(7)).save(tmp_path / "idx")
    gm.write_graphs(trees[7:], tmp_path / "query.gmg")

    def press(known: SearchProgress) -> str:
        if known.seconds > 0.2:
            os.kill(os.getpid(), signal.SIGINT)
        return how_far(known)

    how_far = search_module._how_far
    with mock.patch.object(search_module, "_how_far", press):
        code, text, errors = run(capsys, "search", tmp_path / "idx", tmp_path / "query.gmg", "--within", 60)
    assert code == 130
    assert "none of them nearer than" in text
    assert "stopped" in errors


def test_progress_in_words() -> None:
    def make_result() -> SearchResult:
        raise NotImplementedError

    known = SearchProgress(0, 3, 1200, 17, 4.5, 2.0, make_result)
    assert search_module._how_far(known) == "3 found, 1,200 excluded, 17 undecided, none of these nearer than 4.5"
    assert (
        search_module._how_far(replace(known, undecided=0, undecided_lower=None))
        == "3 found, 1,200 excluded, 0 undecided"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>")])
def test_plots(folders: tuple[Path, Path], tmp_path: Path, name: str, start: bytes) -> None:
    search(folders[1], "molecules:4", "-k", "3", "--plot", str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "no-index", "molecules:1"], "not a folder of an index"),
        (["search", "INDEX", "molecules"], "holds 973 graphs"),
        (["search", "INDEX", "molecules:1", "--plot", "a.gif"], ".svg"),
        (["search", "INDEX", "nobody", "--id"], "no graph 'nobody'"),
        (["search", "INDEX", "molecules:1", "--where", "class"], "key=value"),
        (["search", "INDEX", "molecules:1", "-k", "0"], "0 is not in the range"),
        (["search", "INDEX", "molecules:1", "--within", "1", "--candidates", "10"], "leave out --candidates"),
        (["search", "INDEX", "molecules:1", "--limit", "ring=0"], "--limit goes with --certified"),
        (["search", "INDEX", "molecules:1", "--certified", "--limit", "rings=0"], "limits names 'rings'"),
        (["index", "no-model", "molecules", "--out", "other"], "not a folder of a model"),
        (["index", "MODEL", "molecules", "--out", "INDEX"], "--overwrite"),
        (["index", "MODEL", "molecules"], "--out"),
    ],
)
def test_wrong_use_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    folders: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"MODEL": str(folders[0]), "INDEX": str(folders[1])}
    with pytest.raises(SystemExit) as stopped:
        main([places.get(argument, argument) for argument in arguments])
    errors = capsys.readouterr().err
    assert stopped.value.code != 0
    assert said in errors
    assert "Traceback" not in errors
