// What is asked for, as the part of the address behind the #: a link reopens the same query, and servers never see it.

export const DEFAULTS = {
  view: "search", smiles: null, id: null, graph: null, layout: null, mode: null, k: 10, within: null, scale: "raw",
  distinct: false, time: 5, where: {}, limits: {}, hit: null, a: null, b: null, color: null,
};

const NUMBERS = new Set(["k", "within", "time", "hit"]);
const JSONS = new Set(["graph", "layout", "where", "limits", "a", "b"]);

/** An id is text as it is; a number, and text that looks like one, are JSON. */
function idOf(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "number" || typeof value === "string" ? value : text;
  } catch {
    return text;
  }
}
const idText = (id) => (idOf(String(id)) === id ? String(id) : JSON.stringify(id));

/** A value of the kind that a part of the state has, or its default. */
function objectOf(name, value) {
  const fits = typeof value === "object" && value !== null && Array.isArray(value) === (name === "layout");
  return fits ? value : structuredClone(DEFAULTS[name]);
}

export function read(hash = location.hash) {
  const state = structuredClone(DEFAULTS);
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(name in DEFAULTS)) continue;
    try {
      if (NUMBERS.has(name)) state[name] = Number.isFinite(Number(text)) ? Number(text) : DEFAULTS[name];
      else if (JSONS.has(name)) state[name] = objectOf(name, JSON.parse(text));
      else if (name === "id") state[name] = idOf(text);
      else if (name === "distinct") state[name] = text === "true";
      else state[name] = text;
    } catch { /* a damaged part of a link is left out */ }
  }
  return state;
}

export function write(state) {
  const parts = new URLSearchParams();
  for (const [name, standard] of Object.entries(DEFAULTS)) {
    const value = state[name];
    if (value === null || value === undefined || JSON.stringify(value) === JSON.stringify(standard)) continue;
    parts.set(name, name === "id" ? idText(value) : JSONS.has(name) ? JSON.stringify(value) : String(value));
  }
  return `#${parts}`;
}
