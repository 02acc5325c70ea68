import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (agent: ExtensionAPI) {
  agent.setLabel("mine");
  agent.registerTool({ name: "x" });
}
