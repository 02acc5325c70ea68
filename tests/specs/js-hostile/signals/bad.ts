// Tools by name, each wrong in its own way.
import { writeFileSync } from "node:fs";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, (signal: AbortSignal, pi) => unknown> = {
  deaf: () => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
    Deno.addSignalListener("SIGINT", () => {});
    writeFileSync("started", "");
    return new Promise(() => {});
  },
  forgets: () => { const listener = () => {}; process.on("SIGTERM", listener); process.off("SIGTERM", listener); Deno.addSignalListener("SIGINT", listener); Deno.removeSignalListener("SIGINT", listener); return text("forgotten"); },
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
