"""Queries of every kind, conditions, isomorphic graphs, explanations, changes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.search.gallery import draw_hits, page_of_hits, picture_of_hits
from graphmetric.search.hits import SearchHit, count_edits, find_edits


def test_a_graph_in_any_form(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    graph = molecules[17]
    by_graph = [hit.id for hit in index.search(graph, 4)]
    assert by_graph == [hit.id for hit in index.search(graph.to_networkx(), 4)]
    assert by_graph == [hit.id for hit in index.search(graph.id, 4)]
    bare = gm.Graph.from_smiles("CCO").replace(edge_labels=None)  # as the graphs of the index
    for certified in (False, True):
        by_smiles, expected = (index.search(query, 4, certified=certified) for query in ("CCO", bare))
        assert [(hit.id, hit.distance) for hit in by_smiles] == [(hit.id, hit.distance) for hit in expected]
    many = index.search([graph, graph.id, graph.to_networkx()], 4)
    assert [[hit.id for hit in result] for result in many] == [by_graph] * 3
    assert index.search([], 4) == []
    with pytest.raises(InvalidArgument, match=r"no graph 123456 \(its first id is 'NSC 1'\)"):
        index.search(123456)
    with pytest.raises(InvalidArgument, match=r"no graph 'NSC 999999' \(.*\), and a SMILES has no blanks"):
        index.search("NSC 999999")
    with pytest.raises(InvalidArgument, match=r"no graph 'Xy9' \(.*\), and it cannot be read as a SMILES either"):
        index.search("Xy9")
    with pytest.raises(InvalidArgument, match="no graph 'nobody'"):
        index.graph("nobody")


def test_hits_have_their_graph_and_metadata(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    hit = index.search(molecules[17], 1)[0]
    assert hit.graph == molecules[17]
    assert (hit.graph.id, dict(hit.metadata)) == (molecules[17].id, {"class": 17 % 3})
    assert hit.exact is hit.proven is hit.edit_path is None


@pytest.mark.parametrize("certified", [False, True])
def test_conditions_on_metadata(index: gm.GraphIndex, molecules: gm.GraphCollection, certified: bool) -> None:
    for where in ({"class": 1}, lambda facts: facts["class"] == 1):
        result = index.search(molecules[17], 12, where=where, certified=certified)
        assert {hit.metadata["class"] for hit in result} == {1}
        assert result.report.graphs == 33
    assert len(index.search(molecules[17], 5, where={"class": 7}, certified=certified)) == 0


@pytest.mark.parametrize("certified", [False, True])
def test_of_isomorphic_graphs_the_first(
    model: gm.GraphDistance, molecules: gm.GraphCollection, certified: bool
) -> None:
    copies = [molecules[5].relabeled(np.random.default_rng(k).permutation(molecules[5].num_nodes)) for k in range(4)]
    index = gm.GraphIndex.build(model, [*molecules[:20], *copies], ids=range(24))
    plain, distinct = (index.search(molecules[5], 5, distinct=d, certified=certified) for d in (False, True))
    assert sorted(hit.id for hit in plain) == [5, 20, 21, 22, 23]
    assert distinct[0].id == 5
    assert not {hit.id for hit in distinct} & {20, 21, 22, 23}


def test_added_and_removed_graphs(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    index = gm.GraphIndex.build(model, molecules[:40])
    whole = gm.GraphIndex.build(model, molecules[:60])
    index.add(molecules[40:60])
    for certified in (False, True):
        ours, theirs = (one.search(molecules[50], 8, certified=certified) for one in (index, whole))
        assert np.allclose([hit.distance for hit in ours], [hit.distance for hit in theirs], atol=1e-4)
    index.remove([molecules[50].id, molecules[3].id])
    assert len(index) == 58
    assert molecules[50].id not in index
    assert molecules[51].id in index
    for certified in (False, True):
        assert molecules[50].id not in [hit.id for hit in index.search(molecules[50], 58, certified=certified)]
    index.add([molecules[50]])
    assert index.search(molecules[50], 1)[0].id == molecules[50].id
    assert index.ids == [g.id for g in molecules[:60] if g.id not in (molecules[50].id, molecules[3].id)] + [
        molecules[50].id
    ]


def test_ids_tell_graphs_apart(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    index = gm.GraphIndex.build(model, [graph.replace(id=None) for graph in molecules[:3]])
    assert index.ids == [0, 1, 2]
    index.add([molecules[9].replace(id=None), molecules[8].replace(id="a")], ids=[np.int64(3), np.str_("a")])
    assert index.ids == [0, 1, 2, 3, "a"]
    for id in (("a", 1.5), b"bytes", 1.5, True):
        with pytest.raises(InvalidArgument, match=r"ids of an index are strings or integers: pass others as ids="):
            index.add([molecules[7].replace(id=id)])
    for wrong in ([molecules[4], molecules[4]], [molecules[4].replace(id=2)]):
        with pytest.raises(InvalidArgument, match=r"occurs twice|is in the index already"):
            index.add(wrong)
    with pytest.raises(InvalidArgument, match="fewer ids"):
        index.add(molecules[:3], ids=["x"])
    with pytest.raises(InvalidArgument, match="nothing was removed"):
        index.remove([0, "nobody"])
    assert len(index) == 5
    for id in ([1], {"a": 1}, object(), ("a", 1.5), None):
        assert id not in index
    with pytest.raises(InvalidArgument, match=r"has no graph \[1\]"):
        index.graph([1])
    graphs = index.graphs
    assert [graph.id for graph in graphs] == index.ids
    assert [dict(graph.metadata) for graph in graphs] == index.metadata


def test_explanations(models: dict[str, gm.GraphDistance], index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    query, other = molecules[102], molecules[30]
    hit = index.search(query, 2, certified=True)[1]
    explained = index.explain(query, hit)
    assert explained.alignment is hit.edits
    assert str(explained).startswith(f"query -> {hit.id!r}: {hit.exact:g} edits (exact)\n  1. ")
    assert len(str(explained).splitlines()) == 1 + len(hit.edit_path)
    assert explained.svg.startswith("<svg")
    assert "the graphs are the same" in str(index.explain(molecules[4], molecules[4].id))
    pooled = gm.GraphIndex.build(models["block-norm"], molecules[:10])
    for one, found in ((index, hit), (index, index.search(query, 1)[0]), (pooled, molecules[4].id)):
        for asked in (query, other):  # whatever the hit was found for
            edits = one.explain(asked, found).alignment
            expected = gm.graph_edit_distance(asked, edits.second)
            assert (edits.first, edits.upper, edits.exact) == (asked, expected.upper, True)


def test_the_number_of_edits_in_words() -> None:
    ring = gm.Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
    chain = gm.Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCCN")
    found = gm.graph_edit_distance(ring, chain)
    assert count_edits(found) == "2 edits (exact)"
    assert count_edits(replace(found, lower=1.0)) == "2 edits, at least 1"
    assert count_edits(replace(found, lower=-0.0)) == "2 edits, at least 0"
    assert count_edits(replace(found, lower=1.999999999)) == "2 edits, at least 1.999999999"
    assert count_edits(gm.graph_edit_distance(chain, chain.replace(node_labels="CCCC"))) == "1 edit (exact)"
    dear = gm.graph_edit_distance(ring, chain, costs=gm.EditCosts(edge_delete=2.5))
    assert count_edits(dear) == "2 edits of cost 3.5 (exact)"
    impossible = gm.graph_edit_distance(ring, chain, limits={"total": 1})
    assert count_edits(impossible) == "no allowed edits lead there (exact)"


def test_edits_that_are_not_proven_are_searched_for_again(molecules: gm.GraphCollection) -> None:
    first, second = molecules[12], molecules[31]
    exact = gm.graph_edit_distance(first, second)
    loose = replace(gm.graph_edit_distance(first, second, method="beam:1"), lower=1.0)
    hit = SearchHit("a", loose.upper, lambda: second, explain=lambda _: loose)
    assert find_edits(first, hit, gm.EditCosts()).upper == exact.upper
    ended = find_edits(first, hit, gm.EditCosts(), time_limit=0, should_end=lambda: True)
    assert loose.lower <= ended.lower <= exact.upper <= ended.upper <= loose.upper


@pytest.mark.parametrize(
    ("hit", "expected"),
    [
        (SearchHit("a", -0.0, gm.Graph), "SearchHit('a', 0)"),
        (SearchHit("a", 0.001, gm.Graph, 0.001, 0.001, 0.001, False), "SearchHit('a', 0.001, rank not proven)"),
        (
            SearchHit("a", 0.001, gm.Graph, None, 0.00099999999, 0.001, False),
            "SearchHit('a', 0.00099999999 .. 0.001, not proven)",
        ),
        (SearchHit("a", 5.0, gm.Graph, None, 3.0, 5.0, True), "SearchHit('a', 3 .. 5, proven)"),
    ],
)
def test_distances_in_words(hit: SearchHit, expected: str) -> None:
    assert repr(hit) == expected


@pytest.mark.slow
def test_drawings(index: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    for certified in (False, True):
        result = index.search(molecules[102], 3, certified=certified)
        svg = draw_hits(result)
        assert svg == result._repr_svg_()
        assert svg.count("<circle") == sum(graph.num_nodes for graph in (result.query, *(hit.graph for hit in result)))
        page = page_of_hits(result)
        assert ElementTree.fromstring(page).tag == "html"
        assert page.count('class="hit"') == 3
        assert page.count('class="aligned"') == 6
        assert ("ranks proven" in page) == certified
        assert all(str(hit.id) in page for hit in result)
        edits = [len(hit.edit_path) for hit in result if hit.edit_path is not None]
        assert page.count("<li>") == sum(edits) if certified else "edits (exact)" in page
        assert all(str(hit.edit_path.counts) in page for hit in result if hit.edit_path)
        assert picture_of_hits(result).startswith(b"\x89PNG")
        assert repr(result).count("SearchHit") == 3
