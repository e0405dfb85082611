"""Maps of a collection: at once by principal components, by t-SNE when it is asked for, kept through every change."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

import graphmetric as gm
from graphmetric.cli import main
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.learned.learned_distance import LearnedDistance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graphs() -> list[gm.Graph]:
    chosen = gm.load_dataset("molecules").graphs[:150]
    return [graph.replace(metadata={"size": "large" if graph.num_nodes > 8 else "small"}) for graph in chosen]


@pytest.fixture(scope="module")
def model() -> LearnedDistance:
    return LearnedDistance.load("molecules", 1)


@pytest.fixture(scope="module")
def folder(graphs: list[gm.Graph], model: LearnedDistance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 120 graphs whose map is by t-SNE; the tests change only copies that they load."""
    place = tmp_path_factory.mktemp("mapped") / "idx"
    index = gm.GraphIndex.build(model, graphs[:120])
    index.build_map()
    index.save(place)
    return place


def test_neighbours_stay_together(folder: Path) -> None:
    index = gm.GraphIndex.load(folder)
    laid_out = index.map()
    assert (laid_out.method, laid_out.placed, laid_out.explained) == ("tsne", 0, None)
    vectors = index.vectors()
    index.build_map("pca")
    plain = index.map()
    assert plain.method == "pca"
    assert plain.explained is not None
    assert trustworthiness(vectors, laid_out.points) > trustworthiness(vectors, plain.points)
    assert np.array_equal(plain.clusters, laid_out.clusters)


@pytest.mark.parametrize("with_model", [True, False])
def test_a_graph_of_the_collection_is_placed_at_its_point(
    graphs: list[gm.Graph], model: LearnedDistance, with_model: bool
) -> None:
    index = gm.GraphIndex.build(model, graphs[:40]) if with_model else gm.GraphIndex.build(graphs[:40])
    for laid_out in (index.map(), index.build_map()):
        points = np.array([laid_out.place(graph) for graph in graphs[:40]])
        first = np.array([np.flatnonzero((points == point).all(axis=1))[0] for point in points])  # equal vectors
        assert np.abs(points - laid_out.points[first]).max() < 1e-3 * np.abs(laid_out.points).max()


def test_the_same_graphs_give_the_same_map(graphs: list[gm.Graph]) -> None:
    made = [gm.GraphIndex.build(graphs[:20]).build_map().points for _ in range(2)]
    assert np.array_equal(made[0], made[1])


def test_points_stay_with_their_graphs_through_changes(folder: Path, graphs: list[gm.Graph], tmp_path: Path) -> None:
    index = gm.GraphIndex.load(folder)
    before = dict(zip(index.ids, index.map().points.tolist(), strict=True))
    index.remove([graphs[0].id, graphs[7].id])
    index.add(graphs[120:])
    index.save(tmp_path / "idx")
    edition = index.edition
    again = gm.GraphIndex.load(tmp_path / "idx")
    again.remove([graph.id for graph in graphs[10:60]])  # so many that the file is written anew
    again.save(tmp_path / "idx")
    assert again.edition != edition
    for one in (index, gm.GraphIndex.load(tmp_path / "idx", verify=True)):
        found = one.map()
        after = dict(zip(one.ids, found.points.tolist(), strict=True))
        assert found.placed == 30
        assert len(after) == len(one)
        assert all(after[id] == before[id] for id in after.keys() & before.keys())
        low, high = np.min(list(before.values()), axis=0), np.max(list(before.values()), axis=0)
        placed = np.array([after[graph.id] for graph in graphs[120:]])
        assert ((placed >= low) & (placed <= high)).all()


def test_a_map_is_forgotten_when_its_vectors_change(graphs: list[gm.Graph], model: LearnedDistance) -> None:
    index = gm.GraphIndex.build(graphs[:20])
    assert index.build_map().kind == "counts of labels and degrees"
    index.add_model(model)
    assert (index.map().method, index.map().kind) == ("pca", "vectors of the model")


def test_a_damaged_map_is_told(graphs: list[gm.Graph], tmp_path: Path) -> None:
    index = gm.GraphIndex.build(graphs[:20])
    index.build_map()
    index.save(tmp_path / "idx")
    [file] = (tmp_path / "idx").glob("map-*")
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(FileError, match="SHA-256"):
        gm.GraphIndex.load(tmp_path / "idx")
    file.unlink()
    with pytest.raises(FileError, match="cannot be read: No such file"):
        gm.GraphIndex.load(tmp_path / "idx")


def test_what_cannot_be_laid_out_is_refused(graphs: list[gm.Graph]) -> None:
    with pytest.raises(InvalidArgument, match="needs 8 graphs or more, and the index has 5"):
        gm.GraphIndex.build(graphs[:5]).build_map()
    with pytest.raises(InvalidArgument, match="there are: pca, tsne"):
        gm.GraphIndex.build(graphs[:5]).build_map("umap")  # type: ignore[arg-type]
    assert len(gm.GraphIndex.build([gm.Graph(1)]).map().points) == 1
    assert len(gm.GraphIndex().map().points) == 0


def test_commands_store_a_map(tmp_path: Path, graphs: list[gm.Graph], capsys: pytest.CaptureFixture[str]) -> None:
    gm.write_graphs(graphs[:30], tmp_path / "some.jsonl")
    index = str(tmp_path / "idx")
    main(["index", str(tmp_path / "some.jsonl"), "--out", index, "--map", "tsne"])
    assert gm.GraphIndex.load(index).map().method == "tsne"
    main(["index", "map", index, "--method", "pca"])
    assert gm.GraphIndex.load(index).map().method == "pca"
    assert list(Path(index).glob("map-*")) == []
    capsys.readouterr()
    main(["index", "map", index, "--json"])
    assert json.loads(capsys.readouterr().out) == {"index": index, "map": "tsne", "graphs": 30}


def test_it_is_plotted(folder: Path, graphs: list[gm.Graph]) -> None:
    import matplotlib.pyplot as plt

    index = gm.GraphIndex.load(folder)
    axes = gm.plot_map(index, query=graphs[130])
    assert len(axes.collections) == len(set(index.map().clusters.tolist())) + 1  # and the query
    drawn = np.concatenate([part.get_offsets() for part in axes.collections[:-1]])
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, index.map().points.tolist()))
    by_number = gm.plot_map(index, color=range(120))
    assert by_number.collections[0].get_array().tolist() == list(range(120))
    named = gm.plot_map(index, color="size", ax=plt.subplots()[1], s=3)
    assert {text.get_text() for text in named.get_legend().get_texts()} == {"small", "large"}
    own = gm.plot_map(index, color=["_a"] * 119 + [None])
    assert {text.get_text().strip() for text in own.get_legend().get_texts()} == {"_a", "none"}
    with pytest.raises(InvalidArgument, match="no graph has metadata 'colour' to colour by; there are: cluster, "):
        gm.plot_map(index, color="colour")
    with pytest.raises(InvalidArgument, match="color has 3 values; the index has 120 graphs"):
        gm.plot_map(index, color=[1, 2, 3])
    plt.close("all")
