// A query and its hits inside a notebook. The module is joined with those it imports, since a notebook loads one alone.

import { align, carried, draw, editMarks, nodeColors } from "./drawing.js";
import { choice, h, short, shown } from "./dom.js";
import { countEdits, makePair, status } from "./pair.js";
import { makeSketch } from "./sketch.js";

/** Whether the notebook is dark, by the colour of its text. */
function isDark() {
  const [red, green, blue] = getComputedStyle(document.body).color.match(/[\d.]+/g).map(Number);
  return red + green + blue > 384;
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** `model` is the state that Python shares; `el` is the place in the notebook; `style` is the page's style sheet. */
export function renderWidget(model, el, style) {
  const root = el.attachShadow({ mode: "open" });
  const line = h("p", { class: "hint", role: "status" });
  const cards = h("ol", { class: "cards" });
  const detail = h("div", { class: "detail" });
  const text = h("input", { type: "text", "aria-label": "An id of the index, or a SMILES", placeholder: "an id of the index, or a SMILES", spellcheck: "false" });
  const certified = h("input", { type: "checkbox", disabled: !model.get("learned") });
  const sketch = makeSketch(model.get("labels"), () => {});
  let way = model.get("drawing").graph ? "draw" : "type";
  const ways = choice("way", { text: "How to give the graph", hidden: true }, [["type", "Type", "An id or a SMILES"], ["draw", "Draw", "Draw a graph"]], way, open);
  const form = h("form", { class: "ask", onsubmit: ask }, ways, text, sketch.element, h("label", {}, certified, " certified"), h("button", { class: "main", type: "submit" }, "Search"));
  root.append(h("style", {}, style), h("div", { class: `widget ${isDark() ? "dark" : "light"}` }, h("div", { class: "explorer" }, form, h("div", { class: "results" }, line, cards, detail))));

  function open(chosen) {
    way = chosen;
    root.querySelector(".explorer").classList.toggle("drawing", way === "draw");
    text.hidden = way !== "type";
    sketch.element.hidden = way !== "draw";
  }
  function ask(event) {
    event.preventDefault();
    const drawing = sketch.read();
    if (way === "draw" ? !drawing.graph.num_nodes : !text.value.trim()) {
      line.textContent = way === "draw" ? "Draw a graph first: click into the field to add a node." : "Type an id of the index, or a SMILES.";
      return;
    }
    const asked = { certified: certified.checked, question: way === "type" ? text.value.trim() : "", drawing: way === "draw" ? drawing : {} };
    if (Object.entries(asked).every(([name, value]) => isSame(value, model.get(name)))) return;
    line.textContent = "Searching …";
    for (const [name, value] of Object.entries(asked)) model.set(name, value);
    model.save_changes();
  }
  /** Puts the graph that is asked for on the pad, so that it can be changed there. */
  function load() {
    const { graph, layout } = model.get("question") ? model.get("answer").query ?? {} : model.get("drawing");
    if (graph && !isSame({ graph, layout }, sketch.read())) sketch.load(graph, layout);
  }
  function show() {
    text.value = model.get("question");
    certified.checked = model.get("certified");
    const answer = model.get("answer");
    cards.replaceChildren();
    detail.replaceChildren();
    line.textContent = answer.error ?? answer.report?.text ?? "";
    load();
    if (!answer.hits) return;
    cards.append(...answer.hits.map((hit) => h("li", {}, card(answer, hit))));
    if (answer.hits.length) select(answer, answer.hits[0]);
  }
  function card({ query }, hit) {
    const marks = editMarks(query.graph, hit.graph, hit.edits);
    const colors = marks.places ? carried(nodeColors(query.graph, query.layout), marks.places) : null;
    const picture = draw(hit.graph, align(hit.layout, query.layout, hit.edits?.node_map), { colors, marks: marks.second });
    const [kind, words] = hit.proven === null ? ["learned", "learned distance"] : status(hit);
    return h("button", { type: "button", class: "card", "aria-pressed": "false", onclick: () => select(model.get("answer"), hit) }, h("div", { class: "picture" }, picture),
      h("span", { class: "card-line" }, h("strong", { class: "name" }, shown(hit.id)), h("span", { class: "distance" }, short(hit.exact ?? hit.distance))), h("span", { class: "card-line wraps" }, h("span", { class: `badge ${kind}` }, words), h("span", { class: "counts" }, hit.edits?.edits ? countEdits(hit.edits) : "")));
  }
  function select({ query, hits }, hit) {
    [...cards.querySelectorAll(".card")].forEach((one, position) => one.setAttribute("aria-pressed", String(hits[position].rank === hit.rank)));
    const facts = h("p", { class: "facts" }, h("span", { class: "big" }, short(hit.exact ?? hit.distance)), hit.proven === null ? h("span", { class: "badge learned" }, "learned distance") : null, Object.entries(hit.metadata).slice(0, 6).map(([key, value]) => h("span", { class: "meta" }, h("b", {}, key), " ", shown(value).slice(0, 80))));
    detail.replaceChildren(makePair({ first: query, second: { graph: hit.graph, layout: hit.layout, name: shown(hit.id) }, aligned: hit.edits, heading: `${query.name} and ${shown(hit.id)}`, facts, buttons: [] }));
  }
  model.on("change:answer", show);
  show();
  open(way);
  return () => model.off("change:answer", show);
}
