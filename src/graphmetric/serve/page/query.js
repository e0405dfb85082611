// The query panel: five ways to give a graph, and what is asked about it.

import { describe, layoutOf, post, storedGraph } from "./api.js";
import { choice, h, many, put, say, shown } from "./dom.js";
import { makeSketch, typed } from "./sketch.js";

const KINDS = {
  nodes_relabeled: "nodes relabeled", edges_relabeled: "edges relabeled", nodes_deleted: "nodes deleted", nodes_inserted: "nodes inserted",
  edges_deleted: "edges deleted", edges_inserted: "edges inserted", ring: "edges of rings", linker: "edges of linkers", terminal: "terminal edges",
  element: "changes of elements", bond: "changes of bonds", total: "edits in all",
};
export const kindName = (kind) => KINDS[kind] ?? kind.replaceAll("_", " ");

/** Whether a graph of a link, or one that was typed, may be drawn; the search says what is wrong with others. */
function isSound({ num_nodes, edges }, limits) {
  const isNode = (node) => Number.isInteger(node) && node >= 0 && node < num_nodes;
  return Number.isInteger(num_nodes) && num_nodes >= 0 && num_nodes <= limits.nodes && Array.isArray(edges) && edges.length <= limits.edges
    && edges.every((edge) => Array.isArray(edge) && edge.length === 2 && edge.every(isNode));
}

/** Whether a layout has a place for each node. */
function fits(layout, { num_nodes }) {
  return layout?.length === num_nodes && layout.every((place) => Array.isArray(place) && place.length === 2 && place.every(Number.isFinite));
}

