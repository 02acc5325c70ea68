// Header of the page: navigation, counts, state of the connection.

import { el, icon } from "./dom.ts";
import { isRunning } from "./log.ts";
import type { Connection, Store } from "./store.ts";
import { themeButton } from "./theme.ts";

export const VIEWS = {
  start: "Start",
  tools: "Tools",
  calls: "Calls",
  sessions: "Sessions",
  problems: "Problems",
} as const;

export type View = keyof typeof VIEWS;

const WORDS: { [State in Connection]: string } = {
  connecting: "Connecting",
  live: "Connected",
  lost: "Not connected",
};

/** Fills the header. The returned function marks the current view. */
export function header(parent: HTMLElement, store: Store): (view: View) => void {
  const counts = {
    start: null,
    tools: el("span.count"),
    calls: el("span.count"),
    sessions: null,
    problems: el("span.count"),
  };
  const links = new Map<View, HTMLAnchorElement>();
  const nav = el("nav", { "aria-label": "Views" });
  for (const [view, text] of Object.entries(VIEWS) as [View, string][]) {
    const href = view === "start" ? "#/" : `#/${view}`;
    const link = el("a", { href }, icon(view), el("span", text), counts[view]);
    links.set(view, link);
    nav.append(link);
  }
  const state = el("button", {
    type: "button",
    class: "quiet connection",
    on: { click: () => store.retry() },
  });
  parent.append(el("a.brand", { href: "#/" }, "haft"), nav, el("span.space"), state, themeButton());

  const show = (where: HTMLElement, count: number, alarm = false) => {
    where.textContent = count === 0 ? "" : String(count);
    where.classList.toggle("alarm", alarm && count > 0);
  };
  store.on("tools", () => show(counts.tools, store.state.tools.length));
  store.on("calls", () => show(counts.calls, store.state.calls.filter(isRunning).length));
  store.on("problems", () => {
    const { problems } = store.state;
    const errors = problems.filter((problem) => problem.severity === "error").length;
    show(counts.problems, problems.length, errors > 0);
  });
  const connection = () => {
    const now = store.state.connection;
    state.textContent = WORDS[now];
    state.dataset["state"] = now;
    state.disabled = now !== "lost";
    state.title = now === "lost" ? "Try again now" : "";
  };
  store.draws(connection, "connection");

  return (view) => {
    for (const [name, link] of links) {
      if (name === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };
}
