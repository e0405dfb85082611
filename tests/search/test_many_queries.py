"""Many queries in one command, and an index that is changed: as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graphmetric as gm
from graphmetric.formats import MoleculeOptions
from tests.command_line import run


@pytest.fixture(scope="module")
def place(model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of 60 molecules and files of queries."""
    root = tmp_path_factory.mktemp("many")
    gm.GraphIndex.build(model, molecules[:60], out=root / "idx")
    gm.write_graphs(molecules[60:100], root / "queries.jsonl")
    (root / "empty.jsonl").touch()
    gm.write_graphs([graph.replace(id=f"new {k}") for k, graph in enumerate(molecules[100:105])], root / "new.jsonl")
    return root


def test_answers_are_those_of_single_queries(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    out = place / "hits.csv"
    code, text, errors = run(capsys, "search", place / "idx", place / "queries.jsonl", "-k", "3", "--out", out)
    assert code == 0, errors
    assert text.startswith("40 queries answered in ")
    rows = list(csv.DictReader(out.read_text().splitlines()))
    index, queries = gm.GraphIndex.load(place / "idx"), gm.read_graphs(place / "queries.jsonl")
    assert len(rows) == 3 * len(queries)
    for k, graph in enumerate(queries):
        expected = index.search(graph, 3)
        mine = rows[3 * k : 3 * k + 3]
        assert [(row["query"], row["query_id"], row["rank"]) for row in mine] == [
            (str(k), str(graph.id), str(rank)) for rank in (1, 2, 3)
        ]
        assert [row["id"] for row in mine] == [str(hit.id) for hit in expected]
        assert [float(row["distance"]) for row in mine] == pytest.approx([hit.distance for hit in expected], abs=1e-5)
        assert {row["proven"] for row in mine} == {""}


def test_tables_have_the_metadata_and_the_smiles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "some.smi").write_text("CCO ethanol\nCN amine\n")
    extra = gm.Graph(1, node_labels=["C"], id="odd", metadata={"rank": "own", "more": [1, 2]})
    graphs = [*gm.read_graphs(tmp_path / "some.smi"), extra]
    index = gm.GraphIndex.build(graphs, reading=MoleculeOptions())
    index.save(tmp_path / "idx")
    assert run(capsys, "search", tmp_path / "idx", tmp_path / "some.smi", "--out", tmp_path / "hits.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "hits.csv").read_text().splitlines()))
    assert [(row["id"], row["smiles"], row["metadata.rank"], row["more"]) for row in rows[:3]] == [
        ("ethanol", "CCO", "", ""),
        ("amine", "CN", "", ""),
        ("odd", "", "own", "[1, 2]"),
    ]
    table = index.search("CCO", 3).to_pandas()
    assert [*table] == [
        "rank",
        "id",
        "distance",
        "exact",
        "lower",
        "upper",
        "proven",
        "smiles",
        "metadata.rank",
        "more",
    ]
    assert table["smiles"].tolist()[:2] == ["CCO", "CN"]
    assert table["rank"].tolist() == [1, 2, 3]


def test_lines_of_json_by_edit_distance(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    out = place / "hits.jsonl"
    arguments = ("search", place / "idx", place / "new.jsonl", "-k", "2", "--certified", "--explain", "--out", out)
    code, text, errors = run(capsys, *arguments, "--json")
    assert code == 0, errors
    assert json.loads(text) | {"seconds": 0} == {
        "queries": 5, "hits": 10, "out_of_time": 0, "seconds": 0, "out": str(out),
    }  # fmt: skip
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["query"], line["query_id"]) for line in lines] == [(k, f"new {k}") for k in range(5)]
    for line in lines:
        assert all(hit["proven"] and hit["exact"] == len(hit["edits"]) for hit in line["hits"])
        assert all("edits (exact)" in hit["explanation"] for hit in line["hits"])


