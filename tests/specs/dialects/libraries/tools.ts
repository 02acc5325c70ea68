// Objects as these libraries make them.
const json = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

export const agents = {
  type: "function",
  name: "agents_weather",
  description: "As of the OpenAI Agents SDK",
  parameters: json,
  invoke: async (_context: unknown, input: string) => `agents: ${JSON.parse(input).city}`,
};
export const langchain = {
  name: "langchain_weather",
  description: "As of LangChain",
  schema: json,
  invoke: async ({ city }: any) => ({ content: `langchain: ${city}` }),
};
export const mastra = {
  id: "mastra_weather",
  description: "As of Mastra",
  inputSchema: json,
  execute: async ({ city }: any, { abortSignal }: any) => ({ city, aborted: abortSignal.aborted }),
};
