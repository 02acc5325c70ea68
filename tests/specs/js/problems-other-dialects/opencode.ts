import { tool } from "@opencode-ai/plugin";

export default tool({ description: "d", args: {}, async execute() { return "x"; } });
