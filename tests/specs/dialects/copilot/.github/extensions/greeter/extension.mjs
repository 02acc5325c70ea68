import { approveAll } from "@github/copilot-sdk";
import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({
  onPermissionRequest: approveAll,
  hooks: { onSessionStart: async () => {} },
  tools: [
    {
      name: "greet",
      description: "Greets",
      parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      skipPermission: true,
      handler: async (args, { toolName }) => `Hello, ${args.name}, from ${toolName}`,
    },
    {
      name: "deny",
      description: "Refuses",
      handler: async () => ({ textResultForLlm: "not today", resultType: "denied" }),
    },
  ],
});

session.on("user.message", () => {});
await session.log("ready");
