import { tool } from "@opencode-ai/plugin";

export default tool({
  description: "Names its folders",
  args: {},
  async execute(_args, { directory, worktree }) {
    return `in [${directory.slice(worktree.length)}] of the worktree`;
  },
});
