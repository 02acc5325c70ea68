// Bun's side of the bench: the least that gives the same answers: `list FILE…` (with each tool's JSON
// Schema, which haft makes while it loads), `call FILE JSON`, or `loop FILE JSON`, which says how many microseconds one call took from text to text; `render FILE`
// says it of drawing a result at a width of 120, `reload FILE` of importing a saved file again under another
// query (nothing that was imported is ever let go).
import { z } from "zod";

const exec = async (command: string, args: string[]) => {
  const child = Bun.spawn([command, ...args], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code, killed: false };
};

const load = async (file: string, pi = {}) => {
  const { default: factory } = await import(file);
  return await factory({ zod: z, exec, cwd: process.cwd(), pi });
};

const [action, ...rest] = process.argv.slice(2);
if (action === "list") {
  for (const file of rest) {
    const tool = await load(file);
    JSON.stringify(z.toJSONSchema(tool.parameters, { target: "draft-2020-12" }));
    console.log(`${tool.name}  ${tool.description}`);
  }
} else if (action === "render") {
  // Not at the top: nothing else that is measured needs it.
  const tool = await load(rest[0], await import("@mariozechner/pi-tui"));
  const result = await tool.execute("call-1", {}, undefined, {}, undefined);
  const took: number[] = [];
  for (let drawn = 0; drawn < 100; drawn += 1) {
    const started = performance.now();
    const lines = tool.renderResult(result).render(120);
    if (lines.length < 10_000) throw new Error(`${lines.length} lines`);
    if (drawn >= 40) took.push(performance.now() - started);
  }
  took.sort((a, b) => a - b);
  console.log((took[took.length / 2] * 1000).toFixed(2));
} else if (action === "reload") {
  const text = await Bun.file(rest[0]).text();
  const saved = rest[0].replace(/[^/]*$/, "saved_by_the_peer.ts");
  const took: number[] = [];
  for (let number = 0; number < 70; number += 1) {
    await Bun.write(saved, `${text}\n// ${number}\n`);
    const started = performance.now();
    await load(`${saved}?${number}`);
    if (number >= 10) took.push(performance.now() - started);
  }
  await Bun.file(saved).delete();
  took.sort((a, b) => a - b);
  console.log((took[took.length / 2] * 1000).toFixed(2));
} else if (action === "loop") {
  const [file, json] = rest;
  const tool = await load(file);
  const once = async (id: number) => {
    const params = tool.parameters.parse(JSON.parse(json));
    return JSON.stringify(await tool.execute(`call-${id}`, params, undefined, {}, undefined));
  };
  for (let id = 0; id < 5_000; id += 1) await once(id);
  const took: number[] = [];
  for (let id = 0; id < 30_000; id += 1) {
    const started = performance.now();
    await once(id);
    took.push(performance.now() - started);
  }
  took.sort((a, b) => a - b);
  console.log((took[took.length / 2] * 1000).toFixed(2));
} else {
  const [file, json] = rest;
  const tool = await load(file);
  const params = tool.parameters.parse(JSON.parse(json));
  const result = await tool.execute("call-1", params, undefined, {}, undefined);
  console.log(result.content[0].text);
}
