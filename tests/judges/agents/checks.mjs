// What is checked, in the order in which one session of an agent goes through it.
//
// A check gets a `Run` and returns what was seen, in a few words. It throws an error with what was seen instead where
// that is not what it must be.

import { existsSync, readFileSync } from "node:fs";

import { isNamed } from "./api/server.mjs";

/** The judge's tools, as `tools.ts` names them. */
const OURS = [
  "judge_say",
  "judge_picture",
  "judge_fail",
  "judge_details",
  "judge_work",
  "judge_child",
  "judge_ask",
  "judge_big",
  "judge_union",
  "judge_keys",
];
const LINES = 3000;
const LONG = 600;
const LATER = `export default () => ({
  name: "judge_later", description: "Came later.", parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "it came later" }] }),
});
`;

/** The first request of a run that is started from a command line for one prompt. */
export const ONCE = {
  async "first request"(run) {
    const turn = await run.first();
    const missing = OURS.filter((name) => !turn.tools.some((tool) => isNamed(tool.name, name)));
    if (missing.length) fail(`lacks ${missing.join(", ")}`);
    return `all ${OURS.length} tools`;
  },

  async instructions(run) {
    const turn = await run.first();
    const ours = run.instructions;
    if (!ours) fail("haft sends none");
    // Enough of it to be it: clients cut what is long, and indent it.
    const begin = oneLine(ours.slice(0, 200));
    const about = turn.tools.find(({ about }) => about && oneLine(about).includes(begin));
    if (about) return "in the description of the namespace";
    if (oneLine(turn.system).includes(begin)) return "in the system prompt";
    if (oneLine(JSON.stringify(turn.raw).replaceAll("\\n", " ")).includes(begin))
      return "in a message";
    fail("they are not in the request");
  },

  async "root union"(run) {
    const { schema } = tool(await run.first(), "judge_union");
    const unions = ["anyOf", "oneOf", "allOf"].filter((keyword) => schema[keyword]);
    if (unions.length) fail(`${unions.join(", ")} at the root`);
    return "one object";
  },

  async "property names"(run) {
    const { schema } = tool(await run.first(), "judge_keys");
    const names = Object.keys(schema.properties);
    const bad = names.filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name));
    if (bad.length) fail(`${bad.join(", ")}, which providers refuse`);
    return names.join(", ");
  },
};

