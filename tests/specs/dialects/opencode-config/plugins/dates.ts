import { type Plugin, tool } from "@opencode-ai/plugin";

export const DatesPlugin: Plugin = async (input) => ({
  tool: {
    year: tool({
      description: "Tells the year of a date",
      args: { date: tool.schema.string() },
      execute: async ({ date }) => `${new Date(date).getUTCFullYear()} in ${typeof input.worktree}`,
    }),
  },
  event: async () => {},
});
