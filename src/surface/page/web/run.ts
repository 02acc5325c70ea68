// One call from this page: its state, its progress, its log and its result.

import { type CallResult, json, Refusal, refusalFrom, stream, type Tool } from "./api.ts";
import { copyAs } from "./copy_as.ts";
import { announce, button, el, fill } from "./dom.ts";
import { drawingElement } from "./drawing.ts";
import { badge } from "./marks.ts";
import { copyButton, resultElements, resultText, time } from "./result.ts";
import { canRecord, offerRecording, saveTest } from "./save_test.ts";
import { withoutSecrets } from "./secrets.ts";
import type { Notice, Store } from "./store.ts";
import { prose } from "./visible.ts";

type State = "running" | "done" | "failed" | "refused" | "stopped" | "lost";

const WORDS: { [Name in State]: string } = {
  running: "Running",
  done: "Done",
  failed: "The tool reports an error",
  refused: "Not run",
  stopped: "Stopped",
  lost: "The connection was lost",
};

/** Limit of the log lines and of the steps of one call. */
const MOST_LINES = 500;

export interface Run {
  element: HTMLElement;
  /** The time at which it was started, for people. */
  name: string;
  /** The arguments as JSON text, without secrets. */
  arguments: string;
  /** The text of the result; empty while it runs. */
  result(): string;
  isRunning(): boolean;
  cancel(): void;
}

interface Hooks {
  /** Called when the run continues or has ended. */
  changed(): void;
  /** Called when the server refused the call. */
  refused(refusal: Refusal): void;
  /** Called when the user wants the same arguments in the form. */
  again(): void;
  /** Called when the user wants to make the call again, recorded. */
  record(): void;
  /** Called when the user wants to compare the run with others. */
  compare(run: Run): void;
}

/** Number of the calls that were made from this page. */
let madeCalls = 0;

