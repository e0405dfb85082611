// Elements, made without markup: text is always text, so nothing of a graph can become a script.

const SVG = "http://www.w3.org/2000/svg";

function fill(made, given, children) {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") made[name] = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function h(tag, given, ...children) {
  return fill(document.createElement(tag), given, children);
}

export function s(tag, given, ...children) {
  return fill(document.createElementNS(SVG, tag), given, children);
}

/** Replaces what an element has; what is null or false is left out. */
export function put(parent, ...children) {
  parent.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
}

export const one = (id) => document.getElementById(id);

let turn = 0;

/** Says a sentence to screen readers, by the live region of the page or another. */
export function say(text, where = one("live")) {
  where.textContent = turn++ % 2 ? `${text}\u00a0` : text;
}

export function icon(path) {
  return s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", class: "line-icon" }, s("path", { d: path }));
}

/** A row of buttons of which one is chosen. */
export function choice(name, label, options, chosen, changed) {
  return h("fieldset", { class: "segments" }, h("legend", { class: label.hidden ? "unseen" : "" }, label.text),
    h("div", { class: "segment-row" }, options.map(([value, text, title]) =>
      h("label", { title }, h("input", {
        type: "radio", name, value, checked: value === chosen, onchange: () => changed(value),
      }), h("span", {}, text)))));
}

export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A time as people read it. */
export function lasted(seconds) {
  return seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`;
}

/** A number as people read it: at most three decimals, no trailing zeros. */
export function short(value) {
  if (value === null || value === undefined) return "?";
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(Math.abs(value) < 10 ? 2 : 1)));
}

export const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

export function shown(label) {
  return label === null || label === undefined ? "" : typeof label === "object" ? JSON.stringify(label) : String(label);
}
