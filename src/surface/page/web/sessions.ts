// View of agent sessions: starts one with a prompt, shows its events, and ends it with a button.

import { json, Refusal } from "./api.ts";
import { button, el, freshId, submitButton } from "./dom.ts";
import { type Session, type SessionCard, sessionCard } from "./session.ts";

export interface SessionsView {
  element: HTMLElement;
  /** Loads the list when the view is shown. */
  shown(): void;
  /** Starts a session with the entered prompt. */
  run(): void;
  /** Ends the newest running session. */
  cancel(): void;
}

export function sessionsView(): SessionsView {
  const cards = new Map<string, SessionCard>();
  const question = el("textarea", { rows: "4", placeholder: "What the agent is to do" });
  const prompt = labelled("Prompt", question);
  const folder = labelled("Directory", line("the server's own"));
  const mode = labelled("Permission mode", line("as the server is configured"));
  const note = el("div.wrong", { role: "alert" });
  const startButton = submitButton("Start");
  const form = el(
    "form.card",
    { novalidate: true, on: { submit: submitted } },
    el(
      "div.rows",
      prompt.row,
      el("details.more", el("summary", "Where and how"), el("div.rows", folder.row, mode.row)),
    ),
    el("div.bar", startButton, el("span.keys", "Ctrl+Enter starts, Esc ends the newest"), note),
  );
  const list = el("div.runs");
  const nothing = el("p.calm", "No agent has been started yet.");
  const element = el(
    "article.wide",
    el(
      "div.bar",
      el("h1", { tabindex: "-1" }, "Sessions"),
      button("Look again", () => void look()),
    ),
    el(
      "p.calm",
      "An agent on the server's machine, with these tools and the rights of whoever started the server.",
    ),
    form,
    nothing,
    list,
  );

  function submitted(event: SubmitEvent): void {
    event.preventDefault();
    void run();
  }
  async function run(): Promise<void> {
    note.replaceChildren();
    if (prompt.field.value.trim() === "") {
      note.textContent = "The prompt is empty.";
      return prompt.field.focus();
    }
    const wish: { [key: string]: string } = { prompt: prompt.field.value };
    if (folder.field.value.trim() !== "") wish["projectPath"] = folder.field.value.trim();
    if (mode.field.value.trim() !== "") wish["permissionMode"] = mode.field.value.trim();
    startButton.disabled = true;
    try {
      const session = await json<Session>("POST", "/api/sessions", JSON.stringify(wish));
      prompt.field.value = "";
      const card = add(session);
      card.follow();
      card.element.scrollIntoView({ block: "nearest" });
    } catch (error) {
      complain(error);
    } finally {
      startButton.disabled = false;
    }
  }
  async function look(): Promise<void> {
    try {
      const { sessions } = await json<{ sessions: Session[] }>("GET", "/api/sessions");
      // The server lists the newest first. Each card is inserted above the older ones.
      for (const session of [...sessions].reverse()) {
        const known = cards.get(session.sessionId);
        if (!known) add(session);
        else if (known.isRunning() && session.state !== "running") known.is(session.state);
      }
      const gone = [...cards.values()].filter(
        ({ id }) => !sessions.some(({ sessionId }) => sessionId === id),
      );
      for (const card of gone) {
        card.element.remove();
        cards.delete(card.id);
      }
      draw();
    } catch (error) {
      complain(error);
    }
  }
  function add(session: Session): SessionCard {
    const card = sessionCard(session, { changed: draw, followed });
    cards.set(card.id, card);
    list.prepend(card.element);
    draw();
    return card;
  }
  /** A browser opens few connections to a server, so only one session is followed at a time. */
  function followed(id: string): void {
    for (const card of cards.values()) if (card.id !== id) card.leave();
  }
  function complain(error: unknown): void {
    const text = error instanceof Refusal ? error.message : "the server cannot be reached";
    note.replaceChildren(text);
    if (error instanceof Refusal && error.hint !== undefined) {
      note.append(el("p.hint", error.hint));
    }
  }
  function draw(): void {
    nothing.hidden = cards.size > 0;
  }
  function cancel(): void {
    const running = [...cards.values()].filter((card) => card.isRunning());
    running.at(-1)?.cancel();
  }
  return { element, shown: () => void look(), run: () => void run(), cancel };
}

interface Field<Kind extends HTMLElement> {
  row: HTMLElement;
  field: Kind;
}

function labelled<Kind extends HTMLElement>(label: string, field: Kind): Field<Kind> {
  field.id = freshId("session");
  const head = el("div.head", el("label.name", { for: field.id }, label));
  return { row: el("div.row", head, field), field };
}

function line(placeholder: string): HTMLInputElement {
  return el("input", { type: "text", placeholder, spellcheck: "false" });
}
