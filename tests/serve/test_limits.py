"""What a service refuses: strangers, what is too large or too slow, and more than it can do."""

from __future__ import annotations

import asyncio
import json
import logging
import select
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from fastapi import Response
from pydantic import BaseModel, model_validator

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.serve.guard import Budget, Delivery
from graphmetric.serve.problems import EXCEEDED, Problem
from graphmetric.serve.schema import read_body
from graphmetric.serve.settings import ServiceSettings, is_loopback
from tests.clocks import NOT_FOR_EVER
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
    for name in ("evil.example", "localhost.evil.example:80", "localhost.", ""):
        assert served.get("/v1/info", host=name).status == 403
    malformed = ("localhost:evil", "localhost:80:80", "localhost:", "[::1]evil.example", "[::1", "::1", "localhost/x")
    for name in (*malformed, "localhost@evil.example", "localhost,evil.example", "localhost evil", "x" * 300):
        assert served.get("/v1/info", host=name).status == 400, name


def test_a_token_allows_any_name_that_is_well_formed(hard: gm.GraphIndex) -> None:
    with running(hard, token=TOKEN) as found:
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert found.get("/v1/info", host="graphs.example.org:443", **bearer).status == 200
        for name in ("graphs.example.org:evil", "[::1]graphs", "a b"):
            assert found.get("/v1/info", host=name, **bearer).status == 400
        with found.connect() as connection:  # an address as proxies get it must not pass by the check of the token
            connection.sendall(b"GET http://localhost/v1/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b" 400 " in _read(connection)


def _counted(found: Running, name: str, **labels: str) -> float:
    value = found.service.metrics.value(f"graphmetric_{name}", labels)
    return 0.0 if value is None else value


def _wait_for(found: Running, value: float, name: str, **labels: str) -> None:
    """Requests are counted just after their answer was sent."""
    wait_until(lambda: _counted(found, name, **labels) == value)


def test_what_is_refused_is_logged_and_counted(hard: gm.GraphIndex, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "graphmetric.serve")
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with running(
        hard, token=TOKEN, workers=1, waiting=0, body_seconds=1.0, max_body=20_000, log_requests=True
    ) as found:
        large = b'{"smiles": "' + b"C" * 20_000 + b'"}'
        json_header = {"content_type": "application/json"}
        assert found.get("/v1/info").status == 401
        assert found.get("/v1/graphs/hard%201", authorization="Bearer x").status == 401
        assert found.send("POST", "/v1/search", large, **json_header, **bearer).status == 413
        assert found.send("POST", "/v1/search", b"{}", **bearer).status == 415
        assert found.post("/v1/search", {"graph": {"num_nodes": 257}}, **bearer).status == 422
        assert found.post("/v1/search", {"id": "hard 1", "k": 1001}, **bearer).status == 422
        assert found.get("/v1/info", host="a b", **bearer).status == 400
        with found.begin("/v1/search", SLOW, Authorization=f"Bearer {TOKEN}"):
            wait_until(lambda: found.service.certified.inside == 1)
            assert found.post("/v1/search", SLOW, **bearer).status == 503
        with found.connect() as other:
            other.sendall(b"\x00\x01\r\n\r\n")
            assert b" 400 " in _read(other)
        _wait_for(found, 1, "requests_total", route="other", status="400")
        graph = "/v1/graphs/{id:graph_id}"
        for route, status, times in (
            *(("/v1/info", "401", 1), (graph, "401", 1), ("/v1/search", "413", 1), ("/v1/search", "415", 1)),
            *(("/v1/search", "422", 2), ("/v1/info", "400", 1), ("/v1/search", "503", 1)),
        ):
            _wait_for(found, times, "requests_total", route=route, status=status)
        for limit in ("max_body", "nodes", "field", "waiting"):
            _wait_for(found, 1, "limits_exceeded_total", limit=limit)
    with running(hard, body_seconds=0.5, log_requests=True) as found, found.connect() as slow:
        slow.sendall(b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        slow.sendall(b"Content-Length: 9\r\n\r\n{")
        assert b" 408 " in _read(slow)
        _wait_for(found, 1, "requests_total", route="/v1/search", status="408")
        _wait_for(found, 1, "limits_exceeded_total", limit="body_seconds")
    logged = [record for record in caplog.records if record.getMessage() == "request"]
    statuses = Counter(vars(record)["status"] for record in logged)
    assert {401, 413, 415, 422, 400, 503, 408} <= statuses.keys()
    assert "max_body" in {vars(record).get("limit") for record in logged}
    assert any(record.getMessage() == "connection refused" for record in caplog.records)
    assert TOKEN not in caplog.text


def test_certified_searches_without_a_proof_are_counted(hard: gm.GraphIndex) -> None:
    with running(hard, time_limit=FOR_EVER) as found:
        pair = {"first": {"id": "hard 0"}, "second": {"id": "hard 1"}, "time_limit": 0}
        assert not found.post("/v1/search", {**SLOW, "time_limit": 0}).json["report"]["complete"]
        assert found.post("/v1/search/stream", {**SLOW, "time_limit": 0}).status == 200
        assert not found.post("/v1/distance", pair).json["distance"]["exact"]
        assert not found.post("/v1/explain", pair).json["distance"]["exact"]
        assert found.post("/v1/search", {"id": "hard 1", "k": 1, "time_limit": FOR_EVER}).json["report"]["complete"]
        _wait_for(found, 2, "certified_total", route="search", result="unproven")
        _wait_for(found, 1, "certified_total", route="search", result="proven")
        for route in ("distance", "explain"):
            _wait_for(found, 1, "certified_total", route=route, result="unproven")


def test_bodies_have_a_budget_together_and_small_ones_still_pass(hard: gm.GraphIndex) -> None:
    """Uploads that stop half-way are held to the budget; the memory they had is free when they have been left."""
    head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 100000\r\n\r\n"
    with running(hard, max_body=100_000, max_bodies=300_000, body_seconds=NOT_FOR_EVER) as found:
        used = partial(_counted, found, "bodies_bytes")
        with ExitStack() as opened:
            uploads = [opened.enter_context(found.connect()) for _ in range(3)]
            for one in uploads:
                one.sendall(head + b"[" * 90_000)
            wait_until(lambda: used() == 3 * (90_000 - 16_384))
            body = json.dumps({"id": "hard 1", "where": {"x": ["a" * 60] * 1500}}).encode()
            assert len(body) > 95_000
            refused = found.send("POST", "/v1/search", body, content_type="application/json")
            assert (refused.status, refused.headers["retry-after"]) == (503, "2")
            _wait_for(found, 1, "limits_exceeded_total", limit="max_bodies")
            assert found.post("/v1/search", {"id": "hard 1", "k": 1}).status == 200
        wait_until(lambda: used() == 0)
        assert found.send("POST", "/v1/search", body, content_type="application/json").status == 422


def test_a_connection_too_many_is_closed(hard: gm.GraphIndex) -> None:
    with running(hard, max_connections=4, body_seconds=NOT_FOR_EVER) as found:
        with ExitStack() as opened:
            for _ in range(4):
                opened.enter_context(found.connect())
            wait_until(lambda: len(found.server.server_state.connections) == 4)
            with found.connect() as refused:
                assert _read(refused).startswith(b"HTTP/1.1 503 ")
            wait_until(lambda: _counted(found, "limits_exceeded_total", limit="connections") >= 1)
        wait_until(lambda: not found.server.server_state.connections)
        assert found.get("/health/live").status == 200


def test_an_answer_is_sent_in_pieces_within_the_budget() -> None:
    """A client that takes nothing holds one piece of the answer in the socket, and is left after its seconds."""
    budget, sent, taken = Budget(400_000), list[Any](), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await Response(b"x" * 300_000)(scope, receive, send)

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and len(sent) == 3:
            assert budget.used == 300_000 - 65_536
            await taken.wait()

    async def answer() -> tuple[list[Any], Any]:
        sent.clear()
        scope: dict[str, Any] = {"type": "http", "headers": []}
        await Delivery(app, ServiceSettings(body_seconds=0.01), budget)(scope, None, send)  # type: ignore[arg-type]
        assert budget.used == before
        return sent, scope.get(EXCEEDED)

    async def check() -> None:
        nonlocal before
        messages, _ = await answer()
        assert [len(message.get("body", b"")) for message in messages] == [0, 65_536, 65_536]
        taken.set()
        messages, _ = await answer()
        assert sum(len(message.get("body", b"")) for message in messages) == 300_000
        assert [message["more_body"] for message in messages[1:]] == [True] * 4 + [False]
        before = 200_000
        budget.reserve(before)
        messages, exceeded = await answer()
        assert (messages[0]["status"], exceeded) == (503, "max_bodies")

    before = 0
    asyncio.run(check())


@pytest.mark.parametrize(
    "body",
    [
        b'{"smiles": "CCO", ' + b", ".join(b'"x%d": 0' % k for k in range(65)) + b"}",
        b'{"smiles": "CCO", "where": [' + b", ".join([b"{}"] * 33) + b"]}",
        b'{"smiles": "CCO", "' + b"k" * 257 + b'": 0}',
        b'{"graph": {"num_nodes": 3, "edges": [' + b", ".join([b"[0, 1]"] * 2049) + b"]}}",
        b'{"graph": {"num_nodes": 3, "node_labels": [' + b", ".join([b"[]"] * 2049) + b"]}}",
    ],
    ids=["fields", "objects", "name", "edges", "labels"],
)
def test_fields_are_counted_before_they_are_validated(served: Running, body: bytes) -> None:
    class Validated(BaseModel):
        @model_validator(mode="before")
        @classmethod
        def fail(cls, value: Any) -> Any:
            raise AssertionError("validation has begun")

    with pytest.raises(Problem) as refused:
        read_body(body, Validated, ServiceSettings())
    assert (refused.value.status_code, refused.value.limit is None) == (422, False)
    answer = served.send("POST", "/v1/search", body, content_type="application/json")
    assert answer.status == 422
    assert "are allowed" in answer.json["detail"]
    assert len(answer.content) < 1000


def test_large_bodies_are_parsed_beside_the_event_loop(hard: gm.GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a large body is parsed, and another one waits for its turn, others are answered."""
    parsing, go_on, threads = threading.Event(), threading.Event(), list[str]()

    def parse(content: bytes, *others: Any) -> Any:
        threads.append(threading.current_thread().name)
        if len(content) > 20_000:
            parsing.set()
            assert go_on.wait(NOT_FOR_EVER)
        return read_body(content, *others)

    monkeypatch.setattr("graphmetric.serve.app.read_body", parse)
    large = {"graph": {"num_nodes": 200, "node_features": [[0.125] * 20] * 200}}
    with running(hard) as found, found.begin("/v1/search", large) as first, found.begin("/v1/search", large) as second:
        assert parsing.wait(NOT_FOR_EVER)
        wait_until(lambda: found.service.reading.inside == 2)
        assert found.get("/health/live").status == 200
        assert found.post("/v1/search", {"id": "hard 1", "k": 1}).status == 200
        go_on.set()
        for one in (first, second):
            assert one.recv(100).startswith(b"HTTP/1.1 ")
    assert [name.startswith("reading") for name in threads].count(True) == 2
    assert len(threads) == 3


@pytest.mark.parametrize(
    "body",
    [
        {"smiles": "CCO", "x" * 900_000: 0},
        {"id": "x" * 900_000},
        {"smiles": "x" * 900_000},
        {"smiles": "CCO", "view": "x" * 900_000},
        {"smiles": "CCO", "where": {"half": "x" * 900_000}},
        {"smiles": "CCO", "certified": True, "limits": {"x" * 200: 0}},
        {"file": {"name": "x" * 900_000, "text": ""}},
        {"file": {"name": "x.json", "text": "x" * 900_000}},
        {"graph": {"num_nodes": 1, "node_labels": ["x" * 900_000]}},
        {"graph": {"num_nodes": 1, "metadata": {"x" * 900_000: 1}}},
    ],
    ids=lambda body: ",".join(name[:8] for name in body),
)
def test_long_texts_are_not_sent_back(served: Running, body: Any) -> None:
    for path in ("/v1/search", "/v1/search/stream"):
        answer = served.post(path, body)
        assert 400 <= answer.json.get("status", 0) < 500
        assert len(answer.content) < 6000, len(answer.content)


@pytest.mark.slow
def test_too_many_bytes(hard: gm.GraphIndex) -> None:
    with running(hard, body_seconds=1.0) as found:  # a client that goes on sending is left after that
        large = b'{"smiles": "' + b"C" * (1 << 20) + b'"}'
        told = found.send("POST", "/v1/search", large, content_type="application/json")
        assert (told.status, told.json["status"]) == (413, 413)
        assert "1,048,576 are allowed" in told.json["detail"]
        with found.connect() as connection:
            head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
            for _ in range(20):
                if select.select([connection], [], [], 0.05)[0]:  # the answer comes before the end, and no more is read
                    break
                connection.sendall(b"10000\r\n" + b"C" * 0x10000 + b"\r\n")
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
        ({"smiles": "CCO", "k": 1001}, "must be at most 1,000; got 1001"),
        ({"smiles": "CCO", "k": True}, "integer"),
        ({"smiles": "CCO", "k": "3"}, "integer"),
        ({"smiles": "CCO", "within": -1}, "must be at least 0; got -1"),
        ({"smiles": "CCO", "k": 0}, "body.k: must be at least 1; got 0"),
        ({"smiles": "CCO", "id": 3}, "body: exactly one of graph, smiles, id and file"),
        ({"id": ""}, "body.id: String should"),
        ({"smiles": "CCO", "view": "log"}, "raw"),
        ({"smiles": "CCO", "colour": 1}, "not permitted"),
        ({"smiles": "CCO", "time_limit": -1}, "must be at least 0; got -1"),
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


def test_an_unknown_integer_id_is_not_quoted(served: Running) -> None:
    for id in (987, "987"):
        answer = served.post("/v1/search", {"id": id})
        assert answer.status == 404
        assert answer.json["detail"].startswith("the index has no graph 987;")


def test_a_longer_time_limit_is_shortened_to_that_of_the_service(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    search: Any = gm.GraphIndex.search

    def noting(index: gm.GraphIndex, *arguments: Any, **options: Any) -> Any:
        given.append(options["time_limit"])
        return search(index, *arguments, **options)

    monkeypatch.setattr(gm.GraphIndex, "search", noting)
    most = served.get("/v1/info").json["limits"]["time_limit"]
    assert (
        served.post("/v1/search", {"smiles": "CCO", "k": 1, "certified": True, "time_limit": 10 * most}).status == 200
    )
    assert most - 20 < given[0] <= most


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
        assert report["undecided"] > 0
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
