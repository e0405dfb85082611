"""Requests and answers, as the OpenAPI description has them. A request with anything unknown or too large is refused.

The models of requests check; those of answers only describe what :mod:`graphmetric.remote.serialization` writes, and
tests compare the two. Fields are counted before any is validated: valid requests have few objects of few fields, and
lists no longer than the largest graph. A body with more is refused while it is parsed, since validation takes
microseconds, and memory, for each field.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from graphmetric.edit_distance.limited import COUNTED_KINDS
from graphmetric.formats.values import shortened
from graphmetric.search.hits import EXPLAIN_SECONDS
from graphmetric.serve.problems import UNREADABLE, Problem, problem_of_fields
from graphmetric.serve.settings import ServiceSettings

Model = TypeVar("Model", bound=BaseModel)

MOST_HITS = 1000
LONGEST_LABEL = 64
LONGEST_SMILES = 1000
MOST_FILES_GRAPHS = 100
_LARGE = 2**53
_MOST_OBJECTS = 32
_MOST_FIELDS = 64
_LONGEST_NAME = 256
_PAIR = Field(min_length=2, max_length=2)

SmallInt = Annotated[StrictInt, Field(ge=-_LARGE, le=_LARGE)]
Finite = Annotated[StrictFloat | StrictInt, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Scalar = Annotated[StrictStr, Field(max_length=LONGEST_LABEL)] | StrictBool | SmallInt | Finite | None
Id = Annotated[StrictStr, Field(min_length=1, max_length=256)] | SmallInt
Node = Annotated[StrictInt, Field(ge=0, lt=1_000_000)]
Features = Annotated[list[Finite], Field(fail_fast=True, max_length=256)]
View = Literal["raw", "steinhaus", "paper"]


class _Asked(BaseModel):
    """A part of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class GraphData(_Asked):
    """A graph: nodes are numbered from 0, and edges are pairs of these numbers."""

    num_nodes: Annotated[StrictInt, Field(ge=0, le=_LARGE)]
    edges: Annotated[list[tuple[Node, Node]], Field(fail_fast=True, max_length=1_000_000)] = []
    node_labels: Annotated[list[Scalar], Field(fail_fast=True, max_length=100_000)] | None = None
    edge_labels: Annotated[list[Scalar], Field(fail_fast=True, max_length=1_000_000)] | None = None
    edge_weights: Annotated[list[Finite], Field(fail_fast=True, max_length=1_000_000)] | None = None
    node_features: Annotated[list[Features], Field(fail_fast=True, max_length=100_000)] | None = None
    node_texts: (
        Annotated[list[Annotated[StrictStr, Field(max_length=256)]], Field(fail_fast=True, max_length=100_000)] | None
    ) = None
    directed: StrictBool = False
    id: Id | None = None
    metadata: Annotated[dict[str, Scalar], Field(max_length=64)] | None = None


