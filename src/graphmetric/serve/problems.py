"""One shape for all errors: problem details (RFC 9457) that say what was given, what is allowed, and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as AnyHTTPException

from graphmetric.errors import FileError, GraphMetricError, InvalidGraph, MissingExtra
from graphmetric.formats.values import shortened

MEDIA_TYPE = "application/problem+json"

_TOLD = {
    400: ("The body cannot be read", "Send one JSON object, encoded as UTF-8."),
    401: ("A token is needed", "Send the header Authorization: Bearer TOKEN."),
    403: (
        "This name is not allowed",
        "Call the service by the name it was started for, or start it with --allow-host or a token.",
    ),
    404: ("There is no such thing", "GET /v1/openapi.json lists all routes; GET /v1/map lists the ids of graphs."),
    405: ("This method is not allowed here", "GET /v1/openapi.json lists all routes with their methods."),
    406: ("This answer has no such form", None),
    408: ("The request did not arrive in time", None),
    413: ("The request is too large", "Send a smaller graph; GET /v1/info tells the limits."),
    415: ("The body is not JSON", None),
    422: (
        "The request does not say what is needed",
        "Change the fields that are named; GET /v1/openapi.json describes them all.",
    ),
    500: ("The service has failed", "Please report it with the request and the log of the service."),
    501: ("This service cannot do that", None),
    503: ("The service is busy", "Try again after the number of seconds in the header Retry-After."),
}
"""Title and advice of a problem, by its status."""
_DETAILS = {
    400: "the body is not JSON that can be read: too deep, with numbers that are too long, or not UTF-8",
    404: "this path is not a route of the service",
    405: "this route exists, but not for this method",
}
"""What errors of the framework mean here."""
_MOST_ERRORS, _LONGEST_INPUT = 10, 80


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
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.title, self.errors, self.advice = title, list(errors), advice

    def body(self) -> dict[str, Any]:
        """The problem details."""
        title, advice = _TOLD.get(self.status_code, ("The request cannot be answered", None))
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


def busy(retry_after: int, detail: str) -> Problem:
    """The refusal of a request that would have to wait too long."""
    return Problem(503, detail, headers={"Retry-After": str(retry_after)})


def problem_of(error: Exception) -> Problem:
    """Any error of a request as a problem; what nobody foresaw is told without its details."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return _of_validation(error)
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


def _of_validation(error: RequestValidationError) -> Problem:
    found = error.errors()
    errors = [
        {
            "where": ".".join(map(str, item["loc"])),
            "given": shortened(item.get("input"), _LONGEST_INPUT),
            "allowed": str(item["msg"]),
        }
        for item in found[:_MOST_ERRORS]
    ]
    first = errors[0]
    if any(item["type"] == "json_invalid" for item in found):
        reason = found[0].get("ctx", {}).get("error", "")
        return Problem(400, f"the body is not JSON: {reason} at {found[0]['loc'][-1]}", errors=errors)
    detail = f"{first['where']}: {first['allowed']}; got {first['given']}"
    if len(found) > 1:
        detail += f" (and {len(found) - 1} more)"
    return Problem(422, detail, errors=errors)


async def answer_problem(request: Request, error: Exception) -> Response:
    """The exception handler of the application."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if isinstance(error, RequestValidationError) and request.method == "POST" and not kind.endswith("json"):
        detail = (
            f"the body was sent as {shortened(kind, _LONGEST_INPUT)}; JSON is allowed" if kind else "no JSON was sent"
        )
        return Problem(415, detail, advice="Send the header Content-Type: application/json.").response()
    return problem_of(error).response()
