"""Every route of a service that runs, compared with the index it serves."""

from __future__ import annotations

import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest

import graphmetric as gm
from tests.serve.running import Running, hard_graphs, running

Chem = pytest.importorskip("rdkit.Chem")
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def test_a_learned_search_is_that_of_the_index(served: Running, molecules: gm.GraphIndex) -> None:
    query = molecules.ids[7]
    answer = served.post("/v1/search", {"id": query, "k": 5}).json
    expected = molecules.search(query, k=5)
    assert [(hit["id"], hit["distance"]) for hit in answer["hits"]] == [(hit.id, hit.distance) for hit in expected]
    assert answer["certified"] is False
    assert all(hit["proven"] is None for hit in answer["hits"])
    assert answer["model"] == molecules.model.digest


@pytest.mark.parametrize("view", ["raw", "steinhaus", "paper"])
def test_a_certified_search_is_that_of_the_index(served: Running, molecules: gm.GraphIndex, view: Any) -> None:
    query = molecules.ids[11]
    answer = served.post("/v1/search", {"id": query, "k": 6, "certified": True, "view": view}).json
    expected = molecules.search(query, k=6, certified=True, view=view)
    assert [hit["distance"] for hit in answer["hits"]] == [hit.distance for hit in expected]
    assert all(hit["proven"] and hit["exact"] == hit["distance"] for hit in answer["hits"])
    assert answer["report"]["complete"]
    assert answer["report"]["stages"].keys() == expected.report.stages.keys()


@pytest.mark.parametrize("certified", [False, True])
def test_within_finds_all_and_k_cuts_the_list(served: Running, molecules: gm.GraphIndex, certified: bool) -> None:
    query, expected = molecules.ids[3], molecules.range_search(molecules.ids[3], 4.0, certified=certified)
    asked = {"id": query, "within": 4.0, "certified": certified}
    answer = served.post("/v1/search", asked).json
    assert {hit["id"] for hit in answer["hits"]} == {hit.id for hit in expected}
    cut = served.post("/v1/search", {**asked, "k": 1}).json
    assert (len(cut["hits"]), cut["total"]) == (1, len(expected))


def test_a_query_unlike_the_training_graphs_is_noted_each_time(served: Running) -> None:
    graph = {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["loop", "loop", "C"]}
    for _ in range(2):
        answer = served.post("/v1/search", {"graph": graph, "k": 1}).json
        assert [note.split(" such as")[0] for note in answer["notes"]] == [
            "67% of the nodes of these graphs have a label that was not in the training graphs,"
        ]
    assert served.post("/v1/search", {"smiles": "CCO", "k": 1}).json["notes"] == []
    assert served.post("/v1/search", {"graph": graph, "k": 1, "certified": True}).json["notes"] == []


def test_where_and_distinct(served: Running, molecules: gm.GraphIndex) -> None:
    answer = served.post("/v1/search", {"smiles": "CCO", "k": 100, "where": {"half": 1}, "distinct": True}).json
    expected = molecules.search(gm.as_graph("CCO").replace(edge_labels=None), 100, where={"half": 1}, distinct=True)
    assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in expected]
    assert all(hit["metadata"]["half"] == 1 for hit in answer["hits"])
    unknown = served.post("/v1/search", {"smiles": "CCO", "where": {"colour": "red"}})
    assert unknown.status == 422
    assert "'smiles'" in unknown.json["detail"]


def test_a_query_has_four_forms(served: Running) -> None:
    graph = {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["C", "C", "O"]}
    sdf_like = {"name": "C:\\some folder\\../../etc/ethanol.smi", "text": "CCN first\nCCO second\n", "position": 1}
    forms = [{"graph": graph}, {"smiles": "CCO"}, {"file": sdf_like}]
    found = [served.post("/v1/search", {**form, "k": 4, "certified": True}).json["hits"] for form in forms]
    assert found[0]
    distances = [[hit["distance"] for hit in hits] for hits in found]
    assert distances[0] == distances[1] == distances[2]
    assert served.post("/v1/search", {"id": "NSC 1", "k": 1}).json["hits"][0]["id"] == "NSC 1"


def test_hits_come_with_graphs_and_edits(served: Running) -> None:
    answer = served.post("/v1/search", {"smiles": ASPIRIN, "k": 3, "certified": True, "explain": True, "graphs": True})
    query = answer.json["query"]
    for hit in answer.json["hits"]:
        assert len(hit["graph"]["node_labels"]) == hit["num_nodes"]
        assert len(hit["edits"]["node_map"]) == query["num_nodes"]
        assert len(hit["edits"]["edits"]) == sum(hit["edits"]["counts"].values()) == hit["distance"]
    learned = served.post("/v1/search", {"smiles": ASPIRIN, "k": 2, "explain": True}).json
    for hit in learned["hits"]:
        measured = served.post("/v1/distance", {"first": {"smiles": ASPIRIN}, "second": {"id": hit["id"]}}).json
        assert hit["edits"]["exact"]
        assert len(hit["edits"]["edits"]) == hit["edits"]["upper"] == measured["distance"]["upper"]