class FileData(_Asked):
    """The content of a file of graphs; its name only selects the format."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=256, examples=["molecule.sdf", "graph.gexf"])]
    text: Annotated[StrictStr, Field(max_length=4_000_000)]
    position: Annotated[StrictInt, Field(ge=0, lt=MOST_FILES_GRAPHS)] = 0
    """Position of the graph in the file."""


_FORMS = ("graph", "smiles", "id", "file")
_ONE_FORM: dict[str, Any] = {"oneOf": [{"required": [name]} for name in _FORMS]}
"""JSON Schema of the rule that a query has exactly one form."""


class GraphQuery(_Asked):
    """A graph in exactly one of four forms."""

    model_config = ConfigDict(json_schema_extra=_ONE_FORM)

    graph: GraphData | None = None
    smiles: Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_SMILES)] | None = None
    id: Id | None = Field(default=None, description="A graph of the index.")
    file: FileData | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        given = [name for name in _FORMS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"exactly one of graph, smiles, id and file; there are {', '.join(given) or 'none'}")
        return self


TimeLimit = Annotated[
    Finite,
    Field(
        ge=0,
        le=86_400,
        description="Seconds after which the answer has the bounds that are known by then; waiting counts. "
        "Shortened to the limit of the service, `limits.time_limit` of /v1/info.",
    ),
]
EditLimits = Annotated[
    dict[StrictStr, Annotated[StrictInt, Field(ge=0, le=1_000_000)]],
    Field(
        max_length=len(COUNTED_KINDS),
        description=f"The most edits of each kind. Kinds: {', '.join(COUNTED_KINDS)}.",
        examples=[{"ring": 0, "element": 2}],
    ),
]


class SearchRequest(GraphQuery):
    """The nearest graphs of a query, or all within a distance."""

    k: Annotated[StrictInt, Field(ge=1, le=MOST_HITS)] | None = Field(
        default=None, description="The number of hits; 10 by default, and with `within` as many as are allowed."
    )
    within: Annotated[Finite, Field(ge=0)] | None = Field(
        default=None, description="All graphs at most at this distance, in the view."
    )
    view: View = "raw"
    certified: StrictBool | None = Field(
        default=None,
        description="By edit distance, with proofs, instead of by the learned distance; by default only if the index "
        "has no model.",
    )
    where: Annotated[dict[str, Scalar], Field(max_length=16)] | None = Field(
        default=None, description="Only graphs with this metadata.", examples=[{"source": "plant"}]
    )
    distinct: StrictBool = Field(default=False, description="Only the first of isomorphic graphs.")
    limits: EditLimits | None = None
    time_limit: TimeLimit = 5.0
    explain: StrictBool = Field(default=False, description="List the edits of the first hits.")
    graphs: StrictBool = Field(default=False, description="Send the graphs of the hits as well.")

    model_config = ConfigDict(
        json_schema_extra={
            **_ONE_FORM,
            "examples": [
                {"smiles": "CC(=O)Oc1ccccc1C(=O)O", "k": 5},
                {"smiles": "CCO", "k": 3, "certified": True, "explain": True, "time_limit": 2},
                {"id": "NSC 16", "within": 3, "certified": True},
                {"graph": {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["C", "C", "O"]}},
            ],
        }
    )


class _PairAsked(_Asked):
    first: GraphQuery
    second: GraphQuery
    limits: EditLimits | None = None
    time_limit: TimeLimit = 5.0


class DistanceRequest(_PairAsked):
    """The distance of two graphs."""

    learned: StrictBool = Field(default=False, description="Also the learned distance, if the index has a model.")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"first": {"smiles": "CCO"}, "second": {"smiles": "CCN"}, "time_limit": 2}]}
    )


class ExplainRequest(_PairAsked):
    """An edit path from one graph to another: node map, edits and node positions for drawing."""

    time_limit: TimeLimit = EXPLAIN_SECONDS
    node_map: Annotated[list[Node | None], Field(fail_fast=True, max_length=100_000)] | None = Field(
        default=None, description="A node map that is known already, such as that of a hit: nothing is searched."
    )
    draw: StrictBool = Field(default=False, description="Also two drawings as SVG, matched nodes in the same place.")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"first": {"smiles": "CCO"}, "second": {"id": "NSC 16"}, "time_limit": 2}]}
    )


class _GraphAsked(_Asked):
    query: GraphQuery

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": {"smiles": "CCO"}}]})


class EmbedRequest(_GraphAsked):
    """The vector of a graph, and its place on the map."""


class ReadRequest(_Asked):
    """The graphs of a file's content."""

    file: FileData

    model_config = ConfigDict(json_schema_extra={"examples": [{"file": {"name": "one.smi", "text": "CCO ethanol\n"}}]})


class DrawRequest(_GraphAsked):
    """A drawing of a graph."""


def read_body(content: bytes, model: type[Model], settings: ServiceSettings) -> Model:
    """A body as a model; raises a problem that names what is wrong."""
    try:
        value = json.loads(content, object_pairs_hook=_Counter(settings).make)
    except json.JSONDecodeError as error:
        raise Problem(400, f"the body is not JSON: {error.msg} at {error.pos}") from None
    except (ValueError, RecursionError):
        raise Problem(400, UNREADABLE) from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise problem_of_fields(error.errors(include_url=False), "body") from None


