import { tool } from "@opencode-ai/plugin";

export default tool({
  description: "Names its folders",
  args: {},
  async execute(_args, { directory, worktree }) {
    return `${directory.slice(-4)} ${worktree.slice(-4)}`;
  },
});
