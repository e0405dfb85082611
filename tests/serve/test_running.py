"""The command itself, in a process of its own: it says where it is, obeys SIGTERM, and takes over new editions."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.request import urlopen

import click
import pytest

import graphmetric as gm
from graphmetric.cli import main
from graphmetric.cli.serve import serve_command
from graphmetric.errors import ServiceError
from tests.clocks import NOT_FOR_EVER
from tests.serve.running import FOR_EVER, as_body, hard_graphs, running, wait_until

SLOW = {"graph": as_body(hard_graphs(1, seed=9)[0]), "k": 3, "time_limit": FOR_EVER}


@contextmanager
def _command(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, IO[str]]]:
    """``graphmetric serve`` on a free port, and its address."""
    with _process([sys.executable, "-m", "graphmetric", "serve", *arguments], **environment) as found:
        yield found


@contextmanager
def _process(command: list[str], **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, IO[str]]]:
    with TemporaryFile("w+") as log:  # not a pipe: nobody reads the log while the service runs
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            log.seek(0)
            assert line.startswith("serving at http://"), log.read()
            yield process, line.split()[2].rstrip("/"), log
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def _wait_until_ready(url: str) -> None:
    def is_ready() -> bool:
        try:
            return bool(gm.connect(url).info()["ready"])
        except ServiceError:
            return False

    wait_until(is_ready)


@pytest.mark.slow
def test_sigterm_answers_searches_with_their_bounds(tmp_path: Path) -> None:
    gm.GraphIndex.build(hard_graphs(12)).save(tmp_path / "idx")
    settings = {"GRAPHMETRIC_PORT": "0", "GRAPHMETRIC_WORKERS": "2", "GRAPHMETRIC_TIME_LIMIT": str(FOR_EVER)}
    with _command(str(tmp_path / "idx"), **settings) as (process, url, log):
        _wait_until_ready(url)
        port = int(url.rpartition(":")[2])
        content = json.dumps(SLOW).encode()
        head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        searching = [socket.create_connection(("127.0.0.1", port), timeout=NOT_FOR_EVER) for _ in range(2)]
        for connection in searching:
            connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        wait_until(lambda: b"certified_lane 2.0" in urlopen(f"{url}/metrics").read())
        process.send_signal(signal.SIGTERM)
        for connection in searching:
            with connection:
                answer = b""
                while part := connection.recv(65536):
                    answer += part
                body = json.loads(answer.partition(b"\r\n\r\n")[2])
                assert body["stopped"]
                assert not body["report"]["complete"]
                assert all(hit["lower"] <= hit["upper"] for hit in body["hits"])
        process.wait(NOT_FOR_EVER)
        log.seek(0)
        events = [json.loads(line) for line in log]
        assert {"ready", "request"} <= {event["event"] for event in events}
        assert all({"time", "level", "logger"} <= event.keys() for event in events)


@pytest.mark.slow
def test_without_torch_the_molecules_are_served_with_proofs() -> None:
    code = "import sys; sys.modules['torch'] = None; from graphmetric.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "serve", "molecules", "--port", "0"]
    with _process(command) as (_, url, _):
        _wait_until_ready(url)
        remote = gm.connect(url)
        assert remote.info()["learned"] is False
        assert remote.search("NSC 16", 2)[1].proven
        assert len(remote) == 973


def test_a_new_edition_is_taken_over_without_a_failed_request(tmp_path: Path) -> None:
    graphs = hard_graphs(6, nodes=6)
    index = gm.GraphIndex.build(graphs[:3])
    index.save(tmp_path / "idx")
    opened = gm.GraphIndex.load(tmp_path / "idx")
    answers: list[Any] = []
    done = threading.Event()
    with running(opened, folder=tmp_path / "idx", poll_seconds=0.05, workers=1) as found:

        def ask() -> None:
            while not done.is_set():
                answers.append(found.post("/v1/search", {"graph": as_body(graphs[5]), "k": 10}))

        crew = [threading.Thread(target=ask) for _ in range(3)]
        for one in crew:
            one.start()
        for graph in graphs[3:]:
            index.add([graph])
            index.save(tmp_path / "idx")
            wait_until(lambda: found.service.current.index.edition == index.edition)
        done.set()
        for one in crew:
            one.join()
        assert found.get("/v1/info").json["graphs"] == 6
    assert {answer.status for answer in answers} == {200}
    sizes = [len(answer.json["hits"]) for answer in answers]
    assert set(sizes) <= {3, 4, 5, 6}
    assert len({answer.json["edition"] for answer in answers}) >= 2


def _held(folder: Path) -> tuple[int, int]:
    """Files that this process has open, and mappings of files of the folder."""
    opened = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    mapped = Path("/proc/self/maps").read_text().splitlines()
    return sum(name.startswith(str(folder)) for name in opened), sum(str(folder) in line for line in mapped)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="open files are counted in /proc")
def test_replaced_editions_are_freed_at_once(tmp_path: Path) -> None:
    """Fifty editions without a garbage collection: no file, mapping or object of an old one stays."""
    graphs = hard_graphs(51, nodes=6)
    gm.GraphIndex.build(graphs[:1], out=tmp_path / "idx")
    with running(gm.GraphIndex.load(tmp_path / "idx"), folder=tmp_path / "idx", poll_seconds=3600) as found:
        service, held, old = found.service, set(), []
        gc.collect()
        gc.disable()
        try:
            for k in range(1, 51):
                old.append(weakref.ref(service.current))
                gm.GraphIndex.build([graphs[k]], out=tmp_path / "idx")
                service.poll()
                assert found.post("/v1/search", {"id": f"hard {k}", "k": 1, "explain": True}).status == 200
                assert found.get(f"/v1/graphs/hard%20{k}?format=svg").status == 200
                assert found.get("/v1/graphs/nothing?format=svg").status == 404
                assert found.post("/v1/search", {"smiles": "C(("}).status in (422, 501)
                held.add(_held(tmp_path))
            assert found.get("/v1/info").json["edition"] == gm.GraphIndex.load(tmp_path / "idx").edition
            assert len(held) == 1, held
            assert [one for one in old if one() is not None] == []
        finally:
            gc.enable()


def test_an_edition_that_cannot_be_read_changes_nothing_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = gm.GraphIndex.build(hard_graphs(3, nodes=6))
    index.save(tmp_path / "idx")
    with running(gm.GraphIndex.load(tmp_path / "idx"), folder=tmp_path / "idx", poll_seconds=3600) as found:
        service, first = found.service, index.edition

        def ready() -> dict[str, Any]:
            answer = found.get("/health/ready")
            assert answer.status == 200
            return {name: answer.json[name] for name in ("edition", "is_newest", "failed_polls")}

        def metric(name: str) -> float:
            lines = found.get("/metrics").content.decode().splitlines()
            return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"graphmetric_{name}"))

        service.poll()
        assert ready() == {"edition": first, "is_newest": True, "failed_polls": 0}
        whole = (tmp_path / "idx" / "index.json").read_text()
        (tmp_path / "idx" / "index.json").write_text("{")
        service.poll()
        service.poll()
        assert ready() == {"edition": first, "is_newest": False, "failed_polls": 2}
        assert metric('editions_total{result="failed"}') == metric("failed_polls") == 2
        assert found.post("/v1/search", {"id": "hard 1", "k": 1}).status == 200

        (tmp_path / "idx" / "index.json").write_text(whole)
        index.add(hard_graphs(4, nodes=6)[3:])
        index.save(tmp_path / "idx")
        with monkeypatch.context() as broken:  # an error that nobody foresaw must not end the polls
            broken.setattr(service, "_prepare", lambda served: 1 / 0)
            service.poll()
        assert ready() == {"edition": first, "is_newest": False, "failed_polls": 3}
        assert metric("edition_behind_seconds") > 0
        service.poll()
        assert ready() == {"edition": index.edition, "is_newest": True, "failed_polls": 0}
        assert metric("edition_behind_seconds") == metric("failed_polls") == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["no-such-thing"], "no-such-thing"),
        (["molecules", "--host", "0.0.0.0"], "needs a token"),
        (["molecules", "--token-file", "no-such-file"], "cannot be read as a token"),
        (["molecules", "--port", "99999"], "65535"),
        (["molecules", "--max-nodes", "0"], "max-nodes"),
        (["molecules", "--model", "x", "--no-model"], "exclude each other"),
    ],
)
def test_a_wrong_command_says_why(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHMETRIC_TOKEN", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    assert ended.value.code != 0
    assert problem in capsys.readouterr().err


def test_every_option_is_an_environment_variable() -> None:
    context = click.Context(serve_command, **serve_command.context_settings)
    for option in serve_command.params:
        if isinstance(option, click.Option):
            name = max((flag for flag in option.opts if flag.startswith("--")), key=len)
            variable = f"GRAPHMETRIC_{name.removeprefix('--').replace('-', '_').upper()}"
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(variable, "1")
                assert option.value_from_envvar(context) not in (None, ()), variable
