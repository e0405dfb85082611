"""Hostile clients of a service in a process of its own, on this machine only: how long others wait, and its memory.

Each drill is bounded: a few hundred connections, some hundred megabytes, some seconds.
"""

from __future__ import annotations

import json
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

_HEAD = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
_BODY = 700_000
_LONGEST_ANSWER = 100_000
_MOST_MEGABYTES, _MOST_KEPT = 250, 60
"""What SECURITY.md says of memory at a time, and what the allocator may keep after the first attack."""


class Outcome(NamedTuple):
    """What a drill found out."""

    waits: list[float]
    """Seconds in which ``/health/live`` was answered during the drill."""
    before: int
    """Megabytes of the service's memory before the drill."""
    peak: int
    after: int
    statuses: dict[int, int]
    """Answers to the hostile requests, counted by status; 0 for connections that were closed without one, and a
    negative one for an answer that repeats most of the request."""

    def __str__(self) -> str:
        waits = f"live {1e3 * statistics.median(self.waits):.0f} ms, at most {1e3 * max(self.waits):.0f} ms"
        answers = ", ".join(f"{number:,} x {status or 'closed'}" for status, number in sorted(self.statuses.items()))
        return f"{waits}; memory {self.before} -> {self.peak} -> {self.after} MB; {answers}"


class Victim:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def memory(self) -> int:
        """Megabytes that it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) >> 10

    def ask(self, method: str, path: str, content: bytes | None = None) -> tuple[int, bytes]:
        """Status and content of the answer; 0 if the connection was closed without one."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@contextmanager
def victim(*options: str) -> Iterator[Victim]:
    """The molecules, served for certified searches."""
    command = [sys.executable, "-m", "graphmetric", "serve", "molecules", "--no-model", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = Victim(process, int(line.split()[2].rstrip("/").rpartition(":")[2]))
        while found.ask("GET", "/health/ready")[0] != 200:
            time.sleep(0.2)
        yield found
    finally:
        process.terminate()
        process.communicate()


def run(service: Victim, attack: Callable[[Victim], dict[int, int]]) -> Outcome:
    """Attack the service while another client asks whether it lives."""
    waits: list[float] = []
    memory = [service.memory()]
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            started = time.perf_counter()
            service.ask("GET", "/health/live")
            waits.append(time.perf_counter() - started)
            memory.append(service.memory())
            done.wait(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        statuses = attack(service)
    finally:
        done.set()
        watcher.join()
    time.sleep(1.0)
    service.ask("GET", "/health/live")
    return Outcome(waits, memory[0], max(memory), service.memory(), statuses)


def slow_uploads(service: Victim, clients: int = 600) -> dict[int, int]:
    """Clients that send most of a body and then nothing, until they are left."""
    sent = b'{"smiles": "' + b"C" * _BODY
    statuses: dict[int, int] = {}
    with ExitStack() as opened:
        crew = []
        for _ in range(clients):
            connection = opened.enter_context(service.connect())
            with suppress(OSError):
                connection.settimeout(2)
                connection.sendall(_HEAD.format(1_000_000).encode() + sent)
            crew.append(connection)
        for connection in crew:
            connection.settimeout(30)
            answer = b""
            with suppress(OSError):
                answer = connection.recv(4096)
            status = int(answer.split(b" ")[1]) if answer else 0
            statuses[status] = statuses.get(status, 0) + 1
    return statuses


def repeated(body: bytes, clients: int = 4, times: int = 5) -> Callable[[Victim], dict[int, int]]:
    """Clients that send one body again and again."""

    def attack(service: Victim) -> dict[int, int]:
        found: list[int] = []

        def send() -> None:
            for _ in range(times):
                status, content = service.ask("POST", "/v1/search", body)
                found.append(-status if len(content) > _LONGEST_ANSWER else status)

        crew = [threading.Thread(target=send) for _ in range(clients)]
        for one in crew:
            one.start()
        for one in crew:
            one.join()
        return {status: found.count(status) for status in set(found)}

    return attack


def large_bodies() -> dict[str, bytes]:
    """Bodies of most of a megabyte, each hostile in its own way."""
    fields = json.dumps({"smiles": "CCO", **{f"x{k}": 0 for k in range(70_000)}}).encode()
    labels = json.dumps({"graph": {"num_nodes": 99_000, "node_labels": ["C"] * 99_000}}).encode()
    edges = json.dumps({"graph": {"num_nodes": 256, "edges": [[0, 1]] * 120_000}}).encode()
    features = json.dumps({"graph": {"num_nodes": 256, "node_features": [[0.125] * 255 + ["x"]] * 256}}).encode()
    objects = b'{"smiles": "CCO", "where": [' + b"{}," * 300_000 + b"{}]}"
    return {
        "unknown fields": fields,
        "labels": labels,
        "edges": edges,
        "features": features,
        "objects": objects,
        "a long key": b'{"smiles": "CCO", "' + b"k" * 900_000 + b'": 0}',
        "a deep list": b'{"smiles": ' + b"[" * 900_000,
    }


def attacks() -> dict[str, Callable[[Victim], dict[int, int]]]:
    """All attacks by name."""
    return {**{name: repeated(body) for name, body in large_bodies().items()}, "slow uploads": slow_uploads}


def fault(name: str, found: Outcome) -> str | None:
    """What an attack did that it must not; times are printed and not judged, since they depend on the machine."""
    wrong = [status for status in found.statuses if not (400 <= status < 500 or status in (0, 503))]
    if wrong:
        return f"{name}: answered by {wrong}"
    if found.peak - found.before > _MOST_MEGABYTES or found.after - found.before > _MOST_KEPT:
        return f"{name}: memory of {found.before} MB grew to {found.peak} and stayed at {found.after} MB"
    return None


def main() -> int:
    """Run all attacks on one service, and print a line for each."""
    faults = []
    with victim("--body-seconds", "4") as service:
        for name, attack in attacks().items():
            found = run(service, attack)
            print(f"{name:<18}{found}", flush=True)
            faults.append(fault(name, found))
    print("\n".join(filter(None, faults)))
    return 1 if any(faults) else 0


if __name__ == "__main__":
    sys.exit(main())