/** One session with its user. */
export const SESSION = {
  async text(run) {
    const result = await run.play("text", "judge_say", { text: "hello from the tool" });
    says(result, "hello from the tool");
    return "the text";
  },

  async details(run) {
    const result = await run.play("details", "judge_details", {});
    says(result, "what the tool said");
    return "the text";
  },

  async image(run) {
    const result = await run.play("image", "judge_picture", {});
    says(result, "caption of the picture");
    if (result.images.length !== 1) fail(`${result.images.length} images`);
    return `text and ${result.images[0]}`;
  },

  async error(run) {
    const result = await run.play("error", "judge_fail", { text: "the disk is full" });
    says(result, "the disk is full");
    return result.isError ? "the text, marked as an error" : "the text";
  },

  async union(run) {
    const result = await run.play("union", "judge_union", { kind: "circle", radius: 2 });
    says(result, "radius 2");
    return "the call";
  },

  async keys(run) {
    // The model calls with the name that it was shown.
    const named = ({ schema }) => ({ [Object.keys(schema.properties)[0]]: ["a", "b"] });
    const result = await run.play("keys", "judge_keys", named);
    says(result, "ids: a b");
    return "the call";
  },

  async "big result"(run) {
    const result = await run.play("big", "judge_big", { lines: LINES });
    says(result, "line 0");
    const { text } = result;
    // The client may keep a file of its own; haft's is the one that holds the text as the tool gave it.
    const paths = text.match(/\/[^\s"'`)\]]+/g) ?? [];
    const whole = paths.map((path) => path.replace(/[.,:;]+$/, "")).find((path) => isWhole(path));
    if (!whole) fail(`no path of a file with the whole text in ${text.length} characters`);
    return `the path, in ${text.length} characters`;
  },

  async "call of 5 s"(run) {
    says(await short(run), "worked for 5 seconds");
    return "the text, in the same turn";
  },

  async progress(run) {
    await short(run);
    if (!run.session.seen.includes("finished step 2")) fail("the user sees nothing of it");
    return "the user sees it";
  },

  async question(run) {
    const answered = run.start("question", "judge_ask", { what: "the file" });
    answered.catch(() => {});
    try {
      const asked =
        run.session.agree &&
        run.person("Shall the file be deleted?").then(() => run.session.agree());
      // What reaches the model without a question says more than that nothing was asked.
      await Promise.race([asked ?? answered, answered]);
      says(await run.insist(answered), "the user agreed");
    } finally {
      await run.settle("question");
    }
    return "asked, and the answer arrives";
  },

  async "hot reload"(run) {
    run.place.addTool("judge_later", LATER);
    // How long haft and the client need is not known, so the user asks again.
    for (let turn = 1; turn <= 5; turn += 1) {
      const result = await run.play(`later-${turn}`, "judge_later", {});
      if (result?.text.includes("it came later")) return `in prompt ${turn}`;
    }
    fail("the new tool is in none of 5 requests");
  },

  async cancellation(run) {
    const log = run.place.log("cancel");
    await run.begin("cancel", "judge_work", { seconds: LONG, silent: true, log });
    await run.written(log, "haft ");
    await run.session.interrupt();
    await run.written(log, "aborted");
    return "the signal fires";
  },

  async "cancelled child"(run) {
    const log = run.place.log("child");
    await run.begin("child", "judge_child", { seconds: LONG, log });
    const [, pid] = /pid (\d+)/.exec(await run.written(log, "\n"));
    await run.session.interrupt();
    await run.gone(Number(pid), "the tool's program");
    return "its program is gone";
  },

  async end(run) {
    await short(run);
    const [, pid] = /haft (\d+)/.exec(readFileSync(run.place.log("short"), "utf8"));
    await run.session.stop();
    await run.gone(Number(pid), "haft");
    return "haft is gone";
  },
};

/** One prompt with a haft that lists code mode only. */
export const CODE = {
  async "code mode"(run) {
    const code = `const said = await Promise.all(["one", "two"].map((text) => tools.judge_say({ text })));
said.join(" and ")`;
    const turn = await run.first("run_code", { code });
    const offered = (name) => turn.tools.some((tool) => isNamed(tool.name, name));
    const missing = ["run_code", "search_tools"].filter((name) => !offered(name));
    if (missing.length) fail(`lacks ${missing.join(", ")}`);
    const direct = OURS.filter(offered);
    if (direct.length) fail(`${direct.join(", ")} beside it`);
    says(await run.firstResult(), "one and two");
    return "the result of a script with two calls";
  },
};
/** The configuration of haft for `CODE`. */
export const CODE_CONFIG = "mcp: {code: only}\n";

/** One prompt of an agent that takes tools from a discovery command and calls them by a call command. */
export const COMMANDS = {
  async "discovery command"(run) {
    const turn = await run.first("judge_details", {});
    const offered = (name) => turn.tools.some((tool) => tool.name.endsWith(name));
    const missing = OURS.filter((name) => !offered(name));
    if (missing.length) fail(`lacks ${missing.join(", ")}`);
    says(await run.firstResult(), "what the tool said");
    return `all ${OURS.length} tools, and the text of a call`;
  },
};

/** A session of its own, beside the others, since it takes long. */
export const LONG_CALL = {
  async "call of 90 s"(run) {
    const args = { seconds: 90, silent: true, log: run.place.log("long") };
    const turn = await run.playLong("long", "judge_work", args);
    const text = "worked for 90 seconds";
    if (turn.results[0].text.includes(text)) return "the text, in the same turn";
    if (turn.later.some((later) => later.includes(text))) return "the text, as a notification";
    fail(quote(turn.results[0].text));
  },
};

/** One call of five seconds for all checks that look at it. */
function short(run) {
  const args = { seconds: 5, silent: false, log: run.place.log("short") };
  return run.once("short", () => run.play("short", "judge_work", args));
}

/** @returns {never} */
function fail(seen) {
  throw new Error(seen);
}

function says(result, wanted) {
  if (!result) fail("the tool is not offered");
  if (!result.text.includes(wanted)) fail(quote(result.text));
}

function tool(turn, name) {
  const tool = turn.tools.find((tool) => isNamed(tool.name, name));
  if (!tool) fail("it is not offered");
  return tool;
}

function isWhole(path) {
  if (!existsSync(path)) return false;
  const text = readFileSync(path, "utf8");
  const lines = Array.from({ length: LINES }, (_, line) => `line ${line} ${"x".repeat(80)}`);
  return text.trim() === lines.join("\n");
}

const oneLine = (text) => text.replace(/\s+/g, " ").trim();

const quote = (text) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
