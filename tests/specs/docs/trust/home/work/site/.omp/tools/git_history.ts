import { newest } from "../../lib/git.ts";

export default () => ({
  name: "git_history",
  description: "The newest commits, newest first.",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: await newest() }] }),
});
