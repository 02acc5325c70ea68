import { z } from "zod";
import { defineTool, haft } from "../../dist/index.mjs";

const shout = defineTool({
  name: "shout",
  description: "Makes a text loud",
  schema: z.object({ text: z.string() }),
  execute: async ({ text }, { ask }) =>
    (await ask.confirm("Really?")) ? `${text.toUpperCase()}!` : "no",
});

await haft.mcp({ tools: [shout], binary: process.env.HAFT_BINARY, paths: process.argv.slice(2) });
