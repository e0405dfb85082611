// A place to draw a graph, with a mouse, a finger or the keyboard.

import cytoscape from "./vendor/cytoscape.min.mjs";
import { labelColor } from "./drawing.js";
import { choice, h, say, shown } from "./dom.js";

const UNIT = 58;
const HELP = "Click to add a node; drag from a node to connect it; click a node to give it the chosen label. With the keyboard: arrow keys choose a node, N adds one that is joined to it, C twice connects two, L gives it the chosen label, Delete removes it.";

/** The colours of the theme, for what is drawn on a canvas. */
function themeColors() {
  const value = (name) => {
    const probe = h("span", { class: "probe" });
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const color = getComputedStyle(probe).color;
    probe.remove();
    return color;
  };
  return { ink: value("--ink"), edge: value("--edge"), accent: value("--accent"), surface: value("--surface") };
}

export function makeSketch(info, changed) {
  const labels = info.node_labels.slice(0, 8);
  let label = labels.length ? labels[0] : null;
  let edgeLabel = info.edge_labels.length ? info.edge_labels[0] : null;
  let [tool, from, next] = ["draw", null, 0];
  let history = [];

  const canvas = h("div", { class: "sketch", tabindex: 0, role: "application", "aria-label": `A place to draw a graph. ${HELP}` });
  const custom = h("input", {
    class: "label-input", type: "text", maxlength: info.limits.label, placeholder: "other", "aria-label": "Another label for nodes",
    list: "node-labels", oninput: () => custom.value && choose(typed(custom.value, info.node_labels)),
  });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Label of nodes" },
    labels.map((one) => h("button", { type: "button", class: "chip", "aria-pressed": one === label, onclick: () => { custom.value = ""; choose(one); } }, dot(one), shown(one))),
    custom, h("datalist", { id: "node-labels" }, info.node_labels.map((one) => h("option", { value: shown(one) }))));
  const edgeChoice = info.edge_labels.length
    ? h("label", { class: "inline" }, "Edge label ", h("select", { onchange: (event) => { edgeLabel = info.edge_labels[event.target.selectedIndex]; relabelEdges(); } },
      info.edge_labels.map((one) => h("option", {}, shown(one)))))
    : null;
  const tools = h("div", { class: "tool-row" },
    choice("tool", { text: "Tool", hidden: true }, [["draw", "Draw", "Add and connect nodes"], ["move", "Move", "Move nodes"], ["erase", "Erase", "Remove what is clicked"]], tool, (value) => {
      tool = value;
      cy.autoungrabify(tool !== "move");
      cy.userPanningEnabled(tool === "move");
    }),
    h("button", { type: "button", class: "quiet", onclick: undo }, "Undo"),
    h("button", { type: "button", class: "quiet", onclick: tidy }, "Tidy"),
    h("button", { type: "button", class: "quiet", onclick: () => { remember(); cy.elements().remove(); done(); } }, "Clear"));
  const element = h("div", { class: "sketch-box" }, chips, edgeChoice, canvas, tools, h("p", { class: "hint" }, "Click to add a node, drag from a node to connect it, click a node to relabel it."));

  function dot(one) {
    const made = h("i", { class: "dot", "aria-hidden": "true" });
    made.style.background = labelColor(one);
    return made;
  }

  const cy = cytoscape({ container: canvas, layout: { name: "preset" }, userZoomingEnabled: false, minZoom: 0.3, maxZoom: 2.5, autoungrabify: true, userPanningEnabled: false, boxSelectionEnabled: false, selectionType: "single" });
  const paint = () => {
    const color = themeColors();
    cy.style([
      { selector: "node", style: { width: 34, height: 34, label: "data(text)", "background-color": "data(color)", "border-width": 1.5, "border-color": color.edge, "text-valign": "center", "font-size": 14, "font-weight": 600, color: "#1b2130", "font-family": "system-ui, sans-serif", "overlay-opacity": 0 } },
      { selector: "edge", style: { width: 3, "line-color": color.edge, "curve-style": info.directed ? "bezier" : "straight", "target-arrow-shape": info.directed ? "triangle" : "none", "target-arrow-color": color.edge, label: "data(text)", "font-size": 11, color: color.ink, "text-background-color": color.surface, "text-background-opacity": 0.8, "overlay-opacity": 0 } },
      { selector: ":selected", style: { "border-width": 4, "border-color": color.accent, "line-color": color.accent } },
      { selector: ".ghost", style: { "line-style": "dashed", opacity: 0.6 } },
      { selector: "node.ghost", style: { width: 1, height: 1, opacity: 0 } },
    ]);
  };
  paint();
  addEventListener("themechange", paint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  function choose(value) {
    label = value;
    chips.querySelectorAll(".chip").forEach((chip, position) => chip.setAttribute("aria-pressed", String(labels[position] === value)));
  }

  const setLabel = (nodes, value) => nodes.data({ label: value, text: shown(value).slice(0, 4), color: labelColor(value) });
  const remember = () => { history = [...history.slice(-49), cy.elements().not(".ghost").jsons()]; };
  function undo() {
    if (!history.length) return;
    cy.elements().remove();
    cy.add(history.pop());
    done();
  }
  function done() {
    canvas.dataset.nodes = cy.nodes().not(".ghost").length;
    canvas.dataset.edges = cy.edges().not(".ghost").length;
    changed();
  }
  function relabelEdges() {
    const picked = cy.$("edge:selected");
    if (picked.empty()) return;
    remember();
    picked.data({ label: edgeLabel, text: shown(edgeLabel) });
    done();
  }
  function addNode(position) {
    while (cy.getElementById(`n${next}`).nonempty()) next++;
    const node = cy.add({ data: { id: `n${next++}` }, position });
    setLabel(node, label);
    return node;
  }
  function connect(a, b) {
    if (a.same(b)) return false;
    const between = info.directed ? a.edgesTo(b) : a.edgesWith(b);
    if (between.nonempty()) return false;
    cy.add({ data: { source: a.id(), target: b.id(), label: edgeLabel, text: shown(edgeLabel) } });
    return true;
  }
  function pick(node) {
    cy.elements().unselect();
    node.select();
  }

  cy.on("tapstart", "node", (event) => {
    if (tool === "draw" && !event.target.hasClass("ghost")) from = event.target;
  });
  cy.on("tapdrag", (event) => {
    if (!from) return;
    let end = cy.getElementById("ghost");
    if (end.empty()) {
      end = cy.add({ data: { id: "ghost", text: "", color: "#000" }, classes: "ghost", position: event.position, selectable: false, events: "no" });
      cy.add({ data: { source: from.id(), target: "ghost", text: "" }, classes: "ghost", selectable: false });
    }
    end.position(event.position);
  });
  cy.on("tapend", (event) => {
    const start = from;
    from = null;
    const end = cy.getElementById("ghost");
    const dragged = end.nonempty() && start && Math.hypot(event.position.x - start.position("x"), event.position.y - start.position("y")) > 24;
    cy.$(".ghost").remove();
    if (!start || !dragged) return;
    remember();
    const under = cy.nodes().filter((node) => Math.hypot(node.position("x") - event.position.x, node.position("y") - event.position.y) < 22);
    const target = under.nonempty() ? under[0] : addNode(event.position);
    connect(start, target);
    pick(target);
    done();
  });
  cy.on("tap", (event) => {
    const on = event.target;
    if (tool === "erase" && on !== cy) {
      remember();
      on.remove();
      done();
    } else if (tool === "draw" && on !== cy && on.isNode()) {
      if (on.data("label") === label) return;
      remember();
      setLabel(on, label);
      done();
    } else if (tool === "draw" && on === cy) {
      remember();
      addNode(event.position);
      cy.elements().unselect();
      say(`node ${shown(label)} added`);
      done();
    }
  });
  cy.on("dragfree", "node", done);

  canvas.addEventListener("keydown", (event) => {
    const nodes = cy.nodes().not(".ghost");
    const picked = cy.$("node:selected").first();
    const names = (node) => `node ${cy.nodes().indexOf(node)} ${shown(node.data("label"))}, ${node.degree()} edges`;
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (key === "z") undo();
      return;
    }
    if (key.startsWith("arrow") && nodes.nonempty()) {
      const step = key === "arrowright" || key === "arrowdown" ? 1 : -1;
      const place = picked.nonempty() ? nodes.indexOf(picked) + step : 0;
      pick(nodes[(place + nodes.length) % nodes.length]);
      say(names(cy.$("node:selected").first()));
    } else if (key === "n") {
      remember();
      const at = picked.nonempty() ? freePlace(picked) : { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 };
      const node = addNode(at);
      if (picked.nonempty()) connect(picked, node);
      pick(node);
      done();
      say(`${names(node)} added`);
    } else if (key === "c" && picked.nonempty()) {
      if (from) {
        remember();
        say(connect(from, picked) ? "connected" : "these are connected already");
        from = null;
        done();
      } else {
        from = picked;
        say("choose another node with the arrow keys and press C again");
      }
    } else if (key === "l" && picked.nonempty()) {
      remember();
      setLabel(picked, label);
      done();
      say(names(picked));
    } else if ((key === "delete" || key === "backspace") && cy.$(":selected").nonempty()) {
      remember();
      cy.$(":selected").remove();
      done();
      say("removed");
    } else return;
    event.preventDefault();
  });

  function freePlace(node) {
    const { x, y } = node.position();
    const distance = (p) => Math.min(1e9, ...cy.nodes().not(node).map((other) => Math.hypot(other.position("x") - p.x, other.position("y") - p.y)));
    const around = Array.from({ length: 12 }, (_, turn) => ({ x: x + UNIT * Math.cos((turn * Math.PI) / 6), y: y + UNIT * Math.sin((turn * Math.PI) / 6) }));
    return around.reduce((best, p) => (distance(p) > distance(best) + 1 ? p : best));
  }
  function tidy() {
    if (cy.nodes().empty()) return;
    remember();
    cy.layout({ name: "cose", animate: false, idealEdgeLength: UNIT, nodeOverlap: 20, padding: 24, randomize: false }).run();
    done();
  }

  function read() {
    const nodes = cy.nodes().not(".ghost");
    const place = new Map(nodes.map((node, position) => [node.id(), position]));
    const edges = cy.edges().not(".ghost");
    const graph = { num_nodes: nodes.length, edges: edges.map((edge) => [place.get(edge.source().id()), place.get(edge.target().id())]) };
    if (info.node_labels.length) graph.node_labels = nodes.map((node) => node.data("label"));
    if (info.edge_labels.length) graph.edge_labels = edges.map((edge) => edge.data("label"));
    if (info.directed) graph.directed = true;
    const layout = nodes.map((node) => [node.position("x") / UNIT, node.position("y") / UNIT].map((x) => Math.round(x * 100) / 100));
    return { graph, layout };
  }
  function load(graph, layout) {
    cy.elements().remove();
    const [left, top] = layout?.length ? [Math.min(...layout.map((p) => p[0])), Math.min(...layout.map((p) => p[1]))] : [0, 0];
    for (let node = 0; node < graph.num_nodes; node++) {
      const made = cy.add({ data: { id: `n${node}` }, position: layout ? { x: (layout[node][0] - left) * UNIT, y: (layout[node][1] - top) * UNIT } : { x: 0, y: 0 } });
      setLabel(made, graph.node_labels?.[node] ?? null);
    }
    graph.edges.forEach(([u, v], position) => {
      const text = graph.edge_labels?.[position] ?? null;
      cy.add({ data: { source: `n${u}`, target: `n${v}`, label: text, text: shown(text) } });
    });
    if (!layout) tidy();
    show();
    done();
  }
  function show() {
    if (!canvas.clientWidth) return;
    cy.resize();
    if (cy.nodes().empty()) cy.reset();
    else if (cy.zoom() !== 1 || outside()) {
      cy.fit(undefined, 26);
      if (cy.zoom() > 1) {
        cy.zoom(1);
        cy.center();
      }
    }
  }
  function outside() {
    const box = cy.elements().renderedBoundingBox();
    return box.x1 < 0 || box.y1 < 0 || box.x2 > canvas.clientWidth || box.y2 > canvas.clientHeight;
  }
  new ResizeObserver(() => canvas.clientWidth && show()).observe(canvas);
  return { element, read, load, show, canvas };
}

/** What was typed, as the kind of value that the collection has. */
export function typed(text, known) {
  const same = known.find((value) => shown(value) === text);
  if (same !== undefined) return same;
  const number = known.length && known.every((value) => typeof value === "number");
  return number && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
