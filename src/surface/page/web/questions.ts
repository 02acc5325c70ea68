// Dialog for the questions of calls: what tools ask, their components, refused accesses, approvals.

import { fillTerminal, terminalText } from "./ansi.ts";
import { json, Refusal } from "./api.ts";
import { announce, button, el, fill, freshId } from "./dom.ts";
import { NAMED_KEYS, terminalKey } from "./keys.ts";
import { badge, TIERS } from "./marks.ts";
import { notify, notifyButton } from "./notify.ts";
import type { Store } from "./store.ts";
import { tree } from "./tree.ts";

export interface Question {
  id: string;
  kind: "select" | "confirm" | "input" | "editor" | "approval" | "custom";
  callId?: string;
  tool: string;
  title?: string;
  message?: string;
  options?: string[];
  placeholder?: string;
  prefill?: string;
  timeoutMs?: number;
  /** The parts of an approval. */
  tier?: string;
  reason?: string;
  details?: string;
  arguments?: unknown;
  /** The tool that makes the call. */
  caller?: string;
  /** True if the approval may count for later calls of the tool. */
  canBeRemembered?: boolean;
  /** The drawing of a component. */
  lines?: string[];
}

type Decision = "approve" | "always" | "deny";
type Answer = { value: string | boolean | null } | { decision: Decision };

/** Shows the oldest open question. The first answer counts, whichever page gives it. */
export function questionDialog(store: Store): void {
  const dialog = el("dialog.question.wide-dialog");
  document.body.append(dialog);
  let shown: Question | null = null;
  let paint: ((lines: string[]) => void) | null = null;
  const known = new Set<string>();
  // Escape gives the answer that grants nothing. A component gets the key itself.
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    if (shown && shown.kind !== "custom") void send(shown, nothing(shown));
  });
  store.on("questions", draw);

  function draw(): void {
    const { questions } = store.state;
    for (const question of questions) {
      if (!known.has(question.id)) notify(`${question.tool} asks`, titleOf(question));
      known.add(question.id);
    }
    notify.count(questions.length);
    const same = shown && questions.find((one) => one.id === shown?.id);
    if (same) return paint?.(same.lines ?? []);
    shown = questions[0] ?? null;
    paint = null;
    if (shown === null) return dialog.close();
    show(shown, questions.length);
  }

  function show(question: Question, count: number): void {
    const heading = freshId("question");
    const note = el("p.wrong", { role: "alert" });
    const answer = (given: Answer) => void send(question, given, note);
    const parts = question.kind === "custom" ? component(question) : controls(question, answer);
    const form = el(
      "form",
      { method: "dialog", on: { submit: (event) => event.preventDefault() } },
      el("h2", { id: heading }, headingOf(question)),
      ...parts,
      note,
      el(
        "p.calm",
        count > 1 && `${count - 1} more wait. `,
        question.timeoutMs !== undefined &&
          `The tool waits ${Math.round(question.timeoutMs / 1000)} s. `,
        "The first answer counts, on whichever page. ",
        notifyButton(),
      ),
    );
    dialog.setAttribute("aria-labelledby", heading);
    fill(dialog, form);
    if (!dialog.open) dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    announce(`${question.tool} asks: ${titleOf(question)}`);
  }

  /** Shows a component of the tool, and sends it the keys. */
  function component(question: Question): HTMLElement[] {
    const path = `/api/questions/${encodeURIComponent(question.id)}/input`;
    // One request at a time, so that keys arrive in their order.
    let sending = Promise.resolve();
    const input = (body: object) => {
      sending = sending.then(async () => {
        await json("POST", path, JSON.stringify(body)).catch(() => {});
      });
    };
    const screen = terminalText(question.lines ?? []);
    screen.dataset["first"] = "";
    screen.setAttribute("role", "application");
    screen.setAttribute("aria-label", `Component of ${question.tool}; it gets the keys`);
    screen.addEventListener("keydown", (event) => {
      const key = terminalKey(event);
      if (key === null) return;
      event.preventDefault();
      event.stopPropagation();
      input({ key });
    });
    screen.addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text");
      if (text) input({ key: `\x1b[200~${text}\x1b[201~` });
    });
    paint = (lines) => fillTerminal(screen, lines);
    const width = Math.min(innerWidth - 64, 860);
    input({ columns: Math.max(20, Math.floor(width / 8)), rows: 24 });
    const keys = KEYS.map(([label, name]) =>
      button(label, () => {
        input({ key: NAMED_KEYS[name] });
        screen.focus();
      }),
    );
    return [
      screen,
      el("div.bar", { role: "group", "aria-label": "Keys" }, ...keys),
      el(
        "div.bar",
        button("Remove", () => void send(question, { value: null })),
      ),
    ];
  }

  async function send(question: Question, answer: Answer, note?: HTMLElement): Promise<void> {
    try {
      const path = `/api/questions/${encodeURIComponent(question.id)}`;
      await json("POST", path, JSON.stringify(answer));
    } catch (error) {
      // It was answered elsewhere, or its call has ended.
      const isGone = error instanceof Refusal && error.status === 404;
      if (!isGone) {
        if (note) note.textContent = error instanceof Error ? error.message : String(error);
        return;
      }
    }
    const { questions } = store.state;
    store.set(
      "questions",
      questions.filter((one) => one.id !== question.id),
    );
  }
}

