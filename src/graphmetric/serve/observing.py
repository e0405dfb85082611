"""Metrics in the Prometheus format and logs as JSON lines, for operators. Neither has graphs or ids."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmetric.serve.problems import EXCEEDED

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}

logger = logging.getLogger("graphmetric.serve")


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        ProcessCollector(**own)
        self._requests = Counter("graphmetric_requests", "Requests", ["route", "status"], **own)
        self._seconds = Histogram("graphmetric_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, **own)
        self.under_way = Gauge("graphmetric_requests_under_way", "Requests that are being answered", **own)
        self.cancelled = Counter("graphmetric_cancelled", "Requests whose client has left", **own)
        self.swaps = Counter("graphmetric_editions", "Editions that were taken over", ["result"], **own)
        self._certified = Counter(
            "graphmetric_certified", "Certified searches that were answered", ["route", "result"], **own
        )
        self._exceeded = Counter("graphmetric_limits_exceeded", "Requests beyond a limit", ["limit"], **own)
        self._own = own

    def watch(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Add a gauge that is read at every request for metrics."""
        Gauge(f"graphmetric_{name}", help, **self._own).set_function(read)

    def end(self, route: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def end_certified(self, route: str, is_proven: bool) -> None:
        """A certified search has been answered, with a proof or with the bounds it had at its limit."""
        self._certified.labels(route, "proven" if is_proven else "unproven").inc()

    def exceed(self, limit: str) -> None:
        """A request, a connection or a stream has ended at a limit."""
        self._exceeded.labels(limit).inc()

    def value(self, name: str, labels: Mapping[str, str]) -> float | None:
        """One number as Prometheus gets it; None if nothing was counted there yet."""
        return self._registry.get_sample_value(name, dict(labels))

    def text(self) -> bytes:
        """All metrics."""
        return generate_latest(self._registry)


class Observer:
    """An ASGI application that counts and logs requests, those that are refused before they reach a route included."""

    def __init__(self, app: ASGIApp, metrics: Metrics, find_route: Callable[[Scope], str], log_requests: bool) -> None:
        self._app, self._metrics, self._find_route, self._log_requests = app, metrics, find_route, log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 499, time.perf_counter()  # 499: the client has left

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with self._metrics.under_way.track_inprogress():
                await self._app(scope, receive, noted)
        finally:
            seconds, route, limit = time.perf_counter() - began, self._find_route(scope), scope.get(EXCEEDED)
            self._metrics.end(route, status, seconds)
            if limit is not None:
                self._metrics.exceed(limit)
            if self._log_requests:
                facts = {"method": scope["method"], "route": route, "status": status, "seconds": round(seconds, 4)}
                logger.info("request", extra=facts if limit is None else {**facts, "limit": limit})


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _ATTRIBUTES}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
