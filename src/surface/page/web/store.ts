// State of the page: the catalog, the calls, and the connection to the server.

import { type Catalog, json, type Problem, Refusal, stream, type Tool } from "./api.ts";
import { announce } from "./dom.ts";
import { type CallEntry, entriesOf, noteCall } from "./log.ts";
import type { Question } from "./questions.ts";

export type Connection = "connecting" | "live" | "lost";

export interface State {
  tools: Tool[];
  problems: Problem[];
  calls: CallEntry[];
  /** The open questions, the oldest first. */
  questions: Question[];
  connection: Connection;
  loaded: boolean;
}

type Topic = keyof State;

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

export class Store {
  readonly state: State = {
    tools: [],
    problems: [],
    calls: [],
    questions: [],
    connection: "connecting",
    loaded: false,
  };
  /** False if the token does not allow to answer questions. */
  answersQuestions = false;
  private readonly listeners = new Map<Topic, Set<() => void>>();
  private wakeUp: (() => void) | null = null;

  on(topic: Topic, listener: () => void): void {
    const known = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, known.add(listener));
  }

  set<Name extends Topic>(topic: Name, value: State[Name]): void {
    this.state[topic] = value;
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  async loadCatalog(): Promise<void> {
    const { tools, problems } = await json<Catalog>("GET", "/api/catalog");
    this.set("loaded", true);
    this.set("tools", tools);
    this.set("problems", problems);
  }

  /** Follows the server's events for as long as the page is open. */
  async follow(): Promise<never> {
    let wait = FIRST_WAIT;
    for (;;) {
      try {
        const happened = await stream("GET", "/api/events", new AbortController().signal);
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
    await this.loadQuestions();
  }

  private async loadQuestions(): Promise<void> {
    try {
      const { questions } = await json<{ questions: Question[] }>("GET", "/api/questions");
      this.answersQuestions = true;
      this.set("questions", questions);
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 403)) throw error;
      this.answersQuestions = false;
    }
  }

  private async take(event: string, data: string): Promise<void> {
    if (event === "missed") return this.loadAll();
    if (event === "tools.changed" || event === "rights.changed" || event === "problems") {
      return this.loadCatalog().catch(() => {});
    }
    const { questions } = this.state;
    if (event === "question.asked") return this.set("questions", [...questions, JSON.parse(data)]);
    if (event === "question.closed") {
      const { id } = JSON.parse(data);
      const left = questions.filter((one) => one.id !== id);
      return this.set("questions", left);
    }
    if (event === "notice") {
      const { tool, message } = JSON.parse(data);
      return announce(`${tool}: ${message}`);
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
