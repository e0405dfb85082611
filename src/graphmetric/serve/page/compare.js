// Any two graphs: how far they are apart, and by which edits.

import { describe, layoutOf, post } from "./api.js";
import { h, say, short, shown } from "./dom.js";
import { makePair, status } from "./pair.js";
import { kindName } from "./query.js";
import { typed } from "./sketch.js";

/** A query as it stands in a field: how it is given, and its text. */
function written(query) {
  if (!query) return ["id", ""];
  if (query.graph) return ["graph", JSON.stringify(query.graph)];
  return query.smiles ? ["smiles", query.smiles] : ["id", shown(query.id)];
}

export function makeCompare(page) {
  const { info } = page;
  const kinds = [["id", "Id"], ...(info.smiles ? [["smiles", "SMILES"]] : []), ["graph", "JSON"]];
  const fields = [["a", "First graph"], ["b", "Second graph"]].map(([name, label], position) => {
    const kind = h("select", { "aria-label": `${label}: how it is given` }, kinds.map(([value, text]) => h("option", { value }, text)));
    const input = h("textarea", {
      id: `graph-${name}`, rows: 2, spellcheck: "false", autocapitalize: "off", placeholder: shown(info.first_ids[position]),
      oninput: () => {
        const given = input.value.trim();
        if (given.startsWith("{")) kind.value = "graph";
        else if (info.first_ids.some((id) => shown(id) === given)) kind.value = "id";
        else if (kind.value === "graph") kind.value = "id";
      },
    });
    return {
      name, input, kind,
      element: h("div", { class: "field" }, h("div", { class: "field-head" }, h("label", { for: `graph-${name}` }, label), kind), input),
      read() {
        const given = input.value.trim();
        if (!given) return null;
        if (kind.value === "smiles") return { smiles: given };
        if (kind.value === "id") return { id: typed(given, info.first_ids) };
        const parsed = JSON.parse(given);
        return { graph: parsed.graph ?? parsed };
      },
      write(query) {
        [kind.value, input.value] = written(query);
      },
    };
  });
  const result = h("div", { "aria-live": "polite" });
  const swap = h("button", { type: "button", class: "quiet", onclick: () => { page.set({ a: page.state.b, b: page.state.a }); show(page.state); } }, "Swap");
  const form = h("form", { class: "panel compare", onsubmit: (event) => { event.preventDefault(); run(); } },
    h("h1", {}, "Compare two graphs"),
    h("div", { class: "two" }, fields.map((field) => field.element)),
    h("div", { class: "go" }, h("button", { class: "main", type: "submit" }, "Compare"), swap));
  let [turn, compared] = [0, ""];

  async function run() {
    let [first, second] = [null, null];
    try {
      [first, second] = fields.map((field) => field.read());
    } catch (problem) {
      result.replaceChildren(h("div", { class: "problem" }, h("h2", {}, "This is not JSON"), h("p", {}, problem.message)));
      return;
    }
    page.set({ a: first, b: second });
    if (!first || !second) {
      result.replaceChildren(h("div", { class: "panel empty" }, h("p", {}, "Give both graphs.")));
      return;
    }
    compared = JSON.stringify([first, second]);
    const mine = ++turn;
    result.replaceChildren(h("p", { class: "hint" }, h("span", { class: "spinner", "aria-hidden": "true" }), "Comparing …"));
    try {
      const limits = Object.keys(page.state.limits).length ? page.state.limits : undefined;
      const asked = { first, second, limits, time_limit: page.state.time };
      const [answer, learned] = await Promise.all([post("v1/explain", asked), info.learned ? post("v1/distance", { ...asked, learned: true, time_limit: 0.1 }).then((one) => one.learned, () => null) : null]);
      const layouts = await Promise.all([answer.first, answer.second].map((graph) => layoutOf(graph).catch(() => null)));
      if (mine !== turn) return;
      const { distance } = answer;
      const [kind, text] = status(distance);
      const names = [shown(answer.first.id ?? first.smiles ?? "first graph"), shown(answer.second.id ?? second.smiles ?? "second graph")];
      const facts = h("p", { class: "facts" }, h("span", { class: "big" }, distance.impossible ? "∞" : short(distance.upper)), h("span", { class: `badge ${kind}` }, kind === "proven" && !distance.impossible ? "✓ proven" : text),
        limits ? h("span", { class: "hint" }, `within limits: ${Object.entries(limits).map(([kind, most]) => `${kindName(kind)} ≤ ${most}`).join(", ")}`) : null,
        learned === null ? null : h("span", { class: "hint" }, `learned distance ${short(learned)}`));
      result.replaceChildren(makePair({ first: { graph: answer.first, layout: layouts[0], name: names[0] }, second: { graph: answer.second, layout: layouts[1], name: names[1] }, aligned: distance, heading: `${names[0]} and ${names[1]}`, facts }));
      say(`edit distance ${short(distance.upper)}, ${text}`);
    } catch (problem) {
      if (mine !== turn) return;
      result.replaceChildren(describe(problem));
    }
  }
  function show(state) {
    const changed = JSON.stringify([state.a, state.b]) !== compared;
    if (changed) for (const field of fields) field.write(state[field.name]);
    if ((changed || !result.childElementCount) && state.a && state.b) run();
    else if (!result.childElementCount) result.replaceChildren(h("div", { class: "panel empty" }, h("p", {}, "You see both graphs with aligned nodes in the same colours, and the edits that lead from one to the other."),
      info.first_ids.length > 1 ? h("p", {}, h("button", { type: "button", class: "quiet", onclick: () => { page.set({ a: { id: info.first_ids[0] }, b: { id: info.first_ids[1] } }); show(page.state); } }, `Compare ${shown(info.first_ids[0])} and ${shown(info.first_ids[1])}`)) : null));
  }
  return { element: h("div", { class: "compare-view" }, form, result), show };
}
