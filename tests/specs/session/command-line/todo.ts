// todo: a list that belongs to the session.
//
// A tool has two places for state. Module variables live as long as the module: fast, but they know
// nothing of an earlier session or of a branch that the user went back to. `details` are stored with
// every result in the session's history. So: keep the list in a variable, put a copy into `details`,
// and when the session starts, switches or branches, rebuild the variable from the history.

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

interface Todo {
  id: number;
  text: string;
  done: boolean;
}

const REBUILD = new Set(["start", "switch", "branch", "tree"]);

let todos: Todo[] = [];

const factory: CustomToolFactory = (pi) => ({
  name: "todo",
  label: "Todo",
  description: "The todo list of this session",
  approval: "read",
  parameters: pi.zod.object({
    action: pi.zod.enum(["list", "add", "done", "clear"]),
    text: pi.zod.string().optional().describe("for `add`"),
    id: pi.zod.number().int().optional().describe("for `done`"),
  }),

  async execute(_id, { action, text, id }) {
    switch (action) {
      case "add":
        todos = [...todos, { id: (todos.at(-1)?.id ?? 0) + 1, text: text ?? "", done: false }];
        break;
      case "done":
        if (!todos.some((todo) => todo.id === id)) throw new Error(`there is no todo ${id}`);
        todos = todos.map((todo) => (todo.id === id ? { ...todo, done: true } : todo));
        break;
      case "clear":
        todos = [];
        break;
    }
    const lines = todos.map((todo) => `${todo.done ? "[x]" : "[ ]"} ${todo.id} ${todo.text}`);
    return { content: [{ type: "text", text: lines.join("\n") || "nothing to do" }], details: { todos } };
  },

  onSession(event, ctx) {
    if (!REBUILD.has(event.reason)) return;
    todos = [];
    for (const entry of ctx.sessionManager.getBranch()) {
      if (entry.type !== "message" || entry.message.role !== "toolResult") continue;
      if (entry.message.toolName === "todo") todos = (entry.message.details as { todos: Todo[] }).todos;
    }
  },
});

export default factory;