/** Calls a tool; `text` is the arguments as JSON. A recorded call can be saved as a test. */
export function startRun(
  tool: Tool,
  text: string,
  isRecorded: boolean,
  store: Store,
  hooks: Hooks,
): Run {
  const abort = new AbortController();
  const started = performance.now();
  const shownArguments = withoutSecrets(text, tool.inputSchema);
  const name = new Date().toLocaleTimeString();
  madeCalls += 1;
  const number = madeCalls;
  let state: State = "running";
  const id = freshCallId();
  let updates = 0;
  /** The beginning of the newest update, which is a step as soon as there is another one. */
  let newest: string | undefined;
  let isCancelled = false;
  let outcome: CallResult | undefined;
  /** The lines of the tool's code in which it failed. */
  let frame: string | undefined;
  /** The time that was spent on questions, and since when one is open. */
  let waited = 0;
  let waitingSince: number | null = null;

  const word = el("span.word");
  const clock = el("span.clock");
  const body = el("div.result");
  const bar = el("progress", { "aria-label": `Progress of ${tool.name}` });
  const status = el("p.calm.status", { hidden: true });
  const steps = foldedList("Earlier updates");
  const log = foldedList("Log");
  const actions = el("div.actions", { hidden: true });
  const cancelButton = button("Cancel", cancel);
  const element = el(
    "section.run",
    { "aria-label": `Call ${number} of this page: ${tool.name}` },
    el(
      "header",
      el("span.dot"),
      word,
      clock,
      isRecorded && badge("recorded", "Its answers from outside are kept for a test."),
      cancelButton,
    ),
    bar,
    status,
    body,
    steps.element,
    log.element,
    el(
      "details.more.given",
      el("summary", "Arguments"),
      el("pre.text", { tabindex: "0" }, shownArguments),
      copyButton(shownArguments),
    ),
    actions,
  );
  const run: Run = {
    element,
    name,
    arguments: shownArguments,
    result: () => (outcome ? resultText(outcome) : ""),
    cancel,
    isRunning: () => state === "running",
  };
  const statuses = new Map<string, string>();
  const endNotices = store.onNotice(noticed);
  const endQuestions = store.on("questions", questioned);
  const ticking = setInterval(tick, 100);
  draw();
  void go();

  async function go(): Promise<void> {
    try {
      const path = `/api/tools/${encodeURIComponent(tool.name)}/call`;
      // The text of the arguments is sent unchanged, so that numbers keep their digits.
      const record = isRecorded ? '"record":true,' : "";
      const sent = `{"callId":${JSON.stringify(id)},${record}"arguments":${text}}`;
      const happened = await stream("POST", path, abort.signal, sent);
      for await (const { event, data } of happened) take(event, JSON.parse(data));
      if (state === "running") end("lost");
    } catch (error) {
      if (error instanceof Refusal) refuse(error);
      else if (isCancelled) end("stopped");
      else if (state === "running") end("lost", String(error));
    }
  }
  function take(event: string, data: any): void {
    if (event === "update") {
      updates += 1;
      update(data.partialResult);
    } else if (event === "log") {
      const context = data.context === undefined ? "" : ` ${JSON.stringify(data.context)}`;
      // A stack without haft's own frames ends in the tool's code.
      const message = String(data.message).replaceAll(/\n\s+at [^\n]*\bext:[^\n]*/g, "");
      log.add(`${message}${context}`, data.level);
      frame = data.frame ?? frame;
    } else if (event === "result") {
      finish(data);
    } else if (event === "error") {
      refuse(refusalFrom(data));
    }
  }
  function update(partial: CallResult): void {
    fill(body, ...resultElements(partial));
    const details = partial.details as { progress?: unknown; total?: unknown } | undefined;
    if (typeof details?.progress === "number") {
      const total = typeof details.total === "number" ? details.total : 1;
      if (total > 0 && details.progress <= total) {
        bar.max = total;
        bar.value = details.progress;
      }
    }
    if (newest !== undefined) steps.add(newest);
    newest = resultText(partial).split("\n", 1)[0] ?? "";
    draw();
  }
  function noticed(notice: Notice): void {
    if (notice.callId !== id) return;
    if (notice.message !== undefined) log.add(notice.message, notice.level);
    if (notice.key === undefined) return;
    if (notice.text === undefined) statuses.delete(notice.key);
    else statuses.set(notice.key, notice.text);
    status.textContent = prose([...statuses.values()].join(" · "));
    status.hidden = statuses.size === 0;
  }
  function questioned(): void {
    if (state !== "running") return;
    const isAsking = store.state.questions.some((question) => question.callId === id);
    if (isAsking) waitingSince ??= performance.now();
    else if (waitingSince !== null) {
      waited += performance.now() - waitingSince;
      waitingSince = null;
    }
    draw();
  }
  function finish(result: CallResult): void {
    outcome = result;
    fill(
      body,
      ...resultElements(result),
      result.isError && frame !== undefined && codeFrame(frame),
    );
    void drawingElement(id).then((drawing) => {
      if (drawing) body.prepend(drawing);
    });
    if (result.stopped) end("stopped", result.stopped, result.durationMs);
    else end(result.isError ? "failed" : "done", "", result.durationMs);
  }
  function refuse(refusal: Refusal): void {
    const wasStopped = refusal.kind === "stopped";
    outcome = { content: [{ type: "text", text: refusal.message }], isError: true };
    const problem = store.state.problems.find(
      (one) => one.toolName === tool.name || (one.path !== undefined && one.path === tool.path),
    );
    fill(
      body,
      el("pre.text.trouble", refusal.message),
      refusal.status === 502 && problem?.frame !== undefined && codeFrame(problem.frame),
      refusal.hint !== undefined && el("p.hint", refusal.hint),
    );
    end(wasStopped ? "stopped" : "refused");
    if (!wasStopped) hooks.refused(refusal);
  }
  function end(how: State, why = "", duration?: number): void {
    state = how;
    clearInterval(ticking);
    endNotices();
    endQuestions();
    draw();
    word.textContent = why === "" ? WORDS[how] : prose(`${WORDS[how]}: ${why}`);
    clock.textContent = time(duration ?? elapsed());
    // The log of a failure has its stack.
    if (how === "failed") log.element.open = true;
    fill(
      actions,
      button("Fill in again", hooks.again),
      button("Copy as …", () => copyAs({ tool, arguments: text })),
      button("Compare", () => hooks.compare(run)),
      canRecord(tool) &&
        (how === "done" || how === "failed") &&
        button("Save as a tool test", save),
    );
    actions.hidden = false;
    announce(`${tool.name}: ${word.textContent}`);
    hooks.changed();
  }
  function save(): void {
    if (isRecorded) saveTest(tool, id);
    else offerRecording(tool, hooks.record);
  }
  function elapsed(): number {
    return (waitingSince ?? performance.now()) - started - waited;
  }
  function tick(): void {
    const count = updates === 0 ? "" : `, ${updates} update${updates === 1 ? "" : "s"}`;
    clock.textContent = time(elapsed()) + count;
  }
  function draw(): void {
    const isRunning = state === "running";
    element.dataset["state"] = state;
    element.setAttribute("aria-busy", String(isRunning));
    bar.hidden = !isRunning;
    if (isRunning) {
      const isWaiting = waitingSince !== null;
      word.textContent = isCancelled
        ? "Stopping"
        : isWaiting
          ? "Waits for an answer"
          : WORDS.running;
      tick();
    } else {
      status.hidden = true;
    }
    cancelButton.hidden = !isRunning;
  }
  function cancel(): void {
    if (state !== "running") return;
    // If the server has not reacted to the first request, the second click closes the connection,
    // which cancels the call too.
    if (isCancelled) return abort.abort();
    isCancelled = true;
    cancelButton.textContent = "Hang up";
    draw();
    json("DELETE", `/api/calls/${encodeURIComponent(id)}`).catch(() => abort.abort());
  }
  return run;
}

/** Creates the lines of a tool's code around an error. */
function codeFrame(text: string): HTMLElement {
  return el("pre.frame", { tabindex: "0", "aria-label": "The tool's code" }, text);
}

/** Creates a folded list that appears with its first line. */
function foldedList(title: string): {
  element: HTMLDetailsElement;
  add(text: string, level?: string): void;
} {
  const count = el("span.count");
  const list = el("ol.lines");
  const element = el("details.more.lines-of", { hidden: true }, el("summary", title, count), list);
  let added = 0;
  return {
    element,
    add(text, level) {
      added += 1;
      element.hidden = false;
      count.textContent = String(added);
      list.append(el("li", { class: level ?? "" }, text));
      while (list.childElementCount > MOST_LINES) list.firstElementChild?.remove();
    },
  };
}

/** Returns a unique id, so that the call can be cancelled from the start. */
function freshCallId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return `page-${[...bytes].map((byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}
