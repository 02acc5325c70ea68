import { pad } from "left/pad";
import { z } from "zod";

export default () => ({
  name: "pad",
  description: "Pads.",
  parameters: z.object({}),
  execute: async () => ({ content: [{ type: "text", text: pad("x") }] }),
});
