// View of one tool: its description, a form for its arguments, and the calls made from here.

import type { Tool } from "./api.ts";
import { compare } from "./compare.ts";
import { copyAs } from "./copy_as.ts";
import { parse } from "./digits.ts";
import { button, el, freshId, icon, submitButton } from "./dom.ts";
import { makeForm } from "./form/form.ts";
import { isMarkdown, markdown } from "./markdown.ts";
import { badge, isolationBadge, TIERS } from "./marks.ts";
import { type Run, startRun } from "./run.ts";
import { canRecord } from "./save_test.ts";
import type { Store } from "./store.ts";

/** Limit of the calls of one tool that stay on the page. */
const MOST_RUNS = 20;

/**
 * Limit of the concurrent calls of the page. A browser has six connections to a server: one is for
 * events, one for a session, and cancelling needs one.
 */
const MOST_AT_ONCE = 3;

const running = new Set<Run>();

export interface ToolView {
  element: HTMLElement;
  run(): void;
  cancel(): void;
  focus(): void;
  /** Shows these arguments. */
  set(value: unknown): void;
}

export function toolView(tool: Tool, store: Store): ToolView {
  const runs: Run[] = [];
  const form = makeForm(tool.inputSchema, () => {});
  const results = el("div.runs");
  const beside = el(
    "aside.beside",
    { "aria-label": "Results" },
    el("p.calm.waiting", "Results appear here."),
    results,
  );
  const runButton = submitButton("Run");
  const clearButton = button("Clear", () => form.clear());
  const copyAsButton = button("Copy as …", () => {
    const text = form.arguments();
    if (text !== null) copyAs({ tool, arguments: text });
  });
  const recordBox = el("input", { type: "checkbox" });
  const note = el("div.wrong", { role: "alert" });
  const heading = freshId("tool");
  const isTrusted = tool.trusted !== false;
  const element = el(
    "article.tool",
    { "aria-labelledby": heading },
    el(
      "header.about-tool",
      el("a.back", { href: "#/tools" }, icon("back"), "Tools"),
      el("h1", { id: heading, tabindex: "-1" }, tool.label || tool.name),
      facts(tool),
      description(tool),
    ),
    el(
      "div.stack",
      isTrusted
        ? el(
            "form.card",
            { novalidate: true, on: { submit: submitted } },
            form.element,
            canRecord(tool) &&
              el(
                "div.checks.record",
                el("label", recordBox, "Record the call, to save it as a tool test"),
              ),
            el("div.bar.run-bar", runButton, clearButton, copyAsButton, note),
          )
        : notTrusted(),
      rights(tool),
    ),
    isTrusted && beside,
  );

  function submitted(event: SubmitEvent): void {
    event.preventDefault();
    run();
  }
  function run(): void {
    if (!isTrusted) return;
    const text = form.arguments();
    if (text !== null) start(text, recordBox.checked);
  }
  function start(text: string, isRecorded: boolean): void {
    note.textContent = "";
    if (running.size >= MOST_AT_ONCE) {
      note.textContent = `${MOST_AT_ONCE} calls of this page run; wait for one, or cancel one.`;
      return;
    }
    const started: Run = startRun(tool, text, isRecorded, store, {
      changed() {
        running.delete(started);
        bringIntoView(started.element);
      },
      refused: (refusal) => form.mark(refusal.message),
      again() {
        form.set(parse(text));
        element.querySelector("form")?.scrollIntoView({ block: "nearest" });
      },
      record: () => start(text, true),
      compare(one) {
        const others = runs.filter((other) => other !== one && !other.isRunning());
        note.textContent = others.length > 0 ? "" : "There is no other call to compare with.";
        if (others.length > 0) compare(comparable(one), others.map(comparable));
      },
    });
    running.add(started);
    runs.unshift(started);
    results.prepend(started.element);
    bringIntoView(started.element);
    for (const old of runs.splice(MOST_RUNS)) old.element.remove();
  }
  /** Scrolls to the newest call, also where the results are below the form. */
  function bringIntoView(call: HTMLElement): void {
    if (call !== runs[0]?.element) return;
    beside.scrollTop = 0;
    if (getComputedStyle(beside).position !== "sticky") call.scrollIntoView({ block: "start" });
  }
  function cancel(): void {
    runs.find((one) => one.isRunning())?.cancel();
  }
  return {
    element,
    run,
    cancel,
    focus: () => element.querySelector("h1")?.focus(),
    set: form.set,
  };
}

function comparable(run: Run): { name: string; arguments: string; result: string } {
  return {
    name: `${run.name} ${run.arguments.slice(0, 60)}`,
    arguments: run.arguments,
    result: run.result(),
  };
}

function facts(tool: Tool): HTMLElement {
  const { approval = "" } = tool;
  return el(
    "p.facts",
    tool.label && tool.label !== tool.name ? el("code", { named: tool.name }) : null,
    badge(tool.providerName ?? tool.family, tool.family ? `family: ${tool.family}` : ""),
    badge(tool.level, LEVELS[tool.level ?? ""]),
    badge(approval, TIERS[approval], `tier ${approval}`),
    isolationBadge(tool),
    tool.hidden === true && badge("hidden", "It is not shown to models."),
    tool.path ? el("span.path", { named: tool.path }) : null,
  );
}

const LEVELS: { [level: string]: string } = {
  user: "from your own directories",
  project: "from the project in the working directory",
  host: "from haft itself",
};

/** Shows the description; the rest of a long one is folded. */
function description(tool: Tool): HTMLElement {
  const text = tool.description.trim();
  const body = isMarkdown(text) ? markdown(text) : el("p.description", text);
  if (text.length < 600 && text.split("\n").length < 8) return body;
  const more = button("Show all", () => {
    body.classList.remove("folded");
    more.remove();
  });
  body.classList.add("folded");
  return el("div", body, more);
}

function notTrusted(): HTMLElement {
  return el(
    "p.card.hint",
    "The project that brings this tool is not trusted, so it is not run. ",
    el("code", "haft trust"),
    " in its directory shows what would run, and asks.",
  );
}

/** Lists what the tool may access, and what says so. */
function rights(tool: Tool): HTMLElement | null {
  if (!tool.rights) return null;
  const { source, isolation, layers, notEnforced, permissions } = tool.rights;
  const row = (name: string, text: string) => [el("dt", name), el("dd", { named: text })];
  const kinds = ["read", "write", "net", "run", "env", "ffi"];
  return el(
    "details.more",
    el("summary", "Rights"),
    el(
      "dl.rights",
      ...row("profile", source.replace(/^the profile /, "")),
      ...row("isolation", layers ? `${isolation}, ${layers}` : isolation),
      ...kinds.flatMap((kind) => row(kind, permissions[kind] ?? "")),
      ...notEnforced.flatMap((text) => row("not enforced", text)),
    ),
  );
}
