// A pad to draw a graph on, with a mouse, a finger or the keyboard. The page and the widget of notebooks share it.

import { labelColor, paint } from "./drawing.js";
import { choice, h, s, say, shown } from "./dom.js";

const UNIT = 58; // pixels for one unit of a layout
const REACH = 0.36; // units from a node or half as many from an edge at which a pointer touches it
const HELP = "Click to add a node; drag from a node to connect it; click a node to give it the chosen label. With the keyboard: arrow keys choose a node, N adds one that is joined to it, C twice connects two, L gives it the chosen label, Delete removes it.";

/** `known` has the labels and the direction of the collection; `changed` is called after each change. */
export function makeSketch(known, changed) {
  const labels = known.node_labels.slice(0, 8);
  let label = labels.length ? labels[0] : null;
  let edgeLabel = known.edge_labels.length ? known.edge_labels[0] : null;
  let [nodes, edges] = [[], []]; // {x, y, label} and {from, to, label}
  let [tool, picked, joined, pressed] = ["draw", null, null, null];
  let [left, top, zoom] = [0, 0, 1];
  let history = [];

  const pad = s("svg", { class: "graph sketch", tabindex: 0, role: "application", "aria-label": `A place to draw a graph. ${HELP}`, "font-family": "system-ui, sans-serif" });
  const ghost = s("line", { class: "ghost" });
  const told = h("p", { class: "unseen", role: "status" });
  const hint = h("p", { class: "hint" });
  const custom = h("input", {
    class: "label-input", type: "text", maxlength: known.limits?.label, placeholder: "other", "aria-label": "Another label for nodes",
    list: "node-labels", oninput: () => custom.value && choose(typed(custom.value, known.node_labels)),
  });
  const chips = labels.length ? h("div", { class: "chips", role: "group", "aria-label": "Label of nodes" },
    labels.map((one) => h("button", { type: "button", class: "chip", "aria-pressed": one === label, onclick: () => { custom.value = ""; choose(one); } }, dot(one), shown(one))),
    custom, h("datalist", { id: "node-labels" }, known.node_labels.map((one) => h("option", { value: shown(one) })))) : null;
  const edgeChoice = known.edge_labels.length
    ? h("label", { class: "inline" }, "Edge label ", h("select", { onchange: (event) => chooseEdge(known.edge_labels[event.target.selectedIndex]) },
      known.edge_labels.map((one) => h("option", {}, shown(one)))))
    : null;
  const tools = h("div", { class: "tool-row" },
    choice("tool", { text: "Tool", hidden: true }, [["draw", "Draw", "Add and connect nodes"], ["move", "Move", "Move nodes, or the whole drawing"], ["erase", "Erase", "Remove what is clicked"]], tool, use),
    h("button", { type: "button", class: "quiet", onclick: undo }, "Undo"),
    h("button", { type: "button", class: "quiet", onclick: () => nodes.length && change(tidy) }, "Tidy"),
    h("button", { type: "button", class: "quiet", onclick: () => nodes.length && change(() => { [nodes, edges] = [[], []]; }) }, "Clear"));
  const element = h("div", { class: "sketch-box" }, chips, edgeChoice, pad, tools, told, hint);

  function dot(one) {
    const made = h("i", { class: "dot", "aria-hidden": "true" });
    made.style.background = labelColor(one);
    return made;
  }
  function use(value) {
    tool = value;
    pad.dataset.tool = value;
    advise();
  }
  /** Says what can be done next. */
  function advise() {
    hint.textContent = tool === "move" ? "Drag a node, or the ground to move everything." : tool === "erase" ? "Click a node or an edge to remove it."
      : !nodes.length ? "Click to add a node." : !edges.length ? "Drag from a node to add an edge."
      : labels.length ? "Click a node to give it the chosen label." : "Drag from a node to another, or to a free place.";
  }
  function choose(value) {
    label = value;
    chips.querySelectorAll(".chip").forEach((chip, position) => chip.setAttribute("aria-pressed", String(labels[position] === value)));
  }
  function chooseEdge(value) {
    edgeLabel = value;
    if (edges.includes(picked) && picked.label !== value) change(() => { picked.label = value; });
  }

  // What is drawn, and its history.
  function read() {
    const place = new Map(nodes.map((node, position) => [node, position]));
    const graph = { num_nodes: nodes.length, edges: edges.map(({ from, to }) => [place.get(from), place.get(to)]) };
    if (known.node_labels.length) graph.node_labels = nodes.map((node) => node.label);
    if (known.edge_labels.length) graph.edge_labels = edges.map((edge) => edge.label);
    if (known.directed) graph.directed = true;
    return { graph, layout: nodes.map(({ x, y }) => [x, y].map((value) => Math.round(value * 100) / 100)) };
  }
  function restore({ graph, layout }) {
    nodes = layout.map(([x, y], node) => ({ x, y, label: graph.node_labels?.[node] ?? null }));
    edges = graph.edges.map(([u, v], position) => ({ from: nodes[u], to: nodes[v], label: graph.edge_labels?.[position] ?? null }));
  }
  /** Changes what is drawn; it can be undone. */
  function change(make, before = read()) {
    make();
    history = [...history.slice(-49), before];
    done();
  }
  function undo() {
    if (!history.length) return;
    restore(history.pop());
    done();
  }
  function done() {
    refresh();
    changed();
  }
  function refresh() {
    if (![...nodes, ...edges].includes(picked)) picked = null;
    if (!nodes.includes(joined)) joined = null;
    pad.dataset.nodes = nodes.length;
    pad.dataset.edges = edges.length;
    render();
    advise();
  }
  /** Shows another graph; that is not a change. */
  function load(graph, layout) {
    history = [];
    restore({ graph, layout: layout ?? Array.from({ length: graph.num_nodes }, (_, node) => [Math.cos(node), Math.sin(node)]) });
    if (!layout) tidy();
    show();
    refresh();
  }
  function addNode({ x, y }) {
    const node = { x, y, label };
    nodes.push(node);
    return node;
  }
  function areConnected(a, b) {
    return edges.some(({ from, to }) => (from === a && to === b) || (!known.directed && from === b && to === a));
  }
  const connect = (from, to) => edges.push({ from, to, label: edgeLabel });
  function remove(part) {
    nodes = nodes.filter((node) => node !== part);
    edges = edges.filter((edge) => ![edge, edge.from, edge.to].includes(part));
  }
  function tidy() {
    const { graph, layout } = read();
    arrange(graph, layout).forEach(([x, y], node) => Object.assign(nodes[node], { x, y }));
    show();
  }

  // Where it is shown.
  function render() {
    const { graph, layout } = read();
    const [lines, circles] = paint(graph, layout);
    lines.children[edges.indexOf(picked)]?.classList.add("picked");
    circles.children[nodes.indexOf(picked)]?.classList.add("picked");
    pad.replaceChildren(lines, circles);
  }
  function size() {
    const { width, height } = pad.getBoundingClientRect();
    return [width / (UNIT * zoom), height / (UNIT * zoom)];
  }
  function frame() {
    pad.setAttribute("viewBox", [left, top, ...size()].join(" "));
  }
  /** Moves and shrinks the drawing if a part of it cannot be seen. */
  function show() {
    const { width, height } = pad.getBoundingClientRect();
    if (!width) return;
    const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
    const [x1, y1, x2, y2] = nodes.length ? [Math.min(...xs) - 0.5, Math.min(...ys) - 0.5, Math.max(...xs) + 0.5, Math.max(...ys) + 0.5] : [0, 0, 0, 0];
    const [wide, high] = size();
    if (!nodes.length) [left, top, zoom] = [0, 0, 1];
    else if (zoom < 1 || x1 < left || y1 < top || x2 > left + wide || y2 > top + high) {
      zoom = Math.min(1, width / (UNIT * (x2 - x1)), height / (UNIT * (y2 - y1)));
      const [w, t] = size();
      [left, top] = [(x1 + x2 - w) / 2, (y1 + y2 - t) / 2];
    }
    frame();
  }
  new ResizeObserver(show).observe(pad);

  // The pointer.
  function place(event) {
    const box = pad.getBoundingClientRect();
    const within = (value, most) => Math.min(Math.max(value, 12), most - 12);
    return { x: left + within(event.clientX - box.left, box.width) / (UNIT * zoom), y: top + within(event.clientY - box.top, box.height) / (UNIT * zoom) };
  }
  const apart = (p, q) => Math.hypot(p.x - q.x, p.y - q.y);
  const nodeAt = (at) => nodes.findLast((node) => apart(node, at) < REACH) ?? null;
  const edgeAt = (at) => edges.findLast(({ from, to }) => {
    const length = apart(from, to) ** 2 || 1;
    const share = Math.min(1, Math.max(0, ((at.x - from.x) * (to.x - from.x) + (at.y - from.y) * (to.y - from.y)) / length));
    return apart(at, { x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) }) < REACH / 2;
  }) ?? null;

  pad.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || pressed) return;
    const at = place(event);
    const node = nodeAt(at);
    pressed = { at, node, edge: node ? null : edgeAt(at), moved: false, before: read() };
    pad.setPointerCapture(event.pointerId);
  });
  pad.addEventListener("pointermove", (event) => {
    if (!pressed) return;
    const at = place(event);
    pressed.moved ||= apart(at, pressed.at) > 0.12;
    if (!pressed.moved) return;
    if (tool === "draw" && pressed.node) stretch(pressed.node, nodeAt(at) ?? at);
    else if (tool === "move" && pressed.node) {
      Object.assign(pressed.node, at);
      render();
    } else if (tool === "move") {
      left += pressed.at.x - at.x;
      top += pressed.at.y - at.y;
      frame();
    }
  });
  pad.addEventListener("pointerup", (event) => {
    const press = pressed;
    release();
    if (press) (press.moved ? drag : click)(press, place(event));
  });
  pad.addEventListener("pointercancel", release);
  function release() {
    pressed = null;
    ghost.remove();
  }
  function stretch(from, to) {
    for (const [name, value] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) ghost.setAttribute(name, value);
    pad.insertBefore(ghost, pad.lastChild);
  }
  function drag({ node, before }, at) {
    if (tool === "move" && node) change(() => {}, before);
    if (tool !== "draw" || !node || apart(node, at) < REACH) return;
    const there = nodeAt(at);
    if (!there || !areConnected(node, there)) change(() => connect(node, (picked = there ?? addNode(at))));
  }
  function click({ node, edge, at }) {
    if (tool === "erase" && (node ?? edge)) change(() => remove(node ?? edge));
    if (tool !== "draw") return;
    picked = node ?? edge;
    if (node && node.label !== label) change(() => { node.label = label; });
    else if (edge && edge.label !== edgeLabel) change(() => { edge.label = edgeLabel; });
    else if (!picked) change(() => say(`node ${shown(addNode(at).label)} added`, told));
    else render();
  }

  // The keyboard.
  const name = (node) => `node ${nodes.indexOf(node)} ${shown(node.label)}, ${edges.filter(({ from, to }) => from === node || to === node).length} edges`;
  const keys = {
    arrow(step) {
      if (!nodes.length) return;
      const at = nodes.indexOf(picked);
      picked = nodes[at < 0 ? 0 : (at + step + nodes.length) % nodes.length];
      render();
      say(name(picked), told);
    },
    n() {
      const from = nodes.includes(picked) ? picked : null;
      const [wide, high] = size();
      change(() => {
        picked = addNode(from ? freePlace(from) : { x: left + wide / 2, y: top + high / 2 });
        if (from) connect(from, picked);
        show();
      });
      say(`${name(picked)} added`, told);
    },
    c() {
      if (!nodes.includes(picked)) return;
      if (!joined) {
        joined = picked;
        say("choose another node with the arrow keys and press C again", told);
        return;
      }
      const isNew = joined !== picked && !areConnected(joined, picked);
      if (isNew) change(() => connect(joined, picked));
      say(isNew ? "connected" : joined === picked ? "that is the same node" : "these are connected already", told);
      joined = null;
    },
    l() {
      if (!nodes.includes(picked)) return;
      change(() => { picked.label = label; });
      say(name(picked), told);
    },
    delete() {
      if (!picked) return;
      change(() => remove(picked));
      say("removed", told);
    },
  };
  pad.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (key !== "z") return;
      undo();
    } else if (key.startsWith("arrow")) keys.arrow(key === "arrowright" || key === "arrowdown" ? 1 : -1);
    else if (key === "backspace") keys.delete();
    else if (key !== "arrow" && key in keys) keys[key]();
    else return;
    event.preventDefault();
  });
  function freePlace(node) {
    const around = Array.from({ length: 12 }, (_, turn) => ({ x: node.x + Math.cos((turn * Math.PI) / 6), y: node.y + Math.sin((turn * Math.PI) / 6) }));
    const room = (at) => Math.min(...nodes.filter((other) => other !== node).map((other) => apart(other, at)), 1e9);
    return around.reduce((best, at) => (room(at) > room(best) + 0.02 ? at : best));
  }

  use(tool);
  return { element, read, load, show };
}