def test_distance(served: Running) -> None:
    asked = {"first": {"smiles": "CCO"}, "second": {"smiles": "CCN"}, "learned": True}
    answer = served.post("/v1/distance", asked).json
    assert (answer["distance"]["lower"], answer["distance"]["upper"], answer["distance"]["exact"]) == (1.0, 1.0, True)
    assert answer["distance"]["edits"][0] == {
        "kind": "relabel_node",
        "nodes": [2],
        "old": "O",
        "new": "N",
        "place": None,
        "text": "relabel node 2 'O' to 'N'",
    }
    assert answer["learned"] > 0
    limited = served.post("/v1/distance", {**asked, "limits": {"element": 0}}).json["distance"]
    assert limited["upper"] > 1
    assert limited["limits"] == {"element": 0}
    impossible = served.post("/v1/distance", {**asked, "limits": {"total": 0}}).json["distance"]
    assert (impossible["impossible"], impossible["upper"]) == (True, None)


def test_explain_has_all_that_a_drawing_needs(served: Running) -> None:
    answer = served.post("/v1/explain", {"first": {"smiles": "CCO"}, "second": {"id": "NSC 1"}, "draw": True}).json
    first, second, layout = answer["first"], answer["second"], answer["layout"]
    matched = sum(v is not None for v in answer["distance"]["node_map"])
    assert len(layout) == first["num_nodes"] + second["num_nodes"] - matched
    assert sorted(answer["places"]) == sorted(set(answer["places"]))
    for u, v in enumerate(answer["distance"]["node_map"]):
        assert v is None or answer["places"][v] == u
    assert [ElementTree.fromstring(one).tag for one in answer["svg"]] == ["{http://www.w3.org/2000/svg}svg"] * 2
    known = {"first": {"smiles": "CCO"}, "second": {"id": "NSC 1"}, "node_map": answer["distance"]["node_map"]}
    again = served.post("/v1/explain", known).json
    assert again["distance"]["edits"] == answer["distance"]["edits"]
    assert again["distance"]["lower"] == 0
    for wrong in ([0], [0, 0, 0], [0, 1, 99]):
        assert served.post("/v1/explain", {**known, "node_map": wrong}).status == 422


def test_graphs_as_json_and_as_a_picture(served: Running, molecules: gm.GraphIndex) -> None:
    answer = served.get("/v1/graphs/NSC%201").json
    assert answer["graph"]["num_nodes"] == len(answer["layout"]) == molecules.graph("NSC 1").num_nodes
    picture = served.get("/v1/graphs/NSC%201?format=svg")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert ElementTree.fromstring(picture.content).tag.endswith("svg")
    assert served.get("/v1/graphs/NSC%201?format=pdf").status == 422
    assert served.get("/v1/graphs/..%2f..%2fetc%2fpasswd").status == 404
    drawn = served.post(
        "/v1/draw", {"query": {"graph": {"num_nodes": 1, "node_labels": ["<script>alert(1)</script>"]}}}
    )
    assert drawn.status == 200
    assert b"<script" not in drawn.content


def test_an_id_may_be_a_number_or_have_slashes_and_newlines() -> None:
    names = (17, "a/b c", "two\nlines\n", "\n")
    graphs = [graph.replace(id=name) for graph, name in zip(hard_graphs(4, 4), names, strict=True)]
    with running(gm.GraphIndex.build(graphs)) as found:
        assert found.get("/v1/graphs/17").json["graph"]["id"] == 17
        assert found.get("/v1/graphs/a%2Fb%20c").json["graph"]["id"] == "a/b c"
        assert found.get("/v1/graphs/two%0Alines%0A").json["graph"]["id"] == "two\nlines\n"
        assert found.get("/v1/graphs/%0A?format=svg").status == 200
        assert gm.connect(found.url).graph("two\nlines\n") == graphs[2]
        for missing in ("two%0Alines", "--5", "-", "%C2%B2"):
            assert found.get(f"/v1/graphs/{missing}").status == 404
        for name in names:
            assert found.post("/v1/search", {"id": name, "k": 1}).json["query"]["id"] == name


