"""Answers that grow while they are proven, and clients that leave before the end."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any, NoReturn

import pytest

from graphmetric import GraphIndex
from graphmetric.serve import app
from tests.serve.running import FOR_EVER, Running, as_body, hard_graphs, read_events, running, wait_until

SLOW = {"graph": as_body(hard_graphs(1, seed=9)[0]), "k": 3, "time_limit": FOR_EVER}


def _events(answer: bytes) -> list[dict[str, Any]]:
    return list(read_events(answer.splitlines()))


def _first_line(connection: socket.socket) -> bytes:
    """Read until the first event is whole."""
    received = b""
    while b'"event"' not in received:
        part = connection.recv(4096)
        assert part, received
        received += part
    return received


def test_bounds_close_until_the_result(busy: Running) -> None:
    with busy.stream(SLOW) as events:
        progress = []
        while sum(bool(event["hits"]) for event in progress) < 3:
            progress.append(next(events))
        busy.service.closing.set()  # nobody would wait for the end of this search
        *others, last = events
    progress += others
    assert {event["event"] for event in progress} == {"progress"}
    known = [event for event in progress if event["undecided"] is not None]
    assert all(event["found"] + event["excluded"] + event["undecided"] == 12 for event in known)
    best = [event["hits"][0]["upper"] for event in known if event["hits"]]
    assert best == sorted(best, reverse=True)
    assert last["event"] == "result"
    assert last["hits"][0]["upper"] <= best[-1]
    assert last["hits"][0]["lower"] <= last["hits"][0]["upper"]
    assert not last["report"]["complete"]


@pytest.mark.slow
def test_a_search_that_waits_for_its_turn_says_so_in_the_same_form(
    busy: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_HEARTBEAT", 0.05)
    first = busy.begin("/v1/search", SLOW)
    wait_until(lambda: busy.service.certified.inside == 1)
    with busy.stream({**SLOW, "time_limit": 1.0}) as events:
        waiting = next(events)
        first.close()
        *_, last = events
    told = _events(busy.post("/v1/search/stream", {**SLOW, "time_limit": 1.0}).content)
    assert waiting["undecided"] is None
    assert all(event.keys() == waiting.keys() for event in told if event["event"] == "progress")
    assert last["event"] == "result"


def test_an_end_that_comes_with_a_heartbeat_is_not_lost() -> None:
    class Due(asyncio.Event):
        """The news arrive at the moment at which nobody waits any longer."""

        async def wait(self) -> NoReturn:
            news.send("result", {})
            await asyncio.sleep(0)
            raise TimeoutError

    async def follow() -> list[str]:
        nonlocal news
        news = app._EventStream(asyncio.get_running_loop())
        news._changed = Due()
        return [name async for name, _ in news]

    news: app._EventStream
    assert asyncio.run(asyncio.wait_for(follow(), 20)) == ["result"]


def test_a_stream_of_server_sent_events(busy: Running) -> None:
    answer = busy.post("/v1/search/stream", {**SLOW, "time_limit": 0.5}, accept="text/event-stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = answer.content.decode().strip().split("\n\n")
    parsed = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    assert [block["event"] for block in parsed][-1] == "result"
    assert all(json.loads(block["data"])["event"] == block["event"] for block in parsed)


def test_a_stream_ends_with_the_answer_of_the_plain_route(served: Running) -> None:
    asked = {"id": "NSC 9", "k": 4, "certified": True, "explain": True}
    streamed = _events(served.post("/v1/search/stream", asked).content)[-1]
    plain = served.post("/v1/search", asked).json
    assert [hit["id"] for hit in streamed["hits"]] == [hit["id"] for hit in plain["hits"]]
    assert streamed.keys() == plain.keys() | {"event"}
    learned = _events(served.post("/v1/search/stream", {"id": "NSC 9"}).content)
    assert [event["event"] for event in learned] == ["result"]


def test_an_error_is_the_last_event(served: Running) -> None:
    (event,) = _events(served.post("/v1/search/stream", {"smiles": "C(("}).content)
    assert (event["event"], event["status"]) == ("error", 422)
    assert served.post("/v1/search/stream", {"smiles": 3}).status == 422


def test_a_client_that_leaves_frees_its_worker(busy: Running) -> None:
    """Both forms of a search, and a distance, end long before their time limit."""
    pair = {"first": {"id": "hard 0"}, "second": {"id": "hard 1"}, "time_limit": FOR_EVER}
    for path, body in (("/v1/search", SLOW), ("/v1/search/stream", SLOW), ("/v1/distance", pair)):
        connection = busy.begin(path, body)
        wait_until(lambda: busy.service.certified.inside == 1)
        if path.endswith("stream"):
            _first_line(connection)
        connection.close()
        wait_until(lambda: busy.service.certified.inside == 0)
    assert "graphmetric_cancelled_total 3.0" in busy.get("/metrics").content.decode()


def test_a_client_that_leaves_the_queue_is_forgotten(busy: Running) -> None:
    with busy.begin("/v1/search", SLOW):
        wait_until(lambda: busy.service.certified.inside == 1)
        busy.begin("/v1/search", SLOW).close()
        wait_until(lambda: busy.service.certified.inside == 1)


def test_a_reader_that_never_reads_holds_no_worker(hard: GraphIndex) -> None:
    with running(hard, workers=1, waiting=0, body_seconds=1.0) as found:
        lane, begun = found.service.certified, []
        submit = lane.submit
        lane.submit = lambda work: begun.append(submit(work)) or begun[-1]
        with found.begin("/v1/search/stream", {**SLOW, "time_limit": 0.5}):
            wait_until(lambda: begun and lane.inside == 0)
        assert found.post("/v1/search", {**SLOW, "time_limit": 0.1}).status == 200


def test_stopping_answers_with_the_bounds_so_far(hard: GraphIndex) -> None:
    with running(hard, workers=2, time_limit=FOR_EVER) as found:
        plain, stream = found.begin("/v1/search", SLOW), found.begin("/v1/search/stream", SLOW)
        wait_until(lambda: found.service.certified.inside == 2)
        head = _first_line(stream)
    answers = [b"", head]
    for k, connection in enumerate((plain, stream)):
        while part := connection.recv(65536):
            answers[k] += part
        connection.close()
    body = json.loads(answers[0].partition(b"\r\n\r\n")[2])
    assert answers[0].startswith(b"HTTP/1.1 200")
    assert body["stopped"]
    assert not body["report"]["complete"]
    assert b'"event":"result"' in answers[1]
    assert b'"stopped":true' in answers[1]
