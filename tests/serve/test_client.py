"""``gm.connect``: the same objects as those of the index, and errors that say what to do."""

from __future__ import annotations

import subprocess
import sys
import traceback
from typing import Any

import pytest

import graphmetric as gm
from graphmetric.errors import InvalidArgument, ServiceError
from graphmetric.remote.client import RemoteIndex
from graphmetric.search.hits import SearchProgress, SearchResult
from tests.serve.running import Running, hard_graphs, running
from tests.serve.test_limits import TOKEN


@pytest.fixture(scope="module")
def remote(served: Running) -> RemoteIndex:
    return gm.connect(served.url)


def _is_same(mine: SearchResult, expected: SearchResult) -> bool:
    assert mine.to_records() == expected.to_records()
    assert mine.view == expected.view
    assert [hit.graph for hit in mine] == [hit.graph for hit in expected]
    assert [hit.metadata for hit in mine] == [hit.metadata for hit in expected]
    mine_report, report = mine.report, expected.report
    return (mine_report.graphs, mine_report.complete, mine_report.undecided) == (
        report.graphs,
        report.complete,
        report.undecided,
    )


@pytest.mark.parametrize("options", [{}, {"certified": True}, {"certified": True, "view": "paper"}, {"distinct": True}])
def test_search_and_range_give_what_the_index_gives(
    remote: RemoteIndex, molecules: gm.GraphIndex, options: dict[str, Any]
) -> None:
    query = molecules.graph("NSC 9")
    assert _is_same(remote.search(query, 5, **options), molecules.search(query, 5, **options))
    radius = 0.4 if "view" in options else 3.0
    assert _is_same(remote.range_search("NSC 9", radius, **options), molecules.range_search("NSC 9", radius, **options))


def test_a_list_of_queries_gives_a_list(remote: RemoteIndex, molecules: gm.GraphIndex) -> None:
    results = remote.search(["NSC 1", "CCO", molecules.graph("NSC 4")], 2, where={"half": 0})
    assert [result[0].metadata["half"] for result in results] == [0, 0, 0]
    assert results[1].query.node_labels == ("C", "C", "O")


def test_edits_of_hits_are_those_of_the_index(remote: RemoteIndex, molecules: gm.GraphIndex) -> None:
    query = molecules.graph("NSC 16")
    for mine, expected in zip(
        remote.search(query, 4, certified=True), molecules.search(query, 4, certified=True), strict=True
    ):
        assert mine.edits is not None
        assert (mine.edits.lower, mine.edits.upper) == (expected.edits.lower, expected.edits.upper)
        assert len(mine.edit_path) == mine.exact
        assert mine.edit_path.apply(query).is_isomorphic(mine.graph.replace(id=None, metadata={}))
    assert str(remote.explain(query, remote.search(query, 1, certified=True)[0])).startswith(
        "query -> 'NSC 16': 0 edits"
    )
    other = molecules.graph("NSC 9")
    for hit in (remote.search(query, 2)[1], remote.search(query, 2, certified=True)[1]):
        for asked in (query, other):
            edits = remote.explain(asked, hit).alignment
            assert (edits.first, edits.upper) == (asked, gm.graph_edit_distance(asked, hit.graph).upper)


def test_distance_is_that_of_the_package(remote: RemoteIndex, molecules: gm.GraphIndex) -> None:
    first, second = molecules.graph("NSC 16"), molecules.graph("NSC 1")
    mine, expected = remote.distance("NSC 16", second), gm.graph_edit_distance(first, second)
    assert (mine.lower, mine.upper, mine.exact) == (expected.lower, expected.upper, True)
    assert len(mine.edit_path) == mine.upper
    limited = remote.distance(first, second, limits={"total": 1})
    assert limited.impossible
    assert limited.upper == float("inf")


def test_len_edition_costs_and_graph(remote: RemoteIndex, molecules: gm.GraphIndex) -> None:
    assert len(remote) == len(molecules)
    assert remote.edition is None
    assert remote.costs == molecules.costs
    assert remote.graph("NSC 9") == molecules.graph("NSC 9")
    assert "127.0.0.1" in repr(remote)


def test_watch_follows_and_ends_a_search(hard: gm.GraphIndex) -> None:
    seen: list[SearchProgress] = []

    def watch(progress: SearchProgress) -> bool:
        seen.append(progress)
        return len(seen) == 3

    with running(hard) as found:
        remote = gm.connect(found.url)
        result = remote.search(hard_graphs(1, seed=9)[0], 3, callback=watch)
        assert len(seen) == 3
        assert not result.report.complete
        assert result.report.graphs == 12
        finished = remote.search("hard 1", 1, callback=lambda progress: False)
        assert finished[0].id == "hard 1"


def test_faults_of_the_caller(remote: RemoteIndex) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read"):
        remote.search("C((")
    with pytest.raises(InvalidArgument, match="no graph 'no such id'"):
        remote.search("no such id")
    with pytest.raises(InvalidArgument, match="at most 1,000"):
        remote.search("CCO", 5000)
    with pytest.raises(InvalidArgument, match="metadata"):
        remote.search("CCO", where={"colour": 1}, callback=lambda progress: None)
    other: Any = {"n_jobs": 2}
    with pytest.raises(InvalidArgument, match="no option 'n_jobs'; there are view, certified"):
        remote.range_search("CCO", 3, **other)
    for url in ("127.0.0.1:80", "ftp://x", "http://", "http://user:secret@host", "http://[::1"):
        with pytest.raises(InvalidArgument, match="not the address of a service"):
            gm.connect(url)


def test_a_service_that_refuses(hard: gm.GraphIndex) -> None:
    with running(hard, token=TOKEN) as found:
        assert len(gm.connect(found.url + "/", token=TOKEN)) == 12
        with pytest.raises(ServiceError, match="needs a token") as refused:
            gm.connect(found.url)
        assert refused.value.status == 401
        remote = gm.connect(found.url, TOKEN)
        found.service.is_ready = False
        with pytest.raises(ServiceError, match="compiled") as waiting:
            remote.search(hard_graphs(1)[0])
        assert (waiting.value.status, waiting.value.retry_after) == (503, 5)
    with pytest.raises(ServiceError, match="cannot be reached"):
        gm.connect(found.url)


def test_a_token_is_stripped_or_refused_and_never_shown(hard: gm.GraphIndex) -> None:
    with running(hard, token=TOKEN) as found:
        for given in (f"{TOKEN}\n", f"\t{TOKEN}\r\n"):
            assert len(gm.connect(found.url, token=given)) == 12
        wrong: list[Any] = ["", "\n", "secret\nX: 1", "secret\x00", "secret \u20ac", b"secret", "secret\x7f", 5]
        for given in wrong:
            with pytest.raises(InvalidArgument, match="token") as refused:
                gm.connect(found.url, token=given)
            shown = "".join(traceback.format_exception(refused.value)) + repr(refused.value)
            assert "secret" not in shown
            assert refused.value.__context__ is None
        with pytest.raises(ServiceError, match="another token was given") as unknown:
            gm.connect(found.url, token="secret secret secret")
        assert "secret" not in str(unknown.value)


def test_the_client_needs_no_extra() -> None:
    code = "import graphmetric, sys; graphmetric.connect; sys.exit(bool({'fastapi', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
