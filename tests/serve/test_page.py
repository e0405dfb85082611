"""The page in a real browser: each way to ask, each screen, no fault in the console, none that axe calls serious.

``make test-browser`` keeps pictures of the screens in ``build/pictures``.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

import graphmetric as gm
from tests.serve.running import Running, running, wait_until

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests need playwright: pip install 'graphmetric[test]'"
)
expect = sync_api.expect
_PATIENCE = 120_000
"""Milliseconds; machines that test are busy. No test waits for longer than it has to."""
expect.set_options(timeout=_PATIENCE)

_AXE = Path(__file__).with_name("axe") / "axe.min.js"
_PAGE = Path(gm.__file__).with_name("serve") / "page"
_PHENOL = "Oc1ccccc1"
_TOKEN = "a token of sixteen or more"
pytestmark = pytest.mark.slow


def _find_chromium() -> str | None:
    given = os.environ.get("GRAPHMETRIC_CHROMIUM")
    return given or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = _find_chromium()
    if path is None:
        pytest.skip("no chromium is found: apt-get install chromium, or set GRAPHMETRIC_CHROMIUM to its path")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


class Screen:
    """A tab of the browser that notes what goes wrong in it."""

    def __init__(self, browser: Any, service: Running, **options: Any) -> None:
        self.url = service.url
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.faults: list[str] = []
        self.allowed: str = "nothing is allowed"
        self.page.on("console", lambda told: self.faults.append(told.text) if told.type in _LOUD else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, **state: Any) -> Any:
        """Go to the address of a state, as a link does; searches have time to end."""
        parts = (
            f"{name}={quote(value if isinstance(value, str) else json.dumps(value))}"
            for name, value in {"time": "30", **state}.items()
        )
        self.page.goto(f"{self.url}/#{'&'.join(parts)}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def keep(self, name: str) -> None:
        """Take a picture if pictures are wanted, and let axe look at the screen."""
        wait_until(lambda: not self.page.evaluate(_UNFINISHED))
        _take_picture(self.page, name)
        width = self.page.viewport_size["width"]
        assert self.page.evaluate("document.documentElement.scrollWidth") <= width, "the page is wider than its window"
        self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        grave = [fault for fault in found["violations"] if fault["impact"] in ("serious", "critical")]
        assert [(fault["id"], [node["html"][:200] for node in fault["nodes"]]) for fault in grave] == []

    def close(self) -> None:
        self.context.close()
        assert [fault for fault in self.faults if not re.search(self.allowed, fault)] == []


_LOUD = ("error", "warning")
_UNFINISHED = """[...document.querySelectorAll('.picture')].some((one) => !one.firstChild) ||
  document.getAnimations().some((one) => one.effect.getComputedTiming().endTime < Infinity
    && one.playState === 'running')"""
"""Whether pictures are still missing, or something fades."""


def _take_picture(page: Any, name: str) -> None:
    folder = os.environ.get("GRAPHMETRIC_PICTURES")
    if folder:
        page.evaluate("scrollTo(0, 0)")
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.fixture
def screen(browser: Any, served: Running) -> Iterator[Screen]:
    opened = Screen(browser, served)
    yield opened
    opened.close()


def _draw_phenol(page: Any) -> None:
    """Draw with the mouse: a ring of six carbons and an oxygen."""
    box = page.locator(".sketch").bounding_box()
    places = [
        (box["x"] + x, box["y"] + y) for x, y in [(80, 90), (140, 60), (200, 90), (200, 160), (140, 190), (80, 160)]
    ]
    page.mouse.click(*places[0])
    for start, end in [*pairwise(places), (places[-1], places[0])]:
        _drag(page, start, end)
    page.locator(".chip", has_text=re.compile("^O$")).click()
    _drag(page, places[2], (places[2][0] + 60, places[2][1] - 30))
    expect(page.locator(".sketch")).to_have_attribute("data-nodes", "7")
    expect(page.locator(".sketch")).to_have_attribute("data-edges", "7")


def _drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=2)
    page.mouse.move(*end, steps=2)
    page.mouse.up()


def test_it_welcomes_with_graphs_of_the_collection(screen: Screen) -> None:
    page = screen.open()
    expect(page.locator(".sample svg")).to_have_count(8)
    screen.keep("welcome")
    page.locator(".sample").first.click()
    expect(page.locator(".card").first).to_contain_text("0")
    expect(page.locator(".same")).to_contain_text("equal")


def test_a_drawn_graph_is_searched_for(screen: Screen) -> None:
    page = screen.open()
    _draw_phenol(page)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".cards .card")).to_have_count(10)
    expect(page.locator(".card .picture svg")).to_have_count(10)
    expect(page.locator(".pair figure")).to_have_count(2)
    for card in page.locator(".cards .card").all():  # each number says what it is
        expect(card).to_contain_text("learned distance")
        expect(card).to_contain_text(re.compile(r"\d+ edits?, (exact|at least \d+)"))
    screen.keep("drawn_and_learned")


def test_the_keyboard_draws_too(screen: Screen) -> None:
    page = screen.open()
    page.locator(".sketch").focus()
    for key in ("n", "n", "n", "c", "ArrowRight", "c"):
        page.keyboard.press(key)
    expect(page.locator(".sketch")).to_have_attribute("data-nodes", "3")
    expect(page.locator(".sketch")).to_have_attribute("data-edges", "3")
    page.keyboard.press("Delete")
    expect(page.locator(".sketch")).to_have_attribute("data-nodes", "2")
    page.keyboard.press("Control+z")
    expect(page.locator(".sketch")).to_have_attribute("data-edges", "3")


def test_parts_of_a_drawing_are_moved_erased_and_tidied(screen: Screen) -> None:
    page = screen.open()
    _draw_phenol(page)
    pad = page.locator(".sketch")
    box = pad.bounding_box()
    oxygen = pad.locator(".node").nth(6)

    def place() -> tuple[float, float]:
        found = oxygen.locator("circle").bounding_box()
        return found["x"] + found["width"] / 2, found["y"] + found["height"] / 2

    def lengths() -> list[float]:
        return pad.locator(".edge line").evaluate_all("all => all.map((one) => one.getTotalLength())")

    page.locator("label", has_text=re.compile("^Move$")).click()
    aim = box["x"] + 300, box["y"] + 200
    _drag(page, place(), aim)
    assert place() == pytest.approx(aim, abs=2)
    assert max(lengths()) > 1.5
    page.get_by_role("button", name="Tidy").click()
    assert lengths() == pytest.approx([1] * 7, abs=0.25)
    page.get_by_role("button", name="Undo").click()
    assert place() == pytest.approx(aim, abs=2)
    page.locator("label", has_text=re.compile("^Erase$")).click()
    page.mouse.click(*aim)
    expect(pad).to_have_attribute("data-nodes", "6")
    page.mouse.click(box["x"] + 80, box["y"] + 125)  # the middle of an edge
    expect(pad).to_have_attribute("data-edges", "5")
    page.get_by_role("button", name="Clear").click()
    expect(pad).to_have_attribute("data-nodes", "0")
    assert "graph=" not in page.url
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(pad).to_have_attribute("data-edges", "5")


def test_certified_hits_are_explained(screen: Screen) -> None:
    page = screen.open(smiles=_PHENOL, mode="certified", k="6")
    expect(page.locator(".progress-line")).to_contain_text("complete and proven")
    expect(page.locator(".card .badge.proven")).to_have_count(6)
    card, edits = page.locator(".card").nth(5), page.locator(".edit")
    distance = card.locator(".distance").inner_text()
    card.click()
    expect(page.locator(".pair .big")).to_have_text(distance)  # the pair of the hit before is there until then
    expect(edits).to_have_count(int(distance))
    edits.first.hover()
    expect(page.locator(".graph.pointing")).to_have_count(2)
    expect(page.locator(".graph .pointed").first).to_be_visible()
    screen.keep("certified_and_explained")
    page.mouse.move(5, 5)
    expect(page.locator(".graph.pointing")).to_have_count(0)
    page.locator(".card").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".card").nth(1)).to_have_attribute("aria-pressed", "true")


def test_numbers_of_inserted_nodes_are_those_of_the_service(screen: Screen, served: Running) -> None:
    """The page numbers the nodes of a hit by itself; the service says what they are."""
    first, second = {"smiles": "CCO"}, {"smiles": _PHENOL}
    told = served.post("/v1/explain", {"first": first, "second": second}).json
    page = screen.open(view="compare", a=first, b=second)
    page.wait_for_selector(".pair figure")
    numbers = (
        page.locator("figure")
        .nth(1)
        .locator(".node")
        .evaluate_all("all => all.map((one) => Number(one.dataset.number))")
    )
    assert numbers == told["places"]


def test_bounds_close_while_one_waits(browser: Any, hard: gm.GraphIndex) -> None:
    with running(hard, time_limit=300.0) as service:
        opened = Screen(browser, service)
        page = opened.open(id="hard 0", k="6", time="300")
        expect(page.locator(".progress-line")).to_contain_text("no undecided graph is nearer than")
        expect(page.locator(".card .badge.open").first).to_be_visible()
        opened.keep("bounds_are_closing")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".progress-line")).to_contain_text("Stopped")
        page.locator(".card").nth(1).click()
        expect(page.locator(".pair .badge.open")).to_contain_text("between")
        expect(page.locator(".edit").first).to_be_visible()
        opened.page.locator("#time").fill("0.5")
        page.locator("#time").press("Tab")
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.locator(".progress-line")).to_contain_text("The time ended")
        expect(page.locator(".card").first).to_contain_text("hard 0")
        opened.close()


def test_filters_limits_and_radius(screen: Screen) -> None:
    page = screen.open(smiles=_PHENOL, mode="certified")
    expect(page.locator(".card")).to_have_count(10)
    page.get_by_text("Filter by metadata").click()
    page.get_by_role("button", name="Add a filter").click()
    page.get_by_label("Metadata").select_option("half")
    page.get_by_label("Value of half").fill("1")
    page.get_by_label("Value of half").press("Tab")
    page.get_by_text("Limit kinds of edits").click()
    page.get_by_role("button", name="Add a limit").click()
    page.get_by_label("Kind of edit").select_option("nodes_deleted")
    page.get_by_label("The most nodes deleted").fill("0")
    page.get_by_label("The most nodes deleted").press("Tab")
    page.locator("#within").fill("8")
    page.locator("#within").press("Tab")
    with page.expect_request("**/v1/search/stream") as asked:
        page.get_by_role("button", name="Search", exact=True).click()
    body = asked.value.post_data_json
    assert (body["where"], body["limits"], body["within"]) == ({"half": 1}, {"nodes_deleted": 0}, 8)
    expect(page.locator(".results")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".pair .meta").filter(has_text="half")).to_contain_text("1")
    expect(page.locator(".card").first.locator(".node.relabel, .edge.insert, .node.insert").first).to_be_attached()
    assert page.evaluate("document.querySelector('.cards').scrollLeft") == 0, "the chosen card is out of sight"
    screen.keep("filtered")
    page.locator("#within").fill("0")
    page.locator("#within").press("Tab")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".empty")).to_contain_text("Try a larger distance or other filters or wider limits.")


def test_a_link_reopens_the_query_and_back_returns(screen: Screen, browser: Any, served: Running) -> None:
    page = screen.open()
    _draw_phenol(page)
    page.locator("label", has_text="Certified").click()
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".card .badge.proven")).to_have_count(10)
    page.locator(".card").nth(2).click()
    expect(page.locator(".card").nth(2)).to_have_attribute("aria-pressed", "true")
    names = page.locator(".card .name").all_inner_texts()
    other = Screen(browser, served)
    other.page.goto(page.url)
    expect(other.page.locator(".card .badge.proven")).to_have_count(10)
    assert other.page.locator(".card .name").all_inner_texts() == names
    expect(other.page.locator(".card").nth(2)).to_have_attribute("aria-pressed", "true")
    expect(other.page.locator(".sketch")).to_have_attribute("data-nodes", "7")
    other.close()
    page.get_by_role("button", name="Search from it").click()
    expect(page.locator(".same")).to_be_visible()
    page.go_back()
    expect(page.locator(".pair h3")).to_contain_text("Your graph")


def test_a_molecule_is_drawn(screen: Screen) -> None:
    page = screen.open()
    page.get_by_role("tab", name="Molecule").click()
    page.wait_for_selector(".molecule")
    wait_until(
        lambda: page.evaluate("(one => one.shadowRoot || one.children.length)(document.querySelector('.molecule'))")
    )
    box = page.locator(".molecule").bounding_box()
    page.mouse.click(box["x"] + 200, box["y"] + 180)
    page.wait_for_url("**smiles=CC&*")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".card")).to_have_count(10)
    screen.keep("molecule")


def test_files_and_text_are_read(screen: Screen) -> None:
    page = screen.open()
    page.get_by_role("tab", name="File").click()
    page.locator("#file").set_input_files(
        {"name": "two.smi", "mimeType": "text/plain", "buffer": b"CCO one\nCCN two\n"}
    )
    page.locator(".file-graphs select").select_option(index=1)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".pair figcaption").first).to_contain_text("3 nodes")
    expect(page.locator(".card .picture svg")).to_have_count(10)
    screen.keep("file")
    page.get_by_role("tab", name="SMILES / JSON").click()
    page.locator("#text").fill(
        '{"num_nodes": 2, "edges": [[0, 1]], "node_labels": ["C", "<img src=x onerror=alert(1)>"]}'
    )
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".pair figcaption").first).to_contain_text("2 nodes")
    assert page.locator("main img").count() == 0
    page.locator("#text").fill('{"num_nodes": 2')
    expect(page.locator(".field-error")).to_contain_text("not JSON yet")


def test_problems_say_what_to_do(screen: Screen) -> None:
    screen.allowed = "status of 4(04|22)"
    page = screen.open(smiles="C1CC")
    expect(page.locator(".problem")).to_contain_text("C1CC")
    expect(page.locator(".problem h2")).to_contain_text("The graph cannot be read")
    expect(page.locator(".advice")).to_be_visible()
    screen.keep("problem")
    page.get_by_role("tab", name="Id").click()
    page.locator("#id").fill("nobody")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".problem")).to_contain_text("nobody")
    page.goto("about:blank")
    page = screen.open()
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".field-error")).to_contain_text("Give a graph first")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"graph": {"num_nodes": 1e7}}, "256 are allowed"),
        ({"graph": {"num_nodes": 1e9, "edges": []}, "layout": []}, "256 are allowed"),
        ({"graph": {"num_nodes": 1e7}, "layout": [[0, 0]]}, "256 are allowed"),
        ({"graph": {"num_nodes": 2, "edges": [[0, 9]]}, "layout": [[0, 0], [1, 1]]}, "names node 9"),
        ({"graph": {"num_nodes": 2, "edges": 7}}, "valid list"),
        ({"view": "compare", "a": {"graph": {"num_nodes": 1e7}}, "b": {"id": "NSC 1"}}, "256 are allowed"),
    ],
    ids=["nodes", "more nodes", "layout", "edge", "edges", "compare"],
)
def test_a_hostile_link_does_not_freeze_the_page(screen: Screen, state: dict[str, Any], words: str) -> None:
    """The page makes nothing of the size that a link claims: the largest request it sends has some hundred bytes."""
    screen.allowed = "status of 4(13|22)"
    sent: list[int] = []
    screen.page.on("request", lambda request: sent.append(len(request.post_data_buffer or b"")))
    page = screen.open(**state)
    expect(page.locator(".problem:visible").first).to_contain_text(words)
    if state.get("view") != "compare":
        page.get_by_role("tab", name="Draw", exact=True).click()
        expect(page.locator("svg.sketch")).to_be_visible()
    assert 0 < max(sent) < 1000


def test_a_link_with_parts_of_other_kinds_opens(screen: Screen) -> None:
    page = screen.open(smiles="CCO", where="null", limits="7", layout="{}", a="1", b="[]", graph="[1]")
    expect(page.locator(".card .picture svg")).to_have_count(10)


def test_the_map_shows_query_and_hits(screen: Screen) -> None:
    screen.allowed = "readback operations"  # it is the test that reads the canvas
    page = screen.open(view="map", smiles=_PHENOL)
    expect(page.locator(".legend span").first).to_be_visible()
    expect(page.locator(".map-view .hint")).to_contain_text("120 graphs")
    painted = "one => one.getContext('2d').getImageData(0, 0, one.width, one.height).data.some((value) => value)"
    wait_until(lambda: page.evaluate(f"({painted})(document.querySelector('.points'))"))
    wait_until(lambda: page.evaluate(f"({painted})(document.querySelector('.over'))"))
    page.locator("#map-color").select_option("metadata half")
    expect(page.locator(".legend")).to_contain_text("60")
    page.locator(".over").focus()
    page.keyboard.press("n")
    expect(page.locator(".tip svg")).to_be_visible()
    page.wait_for_selector('.map-view[data-hits="10"]')
    screen.keep("map")
    page.keyboard.press("Enter")
    expect(page.locator(".chosen-panel svg")).to_be_visible()
    before = page.evaluate("document.querySelector('.points').toDataURL()")
    page.get_by_role("button", name="Zoom in").click()
    wait_until(lambda: page.evaluate("document.querySelector('.points').toDataURL()") != before)
    page.locator(".chosen-panel").get_by_role("button", name="Search from it").click()
    expect(page.locator(".same")).to_be_visible()


def test_the_map_shows_a_query_that_is_unlike_all_graphs(screen: Screen) -> None:
    screen.allowed = "readback operations"
    page = screen.open(view="map", smiles="C" * 40)
    page.wait_for_selector('.map-view[data-hits="10"]')
    star = """one => { const all = one.getContext('2d').getImageData(0, 0, one.width, one.height).data;
        return all.some((value, at) => at % 4 === 0 && value > 230 && all[at + 2] < 60 && all[at + 3] === 255); }"""
    wait_until(lambda: page.evaluate(f"({star})(document.querySelector('.over'))"))


def test_any_two_graphs_are_compared(screen: Screen) -> None:
    page = screen.open(view="compare")
    page.locator("#graph-a").fill(_PHENOL)
    page.get_by_label("First graph: how it is given").select_option("smiles")
    page.locator("#graph-b").fill("NSC 16")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".pair .badge.proven")).to_be_visible()
    assert page.locator(".edit").count() == float(page.locator(".pair .big").inner_text())
    screen.keep("compare")


def test_answers_are_downloaded(screen: Screen) -> None:
    page = screen.open(smiles=_PHENOL, mode="certified", k="4")
    page.wait_for_selector(".pair figure")

    def save(name: str) -> str:
        with page.expect_download() as found:
            page.get_by_role("button", name=name, exact=True).click()
        return Path(found.value.path()).read_text(encoding="utf-8")

    assert len(json.loads(save("JSON"))["hits"]) == 4
    rows = list(csv.DictReader(io.StringIO(save("CSV"))))
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0]["proven"] == "true"
    picture = ElementTree.fromstring(save("SVG"))
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}circle")) >= 14


def test_dark_colours(screen: Screen, browser: Any, served: Running) -> None:
    dark = Screen(browser, served, color_scheme="dark")
    page = dark.open(smiles=_PHENOL, mode="certified")
    page.wait_for_selector(".pair figure")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(14, 18, 27)"
    dark.keep("dark")
    page.get_by_role("link", name="Map").click()
    expect(page.locator(".legend span").first).to_be_visible()
    dark.keep("dark_map")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(244, 245, 249)"
    dark.close()


def test_a_phone(browser: Any, served: Running) -> None:
    phone = Screen(browser, served, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = phone.open(smiles=_PHENOL, mode="certified")
    page.wait_for_selector(".pair figure")
    page.get_by_role("tab", name="Draw").click()
    expect(page.locator(".sketch")).to_have_attribute("data-nodes", "7")
    page.get_by_role("button", name="Clear").click()
    box = page.locator(".sketch").bounding_box()
    page.touchscreen.tap(box["x"] + 60, box["y"] + 60)
    page.touchscreen.tap(box["x"] + 160, box["y"] + 60)
    expect(page.locator(".sketch")).to_have_attribute("data-nodes", "2")
    for view in ("search", "map", "compare"):
        page.locator(f"[data-view={view}]").click()
        expect(page.locator(f"#view-{view}")).to_be_visible()
        if view == "map":
            expect(page.locator(".legend span").first).to_be_visible()
        phone.keep(f"phone_{view}")
    phone.close()


def test_a_token_is_asked_for(browser: Any, molecules: gm.GraphIndex) -> None:
    with running(molecules, token=_TOKEN) as service:
        opened = Screen(browser, service)
        opened.allowed = "status of 401"
        page = opened.page
        page.goto(f"{service.url}/#smiles={_PHENOL}")
        page.locator("#token").fill("not the token at all")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("dialog")).to_contain_text("not accepted")
        opened.keep("token")
        page.locator("#token").fill(_TOKEN)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator(".card .picture svg")).to_have_count(10)
        opened.close()


_NOTEBOOK = """async ([module, state]) => {
  const watching = [];
  const changed = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = changed[name] = value; },
    save_changes: async () => { Object.assign(state, await tell(changed)); watching.forEach((one) => one()); },
    on: (name, one) => watching.push(one),
    off: () => {},
  };
  const loaded = await import(URL.createObjectURL(new Blob([module], { type: "text/javascript" })));
  loaded.default.render({ model, el: document.querySelector("main") });
}"""
"""What a notebook does with a widget: it loads one module, and passes the state on to Python and back."""


@contextmanager
def _in_notebook(browser: Any, widget: Any, style: str = "") -> Iterator[Any]:
    """A page that shows a widget; nothing may go wrong in it."""

    def told(changed: dict[str, Any]) -> dict[str, Any]:
        with widget.hold_trait_notifications():
            for name, value in changed.items():
                widget.set_trait(name, value)
        return widget.get_state(["question", "drawing", "certified", "answer"])

    page = browser.new_page()
    faults: list[str] = []
    page.on("console", lambda one: faults.append(one.text) if one.type in _LOUD else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.expose_function("tell", told)
    page.set_content(f'<!doctype html><body style="{style}"><main></main></body>')
    names = ["question", "drawing", "certified", "learned", "labels", "answer"]
    page.evaluate(_NOTEBOOK, [widget._esm, widget.get_state(names)])
    yield page
    page.close()
    assert faults == []


def test_the_widget_searches_in_a_notebook(browser: Any, molecules: gm.GraphIndex) -> None:
    widget = gm.explore(molecules, k=4)
    with _in_notebook(browser, widget) as page:
        page.get_by_label("An id of the index, or a SMILES").fill("NSC 16")
        page.get_by_label("certified").check()
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".card .badge.proven")).to_have_count(4)
        assert [hit.id for hit in widget.result] == page.locator(".card .name").all_inner_texts()
        page.locator(".card").nth(3).click()
        expect(page.locator(".edit")).to_have_count(len(widget.result[3].edit_path))
        page.locator(".edit").first.hover()
        expect(page.locator(".graph.pointing")).to_have_count(2)
        _take_picture(page, "widget")
        page.get_by_label("An id of the index, or a SMILES").fill("nobody knows")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".hint[role=status]")).to_contain_text("the index has no graph 'nobody knows'")
        assert widget.result is None


def test_a_query_is_drawn_in_a_notebook(browser: Any, molecules: gm.GraphIndex) -> None:
    widget = gm.explore(molecules, k=4, certified=True)
    with _in_notebook(browser, widget, "color: #eee; background: #111") as page:
        expect(page.locator(".widget.dark")).to_be_visible()
        page.locator("label", has_text=re.compile("^Draw$")).first.click()
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".hint[role=status]")).to_contain_text("Draw a graph first")
        _draw_phenol(page)
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".card .badge.proven")).to_have_count(4)
        assert widget.result.query.is_isomorphic(gm.Graph.from_smiles(_PHENOL).replace(edge_labels=None))
        assert widget.drawing["graph"]["node_labels"] == [*"CCCCCCO"]
        expect(page.locator(".pair figcaption").first).to_contain_text("Your graph")
        _take_picture(page, "widget_drawn")


def test_a_graph_that_was_given_or_typed_is_drawn_on(browser: Any, molecules: gm.GraphIndex) -> None:
    widget = gm.explore(molecules, molecules.graph("NSC 16"), k=3)
    with _in_notebook(browser, widget) as page:
        pad = page.locator(".sketch")
        expect(pad).to_have_attribute("data-nodes", str(molecules.graph("NSC 16").num_nodes))
        assert widget.result[0].id == "NSC 16"
        page.locator("label", has_text=re.compile("^Type$")).click()
        page.get_by_label("An id of the index, or a SMILES").fill("CCO")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".pair figcaption").first).to_contain_text("3 nodes")
        page.locator("label", has_text=re.compile("^Draw$")).first.click()
        expect(pad).to_have_attribute("data-nodes", "3")
        pad.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("n")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".pair figcaption").first).to_contain_text("4 nodes")
        assert (widget.question, widget.result.query.num_nodes) == ("", 4)


def test_the_widget_stays_small(molecules: gm.GraphIndex) -> None:
    assert len(gzip.compress(gm.explore(molecules)._esm.encode())) < 25_000


def test_vendored_parts_are_what_they_say() -> None:
    parts = json.loads((_PAGE / "vendor" / "vendored.json").read_text(encoding="utf-8"))
    for part in parts:
        content = gzip.decompress((_PAGE / "vendor" / part["file"]).read_bytes())
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (part["sha256"], part["bytes"])
        assert (_PAGE / "vendor" / part["licence_file"]).exists()
    told = {"vendored.json", *(part[key] for part in parts for key in ("file", "licence_file"))}
    assert {file.name for file in (_PAGE / "vendor").iterdir()} == told
