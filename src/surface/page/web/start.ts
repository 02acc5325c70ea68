// Start page: what is there, what is wrong, what was called last, what changed, how to connect an agent.

import type { Tool } from "./api.ts";
import { changesElement } from "./changed.ts";
import { connectElement } from "./connect.ts";
import { el, fill } from "./dom.ts";
import { type CallEntry, STATES } from "./log.ts";
import { familyName, marks } from "./marks.ts";
import { notifyButton } from "./notify.ts";
import { problemCard } from "./problems.ts";
import { moment, time } from "./result.ts";
import { address, summary } from "./side.ts";
import type { Store } from "./store.ts";

/** Limits of the lists. */
const MOST_CALLS = 5;
const MOST_PROBLEMS = 3;
const MOST_TOOLS = 3;

export function startView(store: Store): HTMLElement {
  const heading = el("h1", { tabindex: "-1" });
  const wrong = el("section.stack");
  const families = el("section.stack");
  const calls = el("section.stack");

  const draw = () => {
    const { tools, problems, loaded } = store.state;
    const usable = tools.filter((tool) => tool.trusted !== false);
    heading.textContent = loaded ? countOf(usable.length, "tool") : "Loading …";
    const serious = problems.filter(({ severity }) => severity !== "info");
    const rest = serious.length - MOST_PROBLEMS;
    fill(
      wrong,
      el("h2", "What is wrong"),
      ...(serious.length === 0
        ? [el("p.calm", loaded ? "Nothing." : "")]
        : serious.slice(0, MOST_PROBLEMS).map(problemCard)),
      rest > 0 && el("a", { href: "#/problems" }, `${countOf(rest, "more problem")}`),
    );
    const untrusted = tools.length - usable.length;
    fill(
      families,
      el("h2", "What is there"),
      untrusted > 0 &&
        el(
          "p.hint",
          `${countOf(untrusted, "tool")} of the project may not run: `,
          el("code", "haft trust"),
          " shows them, and asks.",
        ),
      el("div.family-grid", ...byFamily(tools)),
    );
  };
  const drawCalls = () => {
    const last = store.state.calls.slice(0, MOST_CALLS);
    fill(
      calls,
      el("h2", "What was called last"),
      last.length === 0 ? el("p.calm", "Nothing yet.") : el("ol.last-calls", ...last.map(callLine)),
      last.length > 0 && el("a", { href: "#/calls" }, "All calls"),
    );
  };
  store.draws(draw, "tools", "problems", "loaded");
  store.draws(drawCalls, "calls");
  return el(
    "article.wide.start",
    heading,
    families,
    wrong,
    calls,
    changesElement(store),
    connectElement(),
    el("div.bar", notifyButton()),
  );
}

function byFamily(tools: Tool[]): HTMLElement[] {
  const families = Map.groupBy(tools, ({ family }) => family);
  return [...families].map(([family, own]) =>
    el(
      "section.card.family",
      el("h3", familyName(family), el("span.count", String(own.length))),
      el(
        "ul",
        ...own
          .slice(0, MOST_TOOLS)
          .map((tool) =>
            el(
              "li",
              el("a.tool-name", { href: address(tool.name), named: tool.name }),
              el("span.marks", ...marks(tool)),
              el("span.line", summary(tool)),
            ),
          ),
      ),
      own.length > MOST_TOOLS &&
        el("a", { href: "#/tools" }, countOf(own.length - MOST_TOOLS, "more tool")),
    ),
  );
}

function callLine(entry: CallEntry): HTMLElement {
  return el(
    "li",
    { "data-state": entry.state },
    el("span.state", el("span.dot"), STATES[entry.state]),
    el("a.tool-name", { href: address(entry.tool), named: entry.tool }),
    el("span.calm", moment(entry.started)),
    el("span.calm", entry.durationMs === undefined ? "" : time(entry.durationMs)),
  );
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
