import { exec, fork, spawn } from "node:child_process";
import { basename } from "node:path";

const outputOf = (child) =>
  new Promise((resolve) => {
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.on("close", () => resolve(text.trim()));
  });

export default (pi) => ({
  name: "runs",
  description: "Runs a script in a process of its own.",
  parameters: pi.zod.object({}),
  async execute() {
    const lines = [
      basename(process.execPath),
      await outputOf(spawn(process.execPath, ["script.js", "--flag", "a b"])),
      await outputOf(fork("./script.js", ["one"], { silent: true })),
      await outputOf(exec(`"${process.execPath}" script.js 'two words'`)),
    ];
    return { content: [{ type: "text", text: lines.join("\n") }] };
  },
});
