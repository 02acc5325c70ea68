// The package `@haft/tool-types` as an author meets it: packed, installed, and checked by tsc.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
let project;

function run(program, args, cwd) {
  const ran = spawnSync(program, args, { cwd, encoding: "utf8" });
  return { code: ran.status, output: `${ran.stdout}${ran.stderr}` };
}

before(() => {
  project = mkdtempSync(join(tmpdir(), "haft-types-"));
  const packed = run("npm", ["pack", "--pack-destination", project], join(root, "types"));
  assert.equal(packed.code, 0, packed.output);
  const [archive] = readdirSync(project);
  const home = join(project, "node_modules/@haft/tool-types");
  mkdirSync(home, { recursive: true });
  const unpacked = run("tar", ["xzf", join(project, archive), "--strip=1", "-C", home], project);
  assert.equal(unpacked.code, 0, unpacked.output);
  // What npm would install beside it.
  mkdirSync(join(project, "node_modules/@sinclair"));
  mkdirSync(join(project, "node_modules/@types"));
  for (const name of ["zod", "arktype", "@ark", "arkregex", "@sinclair/typebox", "@types/node"]) {
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
});

after(() => rmSync(project, { recursive: true, force: true }));

// Each check has a folder of its own, so that they do not see each other's files.
function check(name, source, options = {}, settings = {}) {
  const folder = join(project, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "tool.ts"), source);
  const config = {
    ...settings,
    compilerOptions: { noEmit: true, types: ["node"], ...options },
    files: ["tool.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return run(join(root, "node_modules/.bin/tsc"), ["-p", folder], folder);
}

const STRICT = {
  strict: true,
  target: "esnext",
  module: "nodenext",
  moduleResolution: "nodenext",
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable"],
};

function passes({ code, output }) {
  assert.equal(output, "");
  assert.equal(code, 0);
}

const ZOD = `
import type { CustomTool, CustomToolAPI, CustomToolFactory, Static } from "@haft/tool-types";
import { z } from "zod";

const parameters = z.object({ name: z.string(), times: z.number().default(1), tone: z.enum(["a", "b"]).optional() });
type Expected = { name: string; times: number; tone?: "a" | "b" | undefined };
const same: Static<typeof parameters> = { name: "x", times: 1 } satisfies Expected;

const tool: CustomTool<typeof parameters, { count: number }> = {
  name: "greet",
  description: "Greets",
  parameters,
  approval: ({ times }) => (times > 3 ? { tier: "exec", reason: "many" } : "read"),
  formatApprovalDetails: ({ name }) => [\`for \${name}\`],
  async execute(toolCallId, params, onUpdate, ctx, signal) {
    const name: string = params.name;
    const times: number = params.times;
    // @ts-expect-error it is a text
    const wrong: number = params.name;
    // @ts-expect-error there is no such parameter
    params.other;
    onUpdate?.({ content: [{ type: "text", text: "…" }], details: { count: 0 } });
    signal?.throwIfAborted();
    const entries = ctx.sessionManager.getBranch();
    return { content: [{ type: "text", text: name.repeat(times) + toolCallId + ctx.cwd }], details: { count: entries.length } };
  },
  renderResult(result, { expanded }, theme) {
    const text = theme.fg("accent", expanded ? "all" : "some");
    return { render: (width) => [text.slice(0, width), String(result.details?.count)] };
  },
  onSession(event) {
    if (event.reason === "auto_retry_start") event.delayMs.toFixed();
  },
};

const factory: CustomToolFactory = async (pi: CustomToolAPI) => {
  const { stdout, code, killed } = await pi.exec("git", ["status"], { timeout: 1000, cwd: pi.cwd });
  if (code !== 0 || killed) pi.logger.warn("no git", { stdout });
  const answer: string | undefined = await pi.ui.select("Which?", ["one", "two"]);
  return answer === undefined ? [tool] : tool;
};
export default factory;
export { same };
`;

test("zod: parameters, context, components, under the strictest settings and with the libraries checked", () => {
  passes(check("zod", ZOD, STRICT));
});

test("components: the terminal that they get, and the same overlays as in pi-tui", () => {
  const source = `
import type { CustomToolAPI, OverlayHandle, OverlayOptions } from "@haft/tool-types";
import type * as pi from "@haft/tool-types/pi-tui";

export async function ask({ ui }: CustomToolAPI): Promise<string | undefined> {
  const own: OverlayOptions = { anchor: "bottom-right", width: "50%", margin: { top: 1 } };
  // @ts-expect-error it is no size
  const wrong: OverlayOptions = { width: "half" };
  const theirs: pi.OverlayOptions = own;
  let handle: OverlayHandle | undefined;
  return await ui.custom<string>((tui, theme, keybindings, done) => {
    const list = { render: (width: number) => [theme.bold("x".repeat(width))], handleInput: () => handle?.hide() };
    return {
      render: () => [String(tui.terminal.columns), String(tui.hasOverlay())],
      handleInput(data) {
        if (data === "q") return done(data);
        handle = tui.showOverlay(list, theirs);
        const same: pi.OverlayHandle = handle;
        same.setHidden(handle.isHidden());
      },
    };
  }, { overlay: true, overlayOptions: () => wrong, onHandle: (shown) => shown.focus() });
}
`;
  passes(check("components", source, STRICT));
});

test("TypeBox: `Static` and the parameters of execute", () => {
  const source = `
import type { CustomTool, CustomToolFactory, Static } from "@haft/tool-types";
import { Type } from "@sinclair/typebox";

const parameters = Type.Object({ path: Type.String(), depth: Type.Optional(Type.Integer()) });
export const one: Static<typeof parameters> = { path: "x" };
// @ts-expect-error the path is missing
export const none: Static<typeof parameters> = {};

const tool: CustomTool<typeof parameters> = {
  name: "find",
  description: "Finds",
  parameters,
  execute: async (_id, { path, depth }) => {
    const much: number | undefined = depth;
    return { content: [{ type: "text", text: path.toUpperCase() + much }] };
  },
};
export default ((pi) => {
  const also = pi.typebox.Type.Object({ a: pi.typebox.Type.String() });
  return [tool, { ...tool, name: "also", parameters: also }];
}) satisfies CustomToolFactory;
`;
  passes(check("typebox", source, STRICT));
});

test("what is no tool is an error", () => {
  const source = `
import type { CustomToolFactory } from "@haft/tool-types";
export default (() => ({ name: "x", parameters: {}, execute: async () => ({ content: [] }) })) satisfies CustomToolFactory;
`;
  const { code, output } = check("wrong", source, STRICT);
  assert.notEqual(code, 0);
  assert.match(output, /description/);
});

test("a module written for oh-my-pi, with its package mapped to this one", () => {
  const source = `
import type { CustomToolFactory, Theme } from "@oh-my-pi/pi-coding-agent";
import { defineTool, truncateHead, z } from "@oh-my-pi/pi-coding-agent";
import { Container, Text } from "@oh-my-pi/pi-tui";
import type { AgentToolResult } from "@mariozechner/pi-coding-agent";

const tool = defineTool({
  name: "lines",
  label: "Lines",
  description: "Counts lines",
  parameters: z.object({ text: z.string() }),
  async execute(_id, params): Promise<AgentToolResult> {
    const text: string = params.text;
    // @ts-expect-error it is a text
    params.text.toFixed();
    return { content: [{ type: "text", text: truncateHead(text).content }] };
  },
  renderCall(args: { text: string }, _options: unknown, theme: Theme) {
    const box = new Container();
    box.addChild(new Text(theme.bold(args.text), 0, 0));
    return box;
  },
});
const factory: CustomToolFactory = () => tool;
export default factory;
`;
  const settings = { extends: "@haft/tool-types/tsconfig.json" };
  passes(check("omp", source, {}, settings));
});

test("the tests of a tool", () => {
  const source = `
import type { ToolTest } from "@haft/tool-types";
export default [
  {
    name: "greets",
    arguments: { name: "Ada" },
    expect: { text: { contains: "Ada" }, updates: ["thinking"] },
    exec: [{ command: "whoami", stdout: "ada" }],
    check(result) { if (result.details.count !== 1) throw new Error(result.text); },
  },
] satisfies ToolTest[];
`;
  passes(check("tests", source, STRICT));
});

test("the example tools", () => {
  passes(run(join(root, "node_modules/.bin/tsc"), ["-p", "types/tsconfig.examples.json"], root));
});

test("dialects: tools of other agents, without their packages", () => {
  const settings = { extends: "@haft/tool-types/tsconfig.json" };
  const tools = {
    opencode: `
import { tool } from "@opencode-ai/plugin";
export default tool({
  description: "Greets",
  args: { name: tool.schema.string(), times: tool.schema.number().optional() },
  async execute({ name, times }, { abort, directory }) {
    abort.throwIfAborted();
    // @ts-expect-error it is a text
    const wrong: number = name;
    return name.repeat(times ?? 1) + directory + wrong;
  },
});
`,
    claude: `
import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
const greet = tool("greet", "Greets", { name: z.string() }, async ({ name }) => {
  // @ts-expect-error it is a text
  const wrong: number = name;
  return { content: [{ type: "text", text: name + wrong }] };
});
export const server = createSdkMcpServer({ name: "greeter", tools: [greet] });
`,
    ai: `
import { tool } from "ai";
import { z } from "zod";
export const greet = tool({
  description: "Greets",
  inputSchema: z.object({ name: z.string() }),
  async execute({ name }, { abortSignal }) {
    abortSignal?.throwIfAborted();
    // @ts-expect-error it is a text
    const wrong: number = name;
    return name + wrong;
  },
});
`,
    pi: `
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "@sinclair/typebox";
export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "greet",
    description: "Greets",
    parameters: Type.Object({ name: Type.String() }),
    async execute(_id, { name }, signal, _onUpdate, ctx) {
      signal?.throwIfAborted();
      // @ts-expect-error it is a text
      const wrong: number = name;
      const other = await ctx.executeTool("other", {});
      return { content: [{ type: "text", text: name + wrong }, ...other.content], details: {} };
    },
  });
  pi.on("session_start", (_event, ctx) => ctx.ui.notify("ready"));
}
`,
  };
  for (const [name, source] of Object.entries(tools)) {
    passes(check(`dialect-${name}`, source, { strict: true }, settings));
  }
});
