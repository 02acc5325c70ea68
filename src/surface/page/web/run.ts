// One call from this page: its state and its display.

import { json, Refusal, refusalFrom, type Said, stream } from "./api.ts";
import { announce, button, el, fill } from "./dom.ts";
import { keepArguments } from "./log.ts";
import { copyButton, said, time } from "./said.ts";
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

export interface Run {
  element: HTMLElement;
  isRunning(): boolean;
  cancel(): void;
}

interface Hooks {
  /** Called when the run continues or has ended. */
  changed(): void;
  /** Called when the server refused the call. */
  refused(refusal: Refusal): void;
}

/** Calls a tool; `text` is the arguments as JSON. */
export function startRun(tool: string, text: string, answersQuestions: boolean, hooks: Hooks): Run {
  const abort = new AbortController();
  const started = performance.now();
  let state: State = "running";
  const id = freshCallId();
  let updates = 0;
  let isCancelled = false;

  const word = el("span", { class: "word" });
  const clock = el("span", { class: "clock" });
  const body = el("div", { class: "said" });
  const cancelButton = button("Cancel", cancel, { class: "quiet" });
  const element = el(
    "section",
    { class: "run", "aria-label": `Call of ${tool}` },
    el("header", {}, el("span", { class: "dot" }), word, clock, cancelButton),
    el(
      "details",
      { class: "more given" },
      el("summary", { text: "Arguments" }),
      el("pre", { class: "text", text, tabindex: "0" }),
      copyButton(text),
    ),
    body,
  );
  const ticking = setInterval(tick, 100);
  draw();
  void go();

  async function go(): Promise<void> {
    try {
      const path = `/api/tools/${encodeURIComponent(tool)}/call`;
      // The text of the arguments is sent unchanged, so that numbers keep their digits.
      const asks = answersQuestions ? `"answersQuestions":true,` : "";
      const body = `{"callId":${JSON.stringify(id)},${asks}"arguments":${text}}`;
      keepArguments(id, text);
      const happened = await stream("POST", path, abort.signal, body);
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
      fill(body, ...said(data.partialResult));
      draw();
    } else if (event === "result") {
      finish(data);
    } else if (event === "error") {
      refuse(refusalFrom(data));
    }
  }
  function finish(outcome: Said): void {
    fill(body, ...said(outcome));
    if (outcome.stopped) end("stopped", outcome.stopped, outcome.durationMs);
    else end(outcome.isError ? "failed" : "done", "", outcome.durationMs);
  }
  function refuse(refusal: Refusal): void {
    const wasStopped = refusal.kind === "stopped";
    fill(
      body,
      el("pre", { class: "text trouble", text: refusal.message }),
      refusal.hint !== undefined && el("p", { class: "hint", text: refusal.hint }),
    );
    end(wasStopped ? "stopped" : "refused");
    if (!wasStopped) hooks.refused(refusal);
  }
  function end(how: State, why = "", duration?: number): void {
    state = how;
    clearInterval(ticking);
    draw();
    word.textContent = why === "" ? WORDS[how] : prose(`${WORDS[how]}: ${why}`);
    clock.textContent = time(duration ?? performance.now() - started);
    announce(`${tool}: ${word.textContent}`);
    hooks.changed();
  }
  function tick(): void {
    const so = updates === 0 ? "" : `, ${updates} update${updates === 1 ? "" : "s"}`;
    clock.textContent = time(performance.now() - started) + so;
  }
  function draw(): void {
    element.dataset["state"] = state;
    element.setAttribute("aria-busy", String(state === "running"));
    if (state === "running") word.textContent = isCancelled ? "Stopping" : WORDS.running;
    cancelButton.hidden = state !== "running";
    if (state === "running") tick();
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
  return { element, cancel, isRunning: () => state === "running" };
}

/** Returns a unique id, so that the call can be cancelled from the start. */
function freshCallId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return `page-${[...bytes].map((byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}
