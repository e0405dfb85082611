"""What a service refuses: strangers, what is too large or too slow, and more than it can do."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

import pytest

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.serve.settings import ServiceSettings, is_loopback
from tests.serve.running import FOR_EVER, Running, as_body, hard_graphs, running, wait_until

TOKEN = "a token of thirty-two characters"
SLOW = {"graph": as_body(hard_graphs(1, seed=9)[0]), "k": 3, "time_limit": FOR_EVER}


def test_a_token_opens_the_data_and_nothing_else_does(molecules: gm.GraphIndex) -> None:
    with running(molecules, token=TOKEN) as found:
        for path in ("/", "/health/live", "/health/ready", "/v1/openapi.json"):
            assert found.get(path).status == 200
        for given in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": "Bearer"}, {"authorization": TOKEN}):
            for path in ("/v1/info", "/v1/map", "/v1/graphs/NSC%201", "/metrics"):
                assert found.get(path, **given).status == 401
            refused = found.post("/v1/search", {"smiles": "CCO"}, **given)
            assert refused.status == 401
            assert refused.headers["www-authenticate"].startswith("Bearer")
        assert found.post("/v1/search", {"smiles": "CCO"}, authorization=f"Bearer {TOKEN}").status == 200
        assert found.get("/v1/info", authorization=f"bearer {TOKEN}", host="graphs.example").status == 200


def test_a_service_for_other_machines_needs_a_token() -> None:
    for host in ("0.0.0.0", "192.168.0.7", "::", "example.org"):
        with pytest.raises(InvalidArgument, match="GRAPHMETRIC_TOKEN"):
            ServiceSettings(host=host)
    assert ServiceSettings(host="0.0.0.0", token=TOKEN).token == TOKEN
    assert TOKEN not in repr(ServiceSettings(token=TOKEN))
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    with pytest.raises(InvalidArgument, match="16 printable"):
        ServiceSettings(token="short")
    with pytest.raises(InvalidArgument, match="time_limit"):
        ServiceSettings(time_limit=float("nan"))


def test_without_a_token_only_names_of_this_machine_are_answered(served: Running) -> None:
    for name in ("localhost", f"127.0.0.1:{served.port}", "[::1]:80", "LOCALHOST:1"):
        assert served.get("/v1/info", host=name).status == 200
    for name in ("evil.example", "localhost.evil.example:80", ""):
        assert served.get("/v1/info", host=name).status == 403


@pytest.mark.slow
def test_too_many_bytes(served: Running) -> None:
    large = b'{"smiles": "' + b"C" * (1 << 20) + b'"}'
    told = served.send("POST", "/v1/search", large, content_type="application/json")
    assert (told.status, told.json["status"]) == (413, 413)
    assert "1,048,576 are allowed" in told.json["detail"]
    with served.connect() as connection:
        head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            try:
                connection.sendall(b"10000\r\n" + b"C" * 0x10000 + b"\r\n")
            except OSError:
                break
        assert b" 413 " in connection.recv(65536)


def test_a_packed_body_is_refused(served: Running) -> None:
    answer = served.send("POST", "/v1/search", b"\x1f\x8b", content_type="application/json", content_encoding="gzip")
    assert answer.status == 415


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "exactly one of"),
        ({"smiles": "CCO", "id": "NSC 1"}, "exactly one of"),
        ({"smiles": "C(C"}, "cannot be read"),
        ({"smiles": "C" * 1001}, "1000"),
        ({"smiles": "CCO", "k": 1001}, "1000"),
        ({"smiles": "CCO", "k": True}, "integer"),
        ({"smiles": "CCO", "k": "3"}, "integer"),
        ({"smiles": "CCO", "within": -1}, "greater than or equal to 0"),
        ({"smiles": "CCO", "view": "log"}, "raw"),
        ({"smiles": "CCO", "colour": 1}, "not permitted"),
        ({"smiles": "CCO", "time_limit": -1}, "greater than or equal to 0"),
        ({"graph": {"num_nodes": 257}}, "256 are allowed"),
        ({"graph": {"num_nodes": 100, "edges": [[u, v] for u in range(64) for v in range(u)] * 2}}, "2,048"),
        ({"graph": {"num_nodes": 2, "edges": [[0, 2]]}}, "names node 2"),
        ({"graph": {"num_nodes": 2, "edges": [[0, 1, 1]]}}, "edges"),
        ({"graph": {"num_nodes": 2, "node_labels": ["C"]}}, "node_labels"),
        ({"graph": {"num_nodes": 1, "node_labels": ["C" * 65]}}, "64"),
        ({"graph": {"num_nodes": 1, "node_labels": [["C"]]}}, "node_labels"),
        ({"smiles": "CCO", "certified": True, "limits": {"rings": 0}}, "ring"),
    ],
)
def test_a_wrong_field_is_named(served: Running, body: dict[str, Any], word: str) -> None:
    answer = served.post("/v1/search", body)
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "advice"} <= answer.json.keys()
    assert word in json.dumps(answer.json)


def test_a_body_that_is_not_json(served: Running) -> None:
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b'{"smiles": "CCO"} x'):
        answer = served.send("POST", "/v1/search", content, content_type="application/json")
        assert answer.status in (400, 422)
        assert answer.json["detail"]
    for kind in ("text/plain", "application/x-www-form-urlencoded"):  # what curl sends if it is not told otherwise
        answer = served.send("POST", "/v1/search", b'{"smiles": "CCO"}', content_type=kind)
        assert (answer.status, kind in answer.json["detail"]) == (415, True)
        assert "Content-Type: application/json" in answer.json["advice"]


def test_what_cannot_be_drawn_is_not_drawn(molecules: gm.GraphIndex) -> None:
    with running(molecules, max_drawn=3) as found:
        assert found.get("/v1/graphs/NSC%201?format=svg").status == 422
        assert found.get("/v1/graphs/NSC%201").json["layout"] is None
        explained = found.post(
            "/v1/explain", {"first": {"smiles": "CCO"}, "second": {"id": "NSC 1"}, "draw": True}
        ).json
        assert explained["layout"] is None
        assert explained["svg"] is None
        assert found.post("/v1/draw", {"query": {"smiles": "CCO"}}).status == 200


def test_more_than_the_queue_holds_is_refused_at_once(busy: Running) -> None:
    """One search at work and one that waits; the third is told when to come again. Quick requests still pass."""
    first, second = busy.begin("/v1/search", SLOW), busy.begin("/v1/search", SLOW)
    wait_until(lambda: busy.service.certified.inside == 2)
    refused = busy.post("/v1/search", SLOW)
    assert refused.status == 503
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    assert busy.post("/v1/search/stream", SLOW).status == 503
    assert busy.get("/v1/info").status == 200
    assert busy.get("/v1/graphs/hard%201").status == 200
    assert busy.service.certified.inside == 2  # both would go on for long
    first.close()
    second.close()
    wait_until(lambda: busy.service.certified.inside == 0)
    assert busy.post("/v1/search", {**SLOW, "time_limit": 0.2}).status == 200


def test_waiting_counts_as_time(busy: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that waited for longer than its limit has no time left, and answers with its first bounds."""
    given: list[float] = []
    search: Any = gm.GraphIndex.search

    def noting(index: gm.GraphIndex, *arguments: Any, **options: Any) -> Any:
        given.append(options["time_limit"])
        return search(index, *arguments, **options)

    monkeypatch.setattr(gm.GraphIndex, "search", noting)
    first = busy.begin("/v1/search", SLOW)
    wait_until(lambda: given)
    with busy.stream({**SLOW, "time_limit": 0.05}) as events:
        wait_until(lambda: busy.service.certified.inside == 2)
        time.sleep(0.1)  # longer than its limit, however much longer
        first.close()
        *_, last = events
    assert FOR_EVER - 600 < given[0] <= FOR_EVER
    assert given[1] == 0
    assert not last["report"]["complete"]


