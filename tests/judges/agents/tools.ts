// What the agents are made to call, as a tool's author would write it for oh-my-pi. There are ten: with few tools haft
// asks clients to load all of them at once.

import { appendFile } from "node:fs/promises";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const text = (text) => ({ type: "text", text });
const says = (...content) => ({ content });

export default (pi) => {
  const { zod: z } = pi;
  const tool = (name, description, parameters, execute) => ({
    name,
    description,
    parameters: z.object(parameters),
    execute,
  });
  return [
    {
      ...tool("judge_say", "Says a text.", { text: z.string() }, async (_id, args) =>
        says(text(args.text)),
      ),
      // A script may call it without a question.
      approval: "read",
    },
    tool("judge_picture", "Shows a picture with a caption.", {}, async () =>
      says(text("caption of the picture"), { type: "image", data: PIXEL, mimeType: "image/png" }),
    ),
    tool("judge_fail", "Fails.", { text: z.string() }, async (_id, args) => {
      throw new Error(args.text);
    }),
    tool("judge_details", "Gives a text and details for a renderer.", {}, async () => ({
      content: [text("what the tool said")],
      details: { rows: 3, note: "for the renderer" },
    })),
    tool(
      "judge_work",
      "Works for some seconds and reports each, or is silent.",
      { seconds: z.number(), log: z.string(), silent: z.boolean() },
      async (_id, { seconds, log, silent }, onUpdate, _ctx, signal) => {
        const end = Date.now() + seconds * 1000;
        await appendFile(log, `haft ${process.pid}\n`);
        for (let step = 1; Date.now() < end; step += 1) {
          if (!silent) onUpdate?.({ content: [text(`finished step ${step}`)] });
          const stopped = await pause(Math.min(1000, end - Date.now()), signal);
          if (!stopped) continue;
          await appendFile(log, "aborted\n");
          throw new Error("stopped");
        }
        await appendFile(log, "ended\n");
        return says(text(`worked for ${seconds} seconds`));
      },
    ),
    // Its child's end shows in the log, whatever ends it.
    tool(
      "judge_child",
      "Runs a program for some seconds.",
      { seconds: z.number(), log: z.string() },
      async (_id, { seconds, log }, _onUpdate, _ctx, signal) => {
        const script = 'echo "pid $$" >> "$2"; exec sleep "$1"';
        await pi.exec("sh", ["-c", script, "sh", String(seconds), log], { signal });
        return says(text(`ran for ${seconds} seconds`));
      },
    ),
    tool(
      "judge_ask",
      "Asks the user.",
      { what: z.string() },
      async (_id, { what }, _onUpdate, ctx) => {
        if (!ctx.hasUI) return says(text("there is no user interface"));
        const agreed = await ctx.ui.confirm(`Shall ${what} be deleted?`, "Say yes or no.");
        return says(text(agreed ? "the user agreed" : "the user declined"));
      },
    ),
    tool("judge_big", "Gives lines of text.", { lines: z.number() }, async (_id, { lines }) =>
      says(
        text(
          Array.from({ length: lines }, (_, line) => `line ${line} ${"x".repeat(80)}`).join("\n"),
        ),
      ),
    ),
    {
      ...tool("judge_union", "Measures a shape.", {}, async (_id, args) =>
        says(text(args.kind === "circle" ? `radius ${args.radius}` : `side ${args.side}`)),
      ),
      parameters: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("circle"), radius: z.number() }),
        z.object({ kind: z.literal("square"), side: z.number() }),
      ]),
    },
    tool(
      "judge_keys",
      "Has a property of an unusual name.",
      { "ids[]": z.array(z.string()) },
      async (_id, args) => says(text(`ids: ${args["ids[]"].join(" ")}`)),
    ),
  ];
};

/** Waits; true if the signal came meanwhile. */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), Math.max(0, ms));
    const stop = () => {
      clearTimeout(timer);
      resolve(true);
    };
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
