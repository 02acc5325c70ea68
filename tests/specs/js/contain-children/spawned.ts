import { spawn } from "node:child_process";
import { openSync } from "node:fs";

export default (pi) => ({
  name: "spawned",
  label: "spawned",
  description: "spawned",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const child = spawn("sh", ["-c", "trap '' TERM; (sleep 600; sleep 600)"], { stdio: ["ignore", "ignore", openSync("held", "w")] });
    await new Promise((done) => child.on("close", done));
    return { content: [{ type: "text", text: "never" }] };
  },
});
