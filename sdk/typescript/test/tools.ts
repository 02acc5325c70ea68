// The tools that the tests call.

import { writeFileSync } from "node:fs";

/** A PNG of one pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const says = (text: string) => ({ content: [{ type: "text", text }] });

export default (pi: any) => {
  const { z } = pi.zod;
  const tool = (name: string, parameters: any, execute: any, rest = {}) => ({
    name,
    label: `The ${name}`,
    description: `Tests ${name}`,
    parameters,
    approval: "read",
    execute,
    ...rest,
  });
  return [
    tool(
      "add",
      z.object({ a: z.number(), b: z.number() }),
      (_id: string, { a, b }: any) => ({ ...says(String(a + b)), details: { sum: a + b } }),
      { outputSchema: z.object({ sum: z.number() }) },
    ),
    tool("picture", z.object({}), () => ({
      content: [
        { type: "text", text: "a pixel" },
        { type: "image", data: PNG, mimeType: "image/png" },
      ],
    })),
    tool("fail", z.object({}), () => {
      throw new Error("not today");
    }),
    tool("count", z.object({ to: z.number() }), (_id: string, { to }: any, onUpdate: any) => {
      for (let number = 1; number <= to; number++) onUpdate(says(`${number} of ${to}`));
      return says("done");
    }),
    // Reports that it runs, and writes a file when it is cancelled.
    tool(
      "wait",
      z.object({ mark: z.string().optional() }),
      (_id: string, { mark }: any, onUpdate: any, _ctx: any, signal: AbortSignal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            if (mark) writeFileSync(mark, "cancelled");
            resolve(says("stopped"));
          });
          onUpdate(says("waiting"));
        }),
      { approval: "write" },
    ),
    tool("choose", z.object({ names: z.array(z.string()) }), async (_id: string, { names }: any) =>
      says(`chosen: ${await pi.ui.select("Which name?", names)}`),
    ),
    tool("inform", z.object({}), () => {
      pi.ui.notify("saved", "info");
      pi.ui.setStatus("k", "half");
      pi.ui.setEditorText("draft");
      return says(`has a user: ${pi.hasUI}`);
    }),
    tool(
      "deploy",
      z.object({ to: z.string() }),
      (_id: string, { to }: any) => says(`deployed ${to}`),
      {
        approval: "exec",
      },
    ),
    tool("pid", z.object({}), () => says(String(process.pid))),
  ];
};
