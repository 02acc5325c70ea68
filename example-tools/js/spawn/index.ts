// run_script: a shell script whose lines arrive while it runs.
//
// `pi.exec` collects the output and returns it at the end. When the model's user should see lines as
// they come, start the child yourself: `spawn` for the process, `readline` to cut its output into
// lines, one `onUpdate` for each. The abort signal is handed to `spawn`, which kills the child.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({
  name: "run_script",
  label: "Run Script",
  description: "Runs a POSIX shell script and shows its lines as they appear",
  approval: "exec",
  parameters: pi.zod.object({
    script: pi.zod.string().describe("the script, not a file name"),
    input: pi.zod.string().optional().describe("what the script reads from its standard input"),
  }),
  async execute(_id, { script, input }, onUpdate, _ctx, signal) {
    const child = spawn("sh", ["-c", script], { cwd: pi.cwd, signal, stdio: ["pipe", "pipe", "pipe"] });
    const closed = once(child, "close");
    child.stdin.end(input ?? "");

    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => (complaints += chunk));

    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      onUpdate?.({ content: [{ type: "text", text: line }], details: { line: lines.length } });
    }

    const [code, killedBy] = await closed;
    return {
      content: [{ type: "text", text: [...lines, ...(complaints ? [`stderr: ${complaints.trim()}`] : [])].join("\n") }],
      details: { lines: lines.length, code, killedBy },
      isError: code !== 0,
    };
  },
});

export default factory;
