"""A service as if it were an index: ``gm.connect(url)`` searches over HTTP and gives the objects of ``GraphIndex``.

It needs nothing but the standard library: neither the extra ``serve`` nor torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Unpack, overload
from urllib.parse import quote, urlsplit

from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.edit_distance.method import TimeLimit
from graphmetric.edit_distance.normalize import View
from graphmetric.errors import GraphMetricError, InvalidArgument, ServiceError
from graphmetric.formats.conversion import as_graph, is_molecule
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.graphs.graph import Graph
from graphmetric.remote.serialization import read_alignment, read_graph, read_result, write_graph
from graphmetric.search.hits import EXPLAIN_SECONDS, Explanation, SearchHit, SearchProgress, SearchResult
from graphmetric.search.options import RangeOptions, RemoteKeywords

_PATIENCE = 30.0
"""Seconds to wait for an answer beyond the time limit of a search."""
_USER_FAULTS = (400, 404, 413, 415, 422)
_LARGEST_LINE = 1 << 28


def connect(url: str, token: str | None = None, *, timeout: float = _PATIENCE) -> RemoteIndex:
    """Connect to a service that ``graphmetric serve`` runs.

    Args:
        url: Where it is, such as ``"http://127.0.0.1:8765"``.
        token: Its token, if it has one; blanks and line ends around it are dropped, since files of tokens end in one.
        timeout: Seconds to wait for an answer, beyond the time limit of a search.

    Raises:
        ServiceError: It cannot be reached, is not ready, or refuses the token.
    """
    found = RemoteIndex(url, token, timeout)
    found.info()
    return found


class RemoteIndex:
    """An index behind a service; its answers are those of :class:`graphmetric.GraphIndex`."""

    def __init__(self, url: str, token: str | None = None, timeout: float = _PATIENCE) -> None:
        """A service at an address; see :func:`connect`, which also tries it."""
        try:
            parts = urlsplit(url)
            place = parts.hostname, parts.port
        except ValueError:
            parts, place = urlsplit(""), (None, None)
        if parts.scheme not in ("http", "https") or place[0] is None or parts.username is not None:
            raise InvalidArgument(f"{url!r} is not the address of a service; give one such as http://127.0.0.1:8765")
        self.url, self._token, self._timeout = url.rstrip("/"), _checked_token(token), timeout
        self._secure, self._host, self._port = parts.scheme == "https", place[0], place[1]
        self._prefix = parts.path.rstrip("/")

    def __repr__(self) -> str:
        return f"RemoteIndex({self.url!r})"

    def __len__(self) -> int:
        return int(self.info()["graphs"])

    def info(self) -> dict[str, Any]:
        """The served index, and the limits on requests."""
        return self._ask("GET", "/v1/info")

    @property
    def edition(self) -> str | None:
        """The edition of the index that is served now."""
        edition: str | None = self.info()["edition"]
        return edition

    @cached_property
    def costs(self) -> EditCosts:
        """The edit costs of certified searches."""
        return EditCosts.from_dict(self.info()["costs"])

    @cached_property
    def reading(self) -> MoleculeOptions | None:
        """The options by which molecules of the index and of queries are read; None if not recorded."""
        recorded = self.info()["reading"]
        return None if recorded is None else MoleculeOptions.from_dict(recorded)

    def graph(self, id: Hashable) -> Graph:
        """The graph with this id."""
        return read_graph(self._ask("GET", f"/v1/graphs/{quote(str(id), safe='')}")["graph"])

    @overload
    def search(self, query: list[Any], k: int = 10, **options: Unpack[RemoteKeywords]) -> list[SearchResult]: ...
    @overload
    def search(self, query: Any, k: int = 10, **options: Unpack[RemoteKeywords]) -> SearchResult: ...
    def search(self, query: Any, k: int = 10, **options: Unpack[RemoteKeywords]) -> SearchResult | list[SearchResult]:
        """The ``k`` nearest graphs, as :meth:`graphmetric.GraphIndex.search` finds them.

        Args:
            query: A graph in any form :func:`graphmetric.as_graph` takes, an id of the index, or a SMILES; or a list
                of these, for a list of results.
            k: The number of graphs to find.
            options: ``view``, ``certified``, ``where``, ``distinct``, ``limits``, ``time_limit`` and ``callback``, as
                :class:`~graphmetric.search.options.RangeOptions` explains them; ``where`` is a mapping.
        """
        return self._search_each(query, {"k": k}, options)

    @overload
    def range_search(
        self, query: list[Any], radius: float, **options: Unpack[RemoteKeywords]
    ) -> list[SearchResult]: ...
    @overload
    def range_search(self, query: Any, radius: float, **options: Unpack[RemoteKeywords]) -> SearchResult: ...
    def range_search(
        self, query: Any, radius: float, **options: Unpack[RemoteKeywords]
    ) -> SearchResult | list[SearchResult]:
        """All graphs at most at this distance, nearest first, with the keywords of :meth:`search`.

        A service sends at most a thousand.
        """
        return self._search_each(query, {"within": radius}, options)

    def distance(
        self, first: Any, second: Any, *, limits: Mapping[str, int] | None = None, time_limit: TimeLimit = "auto"
    ) -> EditDistance:
        """The edit distance of two graphs, each in any form that :meth:`search` takes."""
        return self._align("/v1/distance", first, second, {"limits": limits}, time_limit)

    def explain(self, query: Any, hit: SearchHit | Hashable, *, time_limit: TimeLimit = EXPLAIN_SECONDS) -> Explanation:
        """Explain how the query becomes the graph of a hit, as :meth:`graphmetric.GraphIndex.explain` does."""
        graph = self._resolve(query)
        if isinstance(hit, SearchHit) and hit.edits is not None and hit.edits.first == graph and hit.edits.exact:
            return Explanation(hit.edits)
        second = hit.graph if isinstance(hit, SearchHit) else hit
        return Explanation(self._align("/v1/explain", graph, second, {}, time_limit))

    def _align(self, route: str, first: Any, second: Any, asked: dict[str, Any], time_limit: TimeLimit) -> EditDistance:
        graphs = [self._resolve(first), self._resolve(second)]
        sides = {
            name: {"graph": write_graph(graph.replace(metadata=None))}
            for name, graph in zip(("first", "second"), graphs, strict=True)
        }
        answer = self._ask("POST", route, {**sides, **asked, "time_limit": self._seconds(time_limit)})
        graphs = [read_graph(answer[name]) for name in ("first", "second")]  # as the service understood them
        return read_alignment(answer["distance"], graphs[0], graphs[1], self.costs)

    def _resolve(self, query: Any) -> Graph:
        """A graph in any form; a string or a number is an id, and a string that is not an id is a SMILES."""
        if isinstance(query, bool) or not isinstance(query, str | int):
            return as_graph(query, self.reading if is_molecule(query) else None)
        try:
            return self.graph(query)
        except InvalidArgument:
            if not isinstance(query, str) or len(query.split()) != 1:
                raise
            answer = self._ask("POST", "/v1/read", {"file": {"name": "query.smi", "text": f"{query}\n"}})
            return read_graph(answer["graphs"][0])

    def _search_each(
        self, query: Any, asked: dict[str, Any], options: RemoteKeywords
    ) -> SearchResult | list[SearchResult]:
        if unknown := options.keys() - RemoteKeywords.__annotations__.keys():
            there = ", ".join(RemoteKeywords.__annotations__)
            raise InvalidArgument(f"a search over HTTP has no option {min(unknown)!r}; there are {there}")
        chosen = RangeOptions(**options)
        if callable(chosen.where):
            raise InvalidArgument("where must be a mapping in a search over HTTP; a function stays where it is")
        names = ("view", "certified", "where", "distinct", "limits")
        body = asked | {name: value for name in names if (value := getattr(chosen, name)) is not None}
        body["time_limit"] = self._seconds(chosen.time_limit)
        callback = chosen.callback
        queries = query if isinstance(query, list) else [query]
        results = []
        for number, one in enumerate(queries):
            body["graph"] = write_graph(self._resolve(one).replace(metadata=None))  # which says nothing to a search
            if callback is None:
                results.append(self._result(self._ask("POST", "/v1/search", body)))
            else:
                results.append(self._watched(number, body, callback))
        return results if isinstance(query, list) else results[0]

    def _watched(self, number: int, body: dict[str, Any], callback: Callable[[SearchProgress], object]) -> SearchResult:
        """A search that is followed; leaving the stream ends it."""
        query = read_graph(body["graph"])
        with self._open("POST", "/v1/search/stream", body) as answer:
            while line := answer.readline(_LARGEST_LINE):
                news = json.loads(line)
                if news["event"] == "result":
                    return self._result(news)
                if news["event"] == "error":
                    raise _error(news["status"], news)
                if news["undecided"] is None:
                    continue
                progress = self._progress(number, news, query, body["view"])
                if callback(progress):
                    return progress.result()
        raise ServiceError(f"{self.url} ended the search without an answer")

    def _progress(self, number: int, news: dict[str, Any], query: Graph, view: View) -> SearchProgress:
        total = news["found"] + news["excluded"] + news["undecided"]
        report = {"graphs": total, "exact": True, "stages": {}, "complete": news["undecided"] == 0}
        report |= {name: news[name] for name in ("seconds", "undecided", "undecided_lower")}

        def make() -> SearchResult:
            return read_result({"hits": news["hits"], "view": view, "report": report}, query, self.costs, self.graph)

        names = ("found", "excluded", "undecided", "undecided_lower", "seconds")
        return SearchProgress(number, **{name: news[name] for name in names}, result=make)

    def _result(self, answer: dict[str, Any]) -> SearchResult:
        return read_result(answer, read_graph(answer["query"]), self.costs, self.graph)

    def _seconds(self, time_limit: TimeLimit) -> float:
        return self._most_seconds if time_limit in ("auto", None) else float(time_limit)

    @cached_property
    def _most_seconds(self) -> float:
        return float(self.info()["limits"]["time_limit"])

    def _ask(self, method: str, route: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._open(method, route, body) as answer:
            try:
                found: dict[str, Any] = json.loads(answer.read())
            except ValueError:
                raise ServiceError(f"{self.url} did not answer in JSON; is it a graphmetric service?") from None
        return found

    @contextmanager
    def _open(self, method: str, route: str, body: dict[str, Any] | None = None) -> Iterator[HTTPResponse]:
        """The answer to a request; an answer that is not a success is raised as an error."""
        kind = HTTPSConnection if self._secure else HTTPConnection
        patience = self._timeout + (0.0 if body is None else body.get("time_limit", 0.0))
        connection = kind(self._host, self._port, timeout=patience)
        headers = {"Accept": "application/json, application/x-ndjson", "Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, self._prefix + route, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise _error(answer.status, _details(answer), answer.headers.get("Retry-After"))
            yield answer
        except TimeoutError:
            raise ServiceError(f"{self.url} did not answer within {patience:g} seconds") from None
        except (OSError, HTTPException) as error:
            if isinstance(error, GraphMetricError):
                raise
            raise ServiceError(f"{self.url} cannot be reached: {error}") from None
        finally:
            connection.close()


def _checked_token(token: str | None) -> str | None:
    """A token as a header can carry it. No message shows it, and no traceback has another error that does."""
    if token is None:
        return None
    if not isinstance(token, str):
        raise InvalidArgument(f"token must be a string or None; got a {type(token).__name__}")
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        found = "characters that are not printable ASCII" if token else "no characters"
        raise InvalidArgument(
            f"the token has {found}; give the token that the service was started with: printable ASCII characters, "
            "such as the output of: openssl rand -hex 24"
        )
    return token


def _details(answer: HTTPResponse) -> dict[str, Any]:
    try:
        found = json.loads(answer.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _error(status: int, details: Mapping[str, Any], retry_after: str | None = None) -> GraphMetricError:
    """The error that problem details stand for; a fault of the caller is what ``GraphIndex`` would raise."""
    text = str(details.get("detail") or f"the service answered with status {status}")
    if status in _USER_FAULTS:
        return InvalidArgument(text)
    seconds = int(retry_after) if retry_after and retry_after.isdecimal() else None
    return ServiceError(text, status, seconds)
