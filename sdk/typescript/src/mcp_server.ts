// A small MCP server in the process of the program, over a transport of the Claude Agent SDK.

import type { AdapterOptions, Client } from "./client.js";
import { textOf } from "./errors.js";
import { offered } from "./offered.js";

/** Versions of MCP that the server speaks; the first one is offered to a client with another one. */
const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/** A transport of MCP, as its TypeScript SDK defines it. */
interface Transport {
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
  onmessage?: (message: any) => void;
  onclose?: () => void;
}

/** The part of `McpServer` that hosts of in-process servers call. */
export interface McpInstance {
  connect(transport: any): Promise<void>;
  close(): Promise<void>;
}

export function mcpServer(client: Client, name: string, options: AdapterOptions): McpInstance {
  const transports = new Set<Transport>();
  const stops = new Set<() => void>();
  return {
    async connect(transport: Transport) {
      transports.add(transport);
      const session = new Session(client, name, options, transport);
      const stop = client.events.on("changed", () =>
        session.send({ method: "notifications/tools/list_changed" }),
      );
      stops.add(stop);
      transport.onmessage = (message) => void session.receive(message);
      transport.onclose = () => {
        transports.delete(transport);
        stops.delete(stop);
        stop();
        session.close();
      };
      await transport.start();
    },
    async close() {
      for (const stop of stops) stop();
      for (const transport of transports) await transport.close();
    },
  };
}

class Session {
  readonly #calls = new Map<unknown, AbortController>();

  constructor(
    private readonly client: Client,
    private readonly name: string,
    private readonly options: AdapterOptions,
    private readonly transport: Transport,
  ) {}

  send(message: object): void {
    // A closed transport has no reader for the message.
    this.transport.send({ jsonrpc: "2.0", ...message }).catch(() => {});
  }

  async receive({ id, method, params }: any): Promise<void> {
    if (method === "notifications/cancelled") {
      this.#calls.get(params?.requestId)?.abort(new Error("cancelled by the client"));
      return;
    }
    if (id === undefined || method === undefined) return;
    try {
      this.send({ id, result: await this.answer(id, method, params ?? {}) });
    } catch (error) {
      const code = (error as any)?.code ?? -32603;
      this.send({ id, error: { code, message: textOf(error) } });
    } finally {
      this.#calls.delete(id);
    }
  }

  close(): void {
    for (const controller of this.#calls.values())
      controller.abort(new Error("the client is gone"));
  }

  private async answer(id: unknown, method: string, params: any): Promise<object> {
    switch (method) {
      case "initialize": {
        const version = VERSIONS.includes(params.protocolVersion)
          ? params.protocolVersion
          : VERSIONS[0];
        return {
          protocolVersion: version,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: this.name, version: "1" },
        };
      }
      case "ping":
        return {};
      case "tools/list":
        return { tools: offered(this.client, this.options).map(described) };
      case "tools/call":
        return await this.call(id, params);
    }
    throw Object.assign(new Error(`unknown method ${method}`), { code: -32601 });
  }

  private async call(id: unknown, params: any): Promise<object> {
    const tool = offered(this.client, this.options).find(({ alias }) => alias === params.name);
    if (tool === undefined) {
      throw Object.assign(new Error(`unknown tool ${params.name}`), { code: -32602 });
    }
    const controller = new AbortController();
    this.#calls.set(id, controller);
    const token = params._meta?.progressToken;
    let progress = 0;
    const result = await tool.call(params.arguments, {
      signal: controller.signal,
      callId: String(id),
      onUpdate: (update) => {
        if (token === undefined) return;
        const text = update.content.map((block) => (block.type === "text" ? block.text : ""));
        const message = text.join("\n").trim().split("\n").at(-1);
        this.send({
          method: "notifications/progress",
          params: { progressToken: token, progress: ++progress, message },
        });
      },
    });
    return { content: result.content, isError: result.isError };
  }
}

/** Describes a tool without its output schema: Claude Code shows structured content to the model instead of the text. */
function described({ alias, info, schema }: ReturnType<typeof offered>[number]): object {
  return {
    name: alias,
    title: info.label,
    description: info.description,
    inputSchema: schema,
    annotations: {
      readOnlyHint: info.approval === "read",
      destructiveHint: info.approval === "exec",
      openWorldHint: info.approval === "exec",
    },
  };
}
