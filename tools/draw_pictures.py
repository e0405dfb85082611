"""Draw the pictures of the README and of docs/architecture.md again.

    python tools/draw_pictures.py [FOLDER]

``search.svg`` is the search that the README shows. ``house.svg`` are the folders of the package, each above those that
it may import, and ``flows.svg`` are the ways of a search, a fit and a repair through them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
FONT = "Helvetica, Arial, sans-serif"
INK, PALE, LINE = "#30343b", "#6b717c", "#c3c7cf"
WIDTH = 920


class Folder(NamedTuple):
    """One box of the house."""

    name: str
    says: str


HOUSE: list[tuple[str, str, list[Folder]]] = [
    ("what people call", "#e8e4f4", [
        Folder("cli", "one file per command"),
        Folder("serve", "HTTP, the page, the client"),
        Folder("demo.py", "the whole method, shown"),
        Folder("report", "a model measured, as HTML"),
    ]),
    ("learn, store, search", "#dceaf7", [
        Folder("estimator.py", "GraphDistance: fit"),
        Folder("search", "learned, certified, range"),
        Folder("index", "vectors and graphs on disk"),
        Folder("learned", "a trained distance"),
    ]),
    ("the method of the paper", "#dff1e4", [
        Folder("training", "labels, Eq. 15, checkpoints"),
        Folder("model.py", "Figure 1"),
        Folder("encoder", "Eq. 1-8"),
        Folder("distance", "Eq. 9-11, heads"),
        Folder("features", "inputs of Eq. 1-3"),
    ]),
    ("graphs and edit distances", "#f7efd8", [
        Folder("edit_distance", "costs, bounds, exact search"),
        Folder("datasets", "embedded and public"),
        Folder("formats", "files and conversions"),
        Folder("drawing", "SVG"),
        Folder("graphs", "Definition 1"),
    ]),
    ("arrays only", "#f6e3df", [
        Folder("evaluation", "scores, axioms"),
        Folder("metric_repair", "Eq. 12-14, 16, Algorithm 1"),
        Folder("_foundation", "files, threads, compiling"),
        Folder("errors.py", "the exceptions"),
    ]),
]  # fmt: skip
FLOWS: list[tuple[str, list[tuple[str, str]]]] = [
    ("search", [
        ("search", "GraphIndex.search"),
        ("learned", "encode the query"),
        ("index", "nearest vectors"),
        ("distance", "bounds, matchings"),
        ("edit_distance", "bounds, exact search"),
        ("search", "hits, each proven"),
    ]),
    ("fit", [
        ("estimator.py", "GraphDistance.fit"),
        ("training", "pairs to label"),
        ("edit_distance", "labels with bounds"),
        ("features", "graphs to arrays"),
        ("encoder, distance", "Eq. 1-11, 15"),
        ("learned", "a trained distance"),
    ]),
    ("repair", [
        ("formats", "read a matrix"),
        ("metric_repair", "triangle_fixing"),
        ("metric_repair", "find violated triangles"),
        ("metric_repair", "close them, with duals"),
        ("metric_repair", "certificate: duality gap"),
        ("formats", "write the metric"),
    ]),
]  # fmt: skip
COLORS = {folder.name: color for _, color, folders in HOUSE for folder in folders}


def text(x: float, y: float, words: str, size: int = 13, color: str = INK, anchor: str = "middle") -> str:
    """One line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, color: str) -> str:
    """A rectangle with round corners."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{color}" stroke="{LINE}"/>'


def labelled_box(x: float, y: float, width: float, name: str, says: str, color: str) -> list[str]:
    """A box with a name and what it does."""
    middle = x + width / 2
    return [box(x, y, width, 50, color), text(middle, y + 21, name, 14), text(middle, y + 39, says, 11, PALE)]


def arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line with a head."""
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{PALE}" marker-end="url(#head)"/>'


def picture(height: int, parts: list[str]) -> str:
    """The whole of an SVG file."""
    head = (
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{PALE}"/></marker></defs>'
    )
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="{FONT}">'
    return "\n".join([opening, head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def draw_house() -> str:
    """The folders in layers; a folder imports only from its own layer, to the right, and from the layers below."""
    parts: list[str] = []
    for row, (title, color, folders) in enumerate(HOUSE):
        y, gap = 16 + 98 * row, 12
        width = (WIDTH - 2 * 16 - gap * (len(folders) - 1)) / len(folders)
        parts.append(text(16, y + 12, title, 12, PALE, "start"))
        for place, folder in enumerate(folders):
            parts += labelled_box(16 + place * (width + gap), y + 20, width, folder.name, folder.says, color)
        if row:
            parts.append(arrow((WIDTH / 2, y - 24), (WIDTH / 2, y + 14)))
    return picture(16 + 98 * len(HOUSE), parts)


def draw_flows() -> str:
    """One row of boxes for each of the three ways."""
    parts: list[str] = []
    for row, (title, steps) in enumerate(FLOWS):
        y, gap = 16 + 100 * row, 22
        width = (WIDTH - 2 * 16 - gap * (len(steps) - 1)) / len(steps)
        parts.append(text(16, y + 12, title, 14, INK, "start"))
        for place, (name, says) in enumerate(steps):
            x = 16 + place * (width + gap)
            parts += labelled_box(x, y + 22, width, name, says, COLORS[name.partition(",")[0]])
            if place:
                parts.append(arrow((x - gap + 2, y + 47), (x - 2, y + 47)))
    return picture(100 * len(FLOWS), parts)


def draw_search() -> str:
    """The query of the README and the three molecules that are proven to be nearest to it."""
    import graphmetric as gm

    molecules = gm.load_dataset("molecules").graphs
    index = gm.GraphIndex.build(gm.GraphDistance.load("molecules"), molecules[:900])
    hits = index.search(molecules[900], k=3, certified=True)
    svg = hits._repr_svg_()
    for rank, hit in enumerate(hits, 1):
        edits = f"{hit.exact:g} edit{'' if hit.exact == 1 else 's'}"
        svg = re.sub(rf">{rank}\. +{hit.exact:g}<", f">{rank}. {edits}, {'proven' if hit.proven else 'open'}<", svg)
    return svg


def main(folder: Path) -> None:
    """Write all three."""
    for name, draw in (("house", draw_house), ("flows", draw_flows), ("search", draw_search)):
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
