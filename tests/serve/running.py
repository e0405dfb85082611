"""A service in a thread of the test, and a client of the standard library that speaks to it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any, NamedTuple

import numpy as np

from graphmetric import Graph, GraphIndex
from graphmetric.serve.server import GracefulServer, make_server
from graphmetric.serve.service import Service
from graphmetric.serve.settings import ServiceSettings
from tests.clocks import NOT_FOR_EVER

FOR_EVER = 3_000.0
"""Seconds: a time limit that no test waits for. What ends sooner does so for another reason."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class Running:
    """A service that runs."""

    def __init__(self, service: Service, server: GracefulServer, port: int) -> None:
        self.service, self.server, self.port = service, server, port
        self.url = f"http://127.0.0.1:{port}"

    def send(self, method: str, path: str, content: bytes | None = None, **headers: str) -> Answer:
        """One request with these bytes and headers."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=NOT_FOR_EVER)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, content, named)
            answer = connection.getresponse()
            lower = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, lower, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, json.dumps(body).encode(), content_type="application/json", **headers)

    def connect(self) -> socket.socket:
        """A connection on which nothing was sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=NOT_FOR_EVER)

    @contextmanager
    def stream(self, body: Any) -> Iterator[Iterator[dict[str, Any]]]:
        """The events of a search, as they come."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=NOT_FOR_EVER)
        try:
            connection.request(
                "POST", "/v1/search/stream", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            yield read_events(connection.getresponse())
        finally:
            connection.close()

    def begin(self, path: str, body: Any, **headers: str) -> socket.socket:
        """A request whose answer nobody has read."""
        content = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        connection = self.connect()
        connection.sendall("\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content)
        return connection


def read_events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The events of a stream of lines of JSON."""
    return (json.loads(line) for line in lines if line.strip())


@contextmanager
def running(index: GraphIndex, folder: Any = None, **settings: Any) -> Iterator[Running]:
    """Serve an index on a free port until the block ends."""
    chosen = ServiceSettings(**{"port": 0, "log_requests": False, "workers": 2, **settings})
    service = Service(index, chosen, name="test", store=folder)
    server = make_server(service)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    found = Running(service, server, server.servers[0].sockets[0].getsockname()[1])
    wait_until(lambda: service.is_ready)
    try:
        yield found
    finally:
        server.should_exit = True
        thread.join(NOT_FOR_EVER)
        assert not thread.is_alive()


def wait_until(holds: Callable[[], Any]) -> None:
    """Wait for something that must become true."""
    end = time.monotonic() + NOT_FOR_EVER
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def hard_graphs(number: int, nodes: int = 40, seed: int = 0) -> list[Graph]:
    """Random cubic graphs without labels, whose edit distances nobody can prove within a test."""
    rng = np.random.default_rng(seed)
    graphs = []
    for k in range(number):
        ring = [(u, (u + 1) % nodes) for u in range(nodes)]
        matched = rng.permutation(nodes).reshape(-1, 2).tolist()
        edges = {tuple(sorted(edge)) for edge in [*ring, *matched]}
        graphs.append(Graph(nodes, sorted(edges), id=f"hard {k}"))
    return graphs


def as_body(graph: Graph) -> dict[str, Any]:
    """A graph as a request has it."""
    return {"num_nodes": graph.num_nodes, "edges": graph.edges.tolist()}
