// Tools for LangChain and LangGraph.

import type { AdapterOptions, Client } from "../client.js";
import { HaftError } from "../errors.js";
import { offered, unlessError } from "../offered.js";
import type { Content } from "../types.js";
import { dataUrl } from "./openai.js";

/** `tool` of `langchain` or `@langchain/core/tools`. */
export type LangChainFactory<Tool> = (
  run: (args: any, config: any) => Promise<[any, any]>,
  fields: any,
) => Tool;

export function langChainTools<Tool>(
  client: Client,
  factory: LangChainFactory<Tool>,
  options: AdapterOptions,
): Tool[] {
  if (typeof factory !== "function") {
    const text = "langchain() needs the function `tool` of LangChain";
    throw new HaftError("usage", text, 'import { tool } from "langchain"; tools.langchain(tool)');
  }
  return offered(client, options).map((tool) =>
    factory(
      async (args, config) => {
        const call = { signal: config?.signal, callId: config?.toolCall?.id };
        const result = unlessError(tool, await tool.call(args, call));
        const hasImages = result.content.some((block) => block.type === "image");
        const content = hasImages ? result.content.map(langChainBlock) : result.text;
        return [content, result.details];
      },
      {
        name: tool.alias,
        description: tool.info.description,
        schema: tool.schema,
        responseFormat: "content_and_artifact",
      },
    ),
  );
}

function langChainBlock(block: Content): any {
  if (block.type === "text") return { type: "text", text: block.text };
  // The form that the integrations of all providers convert.
  return { type: "image_url", image_url: { url: dataUrl(block) } };
}