def test_queries_from_standard_input(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (place / "new.jsonl").read_bytes()
    for more, lines in (([], 1 + 5), (["--json"], 5)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        arguments = ("search", place / "idx", "-", "--format", "jsonl", "-k", "1", "--out", "-", *more)
        code, out, errors = run(capsys, *arguments)
        assert code == 0, errors
        assert len(out.splitlines()) == lines
        assert "5 queries answered" in errors
    one = run(capsys, "search", place / "idx", "molecules:3", "-k", "1", "--out", "-")[1].splitlines()
    assert len(one) == 2
    by_radius = run(capsys, "search", place / "idx", place / "new.jsonl", "--within", "1e9", "--out", "-")[1]
    assert len(by_radius.splitlines()) == 1 + 5 * 60


def test_what_was_answered_stays(capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path) -> None:
    """A broken query in the middle, and a signal."""
    lines = (place / "new.jsonl").read_text().splitlines()
    (tmp_path / "broken.jsonl").write_text("\n".join([*lines[:3], "{", *lines[3:]]))
    out = tmp_path / "hits.csv"
    code, _, errors = run(capsys, "search", place / "idx", tmp_path / "broken.jsonl", "-k", "1", "--out", out)
    assert code == 1
    assert "line 4" in errors
    assert f"3 queries were answered; their hits are in {out}" in errors
    assert [row["query"] for row in csv.DictReader(out.read_text().splitlines())] == ["0", "1", "2"]
    code, text, errors = run(
        capsys, "search", place / "idx", tmp_path / "broken.jsonl", "-k", "1", "--skip-bad", "--out", out
    )
    assert code == 0, errors
    assert "5 queries answered" in text


@pytest.mark.slow
def test_ctrl_c_keeps_the_answers(place: Path, tmp_path: Path) -> None:
    queries, out = tmp_path / "queries.jsonl", tmp_path / "hits.csv"
    queries.write_text(100 * (place / "queries.jsonl").read_text())
    command = [sys.executable, "-m", "graphmetric", "search", str(place / "idx"), str(queries), "-k", "1"]
    job = subprocess.Popen(
        [*command, "--out", str(out)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell in the background ignores it
    )
    while job.poll() is None and (not out.exists() or len(out.read_text().splitlines()) < 2):
        time.sleep(0.01)
    job.send_signal(signal.SIGINT)
    _, errors = job.communicate()
    answered = len(out.read_text().splitlines()) - 1
    assert job.returncode == 130, errors
    assert 0 < answered < 4000
    words = "1 query was" if answered == 1 else f"{answered:,} queries were"
    assert f"{words} answered" in errors
    assert "Traceback" not in errors


def test_graphs_come_and_go(capsys: pytest.CaptureFixture[str], place: Path, model: gm.GraphDistance) -> None:
    idx = place / "changing"
    gm.GraphIndex.build(model, gm.load_dataset("molecules").graphs[:20], out=idx)
    code, text, errors = run(capsys, "index", "add", idx, place / "new.jsonl", "--jobs", "1")
    assert code == 0, errors
    assert text == f"5 graphs added; {idx} holds 25\n"
    code, _, errors = run(capsys, "index", "add", idx, place / "new.jsonl", "--jobs", "1")
    assert code == 1
    assert "is in the index already" in errors
    report = json.loads(run(capsys, "index", "add", idx, place / "new.jsonl", "--number", "--jobs", "1", "--json")[1])
    assert report == {"index": str(idx), "added": 5, "graphs": 30}
    assert 0 in gm.GraphIndex.load(idx)
    code, text, errors = run(capsys, "index", "remove", idx, "new 1", "3", "new 1")
    assert code == 0, errors
    assert text == f"2 graphs removed; {idx} holds 28\n"
    code, _, errors = run(capsys, "index", "remove", idx, "new 2", "nobody")
    assert code == 1
    assert "no graph 'nobody'; nothing was removed" in errors
    changed = gm.GraphIndex.load(idx, verify=True)
    assert ("new 1" in changed, 3 in changed, "new 2" in changed) == (False, False, True)


def test_ids_to_remove_from_standard_input(
    capsys: pytest.CaptureFixture[str], model: gm.GraphDistance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = gm.load_dataset("molecules").graphs[:4]
    gm.GraphIndex.build(model, graphs, out=tmp_path / "idx")
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{graph.id}\n" for graph in graphs)))
    assert "4 graphs removed" in run(capsys, "index", "remove", tmp_path / "idx", "-")[1]
    assert len(gm.GraphIndex.load(tmp_path / "idx")) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "idx", "queries.jsonl", "--out", "hits.xlsx"], ".csv or .jsonl"),
        (["search", "idx", "queries.jsonl", "--out", "hits.csv", "--plot", "a.svg"], "leave out --out"),
        (["search", "idx", "queries.jsonl"], "--out hits.csv"),
        (["search", "idx", "-", "--out", "hits.csv"], "needs format"),
        (["search", "idx", "none.jsonl", "--out", "hits.csv"], "no such file"),
        (["search", "idx", "empty.jsonl", "--out", "hits.csv"], "no graph to search for"),
        (["search", "idx", "queries.jsonl", "--out", "no-folder/hits.csv"], "there is no folder no-folder"),
        (["index", "add", "queries.jsonl", "new.jsonl"], "is a file"),
        (["index", "add", "nothing", "new.jsonl"], "not a folder of an index"),
        (["index", "remove", "idx"], "ID..."),
        (["index", "-h"], None),
    ],
)
def test_wrong_use_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str | None,
) -> None:
    monkeypatch.chdir(place)
    code, text, errors = run(capsys, *arguments)
    assert "Traceback" not in errors
    if said is None:
        assert code == 0
        assert "remove INDEX ID..." in text
        assert "[MODEL] SOURCE" in text
    else:
        assert code in (1, 2)
        assert said in errors
