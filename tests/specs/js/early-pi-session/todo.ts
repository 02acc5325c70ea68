// Early pi: the state is made again from the entries of the event.
export default () => {
  let todos: string[] = [];
  let file: unknown;
  return {
    name: "todo",
    description: "todo",
    parameters: { type: "object", properties: { action: { type: "string" }, text: { type: "string" } } },
    onSession(event: any) {
      file = event.sessionFile;
      todos = [];
      for (const entry of event.entries) {
        const { message } = entry;
        if (message?.role === "toolResult" && message.toolName === "todo") todos = message.details.todos;
      }
      if (Object.keys(event).join() !== "reason,previousSessionFile") throw new Error("another event");
    },
    async execute(_id: string, params: { action: string; text?: string }, _signal: AbortSignal) {
      if (params.action === "add") todos = [...todos, params.text as string];
      const where = params.action === "file" ? ` in ${typeof file}` : "";
      return { content: [{ type: "text", text: (todos.join() || "No todos") + where }], details: { todos } };
    },
  };
};
