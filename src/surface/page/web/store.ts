// State of the page: the catalog, the calls, and the connection to the server.

import { type Catalog, json, type Problem, Refusal, stream, type Tool } from "./api.ts";
import { type Change, changeOf } from "./changes.ts";
import { announce } from "./dom.ts";
import { type CallEntry, entriesOf, noteCall } from "./log.ts";
import type { Question } from "./questions.ts";

/** A message or a status line of a tool during a call. */
export interface Notice {
  callId?: string;
  tool: string;
  /** The severity of a message. */
  level?: string;
  message?: string;
  /** The key of a status line, whose text is missing when it is removed. */
  key?: string;
  text?: string;
}

export type Connection = "connecting" | "live" | "lost";

export interface State {
  tools: Tool[];
  problems: Problem[];
  calls: CallEntry[];
  /** The open questions, the oldest first. */
  questions: Question[];
  /** What changed since the page was opened, the newest first. */
  changes: Change[];
  connection: Connection;
  loaded: boolean;
}

type Topic = keyof State;

const MOST_CHANGES = 50;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

export class Store {
  readonly state: State = {
    tools: [],
    problems: [],
    calls: [],
    questions: [],
    changes: [],
    connection: "connecting",
    loaded: false,
  };
  /** False if the token does not allow to answer questions. */
  private answersQuestions = false;
  private readonly noticeListeners = new Set<(notice: Notice) => void>();
  private readonly listeners = new Map<Topic, Set<() => void>>();
  private wakeUp: (() => void) | null = null;

  /** Calls `listener` after changes. Returns a function that ends this. */
  on(topic: Topic, listener: () => void): () => void {
    const known = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, known.add(listener));
    return () => known.delete(listener);
  }

  /** Calls `draw` now and after changes of the topics. */
  draws(draw: () => void, ...topics: Topic[]): void {
    for (const topic of topics) this.on(topic, draw);
    draw();
  }

  set<Name extends Topic>(topic: Name, value: State[Name]): void {
    this.state[topic] = value;
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Calls `listener` for the messages of tools. Returns a function that ends this. */
  onNotice(listener: (notice: Notice) => void): () => void {
    this.noticeListeners.add(listener);
    return () => this.noticeListeners.delete(listener);
  }

  async loadCatalog(): Promise<void> {
    const catalog = await json<Catalog>("GET", "/api/catalog");
    const { tools, problems } = catalog;
    const change = this.state.loaded ? changeOf(this.state, catalog) : null;
    if (change) this.set("changes", [change, ...this.state.changes].slice(0, MOST_CHANGES));
    this.set("loaded", true);
    this.set("tools", tools);
    this.set("problems", problems);
  }

  /** Follows the server's events for as long as the page is open. */
  async follow(): Promise<never> {
    let wait = FIRST_WAIT;
    for (;;) {
      try {
        this.answersQuestions = await this.mayAnswer();
        const path = `/api/events${this.answersQuestions ? "?answersQuestions=true" : ""}`;
        const happened = await stream("GET", path, new AbortController().signal);
        // Loaded after the stream has started, so that no event is lost in between.
        await this.loadAll();
        this.set("connection", "live");
        wait = FIRST_WAIT;
        for await (const event of happened) await this.take(event.event, event.data);
      } catch (error) {
        // Without the token a retry is useless until the user enters it.
        if (error instanceof Refusal && error.status === 401) wait = LONGEST_WAIT * 1000;
      }
      this.set("connection", "lost");
      await this.sleep(wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  }

  /** Retries now. */
  retry(): void {
    this.wakeUp?.();
  }

  private async loadAll(): Promise<void> {
    await this.loadCatalog();
    const { calls } = await json<{ calls: unknown[] }>("GET", "/api/calls");
    this.set("calls", entriesOf(calls));
    if (this.answersQuestions) this.set("questions", await questions());
  }

  private async mayAnswer(): Promise<boolean> {
    try {
      await questions();
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.status === 403) return false;
      throw error;
    }
  }

  private async take(event: string, data: string): Promise<void> {
    if (event === "missed") return this.loadAll();
    if (event === "tools.changed" || event === "rights.changed" || event === "problems") {
      return this.loadCatalog().catch(() => {});
    }
    const { questions } = this.state;
    if (event === "question.asked") return this.set("questions", [...questions, JSON.parse(data)]);
    if (event === "question.painted") {
      const painted = JSON.parse(data);
      const update = (one: Question) => (one.id === painted.id ? { ...one, ...painted } : one);
      return this.set("questions", questions.map(update));
    }
    if (event === "question.closed") {
      const { id } = JSON.parse(data);
      const left = questions.filter((one) => one.id !== id);
      return this.set("questions", left);
    }
    if (event === "notice" || event === "status") {
      const notice: Notice = JSON.parse(data);
      for (const listener of this.noticeListeners) listener(notice);
      if (notice.message !== undefined) announce(`${notice.tool}: ${notice.message}`);
      return;
    }
    const calls = noteCall(this.state.calls, event, data);
    if (calls !== null) this.set("calls", calls);
  }

  private sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(milliseconds, 2 ** 31 - 1));
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

async function questions(): Promise<Question[]> {
  const answer = await json<{ questions: Question[] }>("GET", "/api/questions");
  return answer.questions;
}
