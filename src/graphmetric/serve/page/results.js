// Hits as cards that fill while they are proven, the line that says how far the proof is, and one hit in full.

import { describe, layoutOf, post, storedGraph } from "./api.js";
import { align, carried, draw, editMarks, nodeColors } from "./drawing.js";
import { h, lasted, many, put, s, save, say, short, shown } from "./dom.js";
import { countEdits, makePair, status } from "./pair.js";

const EXPLAINED = 12; // cards of a learned search whose edits are asked for without being selected

export function makeResults(page) {
  const { info } = page;
  const line = h("div", { class: "progress-line", hidden: true });
  const cards = h("ol", { class: "cards", "aria-label": "Hits" });
  const detail = h("div", { class: "detail" });
  const trouble = h("div", { role: "alert" });
  const element = h("div", { class: "results" }, trouble, line, cards, detail);
  const wide = () => h("button", { type: "button", class: "quiet", "aria-pressed": String(cards.classList.contains("all")), onclick: (event) => event.currentTarget.setAttribute("aria-pressed", String(cards.classList.toggle("all"))) }, "All cards");
  let [answer, query, asked, selected, scale, latest] = [null, null, null, null, 1, null];
  const known = new Map();
  const explained = new WeakMap();

  function begin() {
    asked = page.queryBody();
    answer = null;
    query = null;
    latest = null;
    known.clear();
    trouble.replaceChildren();
    cards.replaceChildren();
    detail.replaceChildren();
    line.hidden = false;
    line.replaceChildren(h("p", {}, h("span", { class: "spinner", "aria-hidden": "true" }), "Searching …"));
    element.setAttribute("aria-busy", "true");
    if (matchMedia("(max-width: 860px)").matches) element.scrollIntoView({ block: "start" });
  }

  /** The query is understood: hits can be drawn like it while they are still being proven. */
  function know({ graph, layout }) {
    if (answer) return;
    query = { graph, layout, name: page.queryName() };
    const picture = draw(graph, layout, { colors: nodeColors(graph, layout), title: query.name });
    detail.replaceChildren(h("section", { class: "panel pair", "aria-label": "The query" }, h("figure", {}, picture, h("figcaption", {}, h("strong", {}, query.name), h("span", {}, `${many(graph.num_nodes, "node")}, ${many(graph.edges.length, "edge")}`)))));
    if (latest) fill(latest.hits, query);
  }

  function bar(found, excluded, open) {
    const total = Math.max(1, found + excluded + open);
    const svg = s("svg", { class: "share", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    let at = 0;
    for (const [name, count] of [["found", found], ["excluded", excluded], ["open", open]]) {
      const width = (1000 * count) / total;
      if (count) svg.append(s("rect", { class: name, x: at, y: 0, width: Math.max(width, 4), height: 10 }));
      at += width;
    }
    return svg;
  }

  const counted = (excluded, open, least) => [`${excluded.toLocaleString("en")} excluded`, `${open.toLocaleString("en")} undecided`, ...(least === null ? [] : [`no undecided graph is nearer than ${short(least)}`])].map((text) => h("span", {}, text));

  function progress(told) {
    line.hidden = false;
    const open = told.undecided ?? info.graphs;
    line.replaceChildren(bar(told.found, told.excluded, open),
      h("p", {}, h("span", { class: "spinner", "aria-hidden": "true" }), h("b", { class: "found" }, `${told.found} proven`), counted(told.excluded, open, told.undecided_lower), h("span", { class: "seconds" }, lasted(told.seconds))));
    latest = told;
    fill(told.hits, query);
  }

  /** The search was stopped: what was known by then stays, and can be looked at. */
  function stopped() {
    element.setAttribute("aria-busy", "false");
    line.querySelector(".spinner")?.remove();
    line.append(h("p", { class: "hint" }, "Stopped."));
    if (!latest?.hits.length || !query) return;
    answer = { certified: true, stopped: true, query: query.graph, hits: latest.hits };
    line.append(tools());
    select(1, false);
  }

  async function finish(result) {
    answer = result;
    element.setAttribute("aria-busy", "false");
    query = { graph: result.query, layout: await placesOf(result.query), name: page.queryName() };
    const { report } = result;
    if (result.certified) {
      const proven = result.hits.filter((hit) => hit.proven).length;
      const excluded = Math.max(0, report.graphs - report.undecided - proven);
      put(line, bar(proven, excluded, report.undecided), h("p", {},
        report.complete && report.undecided === 0
          ? h("b", { class: "found" }, "✓ complete and proven")
          : h("b", { class: "bounds" }, `${proven} of ${result.hits.length} proven`),
        counted(excluded, report.undecided, report.undecided ? report.undecided_lower : null),
        h("span", { class: "seconds" }, lasted(report.seconds))),
      report.undecided ? h("p", { class: "hint" }, "The time ended before all was proven. Give it more seconds, or ask for fewer hits.") : null,
      tools());
    } else {
      line.replaceChildren(h("p", {}, h("b", {}, "Learned distance"), h("span", {}, `over ${many(report.graphs, "graph")}`), h("span", {}, "not proven"), h("span", { class: "seconds" }, lasted(report.seconds))), ...result.notes.map((one) => h("p", { class: "hint" }, one)), tools());
    }
    fill(result.hits, query);
    if (!result.hits.length) {
      detail.replaceChildren(h("div", { class: "panel empty" }, h("h3", {}, "No graph of the collection fits"), h("p", {}, advice())));
      say("no hits");
      return;
    }
    const wanted = Math.min(result.hits.length, Math.max(1, page.state.hit ?? 1));
    select(wanted, false);
    if (!result.certified) explainCards(result);
    const { item } = known.get(JSON.stringify(result.hits[wanted - 1].id));
    cards.scrollTo({ left: item.offsetLeft - cards.offsetLeft - 6 }); // cards that came later may have moved it away
    say(`${many(result.hits.length, "hit")}${result.certified ? `, ${result.hits.filter((hit) => hit.proven).length} proven` : ""}; the nearest is ${shown(result.hits[0].id)} at ${short(result.hits[0].distance)}`);
  }

  function advice() {
    const { state } = page;
    const possible = [
      state.within !== null ? "a larger distance" : null,
      Object.keys(state.where).length ? "other filters" : null,
      Object.keys(state.limits).length ? "wider limits" : null,
    ].filter(Boolean);
    return possible.length ? `Try ${possible.join(" or ")}.` : "The collection is empty.";
  }

  async function placesOf(graph) {
    const { state } = page;
    if (state.layout?.length === graph.num_nodes) return state.layout;
    return layoutOf(graph).catch(() => null);
  }

  function fill(hits, against) {
    scale = Math.max(1e-9, ...hits.map((hit) => hit.upper ?? hit.distance ?? 0));
    const seen = new Set();
    hits.forEach((hit, position) => {
      const key = JSON.stringify(hit.id);
      seen.add(key);
      let card = known.get(key);
      if (!card) {
        card = makeCard(hit);
        known.set(key, card);
      }
      card.update(hit, against);
      if (cards.children[position] !== card.item) cards.insertBefore(card.item, cards.children[position] ?? null);
    });
    for (const [key, card] of known) {
      if (!seen.has(key)) {
        card.item.remove();
        known.delete(key);
      }
    }
  }

  function makeCard(first) {
    const picture = h("div", { class: "picture" });
    const distance = h("span", { class: "distance" });
    const badge = h("span", { class: "badge" });
    const closing = s("svg", { class: "closing", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
    const counts = h("span", { class: "counts" });
    const button = h("button", { type: "button", class: "card", "aria-pressed": "false", onclick: () => select(hit.rank, true), onkeydown: step },
      picture, h("span", { class: "card-line" }, h("strong", { class: "name" }, shown(first.id)), h("span", {}, h("span", { class: "unseen" }, "at distance "), distance)), closing, h("span", { class: "card-line wraps" }, badge, counts));
    let [hit, drawn] = [first, ""];
    async function paint(against) {
      const aligned = hit.edits;
      const wanted = `${against ? "full" : "bare"} ${Boolean(aligned?.edits)} ${JSON.stringify(aligned?.node_map ?? null)}`;
      if (wanted === drawn || (drawn && !against)) return;
      drawn = wanted;
      try {
        const { graph, layout } = await storedGraph(hit.id);
        const marks = against ? editMarks(against.graph, graph, aligned) : null;
        const colors = marks?.places ? carried(nodeColors(against.graph, against.layout), marks.places) : null;
        const svg = draw(graph, against ? align(layout, against.layout, aligned?.node_map) : layout, { colors, marks: marks?.second, numbers: marks?.places });
        svg.setAttribute("aria-hidden", "true");
        picture.replaceChildren(svg);
      } catch {
        picture.replaceChildren(h("span", { class: "hint" }, "no picture"));
      }
    }
    return {
      item: h("li", {}, button), button,
      update(now, against) {
        hit = now;
        const isCertified = hit.proven !== null;
        const isExact = isCertified && hit.exact !== null;
        distance.textContent = !isCertified || isExact ? short(hit.exact ?? hit.distance) : `${short(hit.lower)}–${short(hit.upper)}`;
        const [kind, text] = isCertified ? (hit.proven ? ["proven", "✓ proven"] : ["open", "bounds"]) : ["learned", "learned distance"];
        badge.className = `badge ${kind}`;
        badge.textContent = text;
        const [low, high] = isCertified ? [hit.lower ?? 0, hit.upper ?? scale] : [hit.distance, hit.distance];
        const at = (value) => 2 + (96 * Math.min(value, scale)) / scale;
        closing.replaceChildren(s("rect", { class: "track", x: 0, y: 3, width: 100, height: 2 }),
          s("rect", { class: kind, x: at(low) - 1.5, y: 1, width: Math.max(3, at(high) - at(low) + 3), height: 6, rx: 1.5 }));
        counts.textContent = hit.edits?.edits ? countEdits(hit.edits) : many(hit.num_nodes, "node");
        paint(against);
      },
    };
  }

  function step(event) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move) return;
    const buttons = [...cards.querySelectorAll(".card")];
    buttons[buttons.indexOf(event.currentTarget) + move]?.focus();
    event.preventDefault();
  }

  async function select(rank, chosen) {
    if (!answer) return;
    const hit = answer.hits[rank - 1];
    selected = rank;
    for (const [key, card] of known) card.button.setAttribute("aria-pressed", String(key === JSON.stringify(hit.id)));
    if (chosen) page.set({ hit: rank === 1 ? null : rank });
    try {
      const { graph, layout } = await storedGraph(hit.id);
      if (selected !== rank || !answer) return;
      const [kind, text] = hit.proven === null ? ["learned", "learned distance"] : hit.proven && hit.exact !== null ? ["proven", "✓ proven"] : status({ ...hit, exact: null });
      const facts = (aligned) => h("p", { class: "facts" }, h("span", { class: "big" }, short(hit.exact ?? hit.distance)), h("span", { class: `badge ${kind}` }, text),
        hit.proven === null && aligned ? h("span", { class: "hint" }, `edit distance ${aligned.exact ? `${short(aligned.upper)}, ` : ""}${status(aligned)[1]}`) : null,
        Object.entries(hit.metadata).slice(0, 6).map(([key, value]) => h("span", { class: "meta" }, h("b", {}, key), " ", shown(value).slice(0, 80))));
      const name = shown(hit.id);
      const show = (aligned, facts) => detail.replaceChildren(makePair({
        first: query, second: { graph, layout, name }, aligned, heading: `${query.name} and ${name}`, facts,
        buttons: [
          h("button", { type: "button", class: "quiet", onclick: () => page.ask({ id: hit.id }) }, "Search from it"),
          h("button", { type: "button", class: "quiet", onclick: () => page.compare(asked, { id: hit.id }) }, "Compare"),
        ],
      }));
      show(hit.edits, facts(hit.edits));
      if (await explain(hit) && selected === rank && answer) show(hit.edits, facts(hit.edits));
    } catch (problem) {
      detail.replaceChildren(describe(problem));
    }
  }

  /** Asks for the edits of a hit, once; tells whether they are new. */
  function explain(hit) {
    if (hit.edits?.edits || (hit.proven !== null && !hit.edits?.node_map)) return false;
    if (!explained.has(hit)) explained.set(hit, ask(hit).catch(() => false));
    return explained.get(hit);
  }
  async function ask(hit) {
    const { node_map, lower, exact } = hit.edits ?? {};
    const { distance } = await post("v1/explain", { first: asked, second: { id: hit.id }, node_map });
    if (!distance.edits) return false;
    hit.edits = node_map ? { ...distance, lower, exact } : distance; // a map that is given comes back without bounds
    known.get(JSON.stringify(hit.id))?.update(hit, query);
    return true;
  }
  async function explainCards(mine) {
    for (const hit of mine.hits.slice(0, EXPLAINED)) {
      if (answer !== mine) return;
      await explain(hit);
    }
  }

  function tools() {
    return h("p", { class: "tools" },
      answer.certified ? null : h("button", { type: "button", class: "quiet strong", onclick: () => { page.ask({ mode: "certified", smiles: page.state.smiles, graph: page.state.graph, id: page.state.id, layout: page.state.layout }); } }, "Certify"),
      h("button", { type: "button", class: "quiet", onclick: copyLink }, "Copy link"),
      h("button", { type: "button", class: "quiet", onclick: () => save("hits.json", JSON.stringify(answer, null, 1), "application/json") }, "JSON"),
      h("button", { type: "button", class: "quiet", onclick: () => save("hits.csv", csv(answer.hits), "text/csv") }, "CSV"),
      h("button", { type: "button", class: "quiet", onclick: () => page.set({ view: "map" }) }, "On the map"),
      answer.hits.length > 5 ? wide() : null);
  }
  async function copyLink(event) {
    const { target } = event;
    try {
      await navigator.clipboard.writeText(location.href);
      target.textContent = "Copied";
    } catch {
      target.textContent = "Copy the address above";
    }
    say(target.textContent);
    setTimeout(() => { target.textContent = "Copy link"; }, 2000);
  }

  function fail(problem) {
    element.setAttribute("aria-busy", "false");
    line.hidden = true;
    trouble.replaceChildren(describe(problem, [0, 500, 502, 503, 504].includes(problem.status) ? () => page.search() : null));
  }

  /** Before the first search: what can be done, and graphs of the collection to start from. */
  async function welcome() {
    line.hidden = true;
    cards.replaceChildren();
    trouble.replaceChildren();
    known.clear();
    const samples = h("div", { class: "samples" });
    detail.replaceChildren(h("div", { class: "panel welcome" },
      h("h1", {}, "Find the graphs that are most like yours"),
      h("p", {}, `Draw a graph, ${info.smiles ? "paste a SMILES, " : ""}drop a file or name an id. You see the nearest of ${many(info.graphs, "graph")}, which edits lead there, and what is proven.`),
      h("h2", {}, "Or start from a graph of the collection"), samples));
    for (const id of info.first_ids.slice(0, 8)) {
      const box = h("button", { type: "button", class: "card sample", onclick: () => page.ask({ id }) }, h("div", { class: "picture" }), h("span", { class: "name" }, h("span", { class: "unseen" }, "Search from "), shown(id)));
      samples.append(box);
      storedGraph(id).then(({ graph, layout }) => {
        const svg = draw(graph, layout);
        svg.setAttribute("aria-hidden", "true");
        box.firstChild.replaceChildren(svg);
      }, () => {});
    }
  }

  return { element, begin, progress, finish, fail, welcome, know, stopped, hits: () => answer?.hits ?? [] };
}

/** Hits as CSV; a cell that a spreadsheet would take for a formula gets an apostrophe. */
export function csv(hits) {
  const keys = [...new Set(hits.flatMap((hit) => Object.keys(hit.metadata)))];
  const cell = (value) => {
    const text = shown(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const fields = ["rank", "id", "distance", "exact", "lower", "upper", "proven", "num_nodes", "num_edges"];
  return `${[[...fields, ...keys], ...hits.map((hit) => [...fields.map((name) => hit[name]), ...keys.map((key) => hit.metadata[key])])].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}
