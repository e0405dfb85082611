// The page: three views over one state, which is also the address.

import { describe, get, stream } from "./api.js";
import { read, write } from "./address.js";
import { h, many, one, say, shown } from "./dom.js";

const VIEWS = ["search", "map", "compare"];

function theme() {
  const kept = (() => { try { return localStorage.getItem("graphmetric.theme"); } catch { return null; } })();
  if (kept) document.documentElement.dataset.theme = kept;
  one("theme").addEventListener("click", () => {
    const isDark = (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("graphmetric.theme", document.documentElement.dataset.theme); } catch { /* the choice lives as long as the page */ }
    dispatchEvent(new Event("themechange"));
    say(`${document.documentElement.dataset.theme} colours`);
  });
}

async function ready() {
  for (;;) {
    const info = await get("v1/info");
    if (info.ready) {
      one("notice").replaceChildren();
      return info;
    }
    one("notice").replaceChildren(h("div", { class: "panel warming" }, h("span", { class: "spinner", "aria-hidden": "true" }), h("div", {}, h("h2", {}, "The service is getting ready"), h("p", {}, `${many(info.graphs, "graph")} are loaded and the search is being compiled. This takes some seconds after a start.`))));
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function start() {
  theme();
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); one("main").focus(); });
  let info;
  try {
    info = await ready();
  } catch (problem) {
    one("notice").replaceChildren(describe(problem, () => location.reload()));
    return;
  }
  document.title = `${info.name} · graphmetric`;
  one("served").replaceChildren(h("b", {}, info.name), ` ${many(info.graphs, "graph")}`, h("span", { class: "wide-only" }, info.learned ? " · learned and certified" : " · certified"));
  const [{ makeQuery }, { makeResults }, { makeMap }, { makeCompare }] = await Promise.all([import("./query.js"), import("./results.js"), import("./map.js"), import("./compare.js")]);
  let running = null;
  let asked = "";

  const page = {
    info, state: read(),
    /** Changes the state and the address, without a new entry in the history. */
    set(changes) {
      const before = page.state.view;
      page.state = { ...page.state, ...changes };
      history.replaceState(null, "", write(page.state));
      if (page.state.view !== before) show();
      else link();
    },
    hasQuery: () => Boolean(page.state.smiles || page.state.graph || page.state.id !== null),
    queryBody() {
      const { smiles, graph, id } = page.state;
      return graph ? { graph } : smiles ? { smiles } : { id };
    },
    queryName() {
      const { smiles, graph, id } = page.state;
      return graph ? "Your graph" : smiles ? (smiles.length > 24 ? "Your molecule" : smiles) : shown(id);
    },
    hits: () => results.hits(),
    compare(a, b) {
      page.state = { ...page.state, view: "compare", a, b };
      history.pushState(null, "", write(page.state));
      show();
    },
    /** A new query, from anywhere on the page. */
    ask(query_) {
      page.state = { ...page.state, view: "search", smiles: null, graph: null, id: null, layout: null, hit: null, ...query_ };
      history.pushState(null, "", write(page.state));
      query.openFor(page.state);
      show();
      page.search();
    },
    stop() {
      running?.abort();
    },
    async search() {
      if (!page.hasQuery()) {
        query.say(h("p", { class: "field-error", role: "alert" }, "Give a graph first: draw one, or choose another way above."));
        return;
      }
      running?.abort();
      const mine = (running = new AbortController());
      const { state } = page;
      const certified = (state.mode ?? (info.learned ? "learned" : "certified")) === "certified";
      asked = question(state);
      if (location.hash !== write(state)) history.pushState(null, "", write(state));
      results.begin();
      query.busy(true);
      query.understood().then((found) => found && running === mine && results.know(found));
      try {
        const result = await stream({
          ...page.queryBody(), certified, view: state.scale, distinct: state.distinct, time_limit: state.time, explain: certified,
          k: state.k, within: state.within ?? undefined,
          where: Object.keys(state.where).length ? state.where : undefined,
          limits: certified && Object.keys(state.limits).length ? state.limits : undefined,
        }, mine.signal, (told) => running === mine && results.progress(told));
        if (running === mine) await results.finish(result);
      } catch (problem) {
        if (running !== mine) return;
        if (problem.name === "AbortError") results.stopped();
        else results.fail(problem);
      } finally {
        if (running === mine) {
          running = null;
          query.busy(false);
        }
      }
    },
  };
  const query = makeQuery(page);
  const results = makeResults(page);
  const map = makeMap(page);
  const compare = makeCompare(page);
  one("view-search").append(query.element, results.element);
  one("view-map").append(map.element);
  one("view-compare").append(compare.element);

  function question(state) {
    return write({ ...state, view: "search", hit: null, a: null, b: null, color: null });
  }
  /** The links to the views keep the query, also when they are opened in another tab. */
  function link() {
    for (const tab of document.querySelectorAll(".view-link")) tab.setAttribute("href", write({ ...page.state, view: tab.dataset.view }));
  }
  function show() {
    const view = VIEWS.includes(page.state.view) ? page.state.view : "search";
    for (const name of VIEWS) {
      one(`view-${name}`).hidden = name !== view;
      const tab = document.querySelector(`[data-view="${name}"]`);
      if (name === view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    link();
    if (view === "map") map.show();
    if (view === "compare") compare.show(page.state);
  }
  for (const tab of document.querySelectorAll(".view-link")) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      page.state = { ...page.state, view: tab.dataset.view };
      history.pushState(null, "", write(page.state));
      show();
    });
  }
  addEventListener("popstate", () => {
    page.state = read();
    query.openFor(page.state);
    show();
    if (!page.hasQuery()) results.welcome();
    else if (question(page.state) !== asked) page.search();
  });
  query.openFor(page.state);
  show();
  if (page.hasQuery()) page.search().then(() => page.state.view === "map" && map.show());
  else results.welcome();
  document.documentElement.dataset.ready = "true";
}

start();
