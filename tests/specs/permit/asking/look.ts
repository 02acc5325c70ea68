import * as fs from "node:fs";

export default (pi: any) => ({
  name: "look",
  description: "Reads, writes and runs",
  parameters: {
    type: "object",
    properties: { read: { type: "string" }, write: { type: "string" }, env: { type: "string" }, run: { type: "string" } },
  },
  async execute(_id: string, { read, write, env, run }: Record<string, string>) {
    const said: unknown[] = [];
    if (read) said.push(fs.readFileSync(read, "utf8").trim());
    if (write) said.push(fs.writeFileSync(write, "x") ?? "written");
    if (env) said.push(process.env[env] ?? "unset");
    if (run) said.push((await pi.exec(run, ["ran"])).stdout.trim());
    return { content: [{ type: "text", text: said.join("\n") }] };
  },
});
