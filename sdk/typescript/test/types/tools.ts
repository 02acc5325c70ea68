// The types of tools of the program and of declared tools (`haft types`). Compiled by test/check.mjs, never run.

import {
  defineTool,
  type HaftError,
  haft,
  type Question,
  type ToolInfo,
  type ToolResult,
  type ToolUpdate,
} from "haft";
import { z } from "zod";
import { z as z3 } from "zod3";

/** Fails to compile unless both types are the same. */
function same<A, B>(
  _same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false,
) {}

const times = defineTool({
  name: "times",
  description: "Multiplies",
  schema: z.object({ a: z.number(), b: z.number().default(2), at: z.string().transform(Number) }),
  outputSchema: z.object({ product: z.number() }),
  approval: "read",
  execute: async (args, { signal, onUpdate, ask, callId }) => {
    same<typeof args, { a: number; b: number; at: number }>(true);
    same<typeof callId, string>(true);
    onUpdate(`for ${args.a}`);
    const choice = await ask.select("Which?", ["a", "b"]);
    same<typeof choice, string | undefined>(true);
    signal.throwIfAborted();
    return { product: args.a * args.b };
  },
});

const old = defineTool({
  name: "old",
  description: "Takes a schema of zod 3",
  schema: z3.object({ a: z3.string().optional() }),
  execute: (args) => {
    same<typeof args, { a?: string | undefined }>(true);
    return [{ type: "text", text: args.a ?? "" }];
  },
});

const plain = defineTool({
  name: "plain",
  description: "Takes a JSON Schema",
  schema: { type: "object", properties: { a: { type: "string" } } },
  execute: ({ a }) => console.log(a),
});

// @ts-expect-error a tool without a description
defineTool({ name: "bad", schema: { type: "object" }, execute: () => "" });

export async function calls() {
  await using tools = await haft({
    tools: [times, old, plain],
    include: ["*"],
    onAsk: async ({ method, options }: Question) => (method === "select" ? options?.[0] : true),
    onApproval: ({ tool, tier }) => tool === "add" && tier === "read",
  });
  const list = await tools.list();
  same<typeof list, readonly ToolInfo[]>(true);

  const sum = await tools.call("add", { a: 1, b: 2 });
  same<typeof sum, ToolResult<{ sum: number }>>(true);
  // @ts-expect-error the tool `add` takes numbers
  await tools.call("add", { a: "1", b: 2 });
  // @ts-expect-error the tool `add` needs both numbers
  await tools.call("add", { a: 1 });
  // Tools that are not declared take anything.
  await tools.call("unknown", { any: 1 });

  const controller = new AbortController();
  await tools.call(
    "count",
    { to: 2 },
    {
      signal: controller.signal,
      timeoutMs: 1000,
      onUpdate: (update: ToolUpdate) => console.log(update.content),
    },
  );

  tools.events.on("changed", ({ added }) => same<typeof added, string[]>(true));
  for await (const event of tools.events) {
    if (event.type === "ended") same<typeof event.error, HaftError>(true);
  }
}

export const server = () => haft.mcp({ tools: [times], signals: true });
export const http = async () => (await haft.serve({ tools: [times], noToken: true })).url;
