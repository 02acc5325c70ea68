// One session of an agent: its events as they arrive, and the button that ends it.

import { json, Refusal, stream } from "./api.ts";
import { announce, button, el, fill } from "./dom.ts";
import { said, time } from "./said.ts";
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

  const word = el("span", { class: "word" });
  const about = el("span", { class: "clock" });
  const cancelButton = button("Cancel", cancel, { class: "quiet" });
  const followButton = button("Show", follow, { class: "quiet" });
  const events = el("ol", { class: "events", "aria-label": "Events" });
  const bar = el(
    "header",
    {},
    el("span", { class: "dot" }),
    word,
    about,
    followButton,
    cancelButton,
  );
  const element = el(
    "section",
    { class: "run session", "aria-label": `Session: ${firstLine(prompt)}` },
    bar,
    el("div", { class: "given" }, el("pre", { class: "text prompt", text: prompt, tabindex: "0" })),
    events,
  );
  about.textContent = new Date(session.startedAt).toLocaleTimeString();
  draw();

  async function follow(): Promise<void> {
    if (following !== null) return;
    const own = new AbortController();
    following = own;
    hooks.followed(id);
    lost = "";
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
      events.append(
        el("li", { class: `event ${event}`, "data-under": data.parentToolUseId && "" }, ...shown),
      );
      while (events.childElementCount > MOST_SHOWN) events.firstElementChild?.remove();
      if (isAtEnd) events.scrollTop = events.scrollHeight;
    }
    if (event !== "completed") return;
    about.textContent = prose(ending(data));
    is(data.state);
    announce(`Session ${WORDS[state]}`);
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

/** Rendering of each event; null for an event without content for the user. */
const SHOWN: { [event: string]: (data: any) => (Node | string)[] | null } = {
  message(data) {
    if (data.role === "system") {
      const facts = [
        data.model && `model ${data.model}`,
        data.tools && `${data.tools.length} tools`,
      ];
      const text = facts.filter(Boolean).join(", ");
      return text === "" ? null : [el("p", { class: "calm", text })];
    }
    if (!data.text) return null;
    return [who(data.role), el("pre", { class: "text", text: data.text, tabindex: "0" })];
  },
  tool_use: (data) => [
    el(
      "details",
      { class: "more" },
      el("summary", {}, "calls ", el("code", { named: data.tool ?? data.name })),
      tree(data.input),
    ),
  ],
  tool_result: (data) => [
    el(
      "details",
      { class: data.isError ? "more trouble" : "more", open: Boolean(data.isError) },
      el("summary", { text: data.isError ? "the tool reports an error" : "the tool answers" }),
      el("div", { class: "said" }, ...said(data)),
    ),
  ],
  error: (data) => [el("pre", { class: "text trouble", text: data.message, tabindex: "0" })],
  completed: (data) =>
    data.result
      ? [who("result"), el("pre", { class: "text", text: data.result, tabindex: "0" })]
      : null,
};

function who(role: string): HTMLElement {
  return el("span", { class: "badge", text: role });
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
