// One session of an agent: its events as they arrive, and the button that ends it.

import { json, Refusal, stream } from "./api.ts";
import { announce, button, el, fill } from "./dom.ts";
import { isMarkdown, markdown } from "./markdown.ts";
import { moment, resultElements, time } from "./result.ts";
import { tree } from "./tree.ts";
import { prose } from "./visible.ts";

/** A session in the format of `/api/sessions`. */
export interface Session {
  sessionId: string;
  state: State;
  prompt: string;
  projectPath: string;
  permissionMode: string;
  startedAt: string;
}

type State = "running" | "completed" | "failed" | "cancelled";

const WORDS: { [Name in State]: string } = {
  running: "Running",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** Names of the states in the style sheet, which are those of calls. */
const LOOKS: { [Name in State]: string } = {
  running: "running",
  completed: "done",
  failed: "failed",
  cancelled: "stopped",
};

/** Limit of the events on the page. The oldest are removed; the server keeps more. */
const MOST_SHOWN = 1000;

export interface SessionCard {
  id: string;
  element: HTMLElement;
  /** Shows its events from the first one, and follows new ones. */
  follow(): void;
  /** Stops following it. */
  leave(): void;
  /** Sets the state that the server reports. */
  is(state: State): void;
  isRunning(): boolean;
  cancel(): void;
}

interface Hooks {
  /** Called when it starts to run or has ended. */
  changed(): void;
  /** Called when this card starts to follow it. */
  followed(id: string): void;
}

export function sessionCard(session: Session, hooks: Hooks): SessionCard {
  const { sessionId: id, prompt } = session;
  const path = `/api/sessions/${encodeURIComponent(id)}`;
  let state = session.state;
  let isCancelled = false;
  let following: AbortController | null = null;
  let lost = "";
  /** The shown tool calls by their ids. */
  const calls = new Map<string, HTMLDetailsElement>();

  const word = el("span.word");
  const about = el("span.clock");
  const cancelButton = button("Cancel", cancel);
  const followButton = button("Show", follow);
  const events = el("ol.events", { "aria-label": "Events" });
  const bar = el("header", el("span.dot"), word, about, followButton, cancelButton);
  const element = el(
    "section.run.session",
    { "aria-label": `Session: ${firstLine(prompt)}` },
    bar,
    el("div.prompt", el("pre.text", { tabindex: "0" }, prompt)),
    events,
  );
  about.textContent = moment(Date.parse(session.startedAt));
  draw();

  async function follow(): Promise<void> {
    if (following !== null) return;
    const own = new AbortController();
    following = own;
    hooks.followed(id);
    lost = "";
    calls.clear();
    fill(events);
    draw();
    try {
      const happened = await stream("GET", `${path}/events`, own.signal);
      for await (const { event, data } of happened) take(event, JSON.parse(data));
      if (state === "running") breakOff("the connection was lost");
    } catch (error) {
      if (own.signal.aborted) return;
      breakOff(error instanceof Refusal ? error.message : "the connection was lost");
    }
  }
  function breakOff(why: string): void {
    following = null;
    lost = why;
    draw();
  }
  function leave(): void {
    following?.abort();
    following = null;
    draw();
  }
  function take(event: string, data: any): void {
    const shown = SHOWN[event]?.(data);
    if (shown) {
      const isAtEnd = events.scrollHeight - events.scrollTop - events.clientHeight < 40;
      addEvent(event, data, shown);
      while (events.childElementCount > MOST_SHOWN) events.firstElementChild?.remove();
      if (isAtEnd) events.scrollTop = events.scrollHeight;
    }
    if (event !== "completed") return;
    about.textContent = prose(ending(data));
    is(data.state);
    announce(`Session ${WORDS[state]}`);
  }
  /** Adds the elements of an event. The answer to a tool call is folded with that call. */
  function addEvent(event: string, data: any, shown: (Node | string)[]): void {
    const call = event === "tool_result" ? calls.get(data.toolUseId) : undefined;
    if (call) {
      call.append(...shown);
      const outcome = call.querySelector(".outcome");
      if (outcome) outcome.textContent = data.isError ? " failed" : " done";
      if (data.isError) call.open = true;
      return;
    }
    const isInner = data.parentToolUseId && "";
    const item = el(
      "li",
      { class: `event ${event} ${data.role ?? ""}`.trim(), "data-under": isInner },
      ...shown,
    );
    const details = item.querySelector("details");
    if (event === "tool_use" && details) calls.set(data.id, details);
    events.append(item);
  }
  function is(now: State): void {
    state = now;
    draw();
    hooks.changed();
  }
  function draw(): void {
    element.dataset["state"] = LOOKS[state];
    element.setAttribute("aria-busy", String(state === "running"));
    word.textContent = state === "running" && isCancelled ? "Ending" : WORDS[state];
    if (lost !== "") word.textContent += prose(`: ${lost}`);
    cancelButton.hidden = state !== "running" || isCancelled;
    followButton.hidden = following !== null;
    events.hidden = following === null;
  }
  function cancel(): void {
    if (state !== "running" || isCancelled) return;
    isCancelled = true;
    draw();
    void follow();
    json("DELETE", path).catch(() => {
      isCancelled = false;
      draw();
    });
  }
  return { id, element, follow, leave, is, cancel, isRunning: () => state === "running" };
}

/** Elements of an event; null for an event without content for the user. */
const SHOWN: { [event: string]: (data: any) => (Node | string)[] | null } = {
  message(data) {
    if (data.role === "system") {
      const facts = [
        data.model && `model ${data.model}`,
        data.tools && `${data.tools.length} tools`,
      ];
      const text = facts.filter(Boolean).join(", ");
      return text === "" ? null : [el("p.calm", text)];
    }
    return data.text ? [text(data.text)] : null;
  },
  tool_use: (data) => [
    el(
      "details.more.tool-call",
      el("summary", "calls ", el("code", { named: data.tool ?? data.name }), el("span.outcome")),
      tree(data.input),
    ),
  ],
  tool_result: (data) => [
    el(
      "details",
      { class: data.isError ? "more trouble" : "more", open: Boolean(data.isError) },
      el("summary", data.isError ? "the tool reports an error" : "the tool answers"),
      el("div.result", ...resultElements(data)),
    ),
  ],
  error: (data) => [el("pre.text.trouble", { tabindex: "0" }, data.message)],
  completed: (data) => (data.result ? [text(data.result)] : null),
};

/** Shows what an agent writes: Markdown, or text. */
function text(value: string): HTMLElement {
  return isMarkdown(value) ? markdown(value) : el("pre.text", { tabindex: "0" }, value);
}

function ending(data: any): string {
  const facts = [
    typeof data.durationMs === "number" && time(data.durationMs),
    typeof data.turns === "number" && `${data.turns} turn${data.turns === 1 ? "" : "s"}`,
    typeof data.costUsd === "number" && `$${data.costUsd.toFixed(2)}`,
    typeof data.exitCode === "number" && data.exitCode !== 0 && `exit code ${data.exitCode}`,
  ];
  return facts.filter(Boolean).join(", ");
}

function firstLine(text: string): string {
  return (text.trim().split("\n", 1)[0] ?? "").slice(0, 80);
}
