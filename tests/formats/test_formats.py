"""What each format's files look like in the wild, and the traps that are known."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphmetric.errors import ConversionWarning, FileError, InvalidArgument, LimitExceeded
from graphmetric.formats import ReadLimits, iter_graphs, read_graphs, write_graphs
from graphmetric.graphs.graph import Graph


def read_text(text: str, format: str, **options: Any) -> Any:
    return read_graphs(io.BytesIO(text.encode()), format, **options)


class TestLineGraphs:
    def test_numbers_from_one_are_recognised(self) -> None:
        zero, one = "t # 0\nv 0 A\nv 1 B\nv 2 C\ne 0 2 x\n", "t # 0\nv 1 A\nv 2 B\nv 3 C\ne 1 3 x\n"
        expected = Graph(3, [(0, 2)], node_labels=list("ABC"), edge_labels=["x"])
        assert list(read_text(zero, "tve")) == list(read_text(one, "tve")) == [expected]

    def test_comments_blank_lines_crlf_bom_and_end_mark(self) -> None:
        text = "\ufeff# made by hand\r\n\r\nt # a\r\nv 0 C\r\n% why not\r\n// either\r\nt # -1\r\n\r\n"
        (graph,) = read_text(text, "tve")
        assert (graph.id, graph.node_labels) == ("a", ("C",))

    def test_nodes_in_any_order(self) -> None:
        (graph,) = read_text("t # 0\ne 0 1\nv 1 B\nv 0 A\n", "tve")
        assert graph == Graph(2, [(0, 1)], node_labels=["A", "B"])

    def test_the_headers_of_subgraph_matching(self) -> None:
        graphs = read_text("t 2 1\nv 0 7 1\nv 1 8 1\ne 0 1\nt 1 0\nv 0 7 0\n", "tve")
        assert [graph.node_labels for graph in graphs] == [(7, 8), (7,)]
        assert graphs[0].id is None

    @pytest.mark.parametrize(
        ("token", "label"),
        [
            ("1", 1),
            ("-3", -3),
            ("0", 0),
            ("01", "01"),
            ("-0", "-0"),
            ("1.0", "1.0"),
            ("+1", "+1"),
            ("1_0", "1_0"),
            ("٣", "٣"),
        ],
    )
    def test_labels_are_integers_only_in_their_usual_spelling(self, token: str, label: object) -> None:
        assert read_text(f"t # 0\nv 0 {token}", "tve")[0].node_labels == (label,)
        assert read_text(f"t # 0\nv 0 {token}", "tve", labels="text")[0].node_labels == (token,)

    def test_direction_is_an_option(self) -> None:
        (graph,) = read_text("t # 0\nv 0\nv 1\ne 1 0\ne 0 1\n", "tve", directed=True)
        assert graph.directed
        assert graph.num_edges == 2

    def test_streams(self) -> None:
        graphs = iter_graphs(io.BytesIO(b"t # 0\nv 0\nt # 1\nbroken"), "tve")
        assert next(graphs).num_nodes == 1
        with pytest.raises(FileError, match="line 4"):
            next(graphs)

    def test_what_words_cannot_say(self) -> None:
        with pytest.raises(FileError, match=r"graphs\[0\]: label 'a b' is not an integer or a word"):
            write_graphs(Graph(1, node_labels=["a b"]), io.BytesIO(), "tve")
        with pytest.warns(ConversionWarning, match="node_labels come back as integers"):
            write_graphs(Graph(1, node_labels=["7"]), io.BytesIO(), "tve")

    def test_bad_option(self) -> None:
        with pytest.raises(InvalidArgument, match="labels must be 'auto' or 'text'"):
            read_text("t # 0", "tve", labels="int")


class TestNodeLink:
    @pytest.mark.parametrize("key", ["links", "edges"])
    def test_networkx_before_and_after_3_4(self, key: str) -> None:
        made = nx.Graph([("a", "b", {"weight": 2.0}), ("b", "c", {"weight": 0.5})], name="made")
        nx.set_node_attributes(made, {"a": "C", "b": "N", "c": "O"}, "label")
        (graph,) = read_text(json.dumps(nx.node_link_data(made, edges=key)), "json")
        assert graph == Graph(3, [(0, 1), (1, 2)], node_labels=list("CNO"), edge_weights=[2.0, 0.5])
        assert dict(graph.metadata) == {"name": "made", "node_names": ("a", "b", "c")}

    def test_networkx_reads_ours(self, tmp_path: Path) -> None:
        graph = Graph(3, [(0, 1), (2, 1)], directed=True, node_labels=list("CNO"), edge_weights=[1.5, 2.5])
        write_graphs(graph, tmp_path / "a.json")
        found = nx.node_link_graph(json.loads((tmp_path / "a.json").read_text()), edges="edges")
        assert found.is_directed()
        assert dict(found.nodes(data="label")) == {0: "C", 1: "N", 2: "O"}
        assert set(found.edges(data="weight")) == {(0, 1, 1.5), (2, 1, 2.5)}

    def test_names_of_nodes_come_back(self, tmp_path: Path) -> None:
        graph = Graph(2, [(0, 1)], metadata={"node_names": ("Ann", "Bob"), "place": "here"})
        for name in ("a.json", "a.graphml", "a.gxl"):
            write_graphs(graph, tmp_path / name)
            (found,) = read_graphs(tmp_path / name)
            assert dict(found.metadata) == dict(graph.metadata)
        write_graphs(graph.replace(metadata={"node_names": ("Ann", "Bob")}), tmp_path / "a.gexf")
        assert read_graphs(tmp_path / "a.gexf")[0].metadata["node_names"] == ("Ann", "Bob")

    def test_json_lines_take_node_link_too(self) -> None:
        line = json.dumps(nx.node_link_data(nx.path_graph(3), edges="links"))
        assert list(read_text(f"{line}\n{line}\n", "jsonl")) == [Graph(3, [(0, 1), (1, 2)])] * 2

    def test_edges_of_a_multigraph_are_refused(self) -> None:
        made = nx.MultiGraph([(0, 1), (0, 1)])
        with pytest.raises(FileError, match=r"edges\[1\]: the edge from 0 to 1 is given twice"):
            read_text(json.dumps(nx.node_link_data(made, edges="edges")), "json")

    def test_metadata_that_json_cannot_hold(self) -> None:
        for value, words in (
            (object(), "is of type object"),
            (float("nan"), "not JSON compliant"),
            ({1: 2}, "has the key 1"),
        ):
            with pytest.raises(FileError, match=rf"graphs\[0\]: .*{words}"):
                write_graphs(Graph(1, metadata={"x": value}), io.BytesIO(), "json")


class TestLabelLists:
    """The layout of the collected benchmark files."""

    GRAPH = '{"id": 4, "nodes": ["C", "S"], "edges": [[0, 1]], "edge_labels": ["2"], "class": 1}'
    TEXT = '{"name": "set", "graphs": [' + GRAPH + "]}"

    def test_other_keys_are_metadata(self) -> None:
        (graph,) = read_text(self.TEXT, "json")
        assert graph == Graph(2, [(0, 1)], node_labels=["C", "S"], edge_labels=["2"])
        assert (graph.id, dict(graph.metadata)) == (4, {"class": 1})

    def test_null_labels_are_no_labels(self) -> None:
        (graph,) = read_text('[{"nodes": [null, null], "edges": [[0, 1]]}]', "json")
        assert graph.node_labels is None

    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "count", "nodes"), [("AIDS700nef", 700, 6230), ("LINUX", 1000, 7580)])
    def test_benchmarks(self, shared_data: Path, name: str, count: int, nodes: int) -> None:
        graphs = read_graphs(shared_data / f"{name}.json")
        assert (len(graphs), graphs.sizes.sum()) == (count, nodes)


class TestAttributes:
    FIRST = '{"id": 0, "kind": "a", "x10": 1, "x9": 2, "v": [3, 4]}'
    SECOND = '{"id": 1, "kind": "b", "x10": 5, "x9": 6, "v": [7, 8]}'
    TEXT = (
        '{"nodes": [' + FIRST + ", " + SECOND + "]" + ', "edges": [{"source": 0, "target": 1, "w": 2, "color": "red"}]}'
    )

    def test_numbers_left_over_are_features_in_natural_order(self) -> None:
        with pytest.warns(ConversionWarning) as caught:
            (graph,) = read_text(self.TEXT, "json")
        assert graph.node_features is not None
        assert graph.node_features.tolist() == [[3, 4, 2, 1], [7, 8, 6, 5]]  # v, x9, x10
        messages = sorted(str(warning.message) for warning in caught)
        assert "edge attributes 'color', 'w' left out" in messages[0]
        assert "node attributes 'kind' left out" in messages[1]

    def test_everything_can_be_chosen(self) -> None:
        with pytest.warns(ConversionWarning, match="node attributes 'v', 'x10' left out"):
            (graph,) = read_text(
                self.TEXT, "json", node_label="kind", edge_label="color", edge_weight="w", node_features=["x9"]
            )
        assert graph == Graph(
            2, [(0, 1)], node_labels=["a", "b"], edge_labels=["red"], edge_weights=[2], node_features=[[2], [6]]
        )

    def test_a_name_that_is_not_there(self) -> None:
        with pytest.raises(FileError, match="no node has the attribute 'colour'; nodes have 'kind', 'v', 'x9', 'x10'"):
            read_text(self.TEXT, "json", node_label="colour")
        with pytest.raises(FileError, match="attribute 'kind' is not a number on every node"):
            read_text(self.TEXT, "json", node_features=["kind"])

    def test_missing_values(self) -> None:
        nodes = '"nodes": [{"id": 0, "label": "C"}, {"id": 1}, {"id": 2, "text": "t"}]'
        links = '"links": [{"source": 0, "target": 1, "weight": 3}, {"source": 0, "target": 2, "label": null}]'
        (graph,) = read_text(f"{{{nodes}, {links}}}", "json")
        assert graph.node_labels == ("C", None, None)
        assert graph.node_texts == ("", "", "t")
        assert graph.edge_labels == (None, None)
        assert np.array_equal(graph.edge_weights, [3, 1])

    def test_an_unknown_option_is_named(self) -> None:
        with pytest.raises(
            InvalidArgument, match="format 'json' has no option 'node_lable'; its options are node_label"
        ):
            read_text(self.TEXT, "json", node_lable="kind")
        with pytest.raises(InvalidArgument, match="format 'graphmetric' has no option 'x'; it has none"):
            read_text("", "graphmetric", x=1)


class TestGexf:
    AIDS = """<?xml version="1.0" encoding="UTF-8"?>
    <gexf xmlns="http://www.gexf.net/1.1draft" version="1.1"><graph defaultedgetype="undirected" mode="static">
    <attributes class="edge" mode="static"><attribute id="1" title="valence" type="integer"/></attributes>
    <attributes class="node" mode="static"><attribute id="0" title="type" type="string"/></attributes>
    <nodes><node id="0" label="0"><attvalues><attvalue for="0" value="C"/></attvalues></node>
    <node id="1" label="1"><attvalues><attvalue for="0" value="N"/></attvalues></node></nodes>
    <edges><edge id="0" source="0" target="1"><attvalues><attvalue for="1" value="2"/></attvalues></edge></edges>
    </graph></gexf>"""

    def test_the_benchmark_files(self) -> None:
        (graph,) = read_text(self.AIDS, "gexf")
        assert graph == Graph(2, [(0, 1)], node_labels=["C", "N"], edge_labels=[2])
        assert dict(graph.metadata) == {}

    def test_labels_that_repeat_the_id_are_no_tags(self) -> None:
        text = self.AIDS.replace('title="type"', 'title="mood"').replace('label="1"', 'label="one"')
        with pytest.warns(ConversionWarning, match="mood"):
            assert read_text(text, "gexf")[0].node_labels == ("0", "one")
        with pytest.warns(ConversionWarning, match="mood"):
            assert read_text(text.replace('label="one"', 'label="1"'), "gexf")[0].node_labels is None

    def test_networkx_both_ways(self, tmp_path: Path) -> None:
        made = nx.DiGraph([(0, 1, {"weight": 2.5}), (1, 2, {"weight": 1.5})])
        nx.set_node_attributes(made, {0: 0.5, 1: 1.5, 2: 2.5}, "x")
        nx.write_gexf(made, tmp_path / "a.gexf")
        with pytest.warns(ConversionWarning, match="'id'") if _edge_ids(tmp_path / "a.gexf") else _nothing():
            (graph,) = read_graphs(tmp_path / "a.gexf")
        expected = Graph(
            3, [(0, 1), (1, 2)], directed=True, edge_weights=[2.5, 1.5], node_features=[[0.5], [1.5], [2.5]]
        )
        assert graph == expected
        write_graphs(expected.replace(node_labels=list("abc")), tmp_path / "b.gexf")
        found = nx.read_gexf(tmp_path / "b.gexf")
        assert dict(found.nodes(data="f0")) == {"0": 0.5, "1": 1.5, "2": 2.5}
        assert set(found.edges(data="weight")) == {("0", "1", 2.5), ("1", "2", 1.5)}

    def test_one_graph_per_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="a GEXF file holds one graph, not 2; give a folder"):
            write_graphs([Graph(1), Graph(2)], tmp_path / "a.gexf")
        assert not list(tmp_path.iterdir())


class TestGraphml:
    def test_networkx_both_ways(self, tmp_path: Path) -> None:
        made = nx.Graph([("a", "b", {"weight": 2.5, "label": "x"})])
        nx.set_node_attributes(made, {"a": 3, "b": 4}, "label")
        nx.write_graphml(made, tmp_path / "a.graphml")
        (graph,) = read_graphs(tmp_path / "a.graphml")
        assert graph == Graph(2, [(0, 1)], node_labels=[3, 4], edge_labels=["x"], edge_weights=[2.5])
        assert graph.metadata["node_names"] == ("a", "b")
        write_graphs(graph, tmp_path / "b.graphml")
        found = nx.read_graphml(tmp_path / "b.graphml")
        assert dict(found.nodes(data="label")) == {"a": 3, "b": 4}
        assert list(found.edges(data=True)) == [("a", "b", {"label": "x", "weight": 2.5})]

    def test_defaults(self) -> None:
        text = (
            '<graphml><key id="k" for="node" attr.name="label" attr.type="int"><default>7</default></key>'
            '<graph edgedefault="undirected"><node id="0"/><node id="1"><data key="k">8</data></node></graph></graphml>'
        )
        assert read_text(text, "graphml")[0].node_labels == (7, 8)

    def test_what_has_no_type_of_its_own_comes_back_as_text(self) -> None:
        graphs = [
            (Graph(2, node_labels=[1, "a"]), "'label' have values of several types"),
            (Graph(1, node_labels=[(1, 2)]), "node_labels that are neither text, numbers nor booleans"),
            (Graph(1, id="7"), "ids come back as integers"),
            (Graph(1, metadata={"list": [1]}), "metadata 'list' come back as JSON text"),
            (Graph(1, node_images=np.zeros((1, 1, 1, 1))), "cannot hold node_images; left out"),
        ]
        for graph, words in graphs:
            with pytest.warns(ConversionWarning, match=words):
                write_graphs(graph, io.BytesIO(), "graphml")

    @pytest.mark.parametrize("format", ["graphml", "gexf", "gxl"])
    def test_characters_that_xml_has_not(self, format: str) -> None:
        with pytest.raises(FileError, match=r"graphs\[0\]: XML cannot hold"):
            write_graphs(Graph(1, node_labels=["\0"]), io.BytesIO(), format)


def gxl(name: str) -> str:
    label = '<attr name="symbol"><string>C  </string></attr>'
    node = f'<node id="_1">{label}<attr name="x"><float>1.5</float></attr></node>'
    graph = f'<graph id="{name}" edgeids="false" edgemode="undirected">{node}</graph>'
    return f'<?xml version="1.0"?><!DOCTYPE gxl SYSTEM "http://www.gupro.de/GXL/gxl-1.0.dtd"><gxl>{graph}</gxl>'


CXL = """<?xml version="1.0"?><GraphCollection><molecules count="2" base="/data" classmodel="henry5">
<print file="g10.gxl" class="active "/><print file="g2.gxl" class="7"/></molecules></GraphCollection>"""


class TestGxl:
    def test_values_lose_their_padding(self) -> None:
        (graph,) = read_text(gxl("mol"), "gxl")
        assert graph.node_labels == ("C",)
        assert graph.node_features is not None
        assert graph.node_features.tolist() == [[1.5]]
        assert graph.id == "mol"

    def test_a_list_gives_classes_in_its_order(self, tmp_path: Path) -> None:
        for name in ("g2", "g10", "g3"):
            (tmp_path / f"{name}.gxl").write_text(gxl(name))
        (tmp_path / "train.cxl").write_text(CXL)
        listed = read_graphs(tmp_path / "train.cxl")
        assert [(graph.id, graph.metadata["class"]) for graph in listed] == [("g10", "active"), ("g2", 7)]
        folder = read_graphs(tmp_path)
        assert [(graph.id, graph.metadata.get("class")) for graph in folder] == [
            ("g2", 7),
            ("g3", None),
            ("g10", "active"),
        ]

    def test_lists_that_disagree(self, tmp_path: Path) -> None:
        (tmp_path / "g2.gxl").write_text(gxl("g2"))
        (tmp_path / "a.cxl").write_text(CXL)
        (tmp_path / "b.cxl").write_text(CXL.replace('"7"', '"8"'))
        with pytest.raises(FileError, match=r"b\.cxl: line 2: g2\.gxl has class '8' here and '7' in another list"):
            read_graphs(tmp_path)

    def test_a_list_is_not_a_stream(self) -> None:
        with pytest.raises(FileError, match="read by its path"):
            read_text(CXL, "cxl")


class TestTudataset:
    def write(self, folder: Path, **tables: str) -> Path:
        for name, content in tables.items():
            (folder / f"DS_{name}.txt").write_text(content)
        return folder

    def test_both_directions_are_one_edge(self, tmp_path: Path) -> None:
        self.write(tmp_path, A="1, 2\n2, 1\n3, 3\r\n", graph_indicator="1\n1\n2\n", edge_labels="5\n5\n6\n")
        assert list(read_graphs(tmp_path)) == [Graph(2, [(0, 1)], edge_labels=[5]), Graph(1, [(0, 0)], edge_labels=[6])]
        assert [g.num_edges for g in read_graphs(tmp_path, directed=True)] == [2, 1]

    def test_everything_else(self, tmp_path: Path) -> None:
        self.write(tmp_path, A="", graph_indicator="1\n3\n", graph_labels="-1\n1\n1\n", node_labels="1, 2\n3, 4\n")
        self.write(tmp_path, node_attributes="0.5, 1e3\n2, 3\n")
        graphs = read_graphs(tmp_path)
        assert graphs.sizes.tolist() == [1, 0, 1]
        assert [graph.metadata["class"] for graph in graphs] == [-1, 1, 1]
        assert graphs[2].node_labels == ((3, 4),)
        assert graphs[0].node_features is not None
        assert graphs[0].node_features.tolist() == [[0.5, 1000.0]]

    def test_several_classes_per_graph(self, tmp_path: Path) -> None:
        self.write(tmp_path, A="", graph_indicator="1\n2\n", graph_labels="0, 1\n1, 1\n")
        assert [graph.metadata["class"] for graph in read_graphs(tmp_path)] == [(0, 1), (1, 1)]

    def test_weights_are_edge_attributes_of_one_column(self, tmp_path: Path) -> None:
        self.write(tmp_path, A="1, 2\n", graph_indicator="1\n1\n", edge_attributes="2.5\n")
        assert read_graphs(tmp_path)[0].edge_weights is not None
        assert read_graphs(tmp_path, edge_weights=False)[0].edge_weights is None
        self.write(tmp_path, edge_attributes="2.5, 1\n", graph_attributes="1\n")
        with pytest.warns(ConversionWarning, match="edge_attributes|graph_attributes"):
            assert read_graphs(tmp_path)[0].edge_weights is None

    def test_what_cannot_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"graphs\[1\]: a graph without nodes"):
            write_graphs([Graph(1), Graph(0)], tmp_path / "set", "tudataset")
        with pytest.warns(ConversionWarning, match="node_labels that are not integers are written as numbers"):
            write_graphs(Graph(2, node_labels=["C", "O"]), tmp_path / "names", "tudataset")
        assert read_graphs(tmp_path / "names")[0].node_labels == (0, 1)
        with pytest.warns(ConversionWarning, match="node_labels left out: only some"):
            write_graphs([Graph(1, node_labels=[1]), Graph(1)], tmp_path / "some", "tudataset")
        with pytest.warns(ConversionWarning, match="metadata 'name' left out"):
            write_graphs(Graph(1, metadata={"name": "x", "class": 1}), tmp_path / "more", "tudataset")
        assert read_graphs(tmp_path / "more")[0].metadata["class"] == 1


class TestSmiles:
    TEXT = "smiles name\nCCO ethanol\n\n# comment\nc1ccccc1\t42\nC#N\n"

    def test_molecules_with_names(self) -> None:
        pytest.importorskip("rdkit")
        graphs = read_text(self.TEXT, "smiles")
        assert [graph.id for graph in graphs] == ["ethanol", 42, None]
        assert graphs[0].node_labels == ("C", "C", "O")
        assert graphs.sizes.tolist() == [3, 6, 2]

    def test_lines_that_are_no_molecules(self) -> None:
        pytest.importorskip("rdkit")
        text = self.TEXT + "C1CC bad\nnonsense\n"
        with pytest.raises(FileError, match="line 7"):
            read_text(text, "smiles")
        with pytest.warns(ConversionWarning, match="2 graphs could not be read and were left out; the first: .*line 7"):
            assert len(read_text(text, "smiles", on_error="skip")) == 3

    def test_read_only(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="format 'smiles' is read only"):
            write_graphs(Graph(1), tmp_path / "a.smi")


class TestDot:
    def test_chains_groups_defaults_and_ports(self) -> None:
        text = """/* made by hand */ digraph "calls" { // a comment
        rankdir=LR; version="2";
# a line of the preprocessor
        node [shape=box, kind=f]; main [kind=entry];
        main -> parse:port:n -> { read write } [weight=2.5, color="red"];
        subgraph cluster_0 { edge [weight=3]; log; log -> read }
        }"""
        (graph,) = read_text(text, "dot", node_label="kind")
        assert graph.id == "calls"
        assert graph.metadata["node_names"] == ("main", "read", "write", "parse", "log")
        assert graph.node_labels == ("entry", "f", "f", "f", "f")
        assert graph.edges.tolist() == [[0, 3], [3, 1], [3, 2], [4, 1]]
        assert graph.edge_weights is not None
        assert graph.edge_weights.tolist() == [2.5, 2.5, 2.5, 3.0]
        assert graph.metadata["version"] == 2
        assert "rankdir" not in graph.metadata

    def test_strict_graphs_merge_and_others_refuse(self) -> None:
        (graph,) = read_text("strict graph { a -- b; b -- a [label=x] }", "dot")
        assert (graph.num_edges, graph.edge_labels) == (1, ("x",))
        with pytest.raises(FileError, match="line 2: the edge from 'b' to 'a' is given twice"):
            read_text("graph { a -- b;\n b -- a }", "dot")

    def test_texts(self) -> None:
        text = 'graph { a [label="say \\"hi\\" \\n" + "there"]; b [label=<<b>bold</b>>]; c [label="\\N"]; d [label=""]}'
        (graph,) = read_text(text, "dot")
        assert graph.node_labels == ('say "hi" \\nthere', "<b>bold</b>", None, "")

    def test_what_graphviz_lays_out_is_not_data(self) -> None:
        text = (
            'graph { graph [bb="0,0,54,108"]; a [pos="27,90", width=.75, height="0.5"]; b [pos="27,18", width=0.75] }'
        )
        (graph,) = read_text(text, "dot")
        assert (graph.node_features, dict(graph.metadata)) == (None, {"node_names": ("a", "b")})
        (graph,) = read_text(text, "dot", node_features=["width"])
        assert graph.node_features is not None
        assert graph.node_features.tolist() == [[0.75], [0.75]]

    def test_many_graphs_and_edges_of_groups_are_limited(self) -> None:
        assert [g.num_edges for g in read_text("graph {0 -- 1} digraph {0 -> 1 -> 0} GRAPH {}", "dot")] == [1, 2, 0]
        group = "{" + " ".join(map(str, range(2000))) + "}"
        with pytest.raises(LimitExceeded, match="4,000,000 edges"):
            read_text(f"digraph {{ {group} -> {group} }}", "dot", limits=ReadLimits(max_edges=10_000))


class TestGml:
    def test_what_networkx_writes(self) -> None:
        given = nx.Graph([("a", "b"), ("b", "c")], kind="path")
        nx.set_node_attributes(given, {"a": "C", "b": "é", "c": '"O"'}, "element")
        nx.set_node_attributes(given, {name: [1.5, 2] for name in given}, "place")
        nx.set_edge_attributes(given, 1e-20, "weight")
        text = "\n".join(nx.generate_gml(given))
        with pytest.warns(ConversionWarning, match="node attributes 'label' left out"):
            (graph,) = read_text(text, "gml", node_label="element")
        expected = Graph(3, [(0, 1), (1, 2)], node_labels=["C", "é", '"O"'], edge_weights=[1e-20, 1e-20])
        assert graph == expected.replace(node_features=[[1.5, 2]] * 3)
        assert graph.metadata["kind"] == "path"

    def test_networkx_reads_what_we_write(self) -> None:
        graph = Graph(3, [(0, 1), (1, 2)], directed=True, node_labels=["C", "é", '"&'], edge_weights=[1e-20, 2])
        stream = io.BytesIO()
        write_graphs(graph, stream, "gml")
        found = nx.parse_gml(stream.getvalue().decode().splitlines(), label="id")
        assert list(nx.get_node_attributes(found, "label").values()) == ["C", "é", '"&']
        assert [data["weight"] for _, _, data in found.edges(data=True)] == [1e-20, 2]

    def test_labels_that_repeat_the_id_are_names(self) -> None:
        (graph,) = read_text('graph [ node [ id 3 label "3" ] node [ id 7 label "7" type "x" ] ]', "gml")
        assert graph.node_labels == (None, "x")

    def test_texts_that_networkx_takes_for_lists(self) -> None:
        graph = Graph(2, [(0, 1)], node_labels=["()", "[]"], metadata={"note": "[]"})
        stream = io.BytesIO()
        write_graphs(graph, stream, "gml")
        assert list(read_text(stream.getvalue().decode(), "gml")) == [graph]

    def test_comments_lists_and_what_stands_beside_graphs(self) -> None:
        text = """Creator "yFiles"\n  # a comment\nVersion 2
        graph [ directed 1 id 5 note "a&#10;b &lt; &nonsense;"
          node [ id 0 graphics [ x 1.0 y 2.0 ] ] node [ id 1 ] edge [ source 1 target 0 value -3 ] ]"""
        with pytest.warns(ConversionWarning, match="left out") as said:
            (graph,) = read_text(text, "gml")
        assert graph == Graph(2, [(1, 0)], directed=True)
        assert (graph.id, graph.metadata["note"]) == (5, "a\nb < &nonsense;")
        assert {"graphics", "value"} <= set(" ".join(str(w.message) for w in said).replace("'", "").split())


def test_the_first_of_several_wrong_graphs_is_named_first() -> None:
    wrong_end, unknown_key = '{"num_nodes": 2, "edges": [[0, 5]]}', '{"num_nodes": 2, "colour": 1}'
    text = "\n".join(['{"num_nodes": 1}', wrong_end, unknown_key, '{"num_nodes": 1}'])
    with pytest.warns(ConversionWarning, match=r"2 graphs could not be read and were left out; the first: .*line 2"):
        assert len(read_text(text, "jsonl", on_error="skip")) == 2


class TestSdf:
    @staticmethod
    def record(smiles: str, title: str, fields: str = "") -> str:
        chem = pytest.importorskip("rdkit.Chem")
        from rdkit.Chem import rdDepictor

        molecule = chem.MolFromSmiles(smiles)
        rdDepictor.Compute2DCoords(molecule)
        molecule.SetProp("_Name", title)
        return f"{chem.MolToMolBlock(molecule)}{fields}$$$$\n"

    def test_titles_and_data_fields(self) -> None:
        fields = "> <logP>\n1.5\n\n>  25  <note> (MD-1)\ntwo\nlines\n\n> <class>\n1\n\n"
        text = self.record("CCO", "ethanol", fields) + self.record("c1ccccc1", "42")
        graphs = read_text(text, "sdf")
        assert [graph.id for graph in graphs] == ["ethanol", 42]
        assert graphs[0] == Graph.from_smiles("CCO")
        assert graphs[1].is_isomorphic(Graph.from_smiles("c1ccccc1"))
        assert dict(graphs[0].metadata) == {"logP": 1.5, "note": "two\nlines", "class": 1, "smiles": "CCO"}
        (graph,) = read_text(text.partition("$$$$")[0].replace("\n", "\r\n"), "mol")
        assert graph == graphs[0]

    def test_a_field_without_a_name_takes_no_more_than_linear_time(self) -> None:
        """Quadratic time would be most of an hour."""
        text = self.record("CCO", "ethanol", f"> {'<' * 1_000_000}\n1\n\n> <class>\n1\n\n")
        assert dict(read_text(text, "sdf")[0].metadata) == {"class": 1, "smiles": "CCO"}

    def test_bad_records_name_their_line_and_can_be_skipped(self) -> None:
        good = self.record("CC", "a")
        bad = good.replace("  1  2  1  0", "  1  9  1  0")
        with pytest.raises(FileError, match=f"line {good.count(chr(10)) + 1}: the molecule cannot be read"):
            read_text(good + bad + good, "sdf")
        with pytest.warns(ConversionWarning, match="1 graph could not be read"):
            assert len(read_text(good + bad + good, "sdf", on_error="skip")) == 2

    def test_charge_and_stereo_count_when_asked_for(self) -> None:
        text = self.record("C[C@@H](N)C(=O)[O-]", "R") + self.record("C[C@H](N)C(=O)[O-]", "S")
        with pytest.warns(ConversionWarning, match="charges and stereochemistry of molecules do not count"):
            first, second = read_text(text, "sdf")
        assert first.is_isomorphic(second)
        first, second = read_text(text, "sdf", distinguish=("charge", "stereo"))
        assert not first.is_isomorphic(second)
        assert {first.node_labels, second.node_labels} == {("C", f"C({sense})", "N", "C", "O", "O-") for sense in "RS"}


def _edge_ids(path: Path) -> bool:
    return "attvalue" in path.read_text().partition("<edges>")[2]


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()
