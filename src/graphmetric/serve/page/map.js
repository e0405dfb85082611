// The collection as points in the plane, painted pixel by pixel: a hundred thousand points take a few hundredths of a second.

import { describe, get, post, storedGraph } from "./api.js";
import { draw } from "./drawing.js";
import { h, many, say, short, shown } from "./dom.js";

const PALETTE = [[63, 110, 214], [226, 123, 48], [38, 151, 109], [199, 72, 132], [126, 96, 200], [150, 120, 40], [42, 157, 178], [206, 80, 71], [120, 145, 50], [110, 118, 135]];
const RAMP = [[68, 50, 130], [52, 96, 160], [38, 140, 141], [80, 180, 96], [190, 205, 60], [250, 200, 60]];
const GREY = [150, 156, 168];

function ramp(share) {
  const at = Math.min(0.9999, Math.max(0, share)) * (RAMP.length - 1);
  const [low, part] = [Math.floor(at), at % 1];
  return RAMP[low].map((value, channel) => Math.round(value + part * (RAMP[low + 1][channel] - value)));
}
const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

/** A colour per point, and a legend. */
export function colorsOf(values) {
  const numbers = values.filter((value) => typeof value === "number");
  const different = new Map();
  for (const value of values) different.set(value, (different.get(value) ?? 0) + 1);
  if (numbers.length > 0 && numbers.length >= 0.9 * values.length && different.size > PALETTE.length) {
    const [low, high] = numbers.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    return { colors: values.map((value) => (typeof value === "number" ? ramp((value - low) / (high - low || 1)) : GREY)), ramp: [low, high] };
  }
  const order = [...different].filter(([value]) => value !== null).sort((p, q) => q[1] - p[1]).slice(0, PALETTE.length).map(([value]) => value);
  if (numbers.length === values.length) order.sort((p, q) => p - q);
  const found = new Map(order.map((value, position) => [value, PALETTE[position]]));
  const others = [...different].filter(([value]) => !found.has(value)).reduce((sum, [, count]) => sum + count, 0);
  return { colors: values.map((value) => found.get(value) ?? GREY), classes: order.map((value) => [shown(value), found.get(value), different.get(value)]).concat(others ? [["others", GREY, others]] : []) };
}

