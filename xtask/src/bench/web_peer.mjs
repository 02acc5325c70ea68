// Express' side of the server cases: a server over the same modules, in the same process, with zod.
// Named one by one; says on standard error where it listens, as haft does.
import express from "express";
import { z } from "zod";

const tools = new Map();
for (const file of process.argv.slice(2)) {
  const { default: factory } = await import(file);
  const tool = await factory({ zod: z });
  const info = {
    name: tool.name,
    description: tool.description,
    source: "plugin",
    inputSchema: z.toJSONSchema(tool.parameters, { io: "input" }),
  };
  tools.set(tool.name, { tool, info });
}

const app = express();
app.use(express.json());

app.get("/api/tools", (_request, response) => {
  const list = [...tools.values()].map(({ info }) => info);
  response.json({ tools: list, counts: { total: list.length, builtin: 0, plugin: list.length } });
});

let calls = 0;
app.post("/api/tools/:name/call", async (request, response) => {
  const found = tools.get(request.params.name);
  if (!found) return response.status(404).json({ error: `Tool not found: ${request.params.name}` });
  const parsed = found.tool.parameters.safeParse(request.body.arguments ?? {});
  if (!parsed.success) return response.status(422).json({ error: parsed.error.message });
  calls += 1;
  const callId = `call-${calls}`;
  const started = performance.now();
  const result = await found.tool.execute(callId, parsed.data, undefined, {}, undefined);
  response.json({
    callId,
    tool: found.tool.name,
    content: result.content,
    details: result.details ?? {},
    isError: false,
    durationMs: performance.now() - started,
  });
});

const server = app.listen(0, "127.0.0.1", () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`);
});
