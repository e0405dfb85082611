"""``graphmetric serve``: the page and the HTTP service over an index, a data set or files of graphs."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphmetric.cli.graph_sources import open_source
from graphmetric.cli.options import COUNT, FILE, FOLDER, SECONDS, device_option
from graphmetric.cli.output import show
from graphmetric.errors import FileError, InvalidArgument, MissingExtra
from graphmetric.index import IndexStore, open_store
from graphmetric.index.postgres.address import is_address

if TYPE_CHECKING:
    from graphmetric.search import GraphIndex

_SHIPPED = {"molecules": "molecules"}
"""The model in the box for a data set."""
_CORES = max(1, os.cpu_count() or 1)


@click.command("serve", context_settings={"auto_envvar_prefix": "GRAPHMETRIC"})
@click.argument("source", envvar="GRAPHMETRIC_SOURCE")
@click.option("--model", type=FOLDER, help="Model for graphs that are not an index yet; a folder or a shipped model.")
@click.option("--no-model", is_flag=True, help="Serve certified search only.")
@device_option
@click.option("--host", default="127.0.0.1", help="Address to listen at; beyond this machine it needs a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, help="Port to listen at; 0 takes a free one.")
@click.option("--token-file", type=FILE, help="File with the token of clients; or set GRAPHMETRIC_TOKEN.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Further name of the service. Can be repeated.")
@click.option("--workers", type=COUNT, default=_CORES, show_default="one per core", help="Searches at a time.")
@click.option("--waiting", type=click.IntRange(0), default=32, help="Requests that may wait; more are refused.")
@click.option(
    "--time-limit",
    type=SECONDS,
    default=30.0,
    help="Maximum search time in seconds; longer limits of requests are shortened to it.",
)
@click.option("--max-nodes", type=COUNT, default=256, help="Nodes of a graph in a request.")
@click.option("--max-edges", type=COUNT, default=2048, help="Edges of a graph in a request.")
@click.option("--max-body", type=COUNT, default=1 << 20, help="Bytes of a request.")
@click.option("--max-bodies", type=COUNT, default=1 << 26, help="Bytes of all requests and answers on their way.")
@click.option("--max-connections", type=COUNT, default=512, help="Connections at a time; more are closed.")
@click.option("--max-drawn", type=COUNT, default=150, help="Nodes of a graph that is drawn.")
@click.option("--body-seconds", type=SECONDS, default=10.0, help="Seconds in which a request must have arrived.")
@click.option("--poll-seconds", type=SECONDS, default=5.0, help="How often to look for a new edition of the index.")
@click.option("--log-requests/--no-log-requests", default=True, help="Log a line for each request.")
@click.option("--open", "open_page", is_flag=True, envvar="GRAPHMETRIC_OPEN", help="Open the page in a browser.")
def serve_command(source: str, model: str | None, no_model: bool, device: str, open_page: bool, **options: Any) -> None:
    """Serve SOURCE over HTTP, with a page: an index (a folder, or the address of a database), a data set, or files.

    Every option can also be set by an environment variable: GRAPHMETRIC_PORT, GRAPHMETRIC_MAX_NODES and so on. New
    editions of an index are taken over while the service runs. Ctrl-C or SIGTERM ends it: searches that run then
    are answered with the bounds they have.

    \b
    Examples:
      graphmetric serve molecules --open
      graphmetric serve idx/ --port 9000
      graphmetric serve "postgresql://me@host/db?index=mine"
      GRAPHMETRIC_TOKEN=... graphmetric serve idx/ --host 0.0.0.0
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None or find_spec("prometheus_client") is None:
        raise MissingExtra("fastapi", "serve", "the service")
    from graphmetric.serve.server import allow_many_connections, log_as_json, make_server
    from graphmetric.serve.service import Service
    from graphmetric.serve.settings import ServiceSettings

    if model is not None and no_model:
        raise InvalidArgument("--model and --no-model exclude each other")
    token = _read_token(options.pop("token_file"))
    settings = ServiceSettings(token=token, allowed_hosts=options.pop("allow_host"), **options)
    store = _find_store(source)
    index = _open_index(source, store, model, no_model, device)
    _limit_torch()
    log_as_json()
    allow_many_connections()
    name = Path(source).name or source if store is None else store.name
    service = Service(index, settings, name=name, store=store, when_ready=_keep_what_is_loaded)
    server = make_server(service)
    address = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}"
    threading.Thread(target=_announce, args=(server, address, open_page), daemon=True).start()
    server.run()


def _keep_what_is_loaded() -> None:
    """Exclude what compiling and loading have made from garbage collections, which stop all threads while they run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 10)  # a finished search may hold much memory in few objects; see cli.main


def _read_token(file: str | None) -> str | None:
    """The token of a file or of the environment; it is not an option, since others can see those."""
    if file is None:
        return os.environ.get("GRAPHMETRIC_TOKEN") or None
    try:
        return Path(file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot be read as a token: {error}", file) from None


def _find_store(source: str) -> IndexStore | None:
    """The store of an index; None for a source of graphs."""
    store = open_store(source) if is_address(source) or Path(source).is_dir() else None
    return store if store is not None and (is_address(source) or store.exists()) else None


def _open_index(source: str, store: IndexStore | None, model: str | None, no_model: bool, device: str) -> GraphIndex:
    from graphmetric.search import GraphIndex

    if store is not None:
        if model is not None or no_model:
            raise InvalidArgument(
                f"{store.place} is an index, with its own model or none: leave out --model and --no-model"
            )
        return GraphIndex.load(store, device=device)
    graphs = open_source(source).graphs
    has_torch = find_spec("torch") is not None
    if model is None and not no_model and has_torch and not Path(source).exists():
        model = _SHIPPED.get(source)
    if model is None:
        if not has_torch and source in _SHIPPED:
            show("torch is not installed, so searches are certified only: pip install 'graphmetric[learn]'", err=True)
        return GraphIndex.build(graphs)
    from graphmetric.learned.learned_distance import LearnedDistance

    return GraphIndex.build(LearnedDistance.load(model, 1, device), graphs)


def _limit_torch() -> None:
    """One thread of torch for each request: its own threads cost more than they bring, and spin."""
    if sys.modules.get("torch") is not None:
        import torch

        torch.set_num_threads(1)


def _announce(server: Any, address: str, open_page: bool) -> None:
    """Say where the service is once it listens."""
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    show(f"serving at {address}:{port}/ (Ctrl-C ends it)")
    sys.stdout.flush()
    if open_page:
        webbrowser.open(f"{address}:{port}/")
