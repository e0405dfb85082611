"""Valid files of every format, the material that the fuzzer damages."""

from __future__ import annotations

import io
import tempfile
import warnings
from pathlib import Path

import numpy as np

from graphmetric.formats import available_formats, write_graphs
from graphmetric.graphs.graph import Graph

Files = dict[str, bytes]
"""File name -> content; a format that is a single file uses the name ``""``."""

_SMILES = (
    b"CCO ethanol\nc1ccccc1 benzene\n[Na+].[Cl-]\tsalt\nCC(=O)Oc1ccccc1C(=O)O 2244\nN[C@@H](C)C(=O)O\nC1CC1C#N x\n"
)
_LABEL_LIST = (
    b'{"name": "set", "graphs": [{"id": 4, "split": "train", "nodes": ["C", "C", "S"], "edges": [[0, 1], [0, 2]], '
    b'"edge_labels": ["1", "2"], "class": 0}, {"id": 5, "nodes": [null, null], "edges": [[0, 1]]}]}'
)
_OLD_NODE_LINK = (
    b'{"directed": false, "multigraph": false, "graph": {"name": "n"}, "nodes": [{"id": "a", "label": "C", "x": 1.5}, '
    b'{"id": "b", "label": "O", "x": 2}], "links": [{"source": "a", "target": "b", "weight": 2.5, "type": 1}]}'
)
_MATCHING = b"t 3 2\nv 0 7 1\nv 1 7 2\nv 2 3 1\ne 0 1\ne 1 2\n"
_ONE_BASED = b"# comment\nt # 1\r\nv 1 C\r\nv 2 O\r\ne 1 2 1\r\nt # -1\r\n"
_IAM = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE gxl SYSTEM "http://www.gupro.de/GXL/gxl-1.0.dtd">
<gxl><graph id="molid1" edgeids="false" edgemode="undirected">
<node id="_1"><attr name="symbol"><string>S  </string></attr><attr name="x"><float>2.3</float></attr></node>
<node id="_2"><attr name="symbol"><string>C  </string></attr><attr name="x"><float>-1</float></attr></node>
<edge from="_1" to="_2"><attr name="valence"><int>1</int></attr></edge></graph></gxl>
"""
_DOT = b"""strict digraph "g 1" { /* c */ node [label="\\N", shape=box]; a [label="x\\"y"];
a -> b:p:n -> {c d} [weight=2.5]
subgraph cluster_0 { edge [kind=<<b>>]; e -> a } graph [class=1]; bgcolor=red // end
}
graph { 0 -- 1 [label="single" + "bond"]; 2 }
"""
_GML = b"""Creator "somebody"
# comment
graph [ directed 1 id 7 name "g" node [ id 0 label "C&#233;" x 1.5E-2 graphics [ w 3 ] ] node [ id 1 label "O" x 2 ]
edge [ source 0 target 1 weight -2.5 label "a" ] ]
"""
_SDF = b"""ethanol
     RDKit          2D

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.2990    0.7500    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    2.5981    0.0000    0.0000 O   0  5  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
  2  3  1  0
M  CHG  1   3  -1
M  END
> <class>
1

$$$$
"""
_CXL = b"""<?xml version="1.0"?>
<GraphCollection><molecules count="2" classmodel="none">
<print file="a.gxl" class="i"/><print file="b.gxl" class="a "/></molecules></GraphCollection>
"""


def sample_graphs() -> list[Graph]:
    """A few graphs that between them have everything."""
    rng = np.random.default_rng(0)
    ring = [(k, (k + 1) % 6) for k in range(6)]
    return [
        Graph(0),
        Graph(3, node_labels=["C", "N", "O"], id="isolated"),
        Graph(6, ring, node_labels=list("CCCCNO"), edge_labels=[1, 2, 1, 2, 1, 2], id=17, metadata={"class": 1}),
        Graph(
            4,
            [(0, 1), (1, 0), (2, 2)],
            directed=True,
            edge_weights=[0.5, -2.0, 1e300],
            node_texts=["a", "b\n", "é", ""],
        ),
        Graph(2, [(0, 1)], node_features=rng.normal(size=(2, 3)), node_images=np.full((2, 2, 2, 1), 7, dtype=np.uint8)),
        Graph(2, node_labels=[("t", 1), b"raw"], metadata={"nested": {"list": [1, None, "x"]}}),
    ]


def all_seeds() -> dict[str, list[Files]]:
    """Format name -> valid inputs."""
    seeds: dict[str, list[Files]] = {known.name: [] for known in available_formats()}
    graphs = sample_graphs()
    plain = [Graph(g.num_nodes, g.edges, directed=g.directed, node_labels=g.node_labels, id=g.id) for g in graphs[:4]]
    undirected = [graph for graph in plain if not graph.directed]
    for name, chosen in {
        "graphmetric": [graphs, graphs[2:3] * 5],
        "jsonl": [graphs],
        "json": [graphs[:3], graphs[3:4]],
        "gexf": [graphs[2:3], graphs[3:4]],
        "graphml": [graphs[:5]],
        "gxl": [graphs[:5]],
        "gml": [graphs[k : k + 1] for k in range(5)],
        "dot": [graphs[:5]],
        "tve": [undirected],
    }.items():
        seeds[name] += [{"": _written(part, name)} for part in chosen]
    seeds["json"] += [{"": _LABEL_LIST}, {"": _OLD_NODE_LINK}]
    seeds["jsonl"] += [{"": _OLD_NODE_LINK + b"\n" + _OLD_NODE_LINK + b"\n"}]
    seeds["tve"] += [{"": _MATCHING}, {"": _ONE_BASED}]
    seeds["gxl"] += [{"": _IAM}]
    seeds["cxl"] = [{"list.cxl": _CXL, "a.gxl": _IAM, "b.gxl": _IAM}]
    seeds["dot"] += [{"": _DOT}]
    seeds["gml"] += [{"": _GML}]
    seeds["sdf"] = [{"": _SDF + _SDF}]
    seeds["smiles"] = [{"": _SMILES}]
    seeds["tudataset"] = [_tudataset(graphs[2:3] * 3)]
    return seeds


def _written(graphs: list[Graph], format: str) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_graphs(graphs, stream, format)
    return stream.getvalue()


def _tudataset(graphs: list[Graph]) -> Files:
    weighted = [
        g.replace(edge_weights=np.ones(g.num_edges), node_features=np.eye(g.num_nodes), id=None) for g in graphs
    ]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_graphs(weighted, Path(folder) / "DS", "tudataset")
        return {path.name: path.read_bytes() for path in (Path(folder) / "DS").iterdir()}