def test_map_and_the_place_of_a_query(served: Running, molecules: gm.GraphIndex) -> None:
    answer = served.get("/v1/map").json
    assert answer["ids"] == molecules.ids
    columns = [answer[name] for name in ("x", "y", "cluster", "num_nodes", "num_edges")]
    assert {len(column) for column in [*columns, *answer["metadata"].values()]} == {len(molecules)}
    place = served.post("/v1/embed", {"query": {"id": "NSC 9"}}).json
    k = answer["ids"].index("NSC 9")
    assert place["x"] == pytest.approx(answer["x"][k], abs=1e-3)
    assert place["y"] == pytest.approx(answer["y"][k], abs=1e-3)
    assert 0 < answer["explained"] <= 1


def test_a_map_without_a_model(busy: Running) -> None:
    answer = busy.get("/v1/map").json
    assert answer["kind"] == "counts of labels and degrees"
    assert len(answer["x"]) == 12
    place = busy.post("/v1/embed", {"query": {"id": "hard 3"}}).json
    assert place["x"] == pytest.approx(answer["x"][3], abs=1e-3)


def test_read_gives_the_graphs_of_a_file(served: Running) -> None:
    answer = served.post("/v1/read", {"file": {"name": "a.smi", "text": "CCO one\nC[C@H](N)O two\n"}}).json
    assert [graph["id"] for graph in answer["graphs"]] == ["one", "two"]
    assert "stereochemistry" in answer["notes"][0]
    document = json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]})
    read = served.post("/v1/read", {"file": {"name": "x.json", "text": document}}).json
    assert read["graphs"][0]["edges"] == [[0, 1]]
    for name, text in (
        ("x.json", "{"),
        ("x.gmg", ""),
        ("x.cxl", "<GXL/>"),
        ("x", ""),
        ("x.smi", "C(("),
        ("x.gexf", ""),
    ):
        assert served.post("/v1/read", {"file": {"name": name, "text": text}}).status == 422


def test_info_tells_what_is_allowed(served: Running, molecules: gm.GraphIndex) -> None:
    answer = served.get("/v1/info").json
    assert (answer["graphs"], answer["learned"], answer["ready"]) == (len(molecules), True, True)
    assert answer["metadata"]["half"] == [0, 1]
    assert gm.EditCosts.from_dict(answer["costs"]) == molecules.costs
    assert {"ring", "element", "total"} <= set(answer["kinds_of_limits"])
    assert ".cxl" not in answer["formats"]


def test_page_health_and_metrics(served: Running) -> None:
    page = served.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert served.get("/", if_none_match=page.headers["etag"]).status == 304
    for path in ("/nothing.html", "/../pyproject.toml", "/%2e%2e/app.py", "/v2/search"):
        assert served.get(path).status == 404
    assert served.get("/health/live").status == served.get("/health/ready").status == 200
    served.post("/v1/search", {"smiles": "CCO"})
    lines = served.get("/metrics").content.decode()
    assert 'graphmetric_requests_total{route="/v1/search",status="200"}' in lines
    assert "graphmetric_ready 1.0" in lines
    assert served.send("DELETE", "/v1/search").status == 405
    by_mistake = served.get("/v1/search")
    assert (by_mistake.status, by_mistake.headers["allow"]) == (405, "POST")


def test_molecules_are_read_as_those_of_the_index() -> None:
    content = b"C[NH3+] charged\nCN plain\n"
    index = gm.GraphIndex.build(gm.read_graphs(io.BytesIO(content), "smiles", distinguish="charge"))
    with running(index) as service:
        assert service.get("/v1/info").json["reading"] == {"version": 1, "distinguish": ["charge"]}
        file = {"name": "query.smi", "text": "C[NH3+]\n"}
        for query in ({"smiles": "C[NH3+]"}, {"file": file}):
            hits = service.post("/v1/search", {**query, "certified": True}).json["hits"]
            assert [(hit["id"], hit["exact"]) for hit in hits] == [("charged", 0), ("plain", 1)]
        assert service.post("/v1/read", {"file": file}).json["graphs"][0]["node_labels"] == ["C", "N+"]
        remote = gm.connect(service.url)
        for asked in ("C[NH3+]", Chem.MolFromSmiles("C[NH3+]")):
            assert [(hit.id, hit.exact) for hit in remote.search(asked)] == [("charged", 0), ("plain", 1)]


def test_the_log_says_once_that_the_reading_of_molecules_is_not_known(caplog: pytest.LogCaptureFixture) -> None:
    with running(gm.GraphIndex.build([gm.Graph.from_smiles("CN")])) as service, caplog.at_level("WARNING"):
        assert service.get("/v1/info").json["reading"] is None
        for _ in range(3):
            assert service.post("/v1/search", {"smiles": "CN"}).status == 200
    assert [one.message for one in caplog.records if "does not record how" in one.message][1:] == []
    assert "does not record how its molecules were read" in caplog.text
