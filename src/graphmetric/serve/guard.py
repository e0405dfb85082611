"""Access control: which requests are let in, and how large and slow they and their answers may be, alone and together.

A request without the token is refused before its body is read. Each body has a number of bytes and of seconds in which
it must have arrived; an answer goes out in pieces, each of which the client must take in that time. All bodies and
answers together have a budget, so that clients that send or wait for ever hold connections, but no worker and little
memory.
"""

from __future__ import annotations

import asyncio
import ctypes
import hmac
import logging
import re
from contextlib import suppress
from functools import cache
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmetric.serve.lanes import ClientGone
from graphmetric.serve.problems import Problem, answer, busy, problem_of
from graphmetric.serve.settings import ServiceSettings

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_PIECE = 65_536
"""Bytes that are sent at a time; answers up to this size are not counted in the budget."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9_][a-z0-9_.-]{0,252}))(?::\d{1,5})?")
"""A header ``Host``, in lower case."""
_NEEDS_TOKEN = ("/v1/", "/metrics")
_OPEN = ("/v1/openapi.json",)
_DRAINED = 8
"""The part of a body that is read though it is refused, as a multiple of what is allowed."""
_SMALL = 16_384
"""Bytes of a body that are not counted in the budget: small requests pass while large ones are refused."""
_BODY = "graphmetric.body"
_RETRY = 2
_WORTH_RETURNING = 8 << 20
"""Bytes in use at a time after which the allocator returns free memory to the system."""

logger = logging.getLogger("graphmetric.serve")


class Budget:
    """Bytes that are in use, and the most that may be; used by the event loop only."""

    def __init__(self, most: int) -> None:
        self.most, self.used, self._peak = most, 0, 0

    def reserve(self, size: int) -> None:
        """Count bytes; raises a problem if that would be too many."""
        if self.used + size > self.most:
            detail = f"requests and answers of more than {self.most:,} bytes in all would be on their way"
            raise busy(_RETRY, detail, limit="max_bodies")
        self.used += size
        self._peak = max(self._peak, self.used)

    def release(self, size: int) -> None:
        """Count bytes no more."""
        self.used -= size
        if self.used == 0 and self._peak >= _WORTH_RETURNING:
            self._peak = 0
            with suppress(RuntimeError):  # the loop is about to end
                asyncio.get_running_loop().run_in_executor(None, return_memory)


def return_memory() -> None:
    """Return free memory to the system; glibc keeps the memory of many small buffers otherwise."""
    trim = _find_trim()
    if trim is not None:
        trim(0)


@cache
def _find_trim() -> Any:
    """``malloc_trim`` of glibc; None where the C library has none."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None


