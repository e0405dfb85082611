"""PyTorch Geometric: there and back again, and Data objects as PyG's own loaders make them."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph, MissingExtra
from graphmetric.formats.conversion import as_graph, as_graphs, from_pyg, to_pyg
from graphmetric.graphs.graph import Graph
from tests.graphs.any_graphs import any_graphs
from tests.strategies import exact

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its own import calls what torch deprecates
    from torch_geometric.data import Batch, Data, HeteroData
    from torch_geometric.utils import is_undirected

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@given(any_graphs())
def test_round_trip_keeps_everything(graph: Graph) -> None:
    assert exact(from_pyg(to_pyg(graph, dtype="float64"))) == exact(graph)


@given(any_graphs())
def test_pyg_sees_the_same_graph(graph: Graph) -> None:
    data = to_pyg(graph, dtype="float64")
    assert data.validate()
    assert data.num_nodes == graph.num_nodes
    arcs = {(u, v) for u, v in graph.edges.tolist()}
    if not graph.directed:
        assert is_undirected(data.edge_index, num_nodes=graph.num_nodes)
        arcs |= {(v, u) for u, v in arcs}
    assert data.edge_index.T.tolist() == sorted(map(list, arcs))
    assert data.is_coalesced()


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_symmetric_arcs_are_edges(arcs: set[tuple[int, int]]) -> None:
    data = Data(edge_index=torch.tensor(list(arcs), dtype=torch.int64).reshape(-1, 2).T, num_nodes=5)
    graph = from_pyg(data)
    symmetric = {(v, u) for u, v in arcs} == arcs
    assert graph.directed == (not symmetric)
    assert graph.num_edges == (len({frozenset(arc) for arc in arcs}) if symmetric else len(arcs))
    assert from_pyg(data, directed=True).num_edges == len(arcs)
    assert from_pyg(data, directed=False).num_edges == len({frozenset(arc) for arc in arcs})


def test_float32_is_the_default() -> None:
    data = to_pyg(Graph(1, node_features=[[0.1]], metadata={"y": 0.5}))
    assert data.x.dtype == data.y.dtype == torch.float32
    assert from_pyg(data).node_features[0, 0] == np.float32(0.1)
    with pytest.raises(InvalidArgument, match="dtype"):
        to_pyg(Graph(1), dtype="int8")


def test_features_weights_and_targets() -> None:
    data = Data(x=torch.eye(3, requires_grad=True), edge_index=PATH, edge_weight=torch.ones(4) / 2, y=torch.tensor([1]))
    graph = from_pyg(data)
    expected = Graph(3, [(0, 1), (1, 2)], node_features=np.eye(3), edge_weights=[0.5, 0.5])
    assert exact(graph) == exact(expected.replace(metadata={"y": 1}))
    assert from_pyg(Data(num_nodes=1, y=torch.tensor([[1.0, 2.0]]))).metadata == {"y": [[1.0, 2.0]]}


def test_real_numbers_as_labels_are_warned_of() -> None:
    measured = torch.tensor([[0.5, 1.25], [0.5, 1.25], [0.5, 1.5], [0.5, 1.5]])
    data = Data(edge_index=PATH, edge_attr=measured, num_nodes=3)
    with pytest.warns(ConversionWarning, match=r"edge_attr holds real numbers.*edge_attr='weight'.*edge_attr=None"):
        assert from_pyg(data).edge_labels == ((0.5, 1.25), (0.5, 1.5))
    with pytest.warns(ConversionWarning, match="edge_attr holds real numbers") as caught:
        as_graphs([data, data])
    assert len(caught) == 1
    assert from_pyg(data, edge_attr=None).edge_labels is None
    column = Data(edge_index=PATH, edge_attr=measured[:, :1], num_nodes=3)
    assert from_pyg(column, edge_attr="weight").edge_weights is not None
    codes = Data(edge_index=PATH, edge_attr=torch.tensor([[1.0], [1.0], [2.0], [2.0]]), num_nodes=3)
    assert from_pyg(codes).edge_labels == (1.0, 2.0)


def test_edge_attributes() -> None:
    codes = torch.tensor([7, 7, 8, 8])
    edges = [(0, 1), (1, 2)]
    assert from_pyg(Data(edge_index=PATH, edge_attr=codes, num_nodes=3)) == Graph(3, edges, edge_labels=[7, 8])
    column = Data(edge_index=PATH, edge_attr=codes[:, None].double(), num_nodes=3)
    assert from_pyg(column, edge_attr="weight") == Graph(3, edges, edge_weights=[7, 8])
    assert from_pyg(column, edge_attr=None) == Graph(3, edges)
    rows = Data(edge_index=PATH, edge_attr=torch.stack([codes, codes], dim=1), num_nodes=3)
    assert from_pyg(rows) == Graph(3, edges, edge_labels=[(7, 7), (8, 8)])
    with pytest.raises(InvalidArgument, match="edge_attr must be"):
        from_pyg(column, edge_attr="x")  # type: ignore[arg-type]


def test_one_hot_codes_are_labels() -> None:
    data = Data(x=torch.eye(3)[[2, 0, 0]], edge_index=PATH, edge_attr=torch.eye(2)[[0, 0, 1, 1]])
    expected = Graph(3, [(0, 1), (1, 2)], node_labels=[2, 0, 0], edge_labels=[0, 1])
    assert from_pyg(data, one_hot=True) == expected
    data.x[0] = 1
    with pytest.raises(InvalidGraph, match="single 1"):
        from_pyg(data, one_hot=True)


def test_opposite_arcs_that_differ_make_the_graph_directed() -> None:
    data = Data(edge_index=PATH, edge_attr=torch.tensor([1, 2, 3, 3]), num_nodes=3)
    assert from_pyg(data).directed
    with pytest.raises(InvalidGraph, match=r"arcs \(0, 1\) and \(1, 0\) differ"):
        from_pyg(data, directed=False)


def test_what_is_left_out_is_said_and_the_data_stays_as_it_was() -> None:
    data = Data(edge_index=PATH, pos=torch.zeros(3, 2), num_nodes=3)
    with pytest.warns(ConversionWarning, match="attribute 'pos'"):
        from_pyg(data)
    assert set(data.keys()) == {"edge_index", "pos", "num_nodes"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(edge_index=torch.tensor([[0, 5], [5, 0]]), num_nodes=3), r"edge \(0, 5\) names node 5"),
        (Data(edge_index=torch.zeros(3, 2, dtype=torch.int64), num_nodes=3), "shape"),
        (Data(edge_index=torch.tensor([[0, 0], [1, 1]]), num_nodes=2), "given 2 times"),
        (Data(edge_index=PATH, edge_attr=torch.zeros(3), num_nodes=3), "edge labels: 3 rows; edge_index has 4"),
        (Data(x=torch.tensor([[float("nan")]])), "features are finite"),
        (Data(x=torch.zeros(2, 1, dtype=torch.bfloat16)), "bfloat16"),
    ],
)
def test_impossible_data(data: Data, message: str) -> None:
    with pytest.raises(InvalidGraph, match=message):
        from_pyg(data)


def test_batches_are_many_graphs() -> None:
    batch = Batch.from_data_list(
        [Data(edge_index=PATH, x=torch.zeros(3, 1)), Data(edge_index=PATH, x=torch.ones(4, 1))]
    )
    with pytest.raises(InvalidArgument, match="Batch"):
        from_pyg(batch)
    assert as_graphs(batch).sizes.tolist() == [3, 4]


def test_liberal_input_takes_data() -> None:
    data = Data(edge_index=PATH, num_nodes=3)
    path = Graph(3, [(0, 1), (1, 2)])
    assert as_graph(data) == path
    assert list(as_graphs([data, path])) == [path, path]
    with pytest.raises(InvalidArgument, match=r"graphs\[0\]: HeteroData"):
        as_graphs([HeteroData()])


def test_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="Data; got a int"):
        from_pyg(3)  # type: ignore[arg-type]
    data = Data(num_nodes=2)
    data.adj_t = "sparse"
    with pytest.raises(InvalidArgument, match="adj_t"):
        from_pyg(data)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(MissingExtra, match="torch_geometric"):
        to_pyg(Graph(1))


@pytest.mark.slow
def test_conversion_imports_no_library() -> None:
    libraries = "{'torch', 'torch_geometric', 'rdkit', 'igraph', 'networkx', 'scipy'}"
    code = f"import sys, graphmetric.formats.conversion; sys.exit(sorted({libraries} & set(sys.modules)) or None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
