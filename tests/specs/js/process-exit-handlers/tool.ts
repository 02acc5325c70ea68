import { appendFileSync } from "node:fs";

process.on("exit", (code) => appendFileSync("events", `exit ${code}\n`));
process.on("exit", () => {
  throw new Error("a handler that fails");
});

export default (pi) => ({
  name: "ends",
  description: "Notes that it was called.",
  parameters: pi.zod.object({}),
  async execute() {
    appendFileSync("events", "call\n");
    return { content: [{ type: "text", text: "called" }] };
  },
});
