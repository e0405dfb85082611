"""A service under load: clients that search all the time, beside clients that are slow, silent or never end.

    python benchmarks/serve_load.py --clients 16 --seconds 600

starts ``graphmetric serve molecules`` in a process of its own, with its usual limits. Each client sends one request
after another: learned searches, certified ones, streams, distances, drawings, and now and then a molecule of 60 atoms
whose answer stops at a time limit of half a second. Beside them are connections that send nothing, headers and bodies
that never end, and readers that do not read. It prints the latency of each kind, errors by status, and the memory of
the service.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import numpy as np

import graphmetric as gm

KINDS = {"learned": 50, "certified": 30, "stream": 6, "distance": 6, "picture": 5, "hard": 3}
"""What clients ask, with weights."""


class Load:
    """Counts of all clients."""

    def __init__(self, port: int, graphs: list[gm.Graph]) -> None:
        self.port, self.graphs = port, graphs
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[str] = Counter()
        self.done, self.lock = threading.Event(), threading.Lock()

    def request(self, rng: random.Random) -> tuple[str, str, str, dict[str, Any] | None]:
        """A kind, a method, a path and a body."""
        (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
        graph = rng.choice(self.graphs)
        if kind == "picture":
            return kind, "GET", f"/v1/graphs/{str(graph.id).replace(' ', '%20')}?format=svg", None
        changed = gm.mutate(graph, rng.randrange(4), random_state=rng.randrange(10**6)).graph
        query = {"graph": _body(changed)}
        if kind == "distance":
            return kind, "POST", "/v1/distance", {"first": query, "second": {"id": graph.id}, "time_limit": 2}
        if kind == "hard":
            joined = gm.mutate(_joined(rng.choices(self.graphs, k=6)), 20, random_state=rng.randrange(10**6)).graph
            return kind, "POST", "/v1/search", {"graph": _body(joined), "certified": True, "time_limit": 0.5}
        path = "/v1/search/stream" if kind == "stream" else "/v1/search"
        return kind, "POST", path, {**query, "k": 10, "certified": kind != "learned", "time_limit": 5}

    def client(self, seed: int) -> None:
        """Ask until the time is over, on one connection as long as it lasts."""
        rng, connection = random.Random(seed), HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.done.is_set():
            kind, method, path, body = self.request(rng)
            started = time.perf_counter()
            try:
                content = None if body is None else json.dumps(body)
                connection.request(method, path, content, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                status = str(answer.status)
            except (OSError, HTTPException) as error:
                status = repr(error)
                connection.close()
            with self.lock:
                self.statuses[status] += 1
                self.seconds[kind].append(time.perf_counter() - started)
            if status == "503":
                time.sleep(float(answer.headers["Retry-After"]) * rng.random())
        connection.close()

    def nuisance(self) -> None:
        """Hold connections that a service must not wait for, and open them again when they are closed."""
        head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        stream = json.dumps({"graph": _body(_joined(self.graphs[:6])), "certified": True, "time_limit": 0.5}).encode()
        starts = {
            "silent": b"",
            "headers that do not end": head,
            "body that does not end": head + b"Content-Length: 100000\r\n\r\n{",
            "chunks that do not end": head + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
            "reader that does not read": head.replace(b"/search", b"/search/stream")
            + b"Content-Length: %d\r\n\r\n" % len(stream)
            + stream,
        }
        held: list[socket.socket] = []
        while not self.done.is_set():
            for name, start in starts.items():
                for _ in range(200 if name == "silent" else 4):
                    connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
                    connection.sendall(start)
                    held.append(connection)
            while len(held) > 1100:
                held.pop(0).close()
            self.done.wait(3.0)
        for connection in held:
            connection.close()


def _body(graph: gm.Graph) -> dict[str, Any]:
    return {
        "num_nodes": graph.num_nodes,
        "edges": graph.edges.tolist(),
        "node_labels": None if graph.node_labels is None else list(graph.node_labels),
    }


def _joined(graphs: list[gm.Graph]) -> gm.Graph:
    """One graph of several, joined in a chain."""
    edges, labels, start = [], [], 0
    for graph in graphs:
        edges += [(u + start, v + start) for u, v in graph.edges.tolist()]
        edges += [(start - 1, start)] if start else []
        labels += list(graph.node_labels or ())
        start += graph.num_nodes
    return gm.Graph(start, edges, node_labels=labels)


def _memory(process: int) -> float:
    """Megabytes of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--quiet", action="store_true", help="without slow and silent clients")
    options = parser.parse_args()
    command = [sys.executable, "-m", "graphmetric", "serve", "molecules", "--port", "0", "--no-log-requests"]
    log = Path(os.environ.get("TMPDIR", "/tmp")) / "serve_load.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline().split(":")[2].split("/")[0])
    remote = gm.connect(f"http://127.0.0.1:{port}")
    while not remote.info()["ready"]:
        time.sleep(0.2)
    load = Load(port, list(gm.load_dataset("molecules").graphs))
    crew = [threading.Thread(target=load.client, args=(seed,)) for seed in range(options.clients)]
    crew += [] if options.quiet else [threading.Thread(target=load.nuisance)]
    memory = [_memory(process.pid)]
    for one in crew:
        one.start()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        time.sleep(min(options.seconds / 20, 15.0))
        memory.append(_memory(process.pid))
    load.done.set()
    for one in crew:
        one.join()
    process.terminate()
    process.wait(30)
    total = sum(load.statuses.values())
    print(f"{options.clients} clients, {options.seconds:g} s, {total:,} requests, statuses {dict(load.statuses)}")
    print("| request | number | p50 ms | p99 ms | most ms |\n|---|---|---|---|---|")
    for kind in KINDS:
        taken = 1000 * np.array(load.seconds[kind])
        if len(taken):
            half, most = np.percentile(taken, [50, 99])
            print(f"| {kind} | {len(taken):,} | {half:.0f} | {most:.0f} | {taken.max():.0f} |")
    print("memory in MB:", " ".join(f"{size:.0f}" for size in memory))
    print("log:", log.read_text()[-500:] or "empty")


if __name__ == "__main__":
    main()