def test_a_time_limit_above_that_of_the_service_is_cut(hard: gm.GraphIndex) -> None:
    with running(hard, time_limit=0.3) as found:
        report = found.post("/v1/search", SLOW).json["report"]
        assert not report["complete"]
        assert report["open"] > 0
        pair = {"first": {"id": "hard 0"}, "second": {"id": "hard 1"}, "time_limit": FOR_EVER}
        assert not found.post("/v1/distance", pair).json["distance"]["exact"]


def test_until_it_is_warm_only_health_and_info_answer(molecules: gm.GraphIndex) -> None:
    with running(molecules) as found:
        found.service.is_ready = False
        assert found.get("/health/live").status == 200
        assert found.get("/health/ready").status == 503
        assert found.get("/v1/info").json["ready"] is False
        refused = found.post("/v1/search", {"smiles": "CCO"})
        assert refused.status == 503
        assert "retry-after" in refused.headers


def test_slow_and_silent_clients_are_left_and_stop_nobody(molecules: gm.GraphIndex) -> None:
    with running(molecules, body_seconds=1.0) as found:
        silent = [found.connect() for _ in range(50)]
        headers = found.connect()
        headers.sendall(b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\n")
        body = found.connect()
        body.sendall(b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        body.sendall(b"Content-Length: 1000\r\n\r\n{")
        assert found.post("/v1/search", {"smiles": "CCO"}).status == 200
        assert b" 408 " in _read(body)
        for connection in [*silent, headers]:
            assert _read(connection) == b""
        assert found.post("/v1/search", {"smiles": "CCO"}).status == 200


def _read(connection: socket.socket) -> bytes:
    """All that comes until the other side closes the connection."""
    with connection:
        parts = []
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)


def test_many_at_once_are_all_answered(served: Running) -> None:
    statuses = []

    def ask(k: int) -> None:
        statuses.append(served.post("/v1/search", {"smiles": "C" * (k + 1), "certified": k % 2 == 0, "k": 3}).status)

    crew = [threading.Thread(target=ask, args=(k,)) for k in range(24)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    assert statuses == [200] * 24
