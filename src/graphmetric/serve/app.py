"""The routes of the service. A route checks nothing itself: a model checks the request, a lane does the work."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.routing import Match
from starlette.types import Scope

from graphmetric import __version__
from graphmetric.errors import GraphMetricError
from graphmetric.serve import schema
from graphmetric.serve.guard import Body, Budget, Delivery, Guard
from graphmetric.serve.lanes import ClientGone, Lane, Stop
from graphmetric.serve.observing import Observer
from graphmetric.serve.problems import MEDIA_TYPE, Problem, answer_problem, problem_of, to_bytes
from graphmetric.serve.schema import Model, read_body
from graphmetric.serve.served_index import ServedIndex
from graphmetric.serve.service import Service

logger = logging.getLogger("graphmetric.serve")

_NDJSON, _SSE, _SVG = "application/x-ndjson", "text/event-stream", "image/svg+xml"
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": _SVG,
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
_SCHEMAS = "#/components/schemas/"
_REQUESTS = (
    *(schema.SearchRequest, schema.DistanceRequest, schema.ExplainRequest, schema.EmbedRequest),
    *(schema.ReadRequest, schema.DrawRequest),
)
_QUICKLY_READ = 16_384
"""Bytes of a body that is parsed at once, within a millisecond or two."""
_HEARTBEAT = 5.0
"""Heartbeat interval in seconds: a stream repeats its last event, so that proxies keep the connection."""
_PROBLEM = {"model": schema.ProblemDetails, "content": {MEDIA_TYPE: {}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {**_PROBLEM, "description": "The body is not JSON."},
    401: {**_PROBLEM, "description": "The token is missing or wrong."},
    404: {**_PROBLEM, "description": "The index has no graph with this id."},
    408: {**_PROBLEM, "description": "The body did not arrive in time."},
    413: {**_PROBLEM, "description": "The body is too large."},
    415: {**_PROBLEM, "description": "The body is compressed, or was not sent as JSON."},
    422: {**_PROBLEM, "description": "A field is wrong, or the graph is too large."},
    501: {**_PROBLEM, "description": "An extra is not installed, such as RDKit for SMILES."},
    503: {
        **_PROBLEM,
        "description": "Too many requests wait, or the index is not ready.",
        "headers": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
    },
}


class _IdConvertor(Convertor[str]):
    """The rest of a path, with slashes and newlines, either of which an id may have."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("graph_id", _IdConvertor())


