// Dialog for the questions of calls: what tools ask, refused accesses, and approvals.

import { json, Refusal } from "./api.ts";
import { announce, button, el, fill, freshId } from "./dom.ts";
import type { Store } from "./store.ts";

export interface Question {
  id: string;
  kind: "select" | "confirm" | "input" | "editor" | "approval";
  tool: string;
  title?: string;
  message?: string;
  options?: string[];
  placeholder?: string;
  prefill?: string;
  /** The whole call, for an approval. */
  text?: string;
}

type Answer = { value: string | boolean | null } | { decision: "approve" | "deny" };

/** Shows the oldest open question. The first answer counts, whichever page gives it. */
export function questionDialog(store: Store): void {
  const dialog = el("dialog", { class: "question" });
  document.body.append(dialog);
  let shown: Question | null = null;
  // Escape gives the answer that grants nothing.
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    if (shown) void send(shown, nothing(shown));
  });
  store.on("questions", draw);

  function draw(): void {
    const { questions } = store.state;
    if (shown && questions.some((one) => one.id === shown?.id)) return;
    shown = questions[0] ?? null;
    if (shown === null) return dialog.close();
    const question = shown;
    const heading = freshId("question");
    const note = el("p", { class: "wrong", role: "alert" });
    const form = el(
      "form",
      { method: "dialog", on: { submit: (event) => event.preventDefault() } },
      el("h2", { id: heading, text: `${question.tool} asks` }),
      ...controls(question, (answer) => void send(question, answer, note)),
      note,
    );
    dialog.setAttribute("aria-labelledby", heading);
    fill(dialog, form);
    if (!dialog.open) dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    announce(`${question.tool} asks`);
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

function nothing(question: Question): Answer {
  return question.kind === "approval" ? { decision: "deny" } : { value: null };
}

/** Returns the text and the controls of a question. The first control grants nothing. */
function controls(question: Question, send: (answer: Answer) => void): HTMLElement[] {
  const title = el("p", { text: question.title ?? "" });
  const bar = (...buttons: HTMLElement[]) => el("div", { class: "bar" }, ...buttons);
  const dismiss = (first: boolean) =>
    button("Dismiss", () => send({ value: null }), { class: "quiet", "data-first": first });
  switch (question.kind) {
    case "approval":
      return [
        el("pre", { class: "text", text: question.text ?? "", tabindex: "0" }),
        bar(
          button("Deny", () => send({ decision: "deny" }), { "data-first": true }),
          button("Allow", () => send({ decision: "approve" })),
        ),
      ];
    case "select":
      return [
        title,
        el(
          "div",
          { class: "options" },
          ...(question.options ?? []).map((option, place) =>
            button(option, () => send({ value: option }), { "data-first": place === 0 }),
          ),
        ),
        bar(dismiss(false)),
      ];
    case "confirm":
      return [
        title,
        el("p", { class: "description", text: question.message ?? "" }),
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
        el("label", { for: id, text: question.title ?? "" }),
        field,
        bar(button("Answer", answer, { class: "main-action" }), dismiss(false)),
      ];
    }
  }
}
