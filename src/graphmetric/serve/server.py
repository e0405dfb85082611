"""Running the service by uvicorn: connections that send nothing are closed, and a stop lets searches answer."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphmetric.serve.app import make_app
from graphmetric.serve.observing import JsonFormatter
from graphmetric.serve.service import Service

_GRACE = 10
"""Seconds in which answers must have been sent after a stop."""
_BACKLOG = 2048
_READ = 65_536
"""Bytes that are read from a connection at a time; asyncio would read four times as many, for each connection."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: text/plain\r\nContent-Length: 21\r\n\r\ntoo many connections\n"
)

logger = logging.getLogger("graphmetric.serve")


class PatientProtocol(H11Protocol):
    """Closes a connection whose request has not begun, whose headers are not complete, or whose answer is not taken,
    within some seconds, and those beyond a number.

    uvicorn itself has such a limit only between two requests.
    """

    patience: asyncio.TimerHandle | None = None

    def __init__(self, service: Service, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._service = service

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = _READ
        if len(self.connections) > self._service.settings.max_connections:
            self._refuse("connections", 503)
            transport.write(_FULL)
            transport.close()
        else:
            self._wait_for_request()

    def send_400_response(self, msg: str) -> None:
        self._refuse(None, 400)
        super().send_400_response(msg)

    def _refuse(self, limit: str | None, status: int) -> None:
        """Count and log a connection on which no request could be read."""
        self._service.metrics.end("other", status, 0.0)
        if limit is not None:
            self._service.metrics.exceed(limit)
        if self._service.settings.log_requests:
            logger.info("connection refused", extra={"status": status, "limit": limit})

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.patience is not None:
            self.patience.cancel()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        if self.patience is not None:
            self.patience.cancel()
        self.patience = self.loop.call_later(self.timeout_keep_alive, self._close_idle)

    def _close_idle(self) -> None:
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            if self.transport.get_write_buffer_size():
                self.transport.abort()  # closing would wait until the client takes the rest
            else:
                self.transport.close()


class GracefulServer(uvicorn.Server):
    """Tells running searches to end before it waits for their answers."""

    def __init__(self, service: Service, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.close()
        await super().shutdown(sockets)


def make_server(service: Service) -> GracefulServer:
    """A server that is ready to run."""
    settings = service.settings
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "http": partial(PatientProtocol, service),
        "ws": "none",
        "loop": "asyncio",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_keep_alive": max(1, round(settings.body_seconds)),
        "timeout_graceful_shutdown": _GRACE,
        "backlog": _BACKLOG,
        "h11_max_incomplete_event_size": 32_768,
        "proxy_headers": False,
    }
    return GracefulServer(service, uvicorn.Config(make_app(service), **options))


def log_as_json() -> None:
    """Write logs as lines of JSON to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "numba", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)


def allow_many_connections() -> None:
    """Raise the number of open files to what the system allows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
