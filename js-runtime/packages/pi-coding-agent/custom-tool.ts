// Small helpers around tools: the adapter to an agent's call order, a typed error, a file queue.

type Tool = { execute: (...args: any[]) => unknown };

/** Returns the tool; it is there so that editors infer the types of the parameters. */
export function defineTool<T>(tool: T): T {
  return tool;
}

/** An error whose message is meant for the model. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly context: Record<string, unknown> | undefined;

  constructor(message: string, context?: Record<string, unknown>) {
    super(message);
    this.context = context;
  }

  render(): string {
    return this.message;
  }
}

/**
 * A custom tool in the shape of an agent's own tools, which get the signal before `onUpdate` and
 * the context last. Every other property is the tool's, read when it is asked for.
 */
export class CustomToolAdapter {
  constructor(tool: Tool, getContext: () => unknown) {
    const execute = (
      id: string,
      params: unknown,
      signal?: unknown,
      onUpdate?: unknown,
      context?: unknown,
    ) => tool.execute(id, params, onUpdate, context ?? getContext(), signal);
    // biome-ignore lint/correctness/noConstructorReturn: every property of the tool shows through.
    return new Proxy(this, {
      get: (_, name) => {
        if (name === "execute") return execute;
        const value = Reflect.get(tool, name, tool);
        return typeof value === "function" ? value.bind(tool) : value;
      },
      has: (_, name) => name in tool,
    });
  }

  static wrap(tool: Tool, getContext: () => unknown): CustomToolAdapter {
    return new CustomToolAdapter(tool, getContext);
  }
}

const queues = new Map<string, Promise<unknown>>();

/** Runs `work` after what was queued for the same path before. */
export async function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  const turn = before.then(work, work);
  const settled = turn.then(
    () => undefined,
    () => undefined,
  );
  queues.set(path, settled);
  try {
    return await turn;
  } finally {
    if (queues.get(path) === settled) queues.delete(path);
  }
}
