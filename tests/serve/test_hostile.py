"""A thousand hostile requests: each is answered by 4xx and nothing else, and the service goes on."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.clocks import NOT_FOR_EVER
from tests.serve.running import Running

Making = Callable[[random.Random], bytes]

_HUGE = ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1" * 400, "1" * 5000, "9" * 20, "-0.5", "1e15000"]
_WRONG: list[Any] = [None, True, -1, 3.5, "x", "", [], {}, [[]], {"a": {}}, "\ud800", "\x00", [None], 2**63, -(2**70)]
_SCRIPTS = [
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    "'; DROP TABLE graphs; --",
    "{{7*7}}",
    "${jndi:ldap://x}",
]
_PATHS = ["../../etc/passwd", "/etc/passwd", "C:\\windows\\system.ini", "file:///etc/passwd", "http://127.0.0.1/x.json"]


def _deep(rng: random.Random) -> bytes:
    depth = rng.choice([200, 1000, 50_000, 200_000])
    opening, closing = rng.choice([("[", "]"), ('{"graph":', "}"), ('{"a":[', "]}")])
    closed = closing * depth if rng.random() < 0.5 else ""
    return (opening * depth + ("1" if closed else "") + closed).encode()[: 1 << 20]


def _huge_numbers(rng: random.Random) -> bytes:
    field, number = (
        rng.choice(["k", "time_limit", "num_nodes", "edge", "weight", "label", "feature"]),
        rng.choice(_HUGE),
    )
    inside = {
        "num_nodes": f'"graph": {{"num_nodes": {number}}}',
        "edge": f'"graph": {{"num_nodes": 2, "edges": [[0, {number}]]}}',
        "weight": f'"graph": {{"num_nodes": 2, "edges": [[0, 1]], "edge_weights": [{number.replace("-0.5", "1e20")}]}}',
        "label": f'"graph": {{"num_nodes": 1, "node_labels": [{number.replace("-0.5", "1e300")}]}}',
        "feature": f'"graph": {{"num_nodes": 1, "node_features": [[{number.replace("-0.5", "1e300")}]]}}',
    }
    return ("{" + inside.get(field, f'"smiles": "CCO", "{field}": {number}') + "}").encode()


def _wrong_types(rng: random.Random) -> bytes:
    field = rng.choice(["k", "view", "certified", "distinct", "explain", "graphs", "time_limit"])
    allowed = {
        "k": [None],
        "certified": [None, True],
        "distinct": [True],
        "explain": [True],
        "graphs": [True],
        "time_limit": _WRONG[3:4],
    }
    value = rng.choice([value for value in _WRONG if not any(value is right for right in allowed.get(field, []))])
    return json.dumps({"smiles": "CCO", field: value}).encode()


def _wrong_graphs(rng: random.Random) -> bytes:
    graph: dict[str, Any] = {"num_nodes": 4, "edges": [[0, 1], [1, 2]], "node_labels": list("CCOC")}
    change = rng.randrange(9)
    if change == 0:
        graph["num_nodes"] = rng.choice([value for value in _WRONG if value is not True] + [10**9])
    elif change == 1:
        graph["edges"] = rng.choice(
            [[[0]], [[0, 1, 2]], [[-1, 0]], [[0, 4]], ["01"], {"0": 1}, [[0.5, 1]], [[True, 1]], 7]
        )
    elif change == 2:
        graph["edges"] = [[0, 1]] * rng.choice([2, 5, 3000])
    elif change == 3:
        graph["node_labels"] = rng.choice([["C"], "CCOC", [["C"]] * 4, [{}] * 4, ["C" * 65] * 4, ["\ud800"] * 4, 7])
    elif change == 4:
        graph["edge_labels"] = rng.choice([["1"], "11", [[1], [2]], ["x" * 10_000] * 2])
    elif change == 5:
        graph["node_features"] = rng.choice([[[1.0]], [[1.0]] * 3 + [[1.0, 2.0]], "x", [["a"]] * 4, [[1.0] * 257] * 4])
    elif change == 6:
        graph["directed"] = rng.choice(["yes", 1, None, []])
    elif change == 7:
        graph[rng.choice(["__class__", "node_images", "nodes", "links", "pickle", ""])] = rng.choice(_WRONG)
    else:
        graph["num_nodes"], graph["node_labels"] = 257 + rng.randrange(10**5), None
    return json.dumps({"graph": graph}).encode()


def _scripts(rng: random.Random) -> bytes:
    text = rng.choice(_SCRIPTS)
    forms = [{"smiles": text}, {"id": text}, {"smiles": "CCO", "where": {text: text}}, {"smiles": "CCO", "view": text}]
    return json.dumps(rng.choice([*forms, {"smiles": "CCO", text: 1}, {"smiles": "CCO", "limits": {text: 0}}])).encode()


def _paths(rng: random.Random) -> bytes:
    path = rng.choice(_PATHS)
    forms: list[Any] = [{"id": path}, {"smiles": path}, {"file": path}, {"file": {"name": path}}, path, [path]]
    forms += [{"file": {"name": path, "text": path}}, {"file": {"name": f"{path}.gmg", "text": ""}}]
    forms += [{"file": {"name": "a.cxl", "text": f'<a file="{path}"/>'}}, {"file": {"name": "x.json", "text": path}}]
    entity = f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "{path}">]><gexf>&x;</gexf>'
    forms += [{"file": {"name": name, "text": entity}} for name in ("a.gexf", "a.graphml", "a.gxl")]
    return json.dumps(rng.choice(forms)).encode()


def _bombs(rng: random.Random) -> bytes:
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 12))
    laugh = f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY l0 "ha">{laughs}]><gexf><graph>&l11;</graph></gexf>'
    texts = [
        ("a.gexf", laugh),
        ("a.graphml", laugh),
        ("a.json", '{"num_nodes": 100000000, "edges": []}'),
        ("a.json", "[" * 10_000),
        ("a.gml", "graph [ " * 5000),
        ("a.dot", "graph { " + "subgraph { " * 5000),
        ("a.smi", "C(" * 2400 + "\n"),
        ("a.smi", "CCO\n" * 101),
        ("a.txt", "t # 0\nv 0 1\n" * 200),
        ("a.sdf", "x\n" * 50_000),
    ]
    name, text = rng.choice(texts)
    return json.dumps({"file": {"name": name, "text": text}}).encode()


def _noise(rng: random.Random) -> bytes:
    body = bytearray(json.dumps({"smiles": "CCO", "k": 3, "where": {"half": 1}}).encode())
    for _ in range(rng.randrange(1, 6)):
        body[rng.randrange(len(body))] = rng.randrange(128, 256)
    return bytes(body[: rng.randrange(len(body))]) + b"\xff"


MAKERS: list[Making] = [_deep, _huge_numbers, _wrong_types, _wrong_graphs, _scripts, _paths, _bombs, _noise]


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__.strip("_"))
def test_hostile_bodies_end_in_4xx(served: Running, maker: Making) -> None:
    rng, statuses = random.Random(maker.__name__), Counter[int]()
    for _ in range(130):
        content = maker(rng)
        answer = served.send("POST", "/v1/search", content, content_type="application/json")
        statuses[answer.status] += 1
        assert 400 <= answer.status < 500, (answer.status, content[:300], answer.content[:300])
        details = answer.json
        assert details["status"] == answer.status
        assert len(answer.content) < 20_000
        assert "Traceback" not in details["detail"]
    assert served.post("/v1/search", {"smiles": "CCO"}).status == 200


@pytest.mark.parametrize("route", ["distance", "explain", "embed", "read", "draw", "search/stream"])
def test_other_routes_refuse_the_same(served: Running, route: str) -> None:
    rng = random.Random(route)
    for maker in (_deep, _huge_numbers, _wrong_graphs, _paths, _noise):
        for _ in range(4):
            query = maker(rng)
            bodies = {
                "distance": b'{"first": %s, "second": {"smiles": "C"}}' % query,
                "explain": b'{"first": {"smiles": "C"}, "second": %s}' % query,
                "read": query,
                "search/stream": query,
            }
            content = bodies.get(route, b'{"query": %s}' % query)
            answer = served.send("POST", f"/v1/{route}", content, content_type="application/json")
            refused = answer.status if route != "search/stream" or answer.status != 200 else answer.json["status"]
            assert 400 <= refused < 500, (content[:300], answer.content[:300])


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
        b"GET http://evil/ HTTP/1.1\r\n\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x: y\r\n" * 200_000 + b"\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999999\r\n\r\n",
        b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/graphs/%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/graphs/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_hostile_heads_end_in_4xx(served: Running, head: bytes) -> None:
    with served.connect() as connection:
        try:
            connection.sendall(head)
            answer = connection.recv(4096)
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
        assert answer == b"" or answer.split(b" ")[1].startswith(b"4")
    assert served.get("/health/live").status == 200


def test_a_connection_serves_many_requests(served: Running) -> None:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=NOT_FOR_EVER)
    for k in range(20):
        body = json.dumps({"smiles": "CCO", "k": 1} if k % 2 else {"smiles": 7})
        connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == (200 if k % 2 else 422)
        answer.read()
    connection.close()
