"""Every format gives back every graph that it says it can hold."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import ConversionWarning
from graphmetric.formats import available_formats, binary, iter_graphs, read_graphs, write_graphs
from graphmetric.formats.values import value_from_text
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from tests.strategies import exact, finite, graphs, metadata_of_any_kind, without_empty_columns, words

FEW = settings(max_examples=60)

pytestmark = pytest.mark.filterwarnings("ignore:.* holds no graphs")


def there_and_back(given: Any, format: str, **options: Any) -> GraphCollection:
    stream = io.BytesIO()
    write_graphs(given, stream, format)
    stream.seek(0)
    return read_graphs(stream, format, **options)


def assert_same(found: Any, expected: Any) -> None:
    assert [exact(graph) for graph in found] == [exact(graph) for graph in expected]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(graphs(), max_size=5))
def test_our_format_holds_everything(given: list[Graph]) -> None:
    assert_same(there_and_back(given, "graphmetric"), given)
    assert_same(there_and_back(GraphCollection(given), "graphmetric"), given)
    assert_same(there_and_back(GraphCollection(given)[::-2], "graphmetric"), given[::-2])


@given(st.lists(graphs(), max_size=7))
@settings(max_examples=30)
def test_our_format_in_several_blocks(given: list[Graph]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binary, "GRAPHS_PER_BLOCK", 2)
        stream = io.BytesIO()
        write_graphs(GraphCollection(given), stream, "graphmetric")
    assert stream.getvalue().count(binary.BLOCK) >= (len(given) + 1) // 2
    stream.seek(0)
    assert_same(read_graphs(stream, "graphmetric"), given)
    stream.seek(0)
    assert_same(iter_graphs(stream, "graphmetric"), given)


def test_nan_in_metadata_survives_our_format() -> None:
    (found,) = there_and_back(Graph(1, metadata={"score": float("nan"), "rank": np.int64(3)}), "graphmetric")
    assert np.isnan(found.metadata["score"])
    assert found.metadata["rank"] == 3


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(graphs(), max_size=4))
def test_json_lines_hold_everything(given: list[Graph]) -> None:
    assert_same(there_and_back(given, "jsonl"), given)


_JSON_METADATA = metadata_of_any_kind.filter(lambda given: "node_names" not in given)


@pytest.mark.slow
@FEW
@given(st.lists(graphs(node_images=False, metadata=_JSON_METADATA), max_size=3))
def test_json_node_link(given: list[Graph]) -> None:
    expected = [_without_vanishing_columns(graph) for graph in given]
    assert_same(there_and_back(expected, "json"), expected)


def _without_vanishing_columns(graph: Graph) -> Graph:
    """In node-link data a column without nodes or edges vanishes, but labels that are all null do not."""
    names = ["node_labels", "node_features", "node_texts"] if graph.num_nodes == 0 else []
    names += ["edge_labels", "edge_weights"] if graph.num_edges == 0 else []
    return graph.replace(**dict.fromkeys(names))


xml_text = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r"),
    max_size=4,
)
xml_labels = st.sampled_from([xml_text, st.integers(), st.floats(allow_nan=False), st.booleans()]).map(
    lambda values: st.one_of(st.none(), values)
)
xml_metadata = st.fixed_dictionaries(
    {}, optional={"class": st.integers(), "name": xml_text, "score": finite, "good": st.booleans()}
)
xml_ids = words | st.integers(-(10**17), 10**17)


def xml_graphs(**changes: Any) -> st.SearchStrategy[list[Graph]]:
    def of_kinds(kinds: tuple[Any, Any]) -> st.SearchStrategy[list[Graph]]:
        options = {"node_images": False, "node_texts": xml_text, "ids": xml_ids, "metadata": xml_metadata}
        return st.lists(graphs(node_labels=kinds[0], edge_labels=kinds[1], **(options | changes)), max_size=3)

    return st.tuples(xml_labels, xml_labels).flatmap(of_kinds)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["graphml", "gxl"])
@FEW
@given(given=xml_graphs())
def test_graphml_and_gxl(format: str, given: list[Graph]) -> None:
    expected = [without_empty_columns(graph) for graph in given]
    assert_same(there_and_back(expected, format), expected)


dot_text = st.text(st.characters(codec="utf-8", exclude_characters="\0\\"), max_size=4).filter(
    lambda text: value_from_text(text) == text
)
dot_labels = st.sampled_from([dot_text, st.integers(-(10**17), 10**17), finite]).map(lambda v: st.one_of(st.none(), v))
dot_metadata = st.fixed_dictionaries({}, optional={"class": st.integers(-9, 9), "name": dot_text, "score": finite})


def test_labels_that_are_the_numbers_of_nodes() -> None:
    expected = [Graph(1, node_labels=[0]), Graph(3, [(0, 2)], node_labels=[0, 1, 2])]
    for format in ("dot", "graphml", "gxl", "json"):
        assert_same(there_and_back(expected, format), expected)
    for graph in expected:
        assert_same(there_and_back(graph, "gml"), [graph])


@pytest.mark.slow
@pytest.mark.parametrize("format", ["dot", "gml"])
@FEW
@given(given=st.data())
def test_dot_and_gml(format: str, given: st.DataObject) -> None:
    of_nodes, of_edges = given.draw(st.tuples(dot_labels, dot_labels))
    strategy = graphs(
        node_labels=of_nodes,
        edge_labels=of_edges,
        node_images=False,
        node_texts=dot_text,
        ids=xml_ids,
        metadata=dot_metadata,
    )
    several = st.lists(strategy, min_size=format == "gml", max_size=1 if format == "gml" else 3)
    expected = [without_empty_columns(graph) for graph in given.draw(several)]
    assert_same(there_and_back(expected, format), expected)


@pytest.mark.slow
@FEW
@given(xml_graphs(metadata=None))
def test_gexf(given: list[Graph]) -> None:
    for graph in map(without_empty_columns, given):
        assert_same(there_and_back(graph, "gexf"), [graph])


@pytest.mark.slow
@FEW
@given(xml_graphs(metadata=None, ids=st.integers()))
def test_gexf_folder(given: list[Graph]) -> None:
    expected = [without_empty_columns(graph).replace(id=k) for k, graph in enumerate(given)]
    if not expected:
        return
    with tempfile.TemporaryDirectory() as folder:
        write_graphs(expected, Path(folder) / "set", "gexf")
        assert_same(read_graphs(Path(folder) / "set"), expected)


line_labels = st.none() | words | st.integers(-(10**17), 10**17)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
@FEW
@given(data=st.data())
def test_gspan(directed: bool, data: st.DataObject) -> None:
    ids = words | st.integers(0, 99)
    strategy = graphs(
        node_labels=line_labels,
        edge_labels=line_labels,
        edge_weights=False,
        node_features=False,
        node_texts=None,
        node_images=False,
        metadata=None,
        ids=ids,
        always=True,
    )
    given = [without_empty_columns(g) for g in data.draw(st.lists(strategy, max_size=3)) if g.directed == directed]
    if any(g.directed for g in given):
        with pytest.warns(ConversionWarning, match="directed"):
            found = there_and_back(given, "tve", directed=True)
    else:
        found = there_and_back(given, "tve", directed=directed)
    assert_same(found, given if not directed else [g.replace(directed=True, edges=g.edges) for g in given])


small_integers = st.integers(-(10**15), 10**15)


@pytest.mark.slow
@FEW
@given(
    st.booleans().flatmap(
        lambda labelled: st.lists(
            graphs(
                min_nodes=1,
                node_labels=small_integers if labelled else None,
                edge_labels=st.tuples(small_integers, small_integers) if labelled else None,
                edge_weights=labelled,
                node_features=labelled,
                node_texts=None,
                node_images=False,
                direction=False,
                ids=None,
                metadata=st.fixed_dictionaries({"class": st.integers(-5, 5)}) if labelled else None,
                always=True,
            ),
            min_size=1,
            max_size=4,
        )
    )
)
def test_tudataset(given: list[Graph]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_graphs(given, Path(folder) / "SET", "tudataset")
        assert_same(read_graphs(Path(folder) / "SET"), given)


@pytest.mark.parametrize(
    "format", [f.name for f in available_formats() if f.write is not None and not f.one_graph_per_file]
)
def test_no_graphs_at_all(format: str) -> None:
    with pytest.warns(ConversionWarning, match="<stream> holds no graphs"):
        assert len(there_and_back([], format)) == 0


@pytest.mark.parametrize("suffix", [".gmg", ".jsonl", ".json", ".gexf", ".graphml", ".gxl", ".gml", ".dot", ".tve"])
@pytest.mark.parametrize("zipped", ["", ".gz"])
def test_by_suffix_also_compressed(tmp_path: Path, suffix: str, zipped: str) -> None:
    graph = Graph(3, [(0, 1), (1, 2)], node_labels=["C", "C", "O"], edge_labels=[1, 2], id="ethanol")
    path = tmp_path / f"file{suffix}{zipped}"
    write_graphs(graph, path)
    assert path.read_bytes().startswith(b"\x1f\x8b") == bool(zipped)
    assert_same(read_graphs(path), [graph])
    assert_same(read_graphs(str(path)), [graph])
    renamed = path.rename(tmp_path / "other")
    assert_same(read_graphs(renamed, format=suffix), [graph])
