// Entry point of the page: selects the view for the address, handles keys, and follows the server's
// events.

import { json, type Tool, whenTokenIsWanted } from "./api.ts";
import { callsView } from "./calls.ts";
import { parse } from "./digits.ts";
import { announce, el, fill } from "./dom.ts";
import { header, VIEWS, type View } from "./header.ts";
import { setTitle } from "./notify.ts";
import { problemsView } from "./problems.ts";
import { questionDialog } from "./questions.ts";
import { sessionsView } from "./sessions.ts";
import { address, side } from "./side.ts";
import { startView } from "./start.ts";
import { Store } from "./store.ts";
import { takeTokenFromAddress, tokenDialog } from "./token.ts";
import { type ToolView, toolView } from "./tool.ts";
import { exact } from "./visible.ts";

/** Limit of the tool views that are kept, with their input and their running calls. */
const MOST_KEPT = 50;

takeTokenFromAddress();
const store = new Store();
const app = byId("app");
const main = byId("main");
const showView = header(byId("header"), store);
const tools = side(byId("side"), store);
const kept = new Map<string, { tool: Tool; view: ToolView }>();
const sessions = sessionsView();
const views = {
  start: startView(store),
  calls: callsView(store, again),
  sessions: sessions.element,
  problems: problemsView(store, reload),
};
const dialog = tokenDialog(() => store.retry());
/** The view that the run and cancel keys apply to. */
let current: Pick<ToolView, "run" | "cancel"> | null = null;
let isFirst = true;

whenTokenIsWanted(dialog.ask);
questionDialog(store);
addEventListener("hashchange", () => show());
addEventListener("keydown", pressed);
// The address of a link would select a view.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
store.on("tools", refresh);
store.on("loaded", refresh);
show();
void store.follow();

interface Route {
  view: View;
  /** The tool, if one is named. */
  name: string | null;
  /** The arguments for its form, as JSON text. */
  arguments: string | null;
}

function route(): Route {
  const [path = "", query] = location.hash.split("?", 2);
  const [, word = "", name] = path.split("/");
  const view = Object.hasOwn(VIEWS, word) ? (word as View) : "start";
  const none: Route = { view, name: null, arguments: null };
  if (view !== "tools" || !name) return none;
  try {
    return {
      view,
      name: decodeURIComponent(name),
      arguments: new URLSearchParams(query ?? "").get("arguments"),
    };
  } catch {
    return none;
  }
}

function show(): void {
  const { view, name } = route();
  showView(view);
  app.dataset["view"] = view === "tools" && name !== null ? "tool" : view;
  tools.current(name);
  current = null;
  if (view !== "tools") {
    fill(main, views[view]);
    setTitle(view === "start" ? "haft" : `${VIEWS[view]} – haft`);
    if (view === "sessions") {
      current = sessions;
      sessions.shown();
    }
  } else {
    showTool(name);
  }
  if (!isFirst) main.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  isFirst = false;
  main.scrollTop = 0;
  if (!matchMedia("(min-width: 50.01rem)").matches) scrollTo(0, 0);
}

function showTool(name: string | null): void {
  setTitle(name === null ? "Tools – haft" : `${exact(name)} – haft`);
  const tool = store.state.tools.find((one) => one.name === name);
  if (tool) {
    const shown = viewOf(tool);
    current = shown;
    fill(main, shown.element);
    fillFromAddress(shown);
  } else if (name !== null && store.state.loaded) {
    fill(main, empty(`There is no tool “${name}”.`, "It may have gone; the problems may say why."));
  } else {
    fill(
      main,
      empty("Choose a tool.", "Press / to search, the arrow keys to go through the list."),
    );
  }
}

/** Fills the form with the arguments of the address, once: they are removed from it. */
function fillFromAddress(view: ToolView): void {
  const { name, arguments: text } = route();
  if (name === null || text === null) return;
  history.replaceState(null, "", address(name));
  try {
    view.set(parse(text));
  } catch {
    announce("The arguments in the address are not JSON");
  }
}

/** Returns the view of a tool with its previous input; a new one if the tool itself has changed. */
function viewOf(tool: Tool): ToolView {
  const known = kept.get(tool.name);
  if (known && JSON.stringify(known.tool) === JSON.stringify(tool)) return known.view;
  const view = toolView(tool, store);
  kept.delete(tool.name);
  kept.set(tool.name, { tool, view });
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(oldest);
  }
  return view;
}

/**
 * Updates the view after a change of the list. The input is kept if the shown tool has not changed.
 */
function refresh(): void {
  const { view, name } = route();
  if (view !== "tools") return;
  const tool = store.state.tools.find((one) => one.name === name);
  if (tool && current === viewOf(tool)) return;
  showTool(name);
  tools.current(name);
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const target = event.target as HTMLElement;
  const isTyping = target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && current) {
    event.preventDefault();
    current.run();
  } else if (event.key === "Escape" && current && target.getAttribute("type") !== "search") {
    current.cancel();
  } else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if (route().view !== "tools") {
      history.pushState(null, "", "#/tools");
      show();
    }
    tools.focusSearch();
  }
}

/** Shows a call's tool with the arguments of the call, ready to run again. */
function again(name: string, args: unknown): void {
  const tool = store.state.tools.find((one) => one.name === name);
  if (!tool) return announce(`There is no tool ${name} any more`);
  viewOf(tool).set(args);
  location.hash = address(name);
}

async function reload(): Promise<void> {
  await json("POST", "/api/tools/reload", "{}");
  await store.loadCatalog();
}

function empty(title: string, text: string): HTMLElement {
  return el("div.empty", el("h1", { tabindex: "-1" }, title), el("p.calm", text));
}

function byId(id: string): HTMLElement {
  return document.getElementById(id) as HTMLElement;
}
