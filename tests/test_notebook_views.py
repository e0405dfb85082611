"""What notebooks show of results: all of it is there, well formed, and harmless whatever labels and ids say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import graphmetric as gm
from graphmetric._foundation.markup import escape_text, matrix_table, notebook_view
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.learned.learned_distance import LearnedDistance

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00&amp;"
SVG = "{http://www.w3.org/2000/svg}svg"
ALLOWED = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"}


def checked(shown: Any) -> etree._Element:
    """The HTML that a notebook shows of an object; it must hold nothing that runs or is fetched."""
    root = etree.fromstring(shown._repr_html_())
    for part in root.iter():
        inside_picture = part.tag == SVG or any(above.tag == SVG for above in part.iterancestors())
        assert inside_picture or part.tag in ALLOWED
        assert etree.QName(part).localname not in ("script", "image", "use", "a", "foreignObject")
        assert not any(name.lower().startswith("on") or name in ("href", "src") for name in part.attrib)
        assert "url(" not in part.get("style", "")
    return root


def text_of(root: etree._Element) -> str:
    return " ".join("".join(root.itertext()).split())


def hostile_graphs() -> list[gm.Graph]:
    ring = [(0, 1), (1, 2), (0, 2)]
    return [
        gm.Graph(3, ring, node_labels=[EVIL, "C", k], edge_labels=[EVIL] * 3, id=f"{EVIL}{k}", metadata={EVIL: EVIL})
        for k in range(12)
    ]


def hostile_views() -> dict[str, Callable[[], Any]]:
    graphs = hostile_graphs()

    def index() -> gm.GraphIndex:
        return gm.GraphIndex.build(graphs)

    return {
        "collection": lambda: gm.as_graphs(graphs),
        "index": index,
        "hits": lambda: index().search(graphs[0], 4),
        "hit": lambda: index().search(graphs[0], 4)[1],
        "path": lambda: gm.graph_edit_distance(graphs[0], gm.Graph(1, node_labels=["<b>"])).edit_path,
        "data set": lambda: gm.Dataset(
            EVIL, gm.as_graphs(graphs), *np.split(np.arange(12), 3), distance_bounds=_nothing_known(),
            distance_kind=EVIL, description=EVIL, licence=EVIL,
        ),
    }  # fmt: skip


def _nothing_known() -> Any:
    from graphmetric.graphs.pair_bounds import PairBounds

    return PairBounds.from_distances([], [])


@pytest.mark.parametrize("kind", hostile_views())
def test_hostile_labels_are_harmless(kind: str) -> None:
    root = checked(hostile_views()[kind]())
    if kind != "path":
        assert "<script>alert(1)</script>" in text_of(root)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=3))
@pytest.mark.slow
def test_any_label_is_well_formed(labels: list[str]) -> None:
    checked(gm.as_graphs([gm.Graph(len(labels), node_labels=labels, id=labels[0], metadata={labels[0]: labels})]))


@pytest.mark.slow
def test_hits_say_what_is_proven() -> None:
    graphs = gm.load_dataset("molecules").graphs[:30]
    found = gm.GraphIndex.build(graphs).search(graphs[3], 12)
    root = checked(found)
    rows = root.findall(".//tbody/tr")
    assert len(rows) == 11
    assert "".join(rows[0].itertext()).startswith(f"1{graphs[3].id}0proven")
    assert text_of(rows[-1]) == "and 2 more"
    assert len(root.findall(f".//{SVG}")) == 1
    assert text_of(checked(found[0])).startswith(str(graphs[3].id))
    frame = found.to_pandas()
    assert frame.shape == (12, 8)  # with the metadata of these molecules: their SMILES
    assert frame["smiles"].notna().all()
    assert frame["exact"].tolist() == [hit.exact for hit in found]
    assert list(gm.GraphIndex.build(graphs).range_search(gm.Graph(40), 0.0).to_pandas()) == ["rank", "id", "distance"]


def test_edits_are_listed() -> None:
    path = gm.graph_edit_distance(
        gm.Graph(3, [(0, 1), (1, 2)], node_labels="CCO"), gm.Graph(2, [(0, 1)], node_labels="CN")
    ).edit_path
    assert path is not None
    rows = checked(path).findall(".//tbody/tr")
    assert [row[1].text for row in rows] == [str(edit) for edit in path]
    assert path.to_pandas()["edit"].tolist() == [str(edit) for edit in path]
    assert "no edits" in text_of(checked(gm.graph_edit_distance(gm.Graph(1), gm.Graph(1)).edit_path))


@pytest.mark.slow
def test_matrices_show_their_corner_and_bounds() -> None:
    graphs = gm.load_dataset("molecules").graphs[:12]
    found = gm.pairwise_edit_distances(graphs, time_limit=5, n_jobs=1)
    root = checked(found)
    cells = root.findall(".//td")
    assert len(cells) == 64
    assert [cell.text for cell in cells[:8]] == [f"{value:.4g}" for value in found.upper[0, :8]]
    frame = found.to_pandas()
    assert frame.pivot(index="first", columns="second", values="upper").to_numpy().tolist() == found.upper.tolist()
    pairs = gm.pairwise_edit_distances(graphs, pairs=[[0, 1], [2, 3]], n_jobs=1)
    assert pairs.to_pandas()["pair"].tolist() == [0, 1]
    assert len(checked(pairs).findall(".//td")) == 2
    known = PairBounds(np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0]), np.array([1.0, np.inf]))
    assert [row[2].text for row in checked(known).findall(".//tbody/tr")] == ["1", "2 .. inf"]
    assert isinstance(known.to_pandas(), pd.DataFrame)
    assert known.to_pandas()["exact"].tolist() == [True, False]
    repaired = gm.triangle_fixing(found.upper + np.triu(np.ones((12, 12)), 1) + np.tril(np.ones((12, 12)), -1))
    assert "converged yes" in " ".join(" ".join(checked(repaired).itertext()).split())


def test_a_matrix_may_hold_anything() -> None:
    for values in (np.zeros((0, 0)), np.full((2, 2), np.nan), np.array([[0.0, np.inf], [np.inf, 0.0]])):
        etree.fromstring(notebook_view("matrix", matrix_table(values)))
    assert escape_text("<b>\x00") == "&lt;b&gt;\N{REPLACEMENT CHARACTER}"


@pytest.mark.slow
def test_collections_data_sets_and_models_describe_themselves() -> None:
    data = gm.load_dataset("molecules")
    root = checked(data)
    assert "584 train, 194 val, 195 test" in text_of(root)
    assert len(root.findall(f".//{SVG}")) == 6
    assert "and 967 more" in text_of(root)
    frame = data.graphs[:5].to_pandas()
    assert frame["num_nodes"].tolist() == [graph.num_nodes for graph in data.graphs[:5]]
    assert set(frame.columns) >= {"id", "num_nodes", "num_edges", *data.graphs[0].metadata}
    assert text_of(checked(gm.as_graphs([]))).startswith("0 graphs")
    model = LearnedDistance.load("molecules", 1)
    assert "What it computes" in text_of(checked(model))
    assert f"{model.network.options.head.kind}:" in text_of(checked(model))
    index = gm.GraphIndex.build(model, data.graphs[:9])
    assert "Index of 9 graphs" in text_of(checked(index))
    estimator = gm.GraphDistance("small")
    assert "GraphDistance" in estimator._repr_mimebundle_()["text/html"]  # scikit-learn's own
