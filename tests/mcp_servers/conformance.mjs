// The server that `@modelcontextprotocol/conformance` wants, with haft in front of it or alone.
//
//   node conformance.mjs          on standard input and output
//   node conformance.mjs --http   over HTTP; the first line of the output is its URL

import { connect, form, object, pause, PIXEL, SILENCE, says, text } from "./features.mjs";
import { serveHttp } from "./http.mjs";
import { CODE, Failure, missingCapability, Server, serveStdio } from "./protocol.mjs";

const string = { type: "string" };
const tool = (name, run, { inputSchema = object(), ...rest } = {}) => ({ name, description: `Suite: ${name}`, inputSchema, run, ...rest });
const resource = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const elicitation = (message, properties) => ({ method: "elicitation/create", params: form(message, properties) });
const sampling = (prompt) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 },
});
const roots = { method: "roots/list", params: {} };
const name = elicitation("What is your name?", { name: string });

/** A tool that asks all of this at once and returns the answers. */
const asks = (toolName, requests, rest) =>
  tool(toolName, async (_args, call) => says(text(JSON.stringify(await call.ask(requests)))), rest);
const completed = ({ action, content }) => says(text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`));
const enumeration = (...values) => ({ type: "string", enum: values });
const titled = (prefix) => ["1", "2", "3"].map((it) => ({ const: `value${it}`, title: `${prefix} ${it}` }));

let extra = { tools: false, prompts: false };
function toggle(list) {
  extra = { ...extra, [list]: !extra[list] };
  shape.changed(list);
  return says(text(extra[list] ? "Added." : "Taken away."));
}

const tools = () => [
  tool("test_simple_text", () => says(text("This is a simple text response for testing."))),
  tool("test_image_content", () => says({ type: "image", data: PIXEL, mimeType: "image/png" })),
  tool("test_audio_content", () => says({ type: "audio", data: SILENCE, mimeType: "audio/wav" })),
  tool("test_embedded_resource", () =>
    says(resource("test://embedded-resource", "text/plain", "This is an embedded resource content."))),
  tool("test_multiple_content_types", () =>
    says(
      text("Multiple content types test:"),
      { type: "image", data: PIXEL, mimeType: "image/png" },
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    )),
  tool("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  }),
  tool("test_tool_with_logging", async (_args, call) => {
    for (const step of ["started", "processing data", "completed"]) {
      call.log("info", `Tool execution ${step}`);
      await pause(50);
    }
    return says(text("Logged three times."));
  }),
  tool("test_logging_tool", (_args, call) => {
    call.log("info", "a line");
    return says(text("Logged."));
  }),
  tool("test_tool_with_progress", async (_args, call) => {
    for (const progress of [0, 50, 100]) {
      call.progress(progress, 100, `Completed step ${progress} of 100`);
      await pause(50);
    }
    return says(text(String(call.token)));
  }),
  tool("test_sampling", async ({ prompt }, call) => {
    const { content } = await call.sample(sampling(prompt).params);
    return says(text(`LLM response: ${[content].flat()[0].text}`));
  }, { inputSchema: object({ prompt: string }) }),
  tool("test_elicitation", async ({ message }, call) => {
    const properties = { username: { ...string, description: "Your name" }, email: { ...string, description: "Your address" } };
    return says(text(`User response: ${JSON.stringify(await call.elicit(form(message, properties)))}`));
  }, { inputSchema: object({ message: string }) }),
  tool("test_elicitation_sep1034_defaults", async (_args, call) =>
    completed(await call.elicit(form("Please review", {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { ...enumeration("active", "inactive", "pending"), default: "active" },
      verified: { type: "boolean", default: true },
    }, [])))),
  tool("test_elicitation_sep1330_enums", async (_args, call) =>
    completed(await call.elicit(form("Please choose", {
      untitledSingle: enumeration("option1", "option2", "option3"),
      titledSingle: { type: "string", oneOf: titled("Option") },
      legacyEnum: { ...enumeration("opt1", "opt2", "opt3"), enumNames: ["Option One", "Option Two", "Option Three"] },
      untitledMulti: { type: "array", items: enumeration("option1", "option2", "option3") },
      titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
    }, [])))),
  tool("test_streaming_elicitation", async (_args, call) => {
    call.progress(50, 100);
    return says(text(JSON.stringify(await call.ask({ user_name: name }))));
  }),
  tool("test_missing_capability", async (_args, call) => {
    if (!call.capabilities.sampling) throw missingCapability({ sampling: {} });
    return says(text("The client has a model."));
  }),
  tool("test_trigger_tool_change", () => toggle("tools")),
  tool("test_trigger_prompt_change", () => toggle("prompts")),
  tool("test_x_mcp_header", ({ region }) => says(text(region)), {
    inputSchema: object({ region: { ...string, "x-mcp-header": "Region" } }),
  }),
  tool("json_schema_2020_12_tool", () => says(text("ok")), {
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: string, city: string } } },
      properties: { name: string, address: { $ref: "#/$defs/address" }, contactMethod: enumeration("phone", "email"), phone: string, email: string },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
  }),

  // Questions as results.
  asks("test_input_required_result_elicitation", { user_name: name }),
  asks("test_input_required_result_sampling", { capital_question: sampling("What is the capital of France?") }),
  asks("test_input_required_result_list_roots", { client_roots: roots }),
  asks("test_input_required_result_multiple_inputs", { user_name: name, greeting: sampling("Generate a greeting"), client_roots: roots }),
  tool("test_input_required_result_request_state", async (_args, call) => {
    await call.ask({ confirm: elicitation("Please confirm", { ok: { type: "boolean" } }) });
    return says(text("state-ok"));
  }),
  tool("test_input_required_result_tampered_state", async (_args, call) => {
    await call.ask({ confirm: elicitation("Please confirm", { ok: { type: "boolean" } }) });
    return says(text("integrity-ok"));
  }),
  tool("test_input_required_result_multi_round", async (_args, call) => {
    const { step1 } = await call.ask({ step1: elicitation("Step 1: What is your name?", { name: string }) });
    const { step2 } = await call.ask({ step2: elicitation("Step 2: What is your favorite color?", { color: string }) });
    return says(text(`${step1.content?.name} likes ${step2.content?.color}`));
  }),
  tool("test_input_required_result_capabilities", async (_args, call) => {
    const wanted = {
      ...(call.capabilities.elicitation && { elicit_input: elicitation("Elicitation input", { value: string }) }),
      ...(call.capabilities.sampling && { sample_input: sampling("Sample request") }),
    };
    return says(text(`capabilities-ok: ${Object.keys(await call.ask(wanted))}`));
  }),

  // Tasks.
  tool("greet", ({ name }) => says(text(`Hello, ${name}!`)), { inputSchema: object({ name: string }) }),
  tool("slow_compute", async ({ seconds }, call) => {
    await pause(seconds * 1000, call.signal);
    return says(text(`Computed for ${seconds} seconds.`));
  }, { inputSchema: object({ seconds: { type: "number" } }), task: "optional" }),
  tool("failing_job", async () => {
    await pause(1000);
    throw new Error("The job failed.");
  }, { task: "required" }),
  tool("protocol_error_job", () => {
    throw new Failure(CODE.internal, "The server failed.");
  }, { task: "optional" }),
  tool("confirm_delete", async ({ filename }, call) => {
    const { action } = await call.elicit(form(`Delete ${filename}?`, { confirm: { type: "boolean" } }), "confirm");
    return says(text(action === "accept" ? `Deleted ${filename}` : "Kept it"));
  }, { inputSchema: object({ filename: string }), task: "optional" }),
  asks("multi_input", { first: elicitation("First?", { name: string }), second: elicitation("Second?", { name: string }) }, { task: "optional" }),
  tool("test_tool_with_task", async (_args, call) => {
    const { user_name } = await call.ask({ user_name: name });
    return says(text(`Done for ${user_name.content?.name}.`));
  }, { task: "required", asksFirst: { user_name: name } }),
  ...(extra.tools ? [tool("changing", () => says())] : []),
];

const user = (content) => ({ messages: [{ role: "user", content }] });
const argument = (name) => ({ name, description: `The value of ${name}`, required: true });
const prompt = (name, get, names = []) => ({ name, description: `Suite: ${name}`, ...(names.length > 0 && { arguments: names.map(argument) }), get });
const prompts = () => [
  prompt("test_simple_prompt", () => user(text("This is a simple prompt for testing."))),
  prompt("test_prompt_with_arguments", ({ arg1, arg2 }) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)), ["arg1", "arg2"]),
  prompt("test_prompt_with_embedded_resource", ({ resourceUri }) => user(resource(resourceUri, "text/plain", "Embedded resource content for testing.")), ["resourceUri"]),
  prompt("test_prompt_with_image", () => user({ type: "image", data: PIXEL, mimeType: "image/png" })),
  prompt("test_input_required_result_prompt", async (_args, call) => user(text(JSON.stringify(await call.ask({ user_context: elicitation("What context?", { context: string }) }))))),
  ...(extra.prompts ? [prompt("changing_prompt", () => user(text("Changed.")))] : []),
];

const resources = [
  { uri: "test://static-text", name: "static-text", description: "A text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "static-binary", description: "A picture", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "watched-resource", description: "A text that may change", mimeType: "text/plain" },
];

function read(uri) {
  const [, id] = uri.match(/^test:\/\/template\/(\w+)\/data$/) ?? [];
  const known = {
    "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
    "test://static-binary": { mimeType: "image/png", blob: PIXEL },
    "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
  };
  const found = id ? { mimeType: "application/json", text: JSON.stringify({ id, templateTest: true }) } : known[uri];
  return found && [{ uri, ...found }];
}

const shape = {
  info: { name: "conformance", version: "1.0.0" },
  modern: true,
  hasTasks: true,
  tools,
  prompts,
  resources: () => resources,
  templates: () => [{ uriTemplate: "test://template/{id}/data", name: "template", description: "Data by id", mimeType: "application/json" }],
  read,
  complete: ({ argument }) => ["paris", "park", "party"].filter((it) => it.startsWith(argument.value)),
  changed: () => {},
};

const server = connect(new Server(shape));
if (process.argv.includes("--http")) console.log(`${await serveHttp(server)}/mcp`);
else serveStdio(server);
