"""Errors as problem details (RFC 9457), with the value given, the values allowed and a remedy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import Scope

from graphmetric.errors import FileError, GraphMetricError, InvalidGraph, MissingExtra
from graphmetric.formats.values import shortened

MEDIA_TYPE = "application/problem+json"

_REASONS = {
    400: ("Bad request", "Send one JSON object, encoded as UTF-8."),
    401: ("Unauthorized", "Send the header Authorization: Bearer TOKEN."),
    403: (
        "Forbidden",
        "Call the service by the name it was started for, or start it with --allow-host or a token.",
    ),
    404: ("Not found", "GET /v1/openapi.json lists all routes; GET /v1/map lists the ids of graphs."),
    405: ("Method not allowed", "GET /v1/openapi.json lists all routes with their methods."),
    406: ("Not acceptable", None),
    408: ("Request timeout", None),
    413: ("Content too large", "Send a smaller graph; GET /v1/info lists the limits."),
    415: ("Unsupported media type", None),
    422: (
        "Unprocessable content",
        "Change the fields that are named; GET /v1/openapi.json describes them all.",
    ),
    500: ("Internal server error", "Please report it with the request and the log of the service."),
    501: ("Not implemented", None),
    503: ("Service unavailable", "Try again after the number of seconds in the header Retry-After."),
}
"""HTTP reason phrase and advice of a problem, by its status."""
UNREADABLE = "the body is not JSON that can be read: too deep, with numbers that are too long, or not UTF-8"
_DETAILS = {
    400: UNREADABLE,
    404: "this path is not a route of the service",
    405: "this route exists, but not for this method",
}
"""Details for errors of the framework, by status."""
_MOST_ERRORS, _LONGEST_INPUT, _LONGEST_DETAIL = 10, 80, 1000
_TOO_LARGE = ("too_long", "string_too_long", "less_than_equal", "less_than")
"""Errors of pydantic that mean a limit."""
_BOUNDS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le"), "less_than": ("below", "lt")}
"""How to state the bounds that pydantic checks: words, and the name in the error's context."""
EXCEEDED = "graphmetric.exceeded"
"""Key in the scope of a request of the name of the limit that it exceeded."""


class Problem(HTTPException):
    """An error that becomes problem details."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        title: str | None = None,
        errors: Iterable[Mapping[str, Any]] = (),
        advice: str | None = None,
        headers: Mapping[str, str] | None = None,
        limit: str | None = None,
    ) -> None:
        """A problem; ``limit`` names the limit that was exceeded, for the metrics, if it was one."""
        super().__init__(status, _cut(detail), dict(headers or {}))
        self.title, self.errors, self.advice, self.limit = title, list(errors), advice, limit

    def body(self) -> dict[str, Any]:
        """The problem details."""
        title, advice = _REASONS.get(self.status_code, ("Error", None))
        body = {"type": "about:blank", "title": self.title or title, "status": self.status_code}
        body["detail"] = str(self.detail)
        if advice := self.advice or advice:
            body["advice"] = advice
        if self.errors:
            body["errors"] = self.errors
        return body

    def response(self) -> Response:
        """The answer to the client."""
        return Response(to_bytes(self.body()), self.status_code, dict(self.headers or {}), MEDIA_TYPE)


def to_bytes(value: Any) -> bytes:
    """JSON in ASCII, so that no label can break it."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _cut(detail: str) -> str:
    """A sentence that may quote the request, without most of a quotation that is very long."""
    half = _LONGEST_DETAIL // 2
    return detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:half]} ... {detail[-half:]}"


def answer(problem: Problem, scope: Scope) -> Response:
    """The answer to a request, in whose scope the limit that it exceeded is noted."""
    if problem.limit is not None:
        scope[EXCEEDED] = problem.limit
    return problem.response()


def busy(retry_after: int, detail: str, limit: str | None = None) -> Problem:
    """The refusal of a request that would have to wait too long."""
    return Problem(503, detail, headers={"Retry-After": str(retry_after)}, limit=limit)


def problem_of(error: Exception) -> Problem:
    """Convert any error of a request to a problem; unexpected errors are reported without details."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return problem_of_fields(error.errors())
    if isinstance(error, AnyHTTPException):
        detail = _DETAILS.get(error.status_code, str(error.detail))
        return Problem(error.status_code, detail, headers=error.headers)
    if isinstance(error, MissingExtra):
        return Problem(501, str(error), advice="Install the extra where the service runs, or ask in another form.")
    if isinstance(error, InvalidGraph | FileError):
        advice = (
            "Correct it, or give the graph in another form: as SMILES, as JSON, as a file, or by the id of a graph."
        )
        return Problem(422, str(error), title="The graph cannot be read", advice=advice)
    if isinstance(error, GraphMetricError):
        return Problem(422, str(error))
    return Problem(500, "an error that nobody foresaw; the log of the service has its traceback")


def problem_of_fields(found: Sequence[Mapping[str, Any]], prefix: str | None = None) -> Problem:
    """Convert the errors of a validation to a problem."""
    errors = [
        {
            "where": ".".join(_shown(part) for part in _place(item, prefix)),
            "given": shortened(item.get("input"), _LONGEST_INPUT),
            "allowed": _cut(_allowed(item)),
        }
        for item in found[:_MOST_ERRORS]
    ]
    first = errors[0]
    detail = f"{first['where']}: {first['allowed']}; got {first['given']}"
    if len(found) > 1:
        detail += f" (and {len(found) - 1} more)"
    is_too_large = any(item["type"] in _TOO_LARGE for item in found)
    return Problem(422, detail, errors=errors, limit="field" if is_too_large else None)


def _place(item: Mapping[str, Any], prefix: str | None) -> list[object]:
    """The path of a field, without pydantic's names for the types that it tried."""
    parts = [part for part in item["loc"] if not str(part).startswith("constrained-")]
    return [prefix, *parts] if prefix else parts


def _allowed(item: Mapping[str, Any]) -> str:
    """State what a field allows."""
    context, given = item.get("ctx", {}), item.get("input")
    if item["type"] == "finite_number" or (isinstance(given, float) and not math.isfinite(given)):
        return "must be a finite number"
    if item["type"] in _BOUNDS:
        words, name = _BOUNDS[item["type"]]
        return f"must be {words} {context[name]:,}"
    return str(item["msg"]).removeprefix("Value error, ")


def _shown(part: object) -> str:
    text = str(part)
    return text if len(text) <= _LONGEST_INPUT else f"{text[: _LONGEST_INPUT - 3]}..."


async def answer_problem(request: Request, error: Exception) -> Response:
    """The exception handler of the application."""
    return answer(problem_of(error), request.scope)
