// The tools that `@modelcontextprotocol/conformance` calls by name, as a tool's author would write
// them for oh-my-pi: `cargo xtask judge` serves them and lets the suite judge.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const CHANGING = `export default () => ({
  name: "changing", description: "Comes and goes", parameters: { type: "object" },
  execute: async () => ({ content: [] }),
});
`;

const text = (text) => ({ type: "text", text });
const says = (...content) => ({ content });
const resource = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const tool = (name, description, execute, parameters = { type: "object", properties: {} }) => ({
  name,
  description,
  parameters,
  execute,
});

// The suite wants a task at once; haft makes one after a minute, or as the tool says.
const asTask = (tool) => ({ ...tool, mcp: { task: "always" } });

export default (pi) => {
  const { zod: z } = pi;
  // A round with the user is one question; `ctx.ui` has no forms of several fields.
  const asks = (name, ...questions) =>
    tool(name, "Asks the user", async (_id, _args, _onUpdate, ctx) => {
      if (!ctx.hasUI) return { content: [text("There is nobody to ask.")], isError: true };
      const answers = [];
      for (const question of questions) answers.push(await ctx.ui.input(question));
      return says(text(`${questions.join(" ")} ${answers.join(" ")}`));
    });

  return [
    tool("test_simple_text", "Says one text", async () =>
      says(text("This is a simple text response for testing.")),
    ),
    tool("test_image_content", "Shows a picture", async () =>
      says({ type: "image", data: PIXEL, mimeType: "image/png" }),
    ),
    tool("test_audio_content", "Plays a sound", async () =>
      says({ type: "audio", data: SILENCE, mimeType: "audio/wav" }),
    ),
    tool("test_embedded_resource", "Gives a thing", async () =>
      says(
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
      ),
    ),
    tool("test_multiple_content_types", "Says, shows and gives", async () =>
      says(
        text("Multiple content types test:"),
        { type: "image", data: PIXEL, mimeType: "image/png" },
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ),
    ),
    tool("test_error_handling", "Fails", async () => {
      throw new Error("This tool intentionally returns an error for testing");
    }),
    tool("test_tool_with_progress", "Works in steps", async (_id, _args, onUpdate) => {
      for (const progress of [0, 50, 100]) {
        onUpdate?.({ content: [text(`${progress}%`)], details: { progress, total: 100 } });
        await later(50);
      }
      return says(text("Done in three steps."));
    }),
    tool(
      "test_elicitation",
      "Asks the user",
      async (_id, { message }, _onUpdate, ctx) => {
        if (!ctx.hasUI) return { content: [text("There is nobody to ask.")], isError: true };
        return says(text(`User response: ${await ctx.ui.input(message)}`));
      },
      z.object({ message: z.string() }),
    ),
    tool("test_tool_with_logging", "Logs what it does", async () => {
      for (const step of ["started", "processing data", "completed"]) {
        pi.logger.info(`Tool execution ${step}`);
        await later(50);
      }
      return says(text("Logged three times."));
    }),
    tool("test_logging_tool", "Logs", async () => {
      pi.logger.info("a line");
      return says(text("Logged."));
    }),
    asks("test_streaming_elicitation", "What is your name?"),
    asks("test_input_required_result_elicitation", "What is your name?"),
    asks("test_input_required_result_request_state", "state-ok?"),
    asks("test_input_required_result_tampered_state", "Please confirm"),
    asks("test_input_required_result_multi_round", "Step 1: your name?", "Step 2: your colour?"),
    // Tools come and go with their files, so this is how a tool changes the list.
    tool("test_trigger_tool_change", "Adds a tool, or takes it away", async () => {
      const folder = join(homedir(), ".omp/agent/tools");
      const file = join(folder, "changing.ts");
      await mkdir(folder, { recursive: true });
      const isThere = await rm(file).then(
        () => true,
        () => false,
      );
      if (!isThere) await writeFile(file, CHANGING);
      return says(text(isThere ? "Taken away." : "Added."));
    }),
    // SEP-2243: a client repeats the argument in the header `Mcp-Param-Region`.
    tool("test_x_mcp_header", "Has an argument for a header", async (_id, args) => says(text(args.region)), {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    }),
    tool("json_schema_2020_12_tool", "Has a schema with references", async () => says(text("ok")), {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
      if: { properties: { kind: { const: "person" } }, required: ["kind"] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: { required: ["name"] },
      else: { required: ["address"] },
      $defs: {
        address: {
          $anchor: "address",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        kind: { type: "string" },
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
      },
      additionalProperties: false,
    }),
    // For the tasks extension.
    asTask(
      tool("failing_job", "Fails after a while", async () => {
        await later(1000);
        throw new Error("The job failed.");
      }),
    ),
    tool(
      "greet",
      "Greets",
      async (_id, { name }) => says(text(`Hello, ${name}!`)),
      z.object({ name: z.string() }),
    ),
    asTask(tool(
      "slow_compute",
      "Takes its time",
      async (_id, { seconds }, _onUpdate, _ctx, signal) => {
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, seconds * 1000);
          signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve(undefined);
          });
        });
        return says(text(`Computed for ${seconds} seconds.`));
      },
      z.object({ seconds: z.number() }),
    )),
    asTask(tool(
      "confirm_delete",
      "Deletes if the user agrees",
      async (_id, { filename }, _onUpdate, ctx) => {
        const agreed = await ctx.ui.confirm(`Delete ${filename}?`, "");
        return says(text(agreed ? `Deleted ${filename}` : "Kept it"));
      },
      z.object({ filename: z.string() }),
    )),
    asTask(tool("multi_input", "Asks two things at once", async (_id, _args, _onUpdate, ctx) =>
      says(text((await Promise.all([ctx.ui.input("First?"), ctx.ui.input("Second?")])).join(" "))),
    )),
    // Asks first, and takes so long after the answer that it goes on as a task.
    {
      ...tool("test_tool_with_task", "Asks, then works", async (_id, _args, _onUpdate, ctx) => {
        const name = await ctx.ui.input("What is your name?");
        await later(1000);
        return says(text(`Done for ${name}.`));
      }),
      mcp: { task: 0.2 },
    },
  ];
};
