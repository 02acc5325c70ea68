// View of one tool: its description, a form for its arguments, and the calls made from here.

import type { Tool } from "./api.ts";
import { button, el, freshId } from "./dom.ts";
import { makeForm } from "./form/form.ts";
import { type Run, startRun } from "./run.ts";
import { copyButton } from "./said.ts";
import type { Store } from "./store.ts";
import { tree } from "./tree.ts";

/** Limit of the calls of one tool that stay on the page. */
const MOST_RUNS = 20;

/**
 * Limit of the concurrent calls of the page. A browser has six connections to a server: one is for
 * events, one for a session, and cancelling needs one.
 */
const MOST_AT_ONCE = 3;

const running = new Set<Run>();

const TIERS: { [tier: string]: string } = {
  read: "It only reads.",
  write: "It changes files or other things.",
  exec: "It can run programs.",
};

const ISOLATIONS: { [isolation: string]: string } = {
  none: "not isolated",
  process: "own process",
  sandbox: "sandbox",
};

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
  const results = el("div", { class: "runs" });
  const beside = el(
    "aside",
    { class: "beside", "aria-label": "Results" },
    el("p", { class: "calm waiting", text: "Results appear here." }),
    results,
  );
  const runButton = el("button", {
    type: "submit",
    class: "main-action",
    text: "Run",
    "aria-keyshortcuts": "Control+Enter",
    title: "Ctrl+Enter",
    disabled: tool.trusted === false,
  });
  const cancelButton = button("Cancel", cancel, { hidden: true, "aria-keyshortcuts": "Escape" });
  const heading = freshId("tool");
  const note = el("p", { class: "wrong", role: "alert" });
  const element = el(
    "article",
    { class: "tool", "aria-labelledby": heading },
    el(
      "div",
      { class: "about-tool" },
      el("h1", { id: heading, named: tool.label || tool.name, tabindex: "-1" }),
      facts(tool),
      el("p", { class: "description", text: tool.description }),
      tool.trusted === false && notTrusted(),
    ),
    el(
      "form",
      { class: "card", novalidate: true, on: { submit: submitted } },
      form.element,
      el(
        "div",
        { class: "bar" },
        runButton,
        cancelButton,
        el("span", { class: "keys", text: "Ctrl+Enter runs, Esc cancels" }),
        el("span", { class: "space" }),
        button("Clear", form.clear, { class: "quiet" }),
        note,
      ),
    ),
    beside,
    rights(tool),
    schema(tool),
  );

  function submitted(event: SubmitEvent): void {
    event.preventDefault();
    run();
  }
  function run(): void {
    if (tool.trusted === false) return;
    note.textContent = "";
    if (running.size >= MOST_AT_ONCE) {
      note.textContent = `${MOST_AT_ONCE} calls of this page run; wait for one, or cancel one.`;
      return;
    }
    const text = form.arguments();
    if (text === null) return;
    const started: Run = startRun(tool.name, text, store.answersQuestions, {
      changed() {
        running.delete(started);
        draw();
      },
      refused: (refusal) => form.mark(refusal.message),
    });
    running.add(started);
    runs.unshift(started);
    results.prepend(started.element);
    started.element.scrollIntoView({ block: "nearest" });
    for (const old of runs.splice(MOST_RUNS)) old.element.remove();
    draw();
  }
  function draw(): void {
    cancelButton.hidden = !runs.some((one) => one.isRunning());
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

function facts(tool: Tool): HTMLElement {
  const fact = (text: string | undefined, title = "") =>
    text ? el("span", { class: "badge", text, title: title || null }) : null;
  return el(
    "p",
    { class: "facts" },
    tool.label && tool.label !== tool.name ? el("code", { named: tool.name }) : null,
    fact(tool.providerName ?? tool.family, tool.family ? `family: ${tool.family}` : ""),
    fact(tool.level),
    fact(tool.approval, TIERS[tool.approval ?? ""]),
    tool.rights ? fact(ISOLATIONS[tool.rights.isolation], tool.rights.source) : null,
    tool.hidden === true && fact("hidden", "It is not shown to models."),
    tool.path ? el("span", { class: "path", named: tool.path }) : null,
  );
}

function notTrusted(): HTMLElement {
  return el(
    "p",
    { class: "card hint" },
    "The project that brings this tool is not trusted, so it is not run. ",
    el("code", { text: "haft trust" }),
    " in its directory shows what would run, and asks.",
  );
}

/** Lists what the tool may access, and what says so. */
function rights(tool: Tool): HTMLElement | null {
  if (!tool.rights) return null;
  const { source, isolation, layers, notEnforced, permissions } = tool.rights;
  const row = (name: string, text: string) => [el("dt", { text: name }), el("dd", { named: text })];
  const kinds = ["read", "write", "net", "run", "env", "ffi"];
  return el(
    "details",
    { class: "more" },
    el("summary", { text: "Rights" }),
    el(
      "dl",
      { class: "rights" },
      ...row("profile", source.replace(/^the profile /, "")),
      ...row("isolation", layers ? `${isolation}, ${layers}` : isolation),
      ...kinds.flatMap((kind) => row(kind, permissions[kind] ?? "")),
      ...notEnforced.flatMap((text) => row("not enforced", text)),
    ),
  );
}

function schema(tool: Tool): HTMLElement {
  return el(
    "details",
    { class: "more" },
    el("summary", { text: "Schema" }),
    tree(tool.inputSchema),
    copyButton(JSON.stringify(tool.inputSchema, null, 2)),
  );
}
