"""Figure 2: the neighbours are those of the model, the true distances are true, and a model is trained once."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.report.rankings import Neighbour
from graphmetric_research.reproduction.benchmark import load_benchmark
from graphmetric_research.reproduction.figure import NEAREST, FigureRow, draw_figure, draw_rows
from graphmetric_research.reproduction.runner import RunOptions

pytestmark = pytest.mark.slow  # every test needs a training

SETS = ("molecules", "programs")


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunOptions, list[Path]]:
    """Read-only."""
    options = RunOptions(tmp_path_factory.mktemp("figure"), seeds=(0,), quick=True, limit=60)
    return options, draw_figure(SETS, options)


def test_rows_hold_the_nearest_graphs_and_true_distances(figure: tuple[RunOptions, list[Path]]) -> None:
    options, (_, numbers) = figure
    for name, row in zip(SETS, json.loads(numbers.read_text()), strict=True):
        benchmark = load_benchmark(name, limit=options.limit, store=options.out / "truth")
        (folder,) = (options.out / "figure2").glob(f"{name}-*")
        model = gm.GraphDistance.load(folder)
        query = benchmark.graphs[int(benchmark.test[0])]
        seen = np.sort(np.concatenate([benchmark.train, benchmark.val]))
        learned = model.pairwise([query], benchmark.graphs[seen])[0]
        exact = np.array([gm.graph_edit_distance(query, benchmark.graphs[int(k)]).upper for k in seen])
        assert (row["dataset"], row["query"], row["ranked"]) == (name, str(query.id), len(seen))
        assert [hit["predicted"] for hit in row["hits"]] == pytest.approx(np.sort(learned)[:NEAREST])
        places = np.searchsorted(seen, [hit["graph"] for hit in row["hits"]])
        assert [hit["true"] for hit in row["hits"]] == exact[places].tolist()
        assert [hit["right"] for hit in row["hits"]] == (exact[places] <= np.sort(exact)[NEAREST - 1]).tolist()
        assert [hit["id"] for hit in row["hits"]] == [str(benchmark.graphs[hit["graph"]].id) for hit in row["hits"]]


def test_picture_shows_every_row(figure: tuple[RunOptions, list[Path]]) -> None:
    _, (picture, numbers) = figure
    words = ["".join(text.itertext()) for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("query") == len(SETS)
    assert sum(", true " in word for word in words) == NEAREST * len(SETS)
    for row in json.loads(numbers.read_text()):
        assert sum(word.startswith(row["dataset"]) for word in words) == 1
        for hit in row["hits"]:
            assert f"{'✓' if hit['right'] else '✗'} {hit['predicted']:.2f}, true {hit['true']:g}" in words


def test_second_call_trains_nothing(figure: tuple[RunOptions, list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    options, paths = figure
    before = [path.read_bytes() for path in paths]
    monkeypatch.setattr(gm.GraphDistance, "fit", None)
    assert draw_figure(SETS, options) == paths
    assert [path.read_bytes() for path in paths] == before


def test_names_are_escaped_and_strange_graphs_are_drawn() -> None:
    graphs = [gm.Graph(0, id="<b>&"), gm.Graph(2, [(0, 1)], node_labels=["<", "&"], directed=True)]
    row = FigureRow("a & b", graphs, 0, 1, (Neighbour(1, 3.0, 4.0, 4.0, True),))
    root = ElementTree.fromstring(draw_rows([row]))
    words = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>&" in words
    assert any(word.startswith("a & b") for word in words)
    assert ElementTree.fromstring(draw_rows([])) is not None
