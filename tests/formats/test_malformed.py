"""Files that are wrong: the error names the file, the place, what was found and what was expected."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from graphmetric.errors import FileError, LimitExceeded
from graphmetric.formats import ReadLimits, read_graphs

XML = '<?xml version="1.0"?>\n'
GEXF = XML + '<gexf><graph defaultedgetype="undirected">{}</graph></gexf>'
GRAPHML = XML + "<graphml>{}</graphml>"
GXL = XML + "<gxl>{}</gxl>"

MALFORMED = [
    # file name, content, place, words of the message
    ("a.json", "", "line 1", "not valid JSON: Expecting value"),
    ("a.json", '{"nodes": [\n1,,2]}', "line 2", "not valid JSON"),
    ("a.json", "3", None, "expected a graph, a list of graphs or an object with graphs; got 3"),
    ("a.json", "[" * 100_000, None, "nested too deeply"),
    ("a.json", "1" * 5000, None, "too many digits"),
    ("a.json", '[{"nodes": []}]', "graphs[0]", "edges must be a list of pairs; got None"),
    ("a.json", '[{"nodes": [1], "edges": []}, 5]', "graphs[1]", "expected a graph as a JSON object; got 5"),
    ("a.json", '{"x": 1}', None, "a graph needs num_nodes or a list of nodes; found the keys ['x']"),
    ("a.json", '{"graphs": [{"nodes": ["C"], "edges": [[0, 1]]}]}', "graphs[0]", "edge (0, 1) names node 1"),
    ("a.json", '{"nodes": ["C"], "edges": [[0, "1"]]}', None, "edges must be pairs of node numbers; got [0, '1']"),
    ("a.json", '{"nodes": ["C"], "edges": [[0]]}', None, "edges must be pairs; got [0]"),
    ("a.json", '{"nodes": ["C"], "edges": [[0, true]]}', None, "pairs of node numbers; got [0, True]"),
    ("a.json", '{"nodes": [{"id": 0}, {"id": 0}], "edges": []}', "nodes[1]", "node 0 is declared twice"),
    ("a.json", '{"nodes": [{"id": 0}], "links": [{"source": 0}]}', None, 'edges[0] must be an object with "source"'),
    ("a.json", '[{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 9}]}]', "graphs[0].edges[0]", "node 9"),
    ("a.json", '{"nodes": [{"id": 0}, {}], "links": []}', None, 'nodes[1] must be an object with an "id"; got {}'),
    ("a.json", '{"nodes": [{"id": 0, "label": [1]}], "links": []}', None, "label [1] is not one of"),
    ("a.jsonl", '{"num_nodes": 1, "id": "\\ud800"}', "line 1", "half of a character"),
    ("a.json", '{"nodes": [{"id": "\\uDC00"}],\n "edges": []}', None, "half of a character"),
    ("a.dot", "graph { a -- b", "line 1", "expected a node, an edge or an attribute; found 'the end of the file'"),
    ("a.dot", "graph {\n a -> b }", "line 2", "expected --; found '->'"),
    ("a.dot", "\n tree { }", "line 2", "expected graph or digraph; found 'tree'"),
    ("a.dot", 'graph { a [label="x] }', "line 1", "a text in quotes does not end"),
    ("a.dot", "graph { a [label=<<b>] }", "line 1", "a text in <...> does not end"),
    ("a.dot", "graph { a /* }", "line 1", "a comment does not end"),
    ("a.dot", "graph { a [=3] }", "line 1", "expected an attribute or ]; found '='"),
    ("a.dot", "graph { node }", "line 1", "expected [ after node; found '}'"),
    ("a.dot", "graph { a ! }", "line 1", "unexpected '!'"),
    ("a.dot", "graph " + "{" * 100, "line 1", "more than 50 subgraphs within each other"),
    ("a.dot", "graph { a -- b [weight=heavy] }", "line 1", "weight must be a finite number; got 'heavy'"),
    ("a.gml", "graph [\n node [ id 0 ]", "line 3", "not valid GML: expected ']', found EOF"),
    ("a.gml", "graph [ node [ label 3 ] ]", None, "node #0 has no 'id' attribute"),
    ("a.gml", "graph [ node [ id 0 ]\n node [ id 0 ] ]", None, "node id 0 is duplicated"),
    ("a.gml", "graph [ node [ id 0 ]\n edge [ source 0 target 1 ] ]", None, "edge #0 has undefined target 1"),
    ("a.gml", "graph [ 3 ]", "line 1", "expected ']', found 3"),
    ("a.gml", "graph [ node ]", "line 1", "expected an int, float, string or '[', found ']'"),
    ("a.gml", 'graph [ name "x ]', None, "not valid GML: input contains no graph"),
    ("a.gml", "graph [ x 1.0e999 ]", None, "graph attribute 'x': expected a finite number; found inf"),
    ("a.gml", "graph [ node [ id 0 x NAN ] ]", None, "node attribute 'x': expected a finite number; found nan"),
    ("a.gml", "graph [ x " + 5000 * "9" + " ]", None, "not valid GML"),
    ("a.gml", "graph 3", None, "expected graph [ ... ], with node [ ... ] and edge [ ... ] in it"),
    ("a.gml", "graph [ node 3 ]", None, "expected graph [ ... ], with node [ ... ] and edge [ ... ] in it"),
    ("a.gml", "graph [ ] graph [ ]", None, "input contains more than one graph"),
    ("a.gml", "a [ " * 5000, None, "lists are nested too deeply"),
    ("a.gml", "!" * 10_000, "line 1", "!!!..."),
    ("a.sdf", "x\n\n\nnonsense\n$$$$\n", "line 1", "does not follow the MOL format"),
    ("a.sdf", "$$$$\n", "line 1", "the record is empty"),
    ("a.jsonl", '{"num_nodes": 1}\n{"num_nodes": -1}', "line 2", "num_nodes must be an integer >= 0; got -1"),
    ("a.jsonl", '{"num_nodes": 1}\n[]', "line 2", "expected one graph as a JSON object; got a list"),
    ("a.jsonl", '\n\n{"num_nodes": 1', "line 3", "not valid JSON"),
    ("a.jsonl", '{"num_nodes": 1, "node_label": ["C"]}', "line 1", "unknown key 'node_label'; a graph dict has"),
    ("a.jsonl", '{"num_nodes": 2, "node_labels": ["C"]}', "line 1", "node_labels has 1 entry; the graph has 2 nodes"),
    ("a.jsonl", '{"num_nodes": 2, "edges": [[0, 1], [1, 0]]}', "line 1", "edge (0, 1) is given twice"),
    (
        "a.jsonl",
        '{"num_nodes": 2, "edges": [[0, 1]], "edge_weights": ["1"]}',
        "line 1",
        "must be a finite number; got '1'",
    ),
    ("a.jsonl", '{"num_nodes": 2, "edges": [[0, 1]], "edge_weights": [0]}', "line 1", "weight 0"),
    (
        "a.jsonl",
        '{"num_nodes": 2, "edges": [[0, 1]], "edge_weights": [NaN]}',
        "line 1",
        "must be a finite number; got nan",
    ),
    ("a.jsonl", '{"num_nodes": 1, "node_features": [[1], [2]]}', "line 1", "node_features has 2 entries"),
    ("a.jsonl", '{"num_nodes": 2, "node_features": [[1], [2, 3]]}', "line 1", "node_features[1] has 2 numbers"),
    ("a.jsonl", '{"num_nodes": 1, "node_texts": [5]}', "line 1", "node_texts must be strings; got 5"),
    (
        "a.jsonl",
        '{"num_nodes": 1, "node_images": {"dtype": "object", "shape": [1,1,1,1], "base64": ""}}',
        "line 1",
        "uint8",
    ),
    (
        "a.jsonl",
        '{"num_nodes": 1, "node_images": {"dtype": "uint8", "shape": [1,9,9,9], "base64": ""}}',
        "line 1",
        "0 bytes",
    ),
    ("a.jsonl", '{"num_nodes": 1, "directed": 1}', "line 1", "directed must be true or false; got 1"),
    ("a.jsonl", '{"num_nodes": 1, "metadata": [1]}', "line 1", "metadata must be an object"),
    ("a.gexf", "", "line 1", "not well-formed XML"),
    ("a.gexf", XML + "<gexf>\n<graph>\n</gexf>", "line 4", "not well-formed XML"),
    ("a.gexf", GRAPHML, "line 2", "expected <gexf> as the root; found <graphml>"),
    ("a.gexf", GEXF.format("<nodes>\n<node/></nodes>"), "line 3", "<node> has no attribute 'id'"),
    ("a.gexf", GEXF.format("<edges>\n<edge source='0' target='1'/></edges>"), "line 3", "an edge names node '0'"),
    ("a.gexf", GEXF.format("<nodes><node id='0'/>\n<node id='0'/></nodes>"), "line 3", "node '0' is declared twice"),
    (
        "a.gexf",
        GEXF.format(
            "<nodes><node id='0'/></nodes><edges><edge source='0' target='0'/>\n<edge source='0' target='0'/></edges>"
        ),
        "line 3",
        "the edge from '0' to '0' is given twice",
    ),
    (
        "a.gexf",
        GEXF.format("<nodes><node id='0'/></nodes><edges>\n<edge source='0' target='0' type='directed'/></edges>"),
        "line 3",
        "the graph is undirected, this edge is 'directed'",
    ),
    (
        "a.gexf",
        GEXF.format("<nodes><node id='0'/></nodes><edges>\n<edge source='0' target='0' weight='heavy'/></edges>"),
        "line 3",
        "expected a number of type double; found 'heavy'",
    ),
    (
        "a.gexf",
        GEXF.format("<nodes>\n<node id='0'><attvalues><attvalue for='5' value='1'/></attvalues></node></nodes>"),
        "line 3",
        "'5'",
    ),
    (
        "a.graphml",
        GRAPHML.format("<graph edgedefault='sideways'/>"),
        "line 2",
        "edgedefault must be directed or undirected",
    ),
    (
        "a.graphml",
        GRAPHML.format("<graph><node id='a'>\n<data key='k'>1</data></node></graph>"),
        "line 3",
        "the key 'k'",
    ),
    ("a.graphml", GRAPHML.format("<graph><node id='a'>\n<graph/></node></graph>"), "line 3", "graphs inside nodes"),
    ("a.graphml", GRAPHML.format("<graph>\n<hyperedge/></graph>"), "line 2", "hyperedges are not supported"),
    ("a.gxl", GXL.format("<graph edgemode='up'/>"), "line 2", "edgemode must be directed or undirected; found 'up'"),
    (
        "a.gxl",
        GXL.format("<graph>\n<node id='1'><attr name='x'><int>one</int></attr></node></graph>"),
        "line 3",
        "expected a number of type int; found 'one'",
    ),
    (
        "a.cxl",
        XML + "<GraphCollection>\n<print file='../x.gxl' class='a'/></GraphCollection>",
        "line 3",
        "outside the folder",
    ),
    (
        "a.cxl",
        XML + "<GraphCollection>\n<print file='/etc/x.gxl' class='a'/></GraphCollection>",
        "line 3",
        "outside the folder",
    ),
    (
        "a.cxl",
        XML + "<GraphCollection><print file='x.gxl' class='a'/>\n<print file='x.gxl' class='a'/></GraphCollection>",
        "line 3",
        "file 'x.gxl' is listed twice",
    ),
    ("a.cxl", XML + "<GraphCollection>\n<print file='x.gxl'/></GraphCollection>", "line 3", "no attribute 'class'"),
    ("a.tve", "v 0 C", "line 1", "expected 't # id' before anything else; found 'v 0 C'"),
    ("a.tve", "t # 0\nx 1", "line 2", "expected a line of t, v or e; found 'x 1'"),
    ("a.tve", "t # 0\nv zero C", "line 2", "expected a number; found 'zero'"),
    ("a.tve", "t # 0\nv 0 C O", "line 2", "expected 'v number label'; found 'v 0 C O'"),
    ("a.tve", "t # 0\nv 0 C\nv 2 C", "line 1", "found 2 where 1 should be"),
    ("a.tve", "t # 0\nv 0 C\nv 0 C", "line 1", "found 0 where 1 should be"),
    ("a.tve", "t # 0\nv 5 C", "line 1", "found 5 where 0 should be"),
    ("a.tve", "t # 0\nv 0 C\nv 1 C\ne 0 2", "line 4", "edge (0, 2) names node 2; the graph has nodes 0..1"),
    ("a.tve", "t # 0\nv 1 C\nv 2 C\ne 0 1", "line 4", "edge (0, 1) names node 0; the graph has nodes 1..2"),
    ("a.tve", "t # 0\nv 0 C\nv 1 C\ne 0 1\ne 1 0", "line 5", "edge (1, 0) is given twice"),
    ("a.tve", "t # 0\ne 0 0", "line 2", "the graph has no nodes"),
    ("a.tve", "t # 0\nv 0\nt # -1\nt # 1", "line 4", "text after the end mark"),
    ("a.tve", "t 2 1\nv 0 C 0", "line 1", "2 nodes and 1 edges are announced; found 1 and 0"),
    ("a.tve", "t # 0 0 0", "line 1", "expected 't # id' or 't nodes edges'"),
    ("a.smi", "CCO ok\nC1CC broken", "line 2", "C1CC"),
    ("a.gmg", "not ours", None, "does not start with the right bytes"),
]


@pytest.mark.parametrize(("name", "content", "place", "words"), MALFORMED)
def test_message(tmp_path: Path, name: str, content: str, place: str | None, words: str) -> None:
    if name.endswith(".smi"):
        pytest.importorskip("rdkit")
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(FileError) as caught:
        read_graphs(path)
    assert caught.value.path == str(path)
    assert caught.value.where == place
    assert words in str(caught.value)


TU = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n"}
TU_MALFORMED = [
    ({"A": "1, 2\n2\n"}, "A", "line 2", "expected 2 integers with commas between them; found '2'"),
    ({"A": "1, 2\n2, 3, 1\n3\n"}, "A", "line 2", "expected 2 integers"),
    ({"A": "1, 2.5\n"}, "A", "line 1", "expected 2 integers"),
    ({"A": "1, 99999999999999999999\n"}, "A", "line 1", "expected 2 integers"),
    ({"A": "1, 1_0\n"}, "A", "line 1", "expected 2 integers"),
    ({"A": "1, 4\n"}, "A", "line 1", "edge (1, 4); the nodes are 1..3"),
    ({"A": "0, 1\n"}, "A", "line 1", "edge (0, 1); the nodes are 1..3"),
    ({"A": "1, 2\n2, 3\n"}, "A", "line 2", "edge (2, 3) joins graph 1 and graph 2"),
    ({"graph_indicator": "1\n2\n1\n"}, "graph_indicator", "line 3", "never decrease; found 1"),
    ({"graph_indicator": "1\n1\n3\n"}, "graph_indicator", None, "graph 2 has no nodes"),
    ({"graph_indicator": "1\n1\n1000000000\n"}, "graph_indicator", None, "1,000,000,000 graphs; the limit is"),
    ({"node_labels": "1\n2\n"}, "node_labels", None, "expected 3 lines; found 2"),
    ({"edge_labels": "1\n2\n"}, "edge_labels", "line 2", "lines 1 and 2 are the two directions of one edge and differ"),
    ({"node_attributes": "1\nx\n3\n"}, "node_attributes", "line 2", "expected 1 numbers"),
    ({"node_attributes": "1\nnan\n3\n"}, "node_attributes", "line 2", "expected 1 numbers"),
    ({"node_attributes": "1\n1e999\n3\n"}, "node_attributes", "line 2", "expected 1 numbers"),
    ({"graph_labels": "1\n"}, "graph_indicator", None, "2 graphs; DS_graph_labels.txt has 1 rows"),
]


@pytest.mark.parametrize(("changes", "kind", "place", "words"), TU_MALFORMED)
def test_tudataset_message(tmp_path: Path, changes: dict[str, str], kind: str, place: str | None, words: str) -> None:
    for name, content in (TU | changes).items():
        (tmp_path / f"DS_{name}.txt").write_text(content)
    with pytest.raises(FileError) as caught:
        read_graphs(tmp_path)
    assert caught.value.path == str(tmp_path / f"DS_{kind}.txt")
    assert caught.value.where == place
    assert words in str(caught.value)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (XML + BOMB + "<gexf>&b;</gexf>", "entity declarations are refused"),
        (XML + '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><gexf/>', "entity declarations are refused"),
        ('<?xml version="1.0" encoding="UTF-7"?><gexf/>', "encoding 'UTF-7' is not read"),
        ('<?xml version="1.0" encoding="utf-16"?><gexf/>', "encoding 'utf-16' is not read"),
        (XML + "<a>" * 10_000, "not well-formed XML"),
    ],
)
def test_hostile_xml(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "a.gexf").write_text(content)
    with pytest.raises(FileError, match=words):
        read_graphs(tmp_path / "a.gexf")


def test_an_external_dtd_is_allowed_and_never_loaded(tmp_path: Path) -> None:
    (tmp_path / "evil.dtd").write_text("this would fail if it were parsed <<<")
    doctype = f'<!DOCTYPE gxl SYSTEM "{tmp_path}/evil.dtd">'
    (tmp_path / "a.gxl").write_text(f'{XML}{doctype}<gxl><graph edgemode="undirected"><node id="_1"/></graph></gxl>')
    assert read_graphs(tmp_path / "a.gxl")[0].num_nodes == 1


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.tve"])
@pytest.mark.parametrize(
    ("encoded", "words"),
    [
        ('t # 0\nv 0 "é"'.encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
        ("t # 0".encode("utf-16"), "this looks like UTF-16; save the file as UTF-8"),
    ],
)
def test_wrong_encodings(tmp_path: Path, name: str, encoded: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(encoded)
    with pytest.raises(FileError) as caught:
        read_graphs(tmp_path / name)
    if name != "a.jsonl" or "UTF-16" in words:  # its first line is already no JSON
        assert words in str(caught.value)


def test_utf16_xml(tmp_path: Path) -> None:
    (tmp_path / "a.gexf").write_bytes("<gexf/>".encode("utf-16"))
    with pytest.raises(FileError, match="UTF-16"):
        read_graphs(tmp_path / "a.gexf")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-5], "truncated"),
        (lambda data: data[:20] + b"\0\0\0\0" + data[24:], "damaged gzip data"),
        (lambda data: data + b"rubbish", "damaged gzip data"),
    ],
)
def test_damaged_gzip(tmp_path: Path, damage: object, words: str) -> None:
    data = gzip.compress(b'{"num_nodes": 1, "id": "some text that does not compress too well 0123456789"}\n' * 3)
    (tmp_path / "a.jsonl.gz").write_bytes(damage(data))  # type: ignore[operator]
    with pytest.raises(FileError, match=words):
        read_graphs(tmp_path / "a.jsonl.gz")


IMAGES = b'"node_images": {"dtype": "uint8", "shape": [0, 2147483647, 2147483647, 2147483647], "base64": ""}'
LIMITED = [
    ("a.jsonl", b'{"num_nodes": 0, ' + IMAGES + b"}", "line 1", "values per node; the limit is 16,777,216"),
    ("a.jsonl", b'{"num_nodes": 0, "node_features": {"width": 99999999}}', "line 1", "99,999,999 values per node"),
    (
        "a.jsonl",
        b'{"num_nodes": 0, "node_features": {"width": 9999}}\n{"num_nodes": 9999999}',
        None,
        "only some of the",
    ),
    (
        "a.jsonl",
        b'{"num_nodes": 1, "node_labels": ["C"]}\n' + b'{"num_nodes": 9999999}\n' * 99,
        None,
        "only some of the",
    ),
    ("a.jsonl", b'{"num_nodes": 1000000000}', "line 1", "1,000,000,000 nodes; the limit is 10,000,000"),
    ("a.jsonl", b'{"num_nodes": 9999999999999999999999}', "line 1", "nodes; the limit is"),
    ("a.tve", b"t 1000000000 1\n", "line 1", "1,000,000,000 nodes; the limit is"),
    ("a.tve", b"t 1 1000000000\n", "line 1", "1,000,000,000 edges; the limit is"),
]


@pytest.mark.parametrize(("name", "content", "place", "words"), LIMITED)
def test_announced_counts_are_refused_at_once(
    tmp_path: Path, name: str, content: bytes, place: str | None, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LimitExceeded) as caught:
        read_graphs(tmp_path / name)
    assert caught.value.where == place
    assert words in str(caught.value)


SMALL = [
    ("a.jsonl", b'{"num_nodes": 1}\n' * 9, ReadLimits(max_graphs=8), "max_graphs"),
    ("a.jsonl", b'{"num_nodes": 1}\n' * 9, ReadLimits(max_bytes=100), "max_bytes"),
    ("a.jsonl", gzip.compress(b"\n" * 1000, mtime=0), ReadLimits(max_decompressed_bytes=999), "max_decompressed_bytes"),
    ("a.jsonl", b" " * 200, ReadLimits(max_line_bytes=100), "max_line_bytes"),
    ("a.jsonl", gzip.compress(b" \n" * (1 << 23) + b" ", mtime=0), ReadLimits(), "max_compression_ratio"),
    ("a.json", b" " * 200, ReadLimits(max_document_bytes=100), "max_document_bytes"),
    ("a.json", b'{"nodes": [1, 2, 3], "edges": []}', ReadLimits(max_nodes=2), "max_nodes"),
    ("a.json", b'{"nodes": [1, 2, 3], "edges": [[0, 1], [0, 2]]}', ReadLimits(max_edges=1), "max_edges"),
    ("a.tve", b"t # 0\nv 0\nv 1\nv 2\n", ReadLimits(max_nodes=2), "max_nodes"),
    ("a.tve", b"t # 0\nv 0\nv 1\ne 0 1\ne 0 0\n", ReadLimits(max_edges=1), "max_edges"),
    (
        "a.gexf",
        GEXF.format("<nodes><node id='0'/><node id='1'/></nodes>").encode(),
        ReadLimits(max_nodes=1),
        "max_nodes",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content", "limits", "field"), SMALL)
def test_every_limit_is_kept_and_named(
    tmp_path: Path, name: str, content: bytes, limits: ReadLimits, field: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LimitExceeded, match=rf"limits=ReadLimits\({field}=\.\.\.\)") as caught:
        read_graphs(tmp_path / name, limits=limits)
    assert caught.value.path == str(tmp_path / name)


@pytest.mark.slow
def test_many_defaults_for_many_nodes(tmp_path: Path) -> None:
    keys = "".join(f"<key id='k{k}' for='node' attr.type='int'><default>1</default></key>" for k in range(5000))
    graph = "<graph>" + "".join(f"<node id='{k}'/>" for k in range(5000)) + "</graph>"
    (tmp_path / "a.graphml").write_text(GRAPHML.format(keys + graph))
    with pytest.raises(LimitExceeded, match="max_filler_bytes"):
        read_graphs(tmp_path / "a.graphml")
    (tmp_path / "b.graphml").write_text(GRAPHML.format(keys.replace("node", "graph") + "<graph/>" * 5000))
    with pytest.raises(LimitExceeded, match="max_filler_bytes"):
        read_graphs(tmp_path / "b.graphml")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::graphmetric.errors.ConversionWarning")
def test_many_names_of_attributes_take_no_more_than_linear_time(tmp_path: Path) -> None:
    """Quadratic time would be minutes."""
    own = ",".join(f'{{"id": {k}, "a{k}": 1}}' for k in range(40_000))
    first = '{"id": 0, ' + ",".join(f'"a{k}": 1' for k in range(40_000)) + "}"
    others = "".join(f', {{"id": {k}, "b": 1}}' for k in range(1, 40_000))
    for nodes in (own, first + others):
        (tmp_path / "a.json").write_text(f'{{"nodes": [{nodes}], "links": []}}')
        assert read_graphs(tmp_path / "a.json")[0].node_features is None


def test_labels_that_share_one_hash(tmp_path: Path) -> None:
    """A dictionary of them would take minutes."""
    numbers = [k * (2**61 - 1) for k in range(100_000)]
    (tmp_path / "a.jsonl").write_text(f'{{"num_nodes": {len(numbers)}, "node_labels": {numbers}}}')
    with pytest.raises(FileError, match="100000 different labels have one hash"):
        read_graphs(tmp_path / "a.jsonl")
    nodes = ",".join(f'{{"id": {number}}}' for number in numbers)
    (tmp_path / "a.json").write_text(f'{{"nodes": [{nodes}], "links": [{{"source": 0, "target": {numbers[-1]}}}]}}')
    assert read_graphs(tmp_path / "a.json")[0].edges.tolist() == [[0, 99_999]]


def test_lines_keep_their_numbers_over_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "a.tve").write_bytes(b"\n" * 300_000 + b"t # 0\r\n\r\n\n \nv 0\n\n\nx\n")
    with pytest.raises(FileError, match="line 300008"):
        read_graphs(tmp_path / "a.tve")


@pytest.mark.slow
def test_a_gzip_bomb_meets_the_default_limits(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * (1 << 20), mtime=0) * 300
    for name in ("a.jsonl", "a.json", "a.gexf", "a.tve"):
        (tmp_path / name).write_bytes(bomb)
        with pytest.raises(LimitExceeded):
            read_graphs(tmp_path / name)