class Guard:
    """An ASGI application that lets through what is allowed."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, budget: Budget) -> None:
        self._app, self._settings, self._budget = app, settings, budget
        self._token = None if settings.token is None else settings.token.encode("ascii")
        self._hosts = {*_LOOPBACK, settings.host.strip("[]"), *(name.lower() for name in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = Body(receive, self._settings, self._budget)
        try:
            headers = Headers(scope=scope)
            self._check_target(scope["path"], headers.get("host", ""))
            self._check_token(scope["path"], headers.get("authorization", ""))
            body.check_announced(headers)
        except Problem as problem:
            await body.drain()
            await answer(problem, scope)(scope, receive, send)
            return
        scope[_BODY] = body
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.forget()

    def _check_target(self, path: str, host: str) -> None:
        """Without a token, only a client that calls this machine by its own name is answered."""
        found = _HOST.fullmatch(host.lower())
        if not path.startswith("/") or (found is None and host):
            raise Problem(400, "the address of the request, or its header Host, is not one of this service")
        name = "" if found is None else found["address"] or found["name"]
        if self._token is None and name not in self._hosts:
            raise Problem(403, f"the service was called by the name {name[:80]!r}, for which it was not started")

    def _check_token(self, path: str, given: str) -> None:
        if self._token is None or not path.startswith(_NEEDS_TOKEN) or path in _OPEN:
            return
        kind, _, token = given.partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token):
            found = "another token was given" if token else "none was given"
            raise Problem(
                401, f"this route needs a token; {found}", headers={"WWW-Authenticate": 'Bearer realm="graphmetric"'}
            )


class Body:
    """The body of one request, within its limits and those of all bodies together."""

    def __init__(self, receive: Receive, settings: ServiceSettings, budget: Budget) -> None:
        self._receive, self._settings, self._budget = receive, settings, budget
        self._size, self._counted, self._whole, self._content = 0, 0, False, bytearray()
        self._deadline = asyncio.get_running_loop().time() + settings.body_seconds

    @staticmethod
    def of(scope: Scope) -> Body:
        """The body of a request that was let in."""
        body: Body = scope[_BODY]
        return body

    def check_announced(self, headers: Headers) -> None:
        """Raise if the declared size of a request is too large, or if it is compressed, which may hide its size."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._settings.max_body:
            raise self._too_large(int(length[:20]))
        if headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "the body is compressed", advice="Send the body as it is, without Content-Encoding.")

    async def read(self) -> bytes:
        """The whole body."""
        while not self._whole:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            try:
                counted = max(0, self._size - _SMALL)
                self._budget.reserve(counted - self._counted)
                self._counted = counted
            except Problem:
                self.forget()
                await self.drain()
                raise
            self._content += message.get("body", b"")
        content, self._content = bytes(self._content), bytearray()
        return content

    def forget(self) -> None:
        """Free what has arrived."""
        self._content = bytearray()
        self._budget.release(self._counted)
        self._counted = 0

    async def receive(self) -> Message:
        """The next message of the client."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._next()
        except TimeoutError:
            self.forget()
            detail = f"the body did not arrive within {self._settings.body_seconds:g} seconds"
            raise Problem(408, detail, limit="body_seconds") from None
        if self._size > self._settings.max_body:
            self.forget()
            await self.drain()
            raise self._too_large(self._size)
        return message

    async def drain(self) -> None:
        """Let the client finish a body that is refused, within limits, since many clients read no answer before."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._deadline):
                while not self._whole and self._size <= _DRAINED * self._settings.max_body:
                    await self._next()

    async def _next(self) -> Message:
        """A message of the client, counted; one without a body that goes on is the last."""
        message = await self._receive()
        self._whole = not message.get("more_body", False)
        self._size += len(message.get("body", b""))
        return message

    def _too_large(self, size: int) -> Problem:
        most = self._settings.max_body
        return Problem(413, f"the body has {size:,} bytes or more; {most:,} are allowed", limit="max_body")


class Delivery:
    """An ASGI application that delivers answers, those to errors included.

    It turns an error that nobody foresaw into problem details, and into a log line with the traceback.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, budget: Budget) -> None:
        self._app, self._settings, self._budget = app, settings, budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = _Sender(send, self._settings.body_seconds, self._budget)
        try:
            await self._app(scope, receive, sender.send)
        except TimeoutError:
            logger.info("the client does not take its answer")
        except Exception as error:
            if not isinstance(error, Problem):
                logger.exception("a bug in graphmetric")
            response = answer(problem_of(error), scope)
            if not sender.has_started:
                await response(scope, receive, sender.send)
        finally:
            sender.close()


class _Sender:
    """Sends one answer."""

    def __init__(self, send: Send, seconds: float, budget: Budget) -> None:
        self._send, self._seconds, self._budget, self._counted = send, seconds, budget, 0
        self.has_started = False

    async def send(self, message: Message) -> None:
        """Send a message; raises a problem if too much is on its way, and TimeoutError if the client is too slow."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            self._count(int(headers.get("content-length", 0)))
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            if message["status"] in (400, 408, 413):
                headers["Connection"] = "close"  # the rest of the body is not read
            self.has_started = True
            await self._send_in_time(message)
            return
        body = message.get("body", b"")
        self._count(len(body))
        for start in range(0, len(body), _PIECE):
            end = start + _PIECE
            more = end < len(body) or message.get("more_body", False)
            await self._send_in_time({**message, "body": body[start:end], "more_body": more})
        if not body:
            await self._send_in_time(message)

    async def _send_in_time(self, message: Message) -> None:
        async with asyncio.timeout(self._seconds):
            await self._send(message)

    def _count(self, size: int) -> None:
        """Count the largest message of the answer: the whole answer, or one event of a stream."""
        more = size - _PIECE - self._counted
        if more > 0:
            self._budget.reserve(more)
            self._counted += more

    def close(self) -> None:
        """Count this answer no more."""
        self._budget.release(self._counted)
        self._counted = 0
