// Two graphs side by side with the edits between them, linked: pointing at one part shows it everywhere.

import { align, carried, common, draw, editMarks, nodeColors, pairSvg } from "./drawing.js";
import { choice, h, many, save, short, shown } from "./dom.js";

const GROUPS = [
  ["relabel_node", "Relabel nodes", "~"], ["delete_node", "Delete nodes", "−"], ["insert_node", "Insert nodes", "+"],
  ["relabel_edge", "Relabel edges", "~"], ["delete_edge", "Delete edges", "−"], ["insert_edge", "Insert edges", "+"],
];
let colored = "alignment";

/** What is known about a distance, in words. */
export function status(found) {
  if (found.impossible) return ["proven", "proven: no allowed edits lead from one to the other"];
  if (found.exact === true || (found.proven && found.exact !== false && found.exact !== null)) return ["proven", "proven"];
  return ["open", found.lower === null || found.lower === undefined ? "not proven" : `between ${short(found.lower)} and ${found.upper === null ? "?" : short(found.upper)}`];
}

/** The number of edits, and what is proven of it. */
export function countEdits({ edits, exact, lower }) {
  return `${many(edits.length, "edit")}, ${exact ? "exact" : `at least ${short(lower)}`}`;
}

/** `parts`: first, second {graph, layout, name}, aligned (bounds, node_map, edits), heading, badge, extra elements. */
export function makePair({ first, second, aligned, heading, facts, buttons }) {
  const marks = editMarks(first.graph, second.graph, aligned);
  const pictures = h("div", { class: "pictures" });
  let drawn = [];
  function render() {
    const colors = colored === "alignment" && aligned?.node_map ? nodeColors(first.graph, first.layout) : null;
    const placed = align(second.layout, first.layout, aligned?.node_map);
    const least = common([first.layout, placed]);
    drawn = [
      draw(first.graph, first.layout, { colors, marks: marks.first, least, title: `${first.name}, ${many(first.graph.num_nodes, "node")}` }),
      draw(second.graph, placed, { colors: colors && marks.places ? carried(colors, marks.places) : null, marks: marks.second, numbers: marks.places, least, title: `${second.name}, ${many(second.graph.num_nodes, "node")}` }),
    ];
    pictures.replaceChildren(...[first, second].map((side, position) => h("figure", {}, drawn[position], h("figcaption", {}, h("strong", {}, side.name), h("span", {}, `${many(side.graph.num_nodes, "node")}, ${many(side.graph.edges.length, "edge")}`)))));
    for (const svg of drawn) {
      svg.addEventListener("pointerover", (event) => {
        const part = event.target.closest(".node, .edge");
        if (part?.dataset.number !== undefined) point((node) => node.dataset.number === part.dataset.number && node.classList.contains("node"), part.dataset.edits);
        else if (part?.dataset.edits) point(() => false, part.dataset.edits);
      });
      svg.addEventListener("pointerleave", clear);
    }
  }
  const edits = aligned?.edits ?? null;
  const named = (number) => {
    const [graph, node] = number < first.graph.num_nodes ? [first.graph, number] : [second.graph, marks.places?.indexOf(number)];
    return `${shown(graph.node_labels?.[node]) || "node"} ${number}`;
  };
  const list = h("div", { class: "edits" });
  function point(also, numbers) {
    clear();
    const wanted = new Set(String(numbers ?? "").split(" ").filter(Boolean));
    for (const svg of drawn) {
      svg.classList.add("pointing");
      for (const part of svg.querySelectorAll(".node, .edge")) {
        const own = (part.dataset.edits ?? "").split(" ").filter(Boolean);
        if (also(part) || own.some((edit) => wanted.has(edit))) part.classList.add("pointed");
      }
    }
    for (const item of list.querySelectorAll("[data-edit]")) item.classList.toggle("pointed", wanted.has(item.dataset.edit));
  }
  function clear() {
    for (const svg of drawn) {
      svg.classList.remove("pointing");
      for (const part of svg.querySelectorAll(".pointed")) part.classList.remove("pointed");
    }
    for (const item of list.querySelectorAll(".pointed")) item.classList.remove("pointed");
  }
  /** An edit touches its own nodes too, so that both pictures show where an inserted edge will be. */
  const touches = (edit) => (part) => part.classList.contains("node") && edit.nodes.includes(Number(part.dataset.number));
  if (edits === null) list.append(h("p", { class: "hint" }, aligned?.note ?? "The edits are not known: no alignment was found in the time."));
  else if (edits.length === 0) list.append(h("p", { class: "same" }, "Nothing to change: the graphs are equal."));
  for (const [kind, name, sign] of edits ? GROUPS : []) {
    const own = edits.map((edit, index) => [edit, index]).filter(([edit]) => edit.kind === kind);
    if (!own.length) continue;
    list.append(h("h4", { class: `kind ${kind.split("_")[0]}` }, h("i", { "aria-hidden": "true" }, sign), name, h("span", {}, String(own.length))),
      h("ul", {}, own.map(([edit, index]) => h("li", {}, h("button", {
        type: "button", class: "edit", "data-edit": index,
        onpointerenter: () => point(touches(edit), index), onpointerleave: clear, onfocus: () => point(touches(edit), index), onblur: clear,
      }, words(edit, named), edit.place ? h("small", {}, edit.place) : null)))));
  }
  render();
  return h("section", { class: "panel pair", "aria-label": heading },
    h("header", {}, h("div", {}, h("h3", {}, heading), facts),
      h("div", { class: "pair-tools" }, aligned?.node_map ? choice(`color-${Math.random().toString(36).slice(2, 8)}`, { text: "Node colours", hidden: true }, [["alignment", "Aligned", "The same colour in both graphs where nodes are aligned"], ["label", "Labels", "A colour for each label"]], colored, (value) => { colored = value; render(); }) : null,
        buttons, h("button", { type: "button", class: "quiet", onclick: () => save("pair.svg", pairSvg(drawn[0], drawn[1], [first.name, second.name]), "image/svg+xml") }, "SVG"))),
    h("div", { class: "pair-body" }, pictures, h("div", { class: "edit-column" }, h("h4", { class: "edits-title" }, edits ? countEdits(aligned) : "Edits"), list)));
}

function words(edit, named) {
  const at = edit.nodes.map(named).join(" – ");
  const value = (label) => (label === null || label === undefined ? "none" : String(typeof label === "object" ? JSON.stringify(label) : label));
  if (edit.kind.startsWith("relabel")) return [h("b", {}, value(edit.old)), " → ", h("b", {}, value(edit.new)), edit.kind.endsWith("edge") ? ` between ${at}` : ` at node ${edit.nodes[0]}`];
  return [edit.label === null || edit.label === undefined ? null : h("b", {}, `${value(edit.label)} `), edit.kind.endsWith("edge") ? at : `node ${edit.nodes[0]}`];
}
