"""Benchmarks are read from every layout; what is missing or malformed is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphmetric.datasets import Dataset, dataset_names, load_dataset
from graphmetric.datasets.dataset import listed_distances
from graphmetric.errors import DatasetNotFound, FileError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from tests.datasets.dataset_checks import assert_disjoint_up_to_isomorphism, assert_well_formed

BONDED: list[dict[str, Any]] = [
    {"id": 7, "split": "train", "nodes": ["C", "O"], "edges": [[0, 1]], "edge_labels": ["2"]},
    {"id": 9, "split": "train", "nodes": ["C", "O"], "edges": [[0, 1]], "edge_labels": ["1"]},
    {"id": 3, "split": "train", "nodes": ["C"], "edges": [], "edge_labels": []},
    {"id": 4, "split": "train", "nodes": ["N"], "edges": [], "edge_labels": []},
    {"id": 5, "split": "test", "nodes": ["O", "C"], "edges": [[1, 0]], "edge_labels": ["2"]},
]
BONDED_DISTANCES = np.array([[0, 0, 2, 3, 0], [0, 0, 2, 3, 0], [2, 2, 0, 1, 2], [3, 3, 1, 0, 3], [0, 0, 2, 3, 0]])


def write_json_set(folder: Path, name: str, graphs: list[dict[str, Any]], **distances: Any) -> None:
    (folder / f"{name}.json").write_text(json.dumps({"graphs": graphs}))
    if distances:
        np.savez(folder / f"{name}.ged.npz", **distances)


@pytest.fixture
def bonded(tmp_path: Path) -> Path:
    ids = [record["id"] for record in BONDED]
    write_json_set(tmp_path, "AIDS700nef", BONDED, ged=BONDED_DISTANCES.astype(np.int16), ids=ids, kind="exact")
    return tmp_path


def test_json_with_distances(bonded: Path) -> None:
    data = load_dataset("AIDS700nef", bonded)
    assert_well_formed(data)
    assert [graph.id for graph in data.graphs] == [7, 9, 3, 4, 5]
    assert data.graphs[4].node_labels == ("O", "C")
    assert data.graphs[0].edge_labels is None
    assert data.test.tolist() == [4]
    assert len(data.val) == 1
    assert data.distance_kind == "exact"
    assert np.array_equal(data.distances, BONDED_DISTANCES)
    assert data.distances is data.distances  # expanded once
    assert np.array_equal(data.lower, BONDED_DISTANCES)
    assert np.array_equal(data.upper, BONDED_DISTANCES)
    assert data.known_pairs.distance.tolist() == [0, 2, 3, 0, 2, 3, 0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        data.distances[0, 1] = 1


def test_distances_that_ignore_bonds_do_not_come_with_bonds(bonded: Path) -> None:
    data = load_dataset("AIDS700nef", bonded, edge_labels=True)
    assert data.graphs[0].edge_labels == ("2",)
    assert "ignore edge labels" in data.distance_kind
    assert np.isnan(data.distances).sum() == 20
    assert not np.diagonal(data.distances).any()


def test_leaks_with_and_without_bonds(bonded: Path) -> None:
    plain = load_dataset("AIDS700nef", bonded)
    assert plain.leakage() == 1
    assert plain.leak_free().graphs.sizes.tolist() == [2, 1, 1]
    labelled = load_dataset("AIDS700nef", bonded, edge_labels=True)
    assert labelled.leak_free().graphs.sizes.tolist() == [2, 2, 1, 1]


def test_leak_free_restricts_everything(bonded: Path) -> None:
    data = load_dataset("AIDS700nef", bonded).leak_free()
    assert_well_formed(data)
    assert_disjoint_up_to_isomorphism(data)
    assert data.leakage() != data.leakage() or data.leakage() == 0  # NaN when no test graph is left
    assert [graph.id for graph in data.graphs] == [7, 3, 4]
    assert np.array_equal(data.distances, BONDED_DISTANCES[np.ix_([0, 2, 3], [0, 2, 3])])


def test_bounds_are_exact_where_equal(tmp_path: Path) -> None:
    graphs = [{"id": k, "nodes": [None] * size, "edges": [], "class": k} for k, size in enumerate((1, 2, 1))]
    bounds = {"class_lb": [[0, 1], [1, 0]], "class_ub": [[0, 2], [2, 0]], "iso_class": [0, 1, 0]}
    write_json_set(tmp_path, "IMDBMulti", graphs, **bounds, kind="by hand")
    data = load_dataset("IMDBMulti", tmp_path)
    assert data.distance_kind == "bounds, exact where equal: by hand"
    assert data.lower.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert data.upper.tolist() == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    assert np.array_equal(data.distances, [[0, np.nan, 0], [np.nan, 0, np.nan], [0, np.nan, 0]], equal_nan=True)
    assert [column.tolist() for column in data.known_pairs] == [[0], [2], [0]]
    assert data.classes is not None
    assert data.classes.tolist() == [0, 1, 2]
    free = data.leak_free()
    assert free.classes is not None
    assert free.classes.tolist() == [0, 1]


def test_npz_sets(tmp_path: Path) -> None:
    arrays = {"node_ptr": [0, 2, 5], "node_label": [8, 6, 8, 8, 7], "edge_ptr": [0, 1, 3]}
    arrays |= {"edge_u": [0, 2, 0], "edge_v": [1, 1, 2], "edge_label": [2, 1, 3], "graph_label": [-1, 1]}
    np.savez(tmp_path / "TU_TINY.npz", **arrays)
    data = load_dataset("TU_TINY", tmp_path, edge_labels=True)
    assert data.name == "TINY"
    assert data.graphs == GraphCollection(
        [
            Graph(2, [(0, 1)], node_labels=[8, 6], edge_labels=[2]),
            Graph(3, [(1, 2), (0, 2)], node_labels=[8, 8, 7], edge_labels=[1, 3]),
        ]
    )
    assert data.classes is not None
    assert data.classes.tolist() == [-1, 1]
    np.savez(tmp_path / "TU_TINY.npz", **(arrays | {"node_label": [0] * 5}))
    assert load_dataset("TU_TINY", tmp_path).graphs[0].node_labels is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "AIDS700nef.json"),
        (b"{}", r"AIDS700nef.json: a graph needs num_nodes or a list of nodes; found the keys \[\]"),
        (b'{"graphs": [{"nodes": [], "edges": []}]}', "'id' is missing"),
        (b'{"graphs": [{"id": 1, "nodes": 3, "edges": []}]}', "AIDS700nef.json"),
        (b'{"graphs": [{"id": 1, "nodes": ["C"], "edges": [[0, 1]]}]}', "names node 1"),
        (b'{"graphs": [{"id": 1, "nodes": ["C"], "edges": [[0]]}]}', "AIDS700nef.json"),
        (b'{"graphs": [3]}', "AIDS700nef.json"),
        (b'{"graphs": "x\xff"}', "AIDS700nef.json"),
    ],
)
def test_malformed_json_sets(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "AIDS700nef.json").write_bytes(content)
    with pytest.raises(FileError, match=message):
        load_dataset("AIDS700nef", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ged": BONDED_DISTANCES[:2, :2]}, "distances of 2 graphs, but there are 5"),
        ({"ged": BONDED_DISTANCES + 1}, "zeros on the diagonal"),
        ({"ids": [1, 2, 3, 4, 5]}, "not those of the graphs"),
        ({"ged": np.array([{}], dtype=object)}, "allow_pickle"),
    ],
)
def test_distances_that_do_not_fit(bonded: Path, change: dict[str, Any], message: str) -> None:
    np.savez(bonded / "AIDS700nef.ged.npz", **({"ged": BONDED_DISTANCES, "kind": "exact"} | change))
    with pytest.raises(FileError, match=message) as caught:
        load_dataset("AIDS700nef", bonded)
    assert "AIDS700nef.ged.npz" in str(caught.value)


def test_files_that_are_no_archives(bonded: Path) -> None:
    (bonded / "AIDS700nef.ged.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(FileError, match=r"AIDS700nef\.ged\.npz"):
        load_dataset("AIDS700nef", bonded)


def test_too_many_graphs_for_a_matrix() -> None:
    many = GraphCollection([Graph(1)] * 10_001)
    nothing = np.empty(0, dtype=np.int64)
    known = listed_distances(len(many), [4], [2], [1])
    data = Dataset("many", many, np.arange(len(many)), nothing, nothing, known, "exact", "-", "-")
    for attribute in ("distances", "lower", "upper"):
        with pytest.raises(InvalidArgument, match=r"many has 10,001 graphs.*known_pairs"):
            getattr(data, attribute)
    assert [column.tolist() for column in data.known_pairs] == [[2], [4], [1]]


def test_an_unknown_name_lists_all_names() -> None:
    with pytest.raises(InvalidArgument) as caught:
        load_dataset("AIDS700")
    assert all(name in str(caught.value) for name in dataset_names())


def test_a_missing_set_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFound) as caught:
        load_dataset("AIDS700nef", tmp_path)
    message = str(caught.value)
    for part in (str(tmp_path), "AIDS700nef.json", "train", "gexf", "GRAPHMETRIC_DATA", "root=", "molecules"):
        assert part in message
    with pytest.raises(DatasetNotFound, match="not a folder"):
        load_dataset("MUTAG", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"NEW-SET_A\.txt"):
        load_dataset("TU_NEW-SET", tmp_path)


def test_the_folder_comes_from_root_then_variable_then_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, size in (("argument", 1), ("variable", 2), ("data", 3)):
        (tmp_path / place).mkdir()
        write_json_set(tmp_path / place, "LINUX", [{"id": 0, "nodes": [None] * size, "edges": []}])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHMETRIC_DATA", str(tmp_path / "variable"))
    assert load_dataset("LINUX", "argument").graphs.sizes.tolist() == [1]
    assert load_dataset("LINUX").graphs.sizes.tolist() == [2]
    monkeypatch.delenv("GRAPHMETRIC_DATA")
    assert load_dataset("LINUX").graphs.sizes.tolist() == [3]


GEXF = """<?xml version='1.0' encoding='utf-8'?>
<gexf version="1.1" xmlns="http://www.gexf.net/1.1draft">
  <graph defaultedgetype="undirected" mode="static">
    <attributes class="edge" mode="static"><attribute id="1" title="valence" type="long"/></attributes>
    <attributes class="node" mode="static"><attribute id="0" title="type" type="string"/></attributes>
    <nodes>
      <node id="1" label="1"><attvalues><attvalue for="0" value="{first}"/></attvalues></node>
      <node id="0" label="0"><attvalues><attvalue for="0" value="O"/></attvalues></node>
    </nodes>
    <edges>
      <edge id="0" source="0" target="1"><attvalues><attvalue for="1" value="2"/></attvalues></edge>
    </edges>
  </graph>
