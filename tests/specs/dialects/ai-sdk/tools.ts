import { dynamicTool, jsonSchema, tool } from "ai";
import { z } from "zod";

export const weather = tool({
  description: "Tells the weather",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { abortSignal, toolCallId }: any) => ({
    city,
    degrees: 21,
    ok: !abortSignal.aborted && typeof toolCallId === "string",
  }),
});

export const tools = {
  steps: tool({
    description: "Reports steps",
    inputSchema: jsonSchema({ type: "object", properties: { n: { type: "number" } }, required: ["n"] }),
    async *execute({ n }: any) {
      for (let step = 1; step <= n; step++) yield `step ${step}`;
    },
  }),
  picture: dynamicTool({
    description: "Makes a picture",
    inputSchema: z.object({}),
    execute: async () => ({ data: "aGFmdA==" }),
    toModelOutput: ({ output }: any) => ({
      type: "content",
      value: [
        { type: "text", text: "a picture" },
        { type: "media", data: output.data, mediaType: "image/png" },
      ],
    }),
  }),
  client: tool({ description: "Runs in the browser", inputSchema: z.object({}) }),
};