/** Buttons for keys that phones do not have. */
const KEYS = [
  ["↑", "ArrowUp"],
  ["↓", "ArrowDown"],
  ["←", "ArrowLeft"],
  ["→", "ArrowRight"],
  ["Enter", "Enter"],
  ["Esc", "Escape"],
  ["Tab", "Tab"],
] as const;

function headingOf({ kind, tool }: Question): string {
  return kind === "approval" ? `Allow the call of ${tool}?` : `${tool} asks`;
}

function titleOf(question: Question): string {
  if (question.kind === "approval") return question.reason ?? "it needs your approval";
  return question.kind === "custom" ? "it shows a component" : (question.title ?? "");
}

function nothing(question: Question): Answer {
  return question.kind === "approval" ? { decision: "deny" } : { value: null };
}

/** Returns the text and the controls of a question. The first control grants nothing. */
function controls(question: Question, send: (answer: Answer) => void): HTMLElement[] {
  const title = el("p.description", question.title ?? "");
  const bar = (...buttons: HTMLElement[]) => el("div.bar", ...buttons);
  const dismiss = (first: boolean) =>
    button("Dismiss", () => send({ value: null }), { class: "quiet", "data-first": first });
  switch (question.kind) {
    case "approval":
      return approval(question, send);
    case "select":
      return [
        title,
        el(
          "div.options",
          ...(question.options ?? []).map((option, place) =>
            button(option, () => send({ value: option }), { "data-first": place === 0 }),
          ),
        ),
        bar(dismiss(false)),
      ];
    case "confirm":
      return [
        title,
        el("p.description", question.message ?? ""),
        bar(
          button("No", () => send({ value: false }), { "data-first": true }),
          button("Yes", () => send({ value: true })),
          dismiss(false),
        ),
      ];
    default: {
      const id = freshId("answer");
      const field =
        question.kind === "input"
          ? el("input", { id, placeholder: question.placeholder, "data-first": true })
          : el("textarea", { id, rows: "8", "data-first": true });
      field.value = question.prefill ?? "";
      const answer = () => send({ value: field.value });
      const isShort = question.kind === "input";
      field.addEventListener("keydown", (event) => {
        const { key, ctrlKey, metaKey } = event as KeyboardEvent;
        if (key !== "Enter" || !(isShort || ctrlKey || metaKey)) return;
        event.preventDefault();
        answer();
      });
      return [
        el("label", { for: id }, question.title ?? ""),
        field,
        bar(button("Answer", answer, { class: "main-action" }), dismiss(false)),
      ];
    }
  }
}

/** Returns the request for an approval: the tier, the reason, and the arguments in a frame. */
function approval(question: Question, send: (answer: Answer) => void): HTMLElement[] {
  const { tier = "", reason, details, caller } = question;
  const parts = [
    el(
      "p.facts",
      badge(tier, TIERS[tier], `tier ${tier}`),
      TIERS[tier] !== undefined && el("span", TIERS[tier]),
    ),
    caller !== undefined && el("p.calm", `Called by the tool ${caller}`),
    reason !== undefined && el("p.description", reason),
    details !== undefined && el("pre.framed.text", { tabindex: "0" }, details),
    el(
      "div.framed",
      { role: "group", "aria-label": "Arguments", tabindex: "0" },
      tree(question.arguments ?? {}),
    ),
    el(
      "div.bar",
      button("Deny", () => send({ decision: "deny" }), { "data-first": true }),
      button("Allow once", () => send({ decision: "approve" })),
      question.canBeRemembered === true &&
        button(`Always allow ${question.tool}`, () => send({ decision: "always" })),
    ),
  ];
  return parts.filter((part) => part !== false);
}
