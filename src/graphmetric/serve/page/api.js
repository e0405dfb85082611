// The routes of the service. A failed request is a Problem: what was given, what is allowed, what to do.

import { h, many } from "./dom.js";

const KEY = "graphmetric.token";

export class Problem extends Error {
  constructor(body) {
    super(body.detail);
    Object.assign(this, { status: 0, title: "Something is wrong", errors: [] }, body);
  }
}

function stored() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

let token = stored();
let asking = null;

/** Asks for the token in a dialog; all requests that wait for it share the answer. */
function askToken() {
  asking ??= new Promise((resolve, reject) => {
    const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const dialog = h("dialog", { class: "token", "aria-labelledby": "token-title" },
      h("form", { method: "dialog" },
        h("h2", { id: "token-title" }, "This service is protected"),
        h("p", {}, token ? "The token was not accepted. " : "", "Enter the token it was started with. It stays in this tab and is forgotten when the tab is closed."),
        h("label", { for: "token" }, "Token"), input,
        h("p", { class: "buttons" }, h("button", { class: "main", value: "ok" }, "Continue"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      asking = null;
      if (!input.value) {
        reject(new Problem({ status: 401, title: "Unauthorized", detail: "No token was given.", advice: "Reload the page and enter the token the service was started with." }));
        return;
      }
      token = input.value;
      try {
        sessionStorage.setItem(KEY, token);
      } catch { /* without storage the token lives as long as the page */ }
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

async function send(path, body, signal, waits) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST", headers, signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "The service does not answer", detail: "The request did not reach the service, or the connection broke.", advice: "See whether the service still runs, then try again." });
  }
  if (answer.ok) return answer;
  if (answer.status === 401) {
    await askToken();
    return send(path, body, signal, waits);
  }
  const problem = new Problem({ status: answer.status, ...(await answer.json().catch(() => ({ detail: `The service answered ${answer.status}.` }))) });
  if (answer.status === 503 && waits > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(5, Number(answer.headers.get("Retry-After")) || 1)));
    return send(path, body, signal, waits - 1);
  }
  throw problem;
}

export async function get(path, waits = 3) {
  return (await send(path, undefined, undefined, waits)).json();
}

export async function post(path, body, signal) {
  return (await send(path, body, signal, 2)).json();
}

/** Searches, telling of each line that arrives; the answer is the last line. */
export async function stream(body, signal, progress) {
  const answer = await send("v1/search/stream", body, signal, 2);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop();
    if (done && rest) lines.push(rest);
    for (const line of lines.filter(Boolean)) {
      const told = JSON.parse(line);
      if (told.event === "result") return told;
      if (told.event === "error") throw new Problem(told);
      progress(told);
    }
    if (done) throw new Problem({ title: "Connection lost", detail: "The service ended the stream before the result.", advice: "Try again; if it happens again, ask for fewer hits or a shorter time." });
  }
}

const graphs = new Map();

/** A graph of the collection with its layout; asked for once. */
export function storedGraph(id) {
  const key = JSON.stringify(id);
  if (!graphs.has(key)) {
    const asked = get(`v1/graphs/${encodeURIComponent(String(id))}`);
    asked.catch(() => graphs.delete(key));
    graphs.set(key, asked);
  }
  return graphs.get(key);
}

/** A graph without what the service need not get back. */
export function bare(graph) {
  const { id, metadata, ...rest } = graph;
  return rest;
}

const layouts = new Map();

/** Where to draw the nodes of any graph, or null if they are too many. */
export async function layoutOf(graph) {
  if (graph.num_nodes === 0) return [];
  const sent = { num_nodes: graph.num_nodes, edges: graph.edges, directed: graph.directed ?? false };
  const key = JSON.stringify(sent);
  if (!layouts.has(key)) {
    const node_map = Array.from({ length: graph.num_nodes }, (_, node) => node);
    const asked = post("v1/explain", { first: { graph: bare(graph) }, second: { graph: bare(graph) }, node_map }).then((answer) => answer.layout);
    asked.catch(() => layouts.delete(key));
    layouts.set(key, asked);
  }
  return layouts.get(key);
}

/** A problem as people read it. */
export function describe(problem, retry) {
  const isOurs = problem instanceof Problem;
  if (!isOurs) console.error(problem);
  return h("div", { class: "problem" },
    h("h2", {}, isOurs ? problem.title : "Unexpected error"),
    h("p", {}, problem.message),
    problem.errors?.length ? h("ul", {}, problem.errors.slice(0, 5).map((error) =>
      h("li", {}, h("code", {}, error.where), `: given ${error.given}; allowed: ${error.allowed}`))) : null,
    problem.errors?.length > 5 ? h("p", {}, `and ${many(problem.errors.length - 5, "more fault")}`) : null,
    problem.advice ? h("p", { class: "advice" }, problem.advice) : null,
    retry ? h("p", {}, h("button", { type: "button", onclick: retry }, "Try again")) : null);
}
