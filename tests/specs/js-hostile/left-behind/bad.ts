// Tools by name, each wrong in its own way.
import { spawn } from "node:child_process";
import { openSync } from "node:fs";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, () => unknown> = {
  child: () => { spawn("sleep", ["600"], { stdio: ["ignore", openSync("held", "w"), "ignore"] }); return text("left"); },
  detached: () => { spawn("sleep", ["600"], { detached: true, stdio: ["ignore", openSync("held", "w"), "ignore"] }).unref(); return text("left"); },
  tree: () => { spawn("sh", ["-c", "trap '' TERM HUP; sleep 600 & sleep 600; :"], { stdio: ["ignore", openSync("held", "w"), "ignore"] }); return text("left"); },
  bun: () => { Bun.spawn(["sh", "-c", "exec 3>held; sleep 600; :"]); return text("left"); },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute,
  }));
