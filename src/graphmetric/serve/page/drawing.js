// Drawings of graphs. Nodes that are aligned have the same colour and, as far as both shapes allow, the same place.

import { s, shown } from "./dom.js";

const RADIUS = 0.3;
const ELEMENTS = {
  C: "#c3c9d3", N: "#9db8f5", O: "#f5a49d", S: "#f2d57a", P: "#f7bd84", F: "#a7e3a0", Cl: "#8fdc9d", Br: "#dba18c", I: "#c9a3e6", B: "#f3c6b2",
};

function hex(lightness, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)];
  const [l, m, n] = [lightness + 0.3963 * a + 0.2158 * b, lightness - 0.1056 * a - 0.0639 * b, lightness - 0.0895 * a - 1.2915 * b].map((x) => x ** 3);
  const linear = [4.0767 * l - 3.3077 * m + 0.231 * n, -1.2684 * l + 2.6098 * m - 0.3413 * n, -0.0042 * l - 0.7034 * m + 1.7076 * n];
  return `#${linear.map((x) => {
    const c = x <= 0.0031308 ? 12.92 * Math.max(0, x) : 1.055 * x ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, c)).toString(16).padStart(2, "0");
  }).join("")}`;
}

/** A soft colour per node of the query: near nodes have near colours, so that parts are found again in a hit. */
export function nodeColors(graph, layout) {
  const count = graph.num_nodes;
  if (!layout) return Array.from({ length: count }, (_, node) => hex(0.84, 0.1, (360 * node) / count));
  const [cx, cy] = centre(layout);
  let [xx, xy, yy] = [0, 0, 0];
  for (const [x, y] of layout) {
    xx += (x - cx) ** 2;
    xy += (x - cx) * (y - cy);
    yy += (y - cy) ** 2;
  }
  const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
  const order = layout.map(([x, y], node) => [(x - cx) * Math.cos(angle) + (y - cy) * Math.sin(angle), node]).sort((p, q) => p[0] - q[0]);
  const colors = new Array(count);
  order.forEach(([, node], rank) => { colors[node] = hex(0.85, 0.1, 20 + (290 * rank) / Math.max(1, count - 1)); });
  return colors;
}

export function labelColor(label) {
  const text = shown(label);
  if (text in ELEMENTS) return ELEMENTS[text];
  let code = 7;
  for (const letter of text) code = (code * 31 + letter.codePointAt(0)) % 3600;
  return text ? hex(0.84, 0.09, code / 10) : "#c3c9d3";
}

function centre(places) {
  const sum = places.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  return [sum[0] / places.length, sum[1] / places.length];
}

/** Turns (and mirrors) a layout so that the mapped nodes lie as near as possible to those of the query. */
export function align(layout, onto, node_map) {
  if (!layout || !onto || !node_map) return layout;
  const pairs = node_map.map((to, from) => [to, from]).filter(([to]) => to !== null && to < layout.length);
  if (pairs.length < 2) return layout;
  const [px, py] = centre(pairs.map(([to]) => layout[to]));
  const [qx, qy] = centre(pairs.map(([, from]) => onto[from]));
  let [re, im, mre, mim] = [0, 0, 0, 0];
  for (const [to, from] of pairs) {
    const [x, y, u, v] = [layout[to][0] - px, layout[to][1] - py, onto[from][0] - qx, onto[from][1] - qy];
    re += x * u + y * v;
    im += x * v - y * u;
    mre += x * u - y * v;
    mim += x * v + y * u;
  }
  const mirrored = Math.hypot(mre, mim) > 1.02 * Math.hypot(re, im);
  const angle = mirrored ? Math.atan2(mim, mre) : Math.atan2(im, re);
  const [c, n] = [Math.cos(angle), Math.sin(angle)];
  return layout.map(([x, y]) => {
    const [dx, dy] = [x - px, mirrored ? py - y : y - py];
    return [c * dx - n * dy + qx, n * dx + c * dy + qy];
  });
}