class _Counter:
    """Makes the objects of one body, and refuses those that no valid request has."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._objects, self._most_entries = 0, max(settings.max_nodes, settings.max_edges)

    def make(self, fields: list[tuple[str, Any]]) -> dict[str, Any]:
        self._objects += 1
        self._check("the body", self._objects, "objects", _MOST_OBJECTS)
        self._check("an object of the body", len(fields), "fields", _MOST_FIELDS)
        for name, value in fields:
            if len(name) > _LONGEST_NAME:
                self._check("the name of a field", len(name), "characters", _LONGEST_NAME)
            if isinstance(value, list):
                self._check(shortened(name), len(value), "entries", self._most_entries)
        return dict(fields)

    def _check(self, what: str, given: int, unit: str, most: int) -> None:
        if given > most:
            raise Problem(422, f"{what} has {given:,} {unit} or more; {most:,} are allowed", limit=unit)


class _Answer(BaseModel):
    edition: str | None
    """The edition of the index; null if it is in memory only."""
    model: str | None
    """The digest of the model; null if the index has none."""


class Edit(BaseModel):
    """One edit; nodes above those of the first graph are inserted ones."""

    kind: Literal["relabel_node", "insert_node", "delete_node", "relabel_edge", "insert_edge", "delete_edge"]
    nodes: list[int]
    place: Literal["ring", "linker", "terminal"] | None
    old: Any = None
    new: Any = None
    label: Any = None
    text: str


class Aligned(BaseModel):
    """Bounds of an edit distance on the raw scale, and the node map of the upper one."""

    lower: float | None
    upper: float | None
    value: float | None
    exact: bool
    impossible: bool
    """Whether the pair is proven infeasible: no allowed edits lead from one graph to the other."""
    method: str
    node_map: list[int | None] | None
    """For each node of the first graph the node of the second it becomes; null if it is deleted."""
    seconds: float
    note: str | None
    tolerance: float
    expanded: int
    limits: dict[str, int] | None
    replaced: list[Annotated[list[int], _PAIR]] | None
    counts: dict[str, int] | None = None
    edits: list[Edit] | None = None


class Hit(BaseModel):
    """A graph of the index; bounds and proof are null unless the search was certified."""

    rank: int
    id: Any
    distance: float | None
    exact: float | None
    lower: float | None
    upper: float | None
    proven: bool | None
    num_nodes: int
    num_edges: int
    metadata: dict[str, Any]
    graph: dict[str, Any] | None = None
    edits: Aligned | None = None


class Report(BaseModel):
    """Coverage, pruning and time of the search."""

    graphs: int
    exact: bool
    complete: bool
    undecided: int
    undecided_lower: float | None
    stages: dict[str, int]
    seconds: float
    text: str


class SearchAnswer(_Answer):
    """Hits, nearest first."""

    certified: bool
    stopped: bool
    """Whether the service shut down first, so that the bounds are those reached by then."""
    view: View
    query: dict[str, Any]
    notes: list[str]
    """Differences between the query and the graphs that the model was trained on."""
    hits: list[Hit]
    total: int
    report: Report


class _PairAnswer(_Answer):
    distance: Aligned
    first: dict[str, Any]
    second: dict[str, Any]


class DistanceAnswer(_PairAnswer):
    """An edit distance, and the learned one on request."""

    learned: float | None


class ExplainAnswer(_PairAnswer):
    """An edit distance with its edits; graphs and layout to draw it."""

    layout: list[Annotated[list[float], _PAIR]] | None
    """Places for the nodes of the first graph, then for the inserted ones; null if they are too many to draw."""
    places: list[int]
    """For each node of the second graph its place in the layout, which is also its number in the edits."""
    svg: Annotated[list[str], _PAIR] | None


class EmbedAnswer(_Answer):
    """A vector and a place on the map."""

    vector: list[float]
    x: float
    y: float


class GraphAnswer(_Answer):
    """A graph of the index, and where to draw its nodes."""

    graph: dict[str, Any]
    layout: list[Annotated[list[float], _PAIR]] | None


class ReadAnswer(BaseModel):
    """The graphs of a file, and what was not kept of it."""

    graphs: list[dict[str, Any]]
    notes: list[str]


class MapAnswer(_Answer):
    """The collection as points in the plane; columns of equal length."""

    method: Literal["pca", "tsne"]
    """Principal components, or t-SNE where `graphmetric index map` has stored it."""
    kind: Literal["vectors of the model", "counts of labels and degrees"]
    explained: float | None
    """The share of the variance that the plane shows; null for t-SNE."""
    placed: int
    """Points that were put among their nearest: those of graphs that were added after the map was made."""
    ids: list[Any]
    x: list[float]
    y: list[float]
    cluster: list[int]
    num_nodes: list[int]
    num_edges: list[int]
    metadata: dict[str, list[Any]]
    """Columns of short values that at least some graphs have."""
    graphs: int
    """The number of graphs of the index; larger than the number of points if there are too many to send."""


class InfoAnswer(_Answer):
    """The served index, and the limits on requests."""

    name: str
    version: str
    graphs: int
    ready: bool
    learned: bool
    """Whether searches by a learned distance are possible."""
    smiles: bool
    """Whether SMILES can be read here."""
    costs: dict[str, Any]
    reading: dict[str, Any] | None
    """Options by which molecules of the index and of queries are read; null if the index does not record them."""
    directed: bool
    node_labels: list[Any]
    edge_labels: list[Any]
    first_ids: list[Any]
    metadata: dict[str, list[Any]]
    """Keys of the metadata, each with its most frequent short values, for filters."""
    kinds_of_limits: list[str]
    formats: list[str]
    limits: dict[str, float]


class Health(BaseModel):
    """Liveness or readiness of the service."""

    status: str


class Readiness(Health):
    """A service that is ready, and how far its edition is behind that of the store."""

    edition: str | None
    is_newest: bool
    """Whether the edition that is served was the newest at the last poll of the store."""
    seconds_behind: float
    """Seconds since a newer edition was first seen that is not served yet."""
    failed_polls: int
    """Polls of the store that failed, in a row."""
    detail: str | None


class FieldProblem(BaseModel):
    """One field of a request that is wrong."""

    where: str
    given: str
    allowed: str


class ProblemDetails(BaseModel):
    """An error: what was given, what is allowed, what to do (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    advice: str | None = None
    errors: list[FieldProblem] | None = None
