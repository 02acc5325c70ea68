// Tools by name, each wrong in its own way.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, (signal: AbortSignal, pi) => unknown> = {
  writes: async (_signal, pi) => { process.env.PATH = `/nowhere:${process.env.PATH}`; process.env.NEW = "new"; delete process.env.GONE; Deno.env.set("OTHER", "other"); const shown = "echo $PATH $NEW $OTHER $GONE"; const exec = await pi.exec("/bin/sh", ["-c", shown]); const spawned = spawnSync("/bin/sh", ["-c", shown], { encoding: "utf8" }); return text(exec.stdout + spawned.stdout); },
  reads: () => text([process.env.PATH!.startsWith("/nowhere"), process.env.NEW, process.env.GONE]),
  loop: () => { for (;;); },
  file: () => process.loadEnvFile("config.yaml"),
  strange: () => { Deno.env.set("A=B", "c"); },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute: (_id, _params, _onUpdate, _ctx, signal) => execute(signal, pi),
  }));

// It is hidden from modules, and code from text still finds it.
const Deno: any = new Function("return Deno")();