/** What the edits do to the nodes and edges of both graphs, by the numbers of their own nodes. */
export function editMarks(first, second, aligned) {
  const marks = { first: { nodes: new Map(), edges: new Map() }, second: { nodes: new Map(), edges: new Map() }, places: null };
  if (!aligned?.node_map) return marks;
  const places = new Array(second.num_nodes).fill(null);
  aligned.node_map.forEach((to, from) => { if (to !== null) places[to] = from; });
  let next = first.num_nodes;
  for (let node = 0; node < places.length; node++) places[node] ??= next++;
  const own = new Map(places.map((place, node) => [place, node]));
  marks.places = places;
  const put = (side, kind, nodes, mark, index) => {
    const target = marks[side][kind];
    const translated = side === "first" ? nodes : nodes.map((node) => own.get(node));
    const key = kind === "edges" ? edgeKey(translated, first.directed) : translated[0];
    const entry = target.get(key) ?? { mark, edits: [] };
    entry.edits.push(index);
    target.set(key, entry);
  };
  (aligned.edits ?? []).forEach((edit, index) => {
    const [action, what] = edit.kind.split("_");
    const kind = what === "node" ? "nodes" : "edges";
    if (action !== "insert") put("first", kind, edit.nodes, action, index);
    if (action !== "delete") put("second", kind, edit.nodes, action, index);
  });
  return marks;
}

export function edgeKey([u, v], directed) {
  return directed || u <= v ? `${u}-${v}` : `${v}-${u}`;
}

/** The width and the height that hold any of some layouts, so that all are drawn at the same scale. */
export function common(layouts) {
  const span = (axis) => Math.max(3.2, ...layouts.filter((one) => one?.length).map((one) => Math.max(...one.map((p) => p[axis])) - Math.min(...one.map((p) => p[axis])))) + 1.24;
  return [span(0), span(1)];
}

/** A graph as an SVG element. `colors` are per node; `marks` are those of `editMarks`; `numbers` are shared by aligned nodes. */
export function draw(graph, layout, { colors = null, marks = null, numbers = null, title = "", least = [2.2, 2.2] } = {}) {
  if (!layout) return notDrawn(graph, title);
  const margin = 0.62;
  const [xs, ys] = [layout.map(([x]) => x), layout.map(([, y]) => y)];
  const [left, right, top, bottom] = layout.length ? [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)] : [0, 0, 0, 0];
  const [width, height] = [Math.max(least[0], right - left + 2 * margin), Math.max(least[1], bottom - top + 2 * margin)];
  const places = layout.map(([x, y]) => [x + (width - left - right) / 2, y + (height - top - bottom) / 2]);
  return s("svg", { class: "graph", viewBox: `0 0 ${round(width)} ${round(height)}`, role: "img", "aria-label": title || `a graph with ${graph.num_nodes} nodes`, "font-family": "system-ui, sans-serif" },
    paint(graph, places, { colors, marks, numbers }));
}

const round = (x) => Math.round(x * 1000) / 1000;