export function makeQuery(page) {
  const { info } = page;
  const panels = {};
  let [molecule, opened] = [null, null];
  const sketch = makeSketch(info, drawn);
  const note = h("div", { class: "query-note", role: "status" });

  // The five ways. Each panel has `open`, which shows what the state has, and may put a new query into the state.
  const ways = [
    ["draw", "Draw"],
    ...(info.smiles ? [["molecule", "Molecule"]] : []),
    ["text", info.smiles ? "SMILES / JSON" : "JSON"],
    ["file", "File"],
    ["id", "Id"],
  ];
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "How to give the graph", onkeydown: turn },
    ways.map(([way, text]) => h("button", { type: "button", role: "tab", id: `way-${way}`, "aria-controls": `panel-${way}`, "aria-selected": "false", tabindex: -1, onclick: () => open(way) }, text)));

  function turn(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = ways.findIndex(([way]) => way === opened);
    const [way] = ways[(place + step + ways.length) % ways.length];
    open(way);
    document.getElementById(`way-${way}`).focus();
    event.preventDefault();
  }
  for (const [way] of ways) panels[way] = h("div", { role: "tabpanel", id: `panel-${way}`, "aria-labelledby": `way-${way}`, hidden: true });
  panels.draw.append(sketch.element);

  function ask(query) {
    note.replaceChildren();
    page.set({ smiles: null, id: null, graph: null, layout: null, hit: null, ...query });
  }

  // Text: SMILES or JSON.
  const text = h("textarea", { id: "text", rows: 5, spellcheck: "false", autocapitalize: "off", placeholder: info.smiles ? "CC(=O)Oc1ccccc1C(=O)O" : '{"num_nodes": 3, "edges": [[0, 1], [1, 2]]}', oninput: () => readText() });
  function readText() {
    const given = text.value.trim();
    if (!given) return ask({});
    if (!given.startsWith("{")) {
      return info.smiles ? ask({ smiles: given }) : note.replaceChildren(h("p", { class: "field-error" }, "A graph in JSON starts with {. This service cannot read SMILES, since RDKit is not installed."));
    }
    try {
      const parsed = JSON.parse(given);
      ask({ graph: parsed.graph ?? parsed });
    } catch (error) {
      note.replaceChildren(h("p", { class: "field-error" }, `This is not JSON yet: ${error.message}`));
    }
  }
  put(panels.text, h("label", { for: "text" }, info.smiles ? "A molecule as SMILES, or a graph as JSON" : "A graph as JSON"), text,
    info.smiles ? h("p", { class: "hint reading" }, info.reading ? `SMILES are read as the collection was, by ${["elements", "bond types", ...info.reading.distinguish].join(", ")}.` : "The collection does not record how molecules were read: SMILES are read by elements and bond types.") : null,
    h("p", { class: "hint" }, "JSON: ", h("code", {}, '{"num_nodes": 3, "edges": [[0,1],[1,2]], "node_labels": ["C","C","O"]}')));

  // Id.
  const id = h("input", { id: "id", type: "text", list: "ids", autocomplete: "off", spellcheck: "false", placeholder: shown(info.first_ids[0]), oninput: () => ask({ id: id.value.trim() === "" ? null : typed(id.value.trim(), info.first_ids) }) });
  panels.id.append(h("label", { for: "id" }, "The id of a graph of the collection"), id,
    h("datalist", { id: "ids" }, info.first_ids.map((one) => h("option", { value: shown(one) }))),
    h("p", { class: "hint" }, "For example ", info.first_ids.slice(0, 4).map((one, position) => [position ? ", " : "", h("button", { type: "button", class: "link", onclick: () => { id.value = shown(one); ask({ id: one }); } }, shown(one))])));

  // File.
  const list = h("div", { class: "file-graphs" });
  const file = h("input", { type: "file", id: "file", class: "unseen", accept: info.formats.join(","), onchange: () => file.files[0] && readFile(file.files[0]) });
  panels.file.append(h("label", { for: "file", class: "drop" }, h("strong", {}, "Drop a file here, or choose one"), h("span", {}, `${info.formats.join(" ")}`)), file, list);
  async function readFile(given) {
    open("file");
    if (given.size > info.limits.body) {
      note.replaceChildren(h("p", { class: "field-error" }, `${given.name} has ${(given.size / 1e6).toFixed(1)} MB; at most ${(info.limits.body / 1e6).toFixed(1)} MB are allowed. Cut out the graphs you need.`));
      return;
    }
    list.replaceChildren(h("p", { class: "hint" }, `reading ${given.name} …`));
    try {
      const { graphs, notes } = await post("v1/read", { file: { name: given.name, text: await given.text() } });
      list.replaceChildren(
        graphs.length > 1 ? h("label", {}, `${many(graphs.length, "graph")} in ${given.name}: `, h("select", { onchange: (event) => use(graphs[event.target.selectedIndex]) },
          graphs.map((graph, position) => h("option", {}, `${shown(graph.id ?? position + 1)} · ${many(graph.num_nodes, "node")}`)))) : h("p", {}, graphs.length ? `Read ${given.name}.` : `${given.name} has no graphs.`),
        notes.length ? h("details", {}, h("summary", {}, many(notes.length, "note")), h("ul", {}, notes.map((one) => h("li", {}, one)))) : "");
      if (graphs.length) use(graphs[0]);
    } catch (problem) {
      list.replaceChildren(describe(problem));
    }
  }
  function use(graph) {
    const { id: _, metadata, ...rest } = graph;
    ask({ graph: rest });
    say(`${graph.num_nodes} nodes read`);
  }
  for (const kind of ["dragover", "drop"]) {
    addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files[0]) {
        page.set({ view: "search" });
        readFile(event.dataTransfer.files[0]);
      }
    });
  }

  async function open(way) {
    opened = way;
    for (const [one] of ways) {
      const tab = tabs.querySelector(`#way-${one}`);
      tab.setAttribute("aria-selected", String(one === way));
      tab.tabIndex = one === way ? 0 : -1;
      panels[one].hidden = one !== way;
    }
    const { state } = page;
    if (way === "draw") {
      const query = await understood();
      if (query && JSON.stringify(sketch.read().graph) !== JSON.stringify(query.graph)) {
        sketch.load(query.graph, query.layout);
      } else sketch.show();
    } else if (way === "molecule") {
      if (!molecule) {
        panels.molecule.replaceChildren(h("p", { class: "hint" }, "loading the editor …"));
        const { makeMolecule } = await import("./molecule.js");
        molecule ??= await makeMolecule(state.smiles, (smiles) => ask({ smiles: smiles || null }));
        panels.molecule.replaceChildren(molecule.element, h("p", { class: "hint" }, "Drawn with openchemlib. The SMILES is under SMILES / JSON."));
        molecule.start();
      } else if (state.smiles && state.smiles !== molecule.read()) molecule.load(state.smiles);
    } else if (way === "text") {
      text.value = state.smiles ?? (state.graph ? JSON.stringify(state.graph) : "");
    } else if (way === "id") {
      id.value = shown(state.id);
    }
  }
  function drawn() {
    const { graph, layout } = sketch.read();
    ask(graph.num_nodes ? { graph, layout } : {});
  }
  /** A graph without labels that do not count. */
  const counted = (graph) => (info.edge_labels.length ? graph : { ...graph, edge_labels: undefined });
  /** The query as a graph with places, whichever way it was given; null if there is none, or it cannot be read. */
  async function understood() {
    const { state } = page;
    try {
      if (state.graph) {
        const graph = { edges: [], ...state.graph };
        if (!isSound(graph, info.limits)) return null;
        return { graph: counted(graph), layout: fits(state.layout, graph) ? state.layout : await layoutOf(graph) };
      }
      if (state.id !== null) return await storedGraph(state.id);
      if (state.smiles) {
        const { graphs: [graph] } = await post("v1/read", { file: { name: "query.smi", text: `${state.smiles}\n` } });
        return { graph: counted(graph), layout: await layoutOf(graph) };
      }
    } catch { /* the search says what is wrong */ }
    return null;
  }

  // What is asked.
  const { state } = page;
  const form = h("form", { class: "panel query", "aria-label": "Query", onsubmit: (event) => { event.preventDefault(); page.search(); } });
  const certified = () => (page.state.mode ?? (info.learned ? "learned" : "certified")) === "certified";
  const mode = choice("mode", { text: "Distance" }, [
    ...(info.learned ? [["learned", "Learned", "Fast, by the model"]] : []),
    ["certified", "Certified", "Edit distance, with proofs"],
  ], state.mode ?? (info.learned ? "learned" : "certified"), (value) => { page.set({ mode: value }); explainMode(); });
  const modeHint = h("p", { class: "hint" });
  function explainMode() {
    modeHint.textContent = certified() ? "Edit distance, proven or between bounds." : "Fast, by the model, without proof.";
    limits.hidden = !certified();
  }
  const k = h("input", { id: "k", type: "number", min: 1, max: info.limits.hits, step: 1, value: state.k, onchange: () => page.set({ k: Math.max(1, Math.min(info.limits.hits, Math.round(Number(k.value) || 10))) }) });
  const within = h("input", { id: "within", type: "number", min: 0, step: "any", value: state.within ?? "", placeholder: "any", onchange: () => page.set({ within: within.value === "" ? null : Math.max(0, Number(within.value)) }) });
  const time = h("input", { id: "time", type: "number", min: 0.1, max: info.limits.time_limit, step: "any", value: state.time, onchange: () => page.set({ time: Math.min(info.limits.time_limit, Math.max(0.1, Number(time.value) || 5)) }) });
  const scale = h("select", { id: "scale", onchange: () => page.set({ scale: scale.value }) },
    [["raw", "number of edits"], ["steinhaus", "0 to 1 (Steinhaus)"], ["paper", "as in papers"]].map(([value, name]) => h("option", { value, selected: value === state.scale }, name)));
  const distinct = h("input", { id: "distinct", type: "checkbox", checked: state.distinct, onchange: () => page.set({ distinct: distinct.checked }) });

  const rows = h("div", { class: "rows" });
  const limitRows = h("div", { class: "rows" });
  function pairs(box, start, keys, make, store) {
    const read = () => store(Object.fromEntries([...box.children].map((row) => row.value?.()).filter(Boolean)));
    const add = (key, value) => {
      const select = h("select", { "aria-label": box === rows ? "Metadata" : "Kind of edit", onchange: () => row.replaceChildren(select, ...field(""), remove) }, keys.map((one) => h("option", { value: one, selected: one === key }, box === rows ? one : kindName(one))));
      let entry = null;
      const field = (given) => { const made = make(select.value, given, read); entry = made.entry; return made.parts; };
      const remove = h("button", { type: "button", class: "quiet", "aria-label": "Remove this row", onclick: () => { row.remove(); read(); } }, "×");
      const row = h("div", { class: "row" });
      row.append(select, ...field(value), remove);
      row.value = () => (entry.value === "" ? null : [select.value, entry.read()]);
      box.append(row);
      return row;
    };
    for (const [key, value] of Object.entries(start)) add(key, shown(value));
    return () => add(keys[0], "").querySelector("input").focus();
  }
  const metadataKeys = Object.keys(info.metadata);
  const addFilter = pairs(rows, state.where, metadataKeys, (key, value, read) => {
    const known = info.metadata[key] ?? [];
    const listed = `values-${Math.random().toString(36).slice(2)}`;
    const entry = h("input", { type: "text", maxlength: 64, value, list: listed, "aria-label": `Value of ${key}`, onchange: read });
    entry.read = () => typed(entry.value, known);
    return { entry, parts: [h("span", {}, "is"), entry, h("datalist", { id: listed }, known.map((one) => h("option", { value: shown(one) })))] };
  }, (where) => page.set({ where }));
  const addLimit = pairs(limitRows, state.limits, info.kinds_of_limits, (kind, value, read) => {
    const entry = h("input", { type: "number", min: 0, step: 1, value, "aria-label": `The most ${kindName(kind)}`, onchange: read });
    entry.read = () => Math.max(0, Math.round(Number(entry.value)));
    return { entry, parts: [h("span", {}, "at most"), entry] };
  }, (limits) => page.set({ limits }));
  const filters = metadataKeys.length ? h("details", { open: Object.keys(state.where).length > 0 }, h("summary", {}, "Filter by metadata"), rows, h("button", { type: "button", class: "quiet", onclick: addFilter }, "Add a filter")) : null;
  const limits = h("details", { open: Object.keys(state.limits).length > 0 }, h("summary", {}, "Limit kinds of edits"), limitRows, h("button", { type: "button", class: "quiet", onclick: addLimit }, "Add a limit"));

  const go = h("button", { class: "main", type: "submit" }, "Search");
  const stop = h("button", { class: "quiet", type: "button", hidden: true, onclick: () => page.stop() }, "Stop");
  form.append(
    h("h2", {}, "Your graph"), tabs, ...Object.values(panels), note,
    h("div", { class: "asked" }, mode, modeHint,
      h("div", { class: "fields" },
        h("label", { for: "k" }, "Hits", k), h("label", { for: "within" }, "Within", within), h("label", { for: "time" }, "Seconds", time)),
      filters, limits,
      h("details", {}, h("summary", {}, "More"), h("div", { class: "fields" }, h("label", { for: "scale" }, "Scale", scale)), h("label", { class: "check", for: "distinct" }, distinct, " only the first of equal graphs")),
      h("div", { class: "go" }, go, stop)));
  explainMode();

  return {
    element: form, understood,
    openFor(current) {
      open(current.graph ? (current.layout ? "draw" : "text") : current.smiles ? "text" : current.id !== null ? "id" : "draw");
      for (const [field, value] of [[k, current.k], [within, current.within ?? ""], [time, current.time]]) field.value = value;
      for (const input of mode.querySelectorAll("input")) input.checked = input.value === (current.mode ?? (info.learned ? "learned" : "certified"));
      explainMode();
    },
    busy(is) {
      stop.hidden = !is;
      go.textContent = is ? "Search again" : "Search";
      form.setAttribute("aria-busy", String(is));
    },
    say: (part) => note.replaceChildren(part),
  };
}
