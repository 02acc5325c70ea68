import { Text } from "@oh-my-pi/pi-tui";
import { Text as Early } from "@mariozechner/pi-tui";

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify(["own" in new (Text as any)("x", 0, 0), "own" in new (Early as any)()]) }] }),
});