/** The edges and the nodes of a graph as two groups of SVG, in the order of the graph. */
export function paint(graph, layout, { colors = null, marks = null, numbers = null } = {}) {
  const edges = s("g", { class: "edges" });
  graph.edges.forEach(([u, v], position) => {
    const [[ax, ay], [bx, by]] = [layout[u], layout[v]];
    const found = marks?.edges.get(edgeKey([u, v], graph.directed));
    const kind = found?.mark ?? "keep";
    const group = s("g", { class: `edge ${kind}`, "data-edits": found?.edits.join(" ") });
    const color = { keep: "#59647a", delete: "#c0362c", insert: "#0a7d4f", relabel: "#9a6200" }[kind];
    if (u === v) {
      group.append(s("circle", { cx: round(ax), cy: round(ay - RADIUS), r: 0.2, fill: "none", stroke: color, "stroke-width": 0.06 }));
    } else {
      group.append(s("line", { x1: round(ax), y1: round(ay), x2: round(bx), y2: round(by), stroke: color, "stroke-width": kind === "keep" ? 0.06 : 0.1, "stroke-dasharray": kind === "delete" ? "0.14 0.1" : null, "stroke-linecap": kind === "delete" ? "butt" : "round" }));
      if (graph.directed) {
        const length = Math.hypot(bx - ax, by - ay) || 1;
        const [dx, dy] = [(bx - ax) / length, (by - ay) / length];
        const [tx, ty] = [bx - dx * (RADIUS + 0.02), by - dy * (RADIUS + 0.02)];
        group.append(s("path", { class: "tip", d: `M${round(tx)} ${round(ty)}L${round(tx - 0.2 * dx - 0.09 * dy)} ${round(ty - 0.2 * dy + 0.09 * dx)}L${round(tx - 0.2 * dx + 0.09 * dy)} ${round(ty - 0.2 * dy - 0.09 * dx)}Z`, fill: color }));
      }
      const text = shown(graph.edge_labels?.[position]);
      if (text) group.append(s("text", { class: "edge-label", x: round((ax + bx) / 2), y: round((ay + by) / 2 + 0.07), "font-size": 0.2, "text-anchor": "middle", fill: "#3c4557", stroke: "#ffffff", "stroke-width": 0.07, "paint-order": "stroke" }, text.slice(0, 5)));
    }
    edges.append(group);
  });
  const nodes = s("g", { class: "nodes" });
  for (let node = 0; node < graph.num_nodes; node++) {
    const [x, y] = layout[node];
    const found = marks?.nodes.get(node);
    const kind = found?.mark ?? "keep";
    const label = shown(graph.node_labels?.[node]);
    const text = label.length > 4 ? `${label.slice(0, 3)}…` : label;
    const outline = { keep: "#59647a", delete: "#c0362c", insert: "#0a7d4f", relabel: "#9a6200" }[kind];
    nodes.append(s("g", { class: `node ${kind}`, "data-number": numbers ? numbers[node] : node, "data-edits": found?.edits.join(" ") },
      s("title", {}, `node ${node}${label ? `, ${label}` : ""}`),
      s("circle", { cx: round(x), cy: round(y), r: RADIUS, fill: kind === "delete" || kind === "insert" ? "#ffffff" : colors?.[node] ?? labelColor(graph.node_labels?.[node]), stroke: outline, "stroke-width": kind === "keep" ? 0.04 : 0.09, "stroke-dasharray": kind === "delete" ? "0.12 0.08" : null }),
      text ? s("text", { x: round(x), y: round(y + (text.length > 2 ? 0.075 : 0.105)), "font-size": text.length > 2 ? 0.21 : 0.3, "font-weight": 600, "text-anchor": "middle", fill: "#1b2130" }, text) : null));
  }
  return [edges, nodes];
}

function notDrawn(graph, title) {
  return s("svg", { class: "graph", viewBox: "0 0 10 7", role: "img", "aria-label": title || "a graph that is not drawn" },
    s("circle", { cx: 5, cy: 3, r: 2, fill: "none", stroke: "#59647a", "stroke-width": 0.08, "stroke-dasharray": "0.2 0.15" }),
    s("text", { x: 5, y: 3.2, "font-size": 0.6, "text-anchor": "middle", class: "large-text", fill: "#3c4557" }, `${graph.num_nodes} nodes`),
    s("text", { x: 5, y: 6, "font-size": 0.5, "text-anchor": "middle", class: "large-text", fill: "#3c4557" }, "not drawn"));
}

/** Colours for the nodes of a hit: those of the nodes of the query they are aligned with. */
export function carried(colors, places) {
  return places.map((place) => colors[place] ?? null);
}

/** One file with both drawings. */
export function pairSvg(left, right, names) {
  const box = (svg) => svg.getAttribute("viewBox").split(" ").map(Number);
  const [, , lw, lh] = box(left);
  const [, , rw, rh] = box(right);
  const height = Math.max(lh, rh);
  const whole = s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${lw + rw + 0.8} ${height + 0.7}`, width: Math.round(60 * (lw + rw + 0.8)), height: Math.round(60 * (height + 0.7)), "font-family": "system-ui, sans-serif" });
  whole.append(s("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
  const put = (svg, x, width, own, name) => {
    const copy = s("g", { transform: `translate(${x} ${(height - own) / 2})` });
    copy.append(...[...svg.children].map((child) => child.cloneNode(true)));
    whole.append(copy, s("text", { x: x + width / 2, y: height + 0.4, "font-size": 0.3, "text-anchor": "middle", fill: "#1b2130" }, name));
  };
  put(left, 0, lw, lh, names[0]);
  put(right, lw + 0.8, rw, rh, names[1]);
  for (const marked of whole.querySelectorAll("[class]")) marked.removeAttribute("class");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(whole)}`;
}