/** Places at which nodes are as far apart as there are edges between them, as far as the plane allows. */
function arrange({ num_nodes, edges }, start) {
  const beside = Array.from({ length: num_nodes }, () => []);
  for (const [u, v] of edges) {
    beside[u].push(v);
    beside[v].push(u);
  }
  const steps = beside.map((_, from) => {
    const found = new Array(num_nodes).fill(1 + Math.sqrt(num_nodes)); // for parts that are not joined
    found[from] = 0;
    for (let [front, step] = [[from], 1], seen = new Set(front); front.length; step++) {
      front = front.flatMap((node) => beside[node]).filter((node) => !seen.has(node) && seen.add(node));
      for (const node of front) found[node] = step;
    }
    return found;
  });
  const places = start.map(([x, y], node) => [x + 0.01 * Math.cos(node), y + 0.01 * Math.sin(node)]);
  for (let sweep = 0; sweep < 100; sweep++) { // stress majorization, one node at a time
    for (let node = 0; num_nodes > 1 && node < num_nodes; node++) {
      let [x, y, weight] = [0, 0, 0];
      for (let other = 0; other < num_nodes; other++) {
        if (other === node) continue;
        const [dx, dy] = [places[node][0] - places[other][0], places[node][1] - places[other][1]];
        const [w, pull] = [steps[node][other] ** -2, steps[node][other] / Math.max(1e-6, Math.hypot(dx, dy))];
        x += w * (places[other][0] + pull * dx);
        y += w * (places[other][1] + pull * dy);
        weight += w;
      }
      places[node] = [x / weight, y / weight];
    }
  }
  return places;
}

/** What was typed, as the kind of value that the collection has. */
export function typed(text, known) {
  const same = known.find((value) => shown(value) === text);
  if (same !== undefined) return same;
  const number = known.length && known.every((value) => typeof value === "number");
  return number && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
