import { Box, Text } from "@oh-my-pi/pi-tui";

export default () => [{
  name: "framed",
  description: "Draws its own frame",
  parameters: { type: "object" },
  renderShell: "self",
  execute: async () => ({ content: [{ type: "text", text: "done" }] }),
  renderCall(args, options, theme) {
    const box = new Box(1, 0, undefined, { chars: theme.boxRound });
    box.addChild(new Text("in a frame", 0, 0));
    return box;
  },
}];
