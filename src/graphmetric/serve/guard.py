"""What stands before the application: who may ask, how large and how slow a request may be, and safe headers.

A request without the token is refused before its body is read. Each request has a number of bytes and of seconds in
which its body must have arrived, so that a client that sends for ever holds a connection, but no worker and no memory.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmetric.serve.problems import Problem
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
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NEEDS_TOKEN = ("/v1/", "/metrics")
_OPEN = ("/v1/openapi.json",)


_DRAINED = 8
"""The part of a body that is read though it is refused, as a multiple of what is allowed."""


class Guard:
    """An ASGI application that lets through what is allowed."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app, self._settings = app, settings
        self._token = None if settings.token is None else settings.token.encode("ascii")
        self._hosts = {*_LOOPBACK, settings.host.strip("[]"), *(name.lower() for name in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = self._with_headers(send)
        body = _Body(receive, self._settings)
        try:
            headers = Headers(scope=scope)
            self._check_host(headers.get("host", ""))
            self._check_token(scope["path"], headers.get("authorization", ""))
            body.check_announced(headers)
        except Problem as problem:
            await body.drain()
            await problem.response()(scope, receive, guarded)
            return
        await self._app(scope, body.receive, guarded)

    def _check_host(self, host: str) -> None:
        """Without a token, only a client that calls this machine by its own name is answered."""
        bracketed = host.startswith("[")
        name = host.lower()[1:].partition("]")[0] if bracketed else host.lower().partition(":")[0]
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

    def _with_headers(self, send: Send) -> Send:
        """Answers with safe headers; a client that does not take its answer is left."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if message["status"] in (400, 408, 413):
                    headers["Connection"] = "close"  # the rest of the body is not read
            async with asyncio.timeout(self._settings.body_seconds):
                await send(message)

        return guarded


class _Body:
    """The body of one request, within its limits."""

    def __init__(self, receive: Receive, settings: ServiceSettings) -> None:
        self._receive, self._settings, self._size, self._whole = receive, settings, 0, False
        self._deadline = asyncio.get_running_loop().time() + settings.body_seconds

    def check_announced(self, headers: Headers) -> None:
        """Raise if the request says that it is too large, or is packed, which may hide its size."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._settings.max_body:
            raise self._too_large(int(length[:20]))
        if headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "the body is compressed", advice="Send the body as it is, without Content-Encoding.")

    async def receive(self) -> Message:
        """The next message of the client."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._next()
        except TimeoutError:
            raise Problem(408, f"the body did not arrive within {self._settings.body_seconds:g} seconds") from None
        if self._size > self._settings.max_body:
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
        return Problem(413, f"the body has {size:,} bytes or more; {self._settings.max_body:,} are allowed")
