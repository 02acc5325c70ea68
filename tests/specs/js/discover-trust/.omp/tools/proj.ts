import { writeFileSync } from "node:fs";

writeFileSync("ran.txt", "ran");

export default (pi) => ({
  name: "proj",
  label: "proj",
  description: "proj",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
