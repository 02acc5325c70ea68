import { appendFileSync } from "node:fs";

const tool = (pi, name) => ({
  name,
  description: name,
  parameters: pi.zod.object({}),
  async execute() {
    appendFileSync("events", `call ${name}\n`);
    return { content: [{ type: "text", text: name }] };
  },
  onSession(event) {
    appendFileSync("events", `${event.reason} ${name} ${"previousSessionFile" in event}\n`);
  },
});

export default (pi) => [tool(pi, "one"), tool(pi, "two")];
