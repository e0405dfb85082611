"""The OpenAPI description: complete, true of every answer, and no request that it allows makes the service fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.checks import positive_data_acceptance

import graphmetric as gm
from tests.serve.running import Running, running
from tests.serve.test_limits import TOKEN

FORMS = ("graph", "smiles", "id", "file")


@pytest.fixture(scope="module")
def described(served: Running) -> dict[str, Any]:
    return served.get("/v1/openapi.json").json


def _validator(described: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": described["components"]})


def _schema(described: dict[str, Any], path: str, status: str = "200") -> dict[str, Any]:
    method = "post" if "post" in described["paths"][path] else "get"
    content = described["paths"][path][method]["responses"][status]["content"]
    return next(kind["schema"] for kind in content.values() if kind.get("schema"))


def test_every_route_is_described_with_examples(described: dict[str, Any]) -> None:
    paths = described["paths"]
    assert {"/v1/search", "/v1/search/stream", "/v1/distance", "/v1/explain", "/v1/embed", "/v1/map"} <= paths.keys()
    for path, methods in paths.items():
        for method, route in methods.items():
            assert route["description"], path
            if method == "post":
                name = route["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                model = described["components"]["schemas"][name]
                assert model["examples"], name
                assert model["additionalProperties"] is False
                for example in model["examples"]:
                    _validator(described, model).validate(example)
    assert described["components"]["schemas"]["GraphData"]["properties"]["num_nodes"]["maximum"] == 256


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {"smiles": "CCO", "certified": True, "explain": True, "graphs": True}),
        ("/v1/search", {"smiles": "CCO", "explain": True}),
        ("/v1/search", {"id": "NSC 1", "within": 3, "certified": True, "limits": {"ring": 0}}),
        ("/v1/distance", {"first": {"smiles": "CCO"}, "second": {"smiles": "CC(=O)N"}, "learned": True}),
        ("/v1/distance", {"first": {"smiles": "CCO"}, "second": {"smiles": "C"}, "limits": {"total": 0}}),
        ("/v1/explain", {"first": {"smiles": "CCO"}, "second": {"id": "NSC 1"}, "draw": True}),
        ("/v1/embed", {"query": {"smiles": "CCO"}}),
        ("/v1/read", {"file": {"name": "a.smi", "text": "CCO\n"}}),
        ("/v1/map", None),
        ("/v1/info", None),
        ("/health/live", None),
    ],
)
def test_answers_are_as_described(served: Running, described: dict[str, Any], path: str, body: Any) -> None:
    answer = served.get(path) if body is None else served.post(path, body)
    assert answer.status == 200
    schema = _schema(described, path)
    _validator(described, schema).validate(answer.json)
    model = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert answer.json.keys() <= model["properties"].keys()


def test_only_a_service_with_a_token_asks_for_one(described: dict[str, Any], hard: gm.GraphIndex) -> None:
    with running(hard, token=TOKEN) as found:
        closed = found.get("/v1/openapi.json").json["paths"]
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            assert "security" not in route
            needs_token = path.startswith("/v1/") or path == "/metrics"
            assert ("security" in closed[path][method]) == needs_token
            assert not needs_token or "401" in route["responses"]


def test_problems_are_as_described(served: Running, described: dict[str, Any]) -> None:
    for body in ({}, {"smiles": "C(("}, {"id": "nothing"}):
        answer = served.post("/v1/search", body)
        _validator(described, _schema(described, "/v1/search", str(answer.status))).validate(answer.json)


def _values(schema: dict[str, Any], described: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that a schema of ours allows, small ones rather than large ones."""
    if "$ref" in schema:
        return _values(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described, depth + 1)
    if "anyOf" in schema:
        return st.one_of([_values(part, described, depth) for part in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "null":
        return st.none()
    if kind == "boolean":
        return st.booleans()
    if kind == "integer":
        low, high = (
            schema.get("minimum", -(2**53)),
            schema.get("maximum", schema.get("exclusiveMaximum", 2**53 + 1) - 1),
        )
        return st.integers(low, min(high, low + 6)) | st.integers(low, high)
    if kind == "number":
        return st.floats(schema.get("minimum", -1e15), schema.get("maximum", 1e15), allow_nan=False)
    if kind == "string":
        few = schema.get("minLength", 0), min(schema.get("maxLength", 8), 8)
        return st.text(min_size=few[0], max_size=few[1]) | st.sampled_from(["CCO", "NSC 1", "a.smi", "half", "ring"])
    if kind == "array":
        if "prefixItems" in schema:
            return st.tuples(*(_values(part, described, depth) for part in schema["prefixItems"])).map(list)
        return st.lists(_values(schema["items"], described, depth), max_size=min(schema.get("maxItems", 3), 3))
    assert kind == "object", schema
    if "properties" not in schema:
        inside = _values(schema["additionalProperties"], described, depth)
        return st.dictionaries(st.text(max_size=4) | st.sampled_from(["half", "ring"]), inside, max_size=2)
    required = schema.get("required", [])
    fields = {name: _values(part, described, depth) for name, part in schema["properties"].items()}
    if "time_limit" in fields:
        fields["time_limit"] = st.sampled_from([0, 0.05])
        required = [*required, "time_limit"]
    optional = {name: fields[name] for name in fields if name not in required}
    must = {name: fields[name] for name in required}
    whole = st.fixed_dictionaries(must, optional=optional)
    if set(FORMS) <= fields.keys():
        return whole.flatmap(lambda found: st.sampled_from(FORMS).map(lambda form: _only(found, form)))
    return whole


def _only(found: dict[str, Any], form: str) -> dict[str, Any]:
    """The same request with one form of a query at most."""
    return {name: value for name, value in found.items() if name == form or name not in FORMS}


POSTED = ["search", "search/stream", "distance", "explain", "embed", "read", "draw"]


@pytest.mark.parametrize("route", POSTED)
def test_no_request_that_the_description_allows_makes_the_service_fail(
    served: Running, described: dict[str, Any], route: str
) -> None:
    path = f"/v1/{route}"
    posted = described["paths"][path]["post"]
    schema = posted["requestBody"]["content"]["application/json"]["schema"]
    known = {int(status) for status in posted["responses"]}

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(_values(schema, described))
    def ask(body: Any) -> None:
        content = json.dumps(body).encode()
        answer = served.send("POST", path, content, content_type="application/json")
        assert answer.status in known - {500}, (answer.status, answer.content[:300])
        if answer.status == 200 and route not in ("draw", "search/stream"):
            _validator(described, _schema(described, path)).validate(answer.json)

    ask()


@pytest.fixture(scope="module")
def whole_api(molecules: gm.GraphIndex) -> Iterator[Any]:
    """All routes of a service that answers at once, with the bounds it has by then."""
    with running(molecules, time_limit=0.05) as found:
        yield schemathesis.openapi.from_url(f"{found.url}/v1/openapi.json")


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_schemathesis_finds_nothing(whole_api: schemathesis.BaseSchema, mode: schemathesis.GenerationMode) -> None:
    """Whatever it makes of the description, right or wrong, is answered as the description says.

    Only that what fits the schemas is accepted cannot be asked for: no schema says which texts are SMILES.
    """
    asked = set()
    for found in whole_api.get_all_operations():
        operation = found.ok()
        if mode is schemathesis.GenerationMode.NEGATIVE and not (operation.body or len(operation.path_parameters)):
            continue  # there is nothing that a request could get wrong

        @settings(
            max_examples=12, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: schemathesis.Case) -> None:
            asked.add(case.path)
            case.call_and_validate(timeout=60, excluded_checks=[positive_data_acceptance])

        ask()
    assert len(asked) >= len(POSTED)