</gexf>
"""


@pytest.mark.parametrize("place", ["AIDS700nef", "AIDS700nef/raw/AIDS700nef", "raw/AIDS700nef"])
def test_folders_of_gexf_files(tmp_path: Path, place: str) -> None:
    for part, number, symbol in (("train", 100, "N"), ("train", 20, "C"), ("test", 3, "S")):
        (tmp_path / place / part).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / part / f"{number}.gexf").write_text(GEXF.format(first=symbol))
    data = load_dataset("AIDS700nef", tmp_path)
    assert [graph.id for graph in data.graphs] == [20, 100, 3]
    assert [set(graph.node_labels or ()) for graph in data.graphs] == [{"C", "O"}, {"N", "O"}, {"S", "O"}]
    assert [graph.num_edges for graph in data.graphs] == [1, 1, 1]
    assert data.graphs[0].edge_labels is None
    assert data.test.tolist() == [2]
    assert data.distance_kind.startswith("none")
    assert load_dataset("AIDS700nef", tmp_path, edge_labels=True).graphs[0].edge_labels == (2,)


def test_pickles_are_not_read_and_that_is_said(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / "LINUX" / "raw" / "LINUX" / part).mkdir(parents=True)
        (tmp_path / "LINUX" / "raw" / "LINUX" / part / "1.gexf").write_text(GEXF.format(first="C"))
    (tmp_path / "LINUX" / "raw" / "ged.pickle").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    data = load_dataset("LINUX", tmp_path)
    assert "ged.pickle" in data.distance_kind
    assert "never read" in data.distance_kind


def test_gexf_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "LINUX" / "train").mkdir(parents=True)
    with pytest.raises(FileError, match="no gexf files"):
        load_dataset("LINUX", tmp_path)
    (tmp_path / "LINUX" / "train" / "first.gexf").write_text(GEXF.format(first="C"))
    with pytest.raises(FileError, match="must be its number"):
        load_dataset("LINUX", tmp_path)


@pytest.mark.parametrize("place", ["MUTAG", "MUTAG/raw"])
def test_tu_folders(tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    contents = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "1\n-1\n"}
    contents |= {"node_labels": "0\n3\n3\n3\n", "edge_labels": "1\n1\n2\n2\n"}
    for kind, text in contents.items():
        (folder / f"MUTAG_{kind}.txt").write_text(text)
    for name in ("MUTAG", "TU_MUTAG"):
        data = load_dataset(name, tmp_path)
        assert data.name == "MUTAG"
        assert [graph.node_labels for graph in data.graphs] == [(0, 3), (3, 3)]
        assert [graph.edge_labels for graph in data.graphs] == [(1,), (2,)]
        assert data.classes is not None
        assert data.classes.tolist() == [1, -1]
    assert load_dataset("MUTAG", tmp_path, edge_labels=False).graphs[0].edge_labels is None
