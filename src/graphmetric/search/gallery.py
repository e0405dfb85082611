"""The query and its nearest graphs in a row, with their distances: the paper's Figure 2 for any query."""

from __future__ import annotations

from collections import Counter

from graphmetric._foundation.markup import Markup, element, escape_text, shorten
from graphmetric.drawing.alignment import draw_aligned_pair
from graphmetric.drawing.page import card, legend, render_page, section
from graphmetric.drawing.panels import draw_panels, paint_panels
from graphmetric.drawing.svg import draw_graph, label_colors
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.graphs.graph import Graph
from graphmetric.search.hits import SearchHit, SearchResult, count_edits, find_edits, label_distance, list_panels

LARGEST_DRAWN = 150
"""The most nodes of a graph that is drawn; larger graphs are described instead."""

_MOST_EDITS, _MOST_METADATA = 12, 4


def page_of_hits(result: SearchResult, costs: EditCosts | None = None) -> str:
    """A page of its own: the query beside every hit, matched nodes in the same place, and the edits between them.

    Edits that are not proven to be the fewest are searched for, for half a second each; ``costs`` are those for hits
    that were not certified, by default unit costs.
    """
    graphs = [panel.graph for panel in list_panels(result)]
    counts = Counter(str(label) for graph in graphs for label in graph.node_labels or () if label is not None)
    colors = label_colors(counts)
    name = "this graph" if result.query.id is None else str(result.query.id)
    alone = element(
        "figure",
        element("div", _picture(result.query, colors), class_="graph"),
        element("figcaption", escape_text("the query"), element("small", escape_text(shorten(name, 24)), title=name)),
        class_="tile query",
    )
    lead = (
        "Matched nodes are in the same place in both pictures. Dashed red: deleted from the query. Dashed green: "
        "inserted. Orange: with another label. Numbers are those that the edits use."
    )
    prices = costs or EditCosts()
    articles = [_hit_article(rank, hit, result.query, colors, prices) for rank, hit in enumerate(result, 1)]
    ordered = {label: colors[label] for label, _ in counts.most_common()}
    return render_page(
        f"The graphs nearest to {name}",
        f"{result.query.num_nodes:,} nodes and {result.query.num_edges:,} edges; {result.report}.",
        [
            element("section", alone, *_cards(result), class_="cards"),
            section("Nearest graphs", lead, legend(ordered), *articles),
        ],
    )


def _cards(result: SearchResult) -> list[Markup]:
    report, scale = result.report, "edits" if result.view == "raw" else f"the {result.view} view, from 0 to 1"
    certified = [hit.proven for hit in result if hit.proven is not None]
    cards = [card(f"{len(result):,}", "graphs found", f"Of {report.graphs:,} in the index that were allowed.")]
    if result.hits:
        cards.append(card(label_distance(result[0]), "to the nearest", f"Distances are in {scale}."))
    if certified:
        meaning = "By edit distance: no graph of the index is nearer than those before it."
        mark = "good" if all(certified) else "bad"
        cards.append(card(f"{sum(certified):,} of {len(certified):,}", "ranks proven", meaning, mark))
    else:
        meaning = "A prediction of the number of edits; the edits below are searched for."
        cards.append(card("learned", "kind of distance", meaning))
    looked = "All graphs were ranked." if report.exact and report.complete else "Near graphs may have been missed."
    cards.append(card(f"{report.evaluated_fraction:.1%}", "evaluated exactly", looked))
    return cards


def _hit_article(rank: int, hit: SearchHit, query: Graph, colors: dict[str, str], costs: EditCosts) -> Markup:
    found = hit.edits
    if max(hit.graph.num_nodes, query.num_nodes) <= LARGEST_DRAWN:
        found = find_edits(query, hit, costs)
    about = [
        element("strong", escape_text(f"{rank}.  {label_distance(hit)}")),
        element("b", escape_text(str(hit.id)), title=str(hit.id)),
    ]
    about.append(element("span", escape_text(_status(hit)), class_="yes" if hit.proven else "soft"))
    about += [
        element("small", escape_text(f"{key}: {value}")) for key, value in list(hit.metadata.items())[:_MOST_METADATA]
    ]
    pictures: tuple[Markup, ...] = (_picture(hit.graph, colors),)
    heading, steps = [element("h3", escape_text("Edits" if found is None else count_edits(found)))], list[Markup]()
    if found is not None and found.node_map is not None and len(found.node_map) <= LARGEST_DRAWN:
        pictures = tuple(Markup(drawn) for drawn in draw_aligned_pair(found, colors))
        path = found.edit_path
        assert path is not None
        edits = [str(edit) for edit in path]
        steps = [element("li", escape_text(edit)) for edit in edits[:_MOST_EDITS]]
        if len(edits) > _MOST_EDITS:
            steps.append(element("li", escape_text(f"and {len(edits) - _MOST_EDITS:,} more")))
        if steps:
            heading.append(element("p", escape_text(str(path.counts)), class_="lead"))
    listed = element("ol", *steps) if steps else element("p", escape_text(_no_edits(found)), class_="lead")
    return element(
        "article",
        element("div", *about, class_="about"),
        element("div", *(element("div", picture, class_="aligned") for picture in pictures), class_="both"),
        element("div", *heading, listed, class_="edits"),
        class_="hit",
    )


def _status(hit: SearchHit) -> str:
    if hit.proven is None:
        return "learned distance"
    exact = "edit distance proven" if hit.exact is not None else "edit distance within bounds"
    return f"{exact}, rank {'proven' if hit.proven else 'not proven'}"


def _no_edits(found: EditDistance | None) -> str:
    if found is None:
        return "Not looked for."
    return "None: the graphs are the same." if found.upper == 0 else "Too many nodes to draw."


def _picture(graph: Graph, colors: dict[str, str]) -> Markup:
    if not 0 < graph.num_nodes <= LARGEST_DRAWN:
        return element("em", escape_text(f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges"))
    return Markup(draw_graph(graph, colors))


def draw_hits(result: SearchResult) -> str:
    """A drawing as SVG: the query, a line, then every hit with its rank, distance and id."""
    return draw_panels(list_panels(result))


def picture_of_hits(result: SearchResult) -> bytes:
    """Draw the picture as a PNG with matplotlib."""
    return paint_panels(list_panels(result))