def make_app(service: Service) -> Observer:
    """The ASGI application of a service.

    From the outside to the inside: all requests are observed, all answers are delivered within limits, access is
    controlled, and a route answers.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        editions = asyncio.create_task(service.watch_editions())
        try:
            yield
        finally:
            editions.cancel()
            with suppress(asyncio.CancelledError):
                await editions
            service.shut()

    app = FastAPI(
        title="graphmetric",
        version=__version__,
        summary="The nearest graphs of a collection, with proofs.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        exception_handlers={
            RequestValidationError: answer_problem,
            AnyHTTPException: answer_problem,
            GraphMetricError: answer_problem,
            ClientGone: _client_closed_request,
        },
    )
    _add_routes(app, service)
    _add_health(app, service)
    _add_page(app)
    settings = service.settings
    budget = Budget(settings.max_bodies)
    service.metrics.watch("bodies_bytes", "Bytes of large requests and answers on their way", lambda: budget.used)
    guarded = Delivery(Guard(app, settings, budget), settings, budget)
    return Observer(guarded, service.metrics, partial(_find_route, app), settings.log_requests)


def _find_route(app: FastAPI, scope: Scope) -> str:
    """The path of the route that answers a request, or would have answered one that was refused before."""
    route = scope.get("route") or next((one for one in app.routes if one.matches(scope)[0] is Match.FULL), None)
    return getattr(route, "path", "other")


async def _client_closed_request(request: Request, error: Exception) -> Response:
    return Response(status_code=499)


def _json(value: Any) -> Response:
    return Response(value if isinstance(value, bytes) else to_bytes(value), media_type="application/json")


def _add_routes(app: FastAPI, service: Service) -> None:
    bearer = Depends(HTTPBearer(auto_error=False, description="The token the service was started with, if any."))
    shared: dict[str, Any] = {"responses": _PROBLEMS, "dependencies": [bearer]}

    async def read(request: Request, model: type[Model]) -> Model:
        """The body of a request; a large one is parsed beside the event loop, which goes on meanwhile."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not kind.endswith("json"):
            found = f"the body was sent as {kind[:80]!r}; JSON is allowed" if kind else "no JSON was sent"
            raise Problem(415, found, advice="Send the header Content-Type: application/json.")
        content = await Body.of(request.scope).read()
        if len(content) <= _QUICKLY_READ:
            return read_body(content, model, service.settings)
        work = partial(read_body, content, model, service.settings)
        return await service.reading.run(request, service.stop(), work)

    def taking(model: type[BaseModel]) -> dict[str, Any]:
        """Return the declaration of a route that reads a body; :func:`_describe` adds the model."""
        content = {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{model.__name__}"}}}
        return {"openapi_extra": {"requestBody": {"content": content, "required": True}}}

    def in_other_forms(
        description: str, content: dict[str, Any], problems: Iterable[int | str] = _PROBLEMS
    ) -> dict[str, Any]:
        """Return the declaration of a route that can respond with other types than JSON."""
        answers = {status: _PROBLEMS[status] for status in problems}
        return {**shared, "responses": answers | {200: {"description": description, "content": content}}}

    async def answer(
        request: Request,
        lane: Lane,
        work: Callable[[ServedIndex, Stop], Any],
        time_limit: float | None = None,
        index: ServedIndex | None = None,
    ) -> Response:
        """Let a lane do the work, the writing of JSON included; a text is a drawing."""
        asked, stop = index or service.ready_index(), service.stop(time_limit)

        def write() -> Response:
            made = work(asked, stop)
            return Response(made, media_type=_SVG) if isinstance(made, str) else _json(made)

        try:
            return await lane.run(request, stop, write)
        except ClientGone:
            service.metrics.cancelled.inc()
            raise

    def searched(
        index: ServedIndex,
        asked: schema.SearchRequest,
        stop: Stop,
        report: Callable[[dict[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        found = index.search(asked, stop, report)
        if found["certified"]:
            service.metrics.end_certified("search", found["report"]["complete"])
        return found

    def measured(route: str, found: dict[str, Any]) -> dict[str, Any]:
        distance = found["distance"]
        service.metrics.end_certified(route, distance["exact"] or distance["impossible"])
        return found

    @app.post(
        "/v1/search", response_model=schema.SearchAnswer, tags=["search"], **taking(schema.SearchRequest), **shared
    )
    async def search(request: Request) -> Response:
        """The nearest graphs, or all within a distance, by the learned distance or certified by edit distance."""
        asked = await read(request, schema.SearchRequest)
        lane = service.lane_of(asked)
        return await answer(request, lane, lambda index, stop: searched(index, asked, stop), asked.time_limit)

    streamed = in_other_forms(
        "Lines of JSON, or server-sent events if `Accept` asks for them: `progress` with found, excluded, undecided, "
        "undecided_lower, seconds and the hits so far, then `result` with the answer of /v1/search, or `error` with "
        "problem details.",
        {
            _NDJSON: {"example": '{"event":"progress","found":3,"excluded":900,"undecided":70,"hits":[]}\n'},
            _SSE: {"example": 'event: progress\ndata: {"event":"progress","found":3}\n\n'},
        },
    )

    @app.post("/v1/search/stream", tags=["search"], response_class=Response, **taking(schema.SearchRequest), **streamed)
    async def stream(request: Request) -> Response:
        """A search whose answer grows while it is proven. The search ends when the client leaves."""
        asked = await read(request, schema.SearchRequest)
        index, as_events = service.ready_index(), _SSE in request.headers.get("accept", "")
        news, stop = _EventStream(asyncio.get_running_loop()), service.stop(asked.time_limit)

        def work() -> None:
            try:
                news.send("result", searched(index, asked, stop, partial(news.send, "progress")))
            except Exception as error:
                problem = problem_of(error)
                if problem.limit is not None:
                    service.metrics.exceed(problem.limit)
                if problem.status_code >= 500 and not isinstance(error, GraphMetricError):
                    logger.exception("a bug in graphmetric")
                news.send("error", problem.body())

        future = service.lane_of(asked).submit(work)

        async def events() -> AsyncIterator[bytes]:
            try:
                async for name, body in news:
                    yield _event(name, body, as_events)
            finally:
                if not news.is_over:
                    stop.request()
                    future.cancel()
                    service.metrics.cancelled.inc()

        return StreamingResponse(
            events(), media_type=_SSE if as_events else _NDJSON, headers={"X-Accel-Buffering": "no"}
        )

    @app.post(
        "/v1/distance", response_model=schema.DistanceAnswer, tags=["pairs"], **taking(schema.DistanceRequest), **shared
    )
    async def distance(request: Request) -> Response:
        """The edit distance of two graphs, or bounds of it, and the learned distance on request."""
        asked = await read(request, schema.DistanceRequest)
        lane = service.certified
        return await answer(
            request, lane, lambda index, stop: measured("distance", index.distance(asked, stop)), asked.time_limit
        )

    @app.post(
        "/v1/explain", response_model=schema.ExplainAnswer, tags=["pairs"], **taking(schema.ExplainRequest), **shared
    )
    async def explain(request: Request) -> Response:
        """The edits from one graph to another, with all that is needed to draw them."""
        asked = await read(request, schema.ExplainRequest)
        searches = asked.node_map is None
        lane = service.certified if searches else service.quick

        def work(index: ServedIndex, stop: Stop) -> dict[str, Any]:
            found = index.explain(asked, stop)
            return measured("explain", found) if searches else found

        return await answer(request, lane, work, asked.time_limit)

    @app.post("/v1/embed", response_model=schema.EmbedAnswer, tags=["graphs"], **taking(schema.EmbedRequest), **shared)
    async def embed(request: Request) -> Response:
        """The vector of a graph by which near ones are found, and its place on the map."""
        asked = await read(request, schema.EmbedRequest)
        return await answer(request, service.quick, lambda index, stop: index.embed(asked.query))

    @app.post("/v1/read", response_model=schema.ReadAnswer, tags=["graphs"], **taking(schema.ReadRequest), **shared)
    async def read_file(request: Request) -> Response:
        """The graphs of a file's content, as JSON; nothing is stored."""
        asked = await read(request, schema.ReadRequest)
        return await answer(request, service.quick, lambda index, stop: index.write_read(asked.file))

    drawn = in_other_forms("A drawing.", {_SVG: {}})

    @app.post("/v1/draw", tags=["graphs"], response_class=Response, **taking(schema.DrawRequest), **drawn)
    async def draw(request: Request) -> Response:
        """A graph as SVG."""
        asked = await read(request, schema.DrawRequest)
        return await answer(request, service.quick, lambda index, stop: index.draw(asked.query))

    stored = in_other_forms("The graph.", {_SVG: {}})

    @app.get("/v1/graphs/{id:graph_id}", response_model=schema.GraphAnswer, tags=["graphs"], **stored)
    async def graph(
        request: Request,
        id: Annotated[str, Path(description="The id of a graph of the index.", examples=["NSC 1"])],
        format: Annotated[str, Query(pattern="^(json|svg)$", description="json or svg")] = "json",
    ) -> Response:
        """A graph of the index, as JSON with a layout, or drawn as SVG."""
        return await answer(
            request, service.quick, lambda index, stop: index.graph(id) if format == "json" else index.draw_stored(id)
        )

    @app.get("/v1/map", response_model=schema.MapAnswer, tags=["graphs"], **shared)
    async def map(request: Request) -> Response:
        """The whole collection as points in the plane, with clusters and metadata."""
        return await answer(request, service.quick, lambda index, stop: index.map_content)

    @app.get("/v1/info", response_model=schema.InfoAnswer, tags=["service"], **shared)
    async def info(request: Request) -> Response:
        """The served index, and the limits on requests."""
        is_ready, now = service.is_ready, service.current
        return await answer(request, service.quick, lambda index, stop: {"ready": is_ready, **index.info()}, index=now)

    counted = in_other_forms("Lines of text.", {"text/plain": {}}, (401,))

    @app.get("/metrics", tags=["service"], response_class=Response, **counted)
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return _json(_describe(app, service))


def _describe(app: FastAPI, service: Service) -> dict[str, Any]:
    """The OpenAPI description, with the limits that this service was started with."""
    described: dict[str, Any] = json.loads(json.dumps(app.openapi()))
    _, models = models_json_schema([(one, "validation") for one in _REQUESTS], ref_template=_SCHEMAS + "{model}")
    described["components"]["schemas"] |= models["$defs"]
    fields = described["components"]["schemas"]["GraphData"]["properties"]
    fields["num_nodes"]["maximum"] = service.settings.max_nodes
    fields["edges"]["maxItems"] = service.settings.max_edges
    if service.settings.token is None:
        for route in (route for methods in described["paths"].values() for route in methods.values()):
            route.pop("security", None)
    return described


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/health/live", response_model=schema.Health, tags=["service"])
    async def live() -> Response:
        """Report that the process responds."""
        return _json({"status": "alive"})

    @app.get("/health/ready", response_model=schema.Readiness, tags=["service"], responses={503: _PROBLEMS[503]})
    async def ready() -> Response:
        """Report whether the index is loaded, compiled and warm, and whether its newest edition is served."""
        return _json(service.readiness())


def _add_page(app: FastAPI) -> None:
    """The page and its parts. They are read when the service starts, so that no request names a file."""
    parts = dict(_read_parts(files("graphmetric.serve") / "page"))
    asked = {path for path, methods in app.openapi()["paths"].items() if "post" in methods}

    @app.get("/{path:path}", include_in_schema=False)
    async def page(request: Request, path: str) -> Response:
        part = parts.get(path or "index.html")
        if f"/{path}" in asked:
            raise Problem(405, "this route is asked by POST", headers={"Allow": "POST"})
        if part is None:
            raise Problem(404, "this path is not a route of the service")
        headers = {"ETag": part.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == part.tag:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(gzip.decompress(part.packed), headers=headers, media_type=part.kind)
        return Response(part.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=part.kind)


class _Part(NamedTuple):
    """A file of the page."""

    packed: bytes
    """Its content, compressed by gzip."""
    kind: str
    tag: str


def _read_parts(folder: Any, prefix: str = "") -> Iterator[tuple[str, _Part]]:
    """The files of the page by their paths; large ones are stored compressed, as name.gz."""
    for entry in folder.iterdir():
        name = entry.name.removesuffix(".gz")
        if entry.is_dir():
            yield from _read_parts(entry, f"{prefix}{name}/")
        elif (kind := _KINDS.get(name.rpartition(".")[2])) is not None:
            content = entry.read_bytes()
            packed = content if entry.name != name else gzip.compress(content, mtime=0)
            yield f"{prefix}{name}", _Part(packed, kind, f'W/"{hashlib.sha256(packed).hexdigest()[:16]}"')


_NOTHING_YET = {
    "found": 0,
    "excluded": 0,
    "undecided": None,
    "undecided_lower": None,
    "seconds": 0.0,
    "hits": list[Any](),
}


class _EventStream:
    """Progress events of a running search. A slow reader gets only the latest state."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._changed = loop, asyncio.Event()
        self._latest: tuple[str, dict[str, Any]] = "progress", _NOTHING_YET
        self.is_over = False

    def send(self, name: str, body: dict[str, Any]) -> None:
        """Called by the thread of the search; anything but progress is the last event."""

        def put() -> None:
            self._latest = name, body
            self._changed.set()

        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(put)

    async def __aiter__(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        while not self.is_over:
            with suppress(TimeoutError):
                async with asyncio.timeout(_HEARTBEAT):
                    await self._changed.wait()
            self._changed.clear()
            event = self._latest  # also after a timeout: an event sent at that moment set the flag that was cleared
            self.is_over = event[0] != "progress"
            yield event


def _event(name: str, body: dict[str, Any], as_events: bool) -> bytes:
    line = to_bytes({"event": name, **body})
    return b"event: %s\ndata: %s\n\n" % (name.encode(), line) if as_events else line + b"\n"
