import * as fs from "node:fs";

export const permissions = { read: ["."], net: ["api.example.com"] } as const;

export default () => ({
  name: "fetcher",
  description: "Reads a file",
  parameters: { type: "object", properties: { path: { type: "string" } } },
  async execute(_id: string, { path }: { path: string }) {
    return { content: [{ type: "text", text: fs.readFileSync(path, "utf8") }] };
  },
});
