import { type Plugin, tool } from "@opencode-ai/plugin";

export const Notes: Plugin = async ({ client, directory, worktree, $ }) => {
  await client.app.log({ body: { service: "notes", level: "info", message: "hello" } });
  return {
    event: async () => {},
    "tool.execute.before": async () => {},
    tool: {
      notes: tool({
        description: "Keeps a note",
        args: { text: tool.schema.string() },
        async execute({ text }) {
          const shout = await $`echo ${text}`.text();
          return `${shout.trim()} ${directory === process.cwd()} ${typeof worktree}`;
        },
      }),
    },
  };
};