export function makeMap(page) {
  const canvas = h("canvas", { class: "points" });
  const over = h("canvas", {
    class: "over", tabindex: 0, role: "application",
    "aria-label": "The collection as points. Arrow keys move, plus and minus zoom, 0 shows all, N names the next point near the middle, Enter opens it.",
  });
  const stage = h("div", { class: "stage" }, canvas, over);
  const tip = h("div", { class: "tip", hidden: true });
  const legend = h("div", { class: "legend" });
  const select = h("select", { id: "map-color", onchange: () => { page.set({ color: select.value }); recolor(); } });
  const chosen = h("div", { class: "chosen" });
  const zoomBy = (factor) => { zoom(factor, size[0] / 2, size[1] / 2); };
  const bar = h("div", { class: "map-bar" }, h("h1", {}, "Map of the collection"), h("label", { for: "map-color" }, "Colour by ", select),
    h("div", { class: "zooms", role: "group", "aria-label": "Zoom" },
      h("button", { type: "button", class: "quiet", "aria-label": "Zoom in", onclick: () => zoomBy(1.5) }, "+"),
      h("button", { type: "button", class: "quiet", "aria-label": "Zoom out", onclick: () => zoomBy(1 / 1.5) }, "−"),
      h("button", { type: "button", class: "quiet", onclick: () => { view = null; paint(); } }, "All")));
  const words = h("p", { class: "hint" });
  stage.append(tip);
  const element = h("div", { class: "map-view" }, h("div", { class: "panel" }, bar, stage, legend, words), chosen);
  let [data, box, colors, view, size, hovered, query, hits, picked] = [null, null, [], null, [0, 0], -1, null, [], -1];
  let waiting = false;

  async function load() {
    if (data) return;
    words.textContent = "loading the map …";
    try {
      data = await get("v1/map");
    } catch (problem) {
      element.replaceChildren(describe(problem, () => location.reload()));
      return;
    }
    const keys = Object.keys(data.metadata).filter((key) => new Set(data.metadata[key]).size < Math.max(3, 0.8 * data.ids.length));
    select.append(...[["cluster", "cluster"], ["num_nodes", "number of nodes"], ["num_edges", "number of edges"], ...keys.map((key) => [`metadata ${key}`, key])].map(([value, name]) => h("option", { value }, name)));
    if (page.state.color && [...select.options].some((option) => option.value === page.state.color)) select.value = page.state.color;
    box = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < data.x.length; i++) {
      box[0] = Math.min(box[0], data.x[i]);
      box[1] = Math.max(box[1], data.x[i]);
      box[2] = Math.min(box[2], data.y[i]);
      box[3] = Math.max(box[3], data.y[i]);
    }
    words.textContent = `${data.ids.length < data.graphs ? `${many(data.ids.length, "point")} of ${many(data.graphs, "graph")}` : many(data.graphs, "graph")} by ${data.kind}; ${data.method === "tsne" ? "laid out by t-SNE, which keeps neighbours together" : `the plane shows ${Math.round(100 * data.explained)} % of their variance`}.${data.placed ? ` ${many(data.placed, "point")} of later graphs lie among their nearest.` : ""} Scroll or pinch to zoom, drag to move.`;
    recolor();
  }
  function recolor() {
    const name = select.value;
    const values = name === "cluster" ? data.cluster.map((one) => one + 1) : name.startsWith("metadata ") ? data.metadata[name.slice(9)] : data[name];
    const found = name === "cluster" ? colorsOf(values.map((one) => `cluster ${one}`)) : colorsOf(values);
    colors = found.colors;
    const swatch = (color) => { const made = h("i", { class: "dot" }); made.style.background = css(color); return made; };
    if (found.ramp) {
      const strip = h("span", { class: "strip", "aria-hidden": "true" });
      strip.style.background = `linear-gradient(90deg, ${RAMP.map(css).join(", ")})`;
      legend.replaceChildren(short(found.ramp[0]), strip, short(found.ramp[1]));
    } else legend.replaceChildren(...found.classes.map(([text, color, count]) => h("span", {}, swatch(color), `${text} `, h("small", {}, count.toLocaleString("en")))));
    paint();
  }

  /** The view that shows every point, and the query, which may be unlike all of them. */
  function all() {
    const { x, y } = query ?? { x: box[0], y: box[2] };
    const [left, right, bottom, top] = [Math.min(box[0], x), Math.max(box[1], x), Math.min(box[2], y), Math.max(box[3], y)];
    const scale = Math.min(size[0] / (1.08 * (right - left) || 1), size[1] / (1.08 * (top - bottom) || 1));
    return { scale, x: (left + right) / 2, y: (bottom + top) / 2 };
  }
  const toScreen = (x, y) => [(x - view.x) * view.scale + size[0] / 2, size[1] / 2 - (y - view.y) * view.scale];
  const isOutside = ([x, y]) => x < 0 || y < 0 || x > size[0] || y > size[1];

  function paint() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; render(); });
  }
  function render() {
    if (!data || !stage.clientWidth) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    size = [stage.clientWidth, stage.clientHeight];
    const [width, height] = size.map((length) => Math.round(length * ratio));
    for (const one of [canvas, over]) if (one.width !== width || one.height !== height) [one.width, one.height] = [width, height];
    view ??= all();
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const pixels = image.data;
    const radius = ratio * Math.max(1.1, Math.min(6, (data.x.length < 3000 ? 4 : data.x.length < 20000 ? 2.4 : 1.4) * (view.scale / all().scale) ** 0.3));
    const reach = Math.ceil(radius);
    const [across, down, cover] = [[], [], []];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        const share = 0.82 * Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
        if (share > 0) {
          across.push(dx);
          down.push(dy);
          cover.push(share);
        }
      }
    }
    const [xs, ys, scale] = [data.x, data.y, view.scale * ratio];
    for (let i = 0; i < xs.length; i++) {
      const px = Math.round((xs[i] - view.x) * scale + width / 2);
      const py = Math.round(height / 2 - (ys[i] - view.y) * scale);
      if (px < -reach || py < -reach || px >= width + reach || py >= height + reach) continue;
      const color = colors[i];
      for (let k = 0; k < cover.length; k++) {
        const x = px + across[k];
        const y = py + down[k];
        if (x < 0 || y < 0 || x >= width || y >= height) continue;
        const at = 4 * (y * width + x);
        const under = (pixels[at + 3] / 255) * (1 - cover[k]);
        const alpha = cover[k] + under;
        pixels[at] = (color[0] * cover[k] + pixels[at] * under) / alpha;
        pixels[at + 1] = (color[1] * cover[k] + pixels[at + 1] * under) / alpha;
        pixels[at + 2] = (color[2] * cover[k] + pixels[at + 2] * under) / alpha;
        pixels[at + 3] = 255 * alpha;
      }
    }
    context.putImageData(image, 0, 0);
    mark(ratio);
  }
  function mark(ratio) {
    const context = over.getContext("2d");
    const style = getComputedStyle(stage);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size[0], size[1]);
    const ink = style.color;
    const ring = (x, y, radius, width) => { context.beginPath(); context.arc(x, y, radius, 0, 7); context.lineWidth = width; context.stroke(); };
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.font = "600 12px system-ui, sans-serif";
    const numbered = [];
    hits.forEach(({ index, rank }) => {
      const [x, y] = toScreen(data.x[index], data.y[index]);
      ring(x, y, 8, 2);
      if (rank > 5 || numbered.some(([u, v]) => Math.hypot(x - u, y - v) < 16)) return; // numbers would overlap
      context.fillText(String(rank), x + 10, y - 7);
      numbered.push([x, y]);
    });
    if (query) {
      const [x, y] = toScreen(query.x, query.y);
      context.beginPath();
      for (let i = 0; i < 10; i++) {
        const [r, angle] = [i % 2 ? 5 : 12, (Math.PI * i) / 5 - Math.PI / 2];
        context.lineTo(x + r * Math.cos(angle), y + r * Math.sin(angle));
      }
      context.closePath();
      context.fillStyle = "#ffb31a";
      context.fill();
      context.lineWidth = 2;
      context.stroke();
    }
    for (const index of [hovered, picked]) {
      if (index < 0) continue;
      const [x, y] = toScreen(data.x[index], data.y[index]);
      ring(x, y, 11, 3);
    }
  }

  function nearest(sx, sy, most = 14) {
    let [best, found] = [most ** 2, -1];
    for (let i = 0; i < data.x.length; i++) {
      const [x, y] = toScreen(data.x[i], data.y[i]);
      const distance = (x - sx) ** 2 + (y - sy) ** 2;
      if (distance < best) [best, found] = [distance, i];
    }
    return found;
  }
  function zoom(factor, sx, sy) {
    const least = 0.5 * all().scale;
    const scale = Math.min(400 * least, Math.max(least, view.scale * factor));
    const real = scale / view.scale;
    const [x, y] = [view.x + (sx - size[0] / 2) / view.scale, view.y - (sy - size[1] / 2) / view.scale];
    view = { scale, x: x - (x - view.x) / real, y: y - (y - view.y) / real };
    paint();
  }
  const at = (event) => { const box = over.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const fingers = new Map();
  let moved = 0;
  over.addEventListener("wheel", (event) => { event.preventDefault(); if (view) zoom(Math.exp(-event.deltaY * 0.0016), ...at(event)); }, { passive: false });
  over.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, at(event)); moved = 0; over.setPointerCapture(event.pointerId); });
  over.addEventListener("pointermove", (event) => {
    if (!view || !data) return;
    const now = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      point(nearest(...now), now);
      return;
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (fingers.size === 1) {
      view = { ...view, x: view.x - (now[0] - before[0]) / view.scale, y: view.y + (now[1] - before[1]) / view.scale };
    } else {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const span = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
      zoom(span(now) / Math.max(1, span(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    fingers.set(event.pointerId, now);
    paint();
  });
  const up = (event) => {
    const was = fingers.delete(event.pointerId);
    if (was && event.type === "pointerup" && moved < 5 && data) open(nearest(...at(event), 22));
  };
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", up);
  over.addEventListener("pointerleave", () => { point(-1); });
  let walked = new Set();
  over.addEventListener("keydown", (event) => {
    if (!view || !data) return;
    const step = 60 / view.scale;
    const move = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
    if (move) {
      view = { ...view, x: view.x + move[0], y: view.y + move[1] };
      walked = new Set();
    } else if (event.key === "+" || event.key === "=") zoomBy(1.4);
    else if (event.key === "-") zoomBy(1 / 1.4);
    else if (event.key === "0") view = null;
    else if (event.key.toLowerCase() === "n") {
      const order = data.ids.map((_, i) => [Math.hypot(data.x[i] - view.x, data.y[i] - view.y), i]).filter(([, i]) => !walked.has(i));
      const [, next] = order.reduce((best, one) => (one[0] < best[0] ? one : best), [Infinity, -1]);
      if (next >= 0) {
        walked.add(next);
        point(next, toScreen(data.x[next], data.y[next]));
        say(`${shown(data.ids[next])}, ${data.num_nodes[next]} nodes, cluster ${data.cluster[next] + 1}`);
      }
    } else if (event.key === "Enter" && hovered >= 0) open(hovered);
    else return;
    event.preventDefault();
    paint();
  });

  function point(index, place) {
    over.classList.toggle("on-point", index >= 0);
    if (index === hovered) return;
    hovered = index;
    tip.hidden = index < 0;
    paint();
    if (index < 0) return;
    const picture = h("div", { class: "picture" });
    tip.replaceChildren(picture, h("strong", {}, shown(data.ids[index])), h("span", {}, `${many(data.num_nodes[index], "node")}, ${many(data.num_edges[index], "edge")}`));
    tip.style.left = `${Math.max(4, Math.min(size[0] - 176, place[0] + 16))}px`;
    tip.style.top = `${Math.max(4, Math.min(size[1] - 190, place[1] + 12))}px`;
    sketchInto(picture, index, () => hovered === index);
  }
  function sketchInto(box, index, still) {
    setTimeout(() => still() && storedGraph(data.ids[index]).then(({ graph, layout }) => {
      if (still()) box.replaceChildren(draw(graph, layout));
    }, () => {}), 60);
  }
  function open(index) {
    picked = index;
    paint();
    if (index < 0) {
      chosen.replaceChildren();
      return;
    }
    const id = data.ids[index];
    const picture = h("div", { class: "picture" });
    chosen.replaceChildren(h("section", { class: "panel chosen-panel", "aria-label": `Chosen graph ${shown(id)}` }, picture,
      h("div", {}, h("h2", {}, shown(id)), h("p", {}, `${many(data.num_nodes[index], "node")}, ${many(data.num_edges[index], "edge")}, cluster ${data.cluster[index] + 1}`),
        h("dl", {}, Object.entries(data.metadata).filter(([, column]) => column[index] !== null).slice(0, 6).flatMap(([key, column]) => [h("dt", {}, key), h("dd", {}, shown(column[index]))])),
        h("p", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => page.ask({ id }) }, "Search from it"),
          page.hasQuery() ? h("button", { type: "button", class: "quiet", onclick: () => page.compare(page.queryBody(), { id }) }, "Compare with the query") : null))));
    sketchInto(picture, index, () => picked === index);
    say(`${shown(id)} chosen`);
  }

  async function show() {
    await load();
    if (!data) return;
    const place = new Map(data.ids.map((id, index) => [JSON.stringify(id), index]));
    hits = page.hits().map((hit) => ({ index: place.get(JSON.stringify(hit.id)), rank: hit.rank })).filter(({ index }) => index !== undefined);
    query = null;
    element.dataset.hits = hits.length;
    paint();
    if (!page.hasQuery()) return;
    query = await post("v1/embed", { query: page.queryBody() }).catch(() => null);
    if (query && view && isOutside(toScreen(query.x, query.y))) view = null;
    paint();
  }
  new ResizeObserver(() => paint()).observe(stage);
  addEventListener("themechange", paint);
  return { element, show };
}
