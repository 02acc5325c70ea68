// Tools for the tests of the page.

import { existsSync } from "node:fs";

const says = (text: string) => ({ content: [{ type: "text", text }] });
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A list of lists, and so on. */
const BRANCH = {
  type: "object",
  properties: {
    name: { type: "string" },
    children: { type: "array", items: { $ref: "#/$defs/branch" } },
    best: { $ref: "#/$defs/branch" },
  },
  required: ["name"],
};

export default (pi: any) => {
  const { z } = { z: pi.zod };
  const echo = (name: string, parameters: unknown) => ({
    name,
    description: `Says what it was given as ${name}`,
    parameters,
    async execute(_id: string, params: unknown) {
      return says(JSON.stringify(params));
    },
  });
  return [
    {
      name: "greet",
      label: "Greet",
      description: "Greets somebody by name.\nAs often as one likes.",
      parameters: z.object({
        name: z.string().describe("who to greet"),
        times: z.number().int().min(1).max(3).default(1).describe("how often"),
        mood: z.enum(["calm", "loud"]).optional().describe("how it is said"),
        polite: z.boolean().optional(),
        tags: z.array(z.string()).optional(),
      }),
      async execute(_id: string, params: any) {
        const hello = Array(params.times).fill(`Hello, ${params.name}!`).join(" ");
        return {
          content: [
            { type: "text", text: params.mood === "loud" ? hello.toUpperCase() : hello },
            { type: "text", text: `{"given":${JSON.stringify(params)},"digits":12345678901234567890.10}` },
            { type: "image", data: PIXEL, mimeType: "image/png" },
          ],
          details: { words: 2 },
        };
      },
    },
    {
      // Says each step; the second comes when the file is there.
      name: "steps",
      description: "Goes step by step",
      parameters: z.object({ file: z.string() }),
      async execute(_id: string, { file }: any, onUpdate: any, _ctx: any, signal: AbortSignal) {
        onUpdate(says("first step"));
        while (!existsSync(file)) {
          if (signal.aborted) return { ...says("asked to stop"), isError: true };
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        onUpdate(says("second step"));
        while (!existsSync(`${file}.end`)) {
          if (signal.aborted) return { ...says("asked to stop"), isError: true };
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return says("all steps");
      },
    },
    {
      name: "refuse",
      description: "Says no",
      parameters: z.object({}),
      async execute() {
        return { ...says("not today"), isError: true };
      },
    },
    {
      name: "asks",
      description: "Asks in every way",
      parameters: z.object({}),
      async execute(_id: string, _params: unknown, _onUpdate: unknown, ctx: any) {
        const chosen = await ctx.ui.select("Which <b>one</b>?", ["first", "second"]);
        const sure = await ctx.ui.confirm("Sure?", "It counts.");
        const name = await ctx.ui.input("Your name?", "Ada");
        const text = await ctx.ui.editor("A poem?", "roses");
        const last = await ctx.ui.confirm("Dismiss this", "");
        return says(JSON.stringify([chosen, sure, name, text, last]));
      },
    },
    {
      name: "guarded",
      description: "Needs approval",
      parameters: z.object({ target: z.string().default("everything") }),
      approval: { tier: "exec", reason: "it is a test" },
      async execute() {
        return says("it was done");
      },
    },
    {
      name: "shows",
      description: "Shows **every kind** of result",
      approval: "read",
      parameters: z.object({}),
      async execute() {
        return {
          content: [
            {
              type: "text",
              text:
                "# Title\n\nSome **bold** text with `a < b`, <i>markup</i> and " +
                "[a link](https://example.com) and [a script](javascript:alert(1)).\n\n" +
                "| planet | moons |\n| --- | --- |\n| Mars | 2 |\n\n- [x] done\n- [ ] open\n\n```js\nlet x = 1;\n```",
            },
            { type: "text", text: '[{"planet":"Mars","moons":2},{"planet":"Jupiter","moons":12345678901234567890}]' },
          ],
          details: {},
        };
      },
    },
    {
      name: "throws",
      description: "Fails in its own code",
      approval: "read",
      parameters: z.object({}),
      async execute() {
        throw new TypeError("out of order");
      },
    },
    {
      name: "drawn",
      description: "Draws its own result",
      approval: "read",
      parameters: z.object({}),
      async execute() {
        return says("for the model");
      },
      renderResult: (_result: unknown, _options: unknown, theme: any) => ({
        render: () => [theme.fg("error", "drawn by the tool"), "\u001b[2Jplain"],
        invalidate() {},
      }),
    },
    {
      // Reports its progress and its log; the end comes when the file is there.
      name: "progress",
      description: "Reports how far it is",
      approval: "read",
      parameters: z.object({ file: z.string().describe("the awaited ending") }),
      async execute(_id: string, { file }: any, onUpdate: any, ctx: any) {
        console.warn("careful");
        ctx.ui.notify("a notice", "info");
        ctx.ui.setStatus("place", "in the middle");
        onUpdate({ ...says("none of four"), details: { progress: 0, total: 4 } });
        onUpdate({ ...says("one of four"), details: { progress: 1, total: 4 } });
        while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
        return says("all of it");
      },
    },
    {
      name: "component",
      description: "Shows its own component",
      approval: "read",
      parameters: z.object({}),
      async execute(_id: string, _params: unknown, _onUpdate: unknown, ctx: any) {
        const keys = await ctx.ui.custom((tui: any, theme: any, _keys: unknown, done: any) => {
          let typed = "";
          return {
            render: (width: number) => [theme.fg("accent", `typed: ${JSON.stringify(typed)}`), `${width} columns`],
            invalidate() {},
            handleInput(data: string) {
              if (data === "\r") return done(typed);
              typed += data;
              tui.requestRender();
            },
          };
        });
        return says(JSON.stringify(keys ?? null));
      },
    },
    echo("constrained", {
      type: "object",
      properties: {
        code: { type: "string", minLength: 2, maxLength: 4, pattern: "^[A-Z]+$" },
        count: { type: "integer", minimum: 1, maximum: 9, multipleOf: 2, default: 4 },
        size: { enum: ["small", "large"] },
        list: { type: "array", items: { type: "string" }, minItems: 0, maxItems: 3 },
        secret: { type: "string", format: "password" },
        moment: { type: "string", format: "date-time" },
        picture: { type: "string", contentEncoding: "base64", contentMediaType: "image/png" },
      },
      required: ["code"],
    }),
    echo("plain", {
      type: "object",
      properties: {
        any: {},
        exact: { type: "number" },
        fixed: { const: 7 },
        maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
        kinds: { type: ["string", "integer"] },
        several: { type: "array", uniqueItems: true, items: { enum: ["a", "b", "c"] } },
        pair: { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false },
        day: { type: "string", format: "date" },
        map: { type: "object", additionalProperties: { type: "integer" } },
        shape: {
          oneOf: [
            { type: "object", properties: { kind: { const: "round" }, radius: { type: "number" } }, required: ["kind", "radius"] },
            { type: "object", properties: { kind: { const: "square" }, side: { type: "number" } }, required: ["kind", "side"] },
          ],
        },
      },
    }),
    echo("tree", { ...BRANCH, $defs: { branch: BRANCH } }),
    echo("open", { type: "object" }),
    echo("nothing", { type: "object", properties: {}, additionalProperties: false }),
    {
      name: "outside",
      description: "Asks a program and the user",
      parameters: z.object({ what: z.string() }),
      async execute(_id: string, { what }: any, _onUpdate: any, ctx: any) {
        const { stdout } = await pi.exec("sh", ["-c", "echo outside"]);
        return says(`${stdout.trim()} ${what} ${await ctx.ui.input("Who asks?")}`);
      },
    },
    {
      name: "markup",
      description: "<img src=x onerror=\"document.title='taken over'\"> <b>bold</b>",
      parameters: z.object({}),
      async execute() {
        return {
          content: [
            { type: "text", text: "<img src=http://192.0.2.1/x onerror=\"document.title='taken over'\"><script>document.title='taken over'</script>" },
            { type: "image", data: "PHN2ZyBvbmxvYWQ9ImRvY3VtZW50LnRpdGxlPSd0YWtlbiBvdmVyJyIgeG1sbnM9Imh0dHA6Ly93d3cudzMub3JnLzIwMDAvc3ZnIi8+", mimeType: "image/svg+xml" },
            { type: "image", data: "PGI+", mimeType: "text/html" },
          ],
          details: { "<b>": "<i>" },
        };
      },
    },
  ];
};
