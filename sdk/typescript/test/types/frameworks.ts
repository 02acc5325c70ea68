// The adapters fit the types of the frameworks. Compiled by test/check.mjs, never run.

import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { Agent } from "@openai/agents";
import { generateText, isStepCount, streamText } from "ai";
import { generateText as generateText5 } from "ai5";
import { generateText as generateText6 } from "ai6";
import { haft } from "haft";
import { createAgent, tool } from "langchain";
import OpenAI from "openai";

await using tools = await haft({ cwd: ".", trust: true, toolset: "review" });
const prompt = "go";

export const generated = await generateText({
  model: createAnthropic()("claude"),
  tools: tools.aiSdk(),
  stopWhen: isStepCount(3),
  prompt,
});

// The older versions take the same tools.
export const generated5 = await generateText5({ model: "claude", tools: tools.aiSdk(), prompt });
export const generated6 = await generateText6({ model: "claude", tools: tools.aiSdk(), prompt });

for await (const part of streamText({
  model: createAnthropic()("claude"),
  tools: { ...tools.aiSdk({ include: "git_*" }) },
  prompt,
}).fullStream) {
  if (part.type === "tool-result") console.log(part.output);
}

export const message = await new Anthropic().beta.messages.toolRunner({
  model: "claude",
  max_tokens: 1000,
  tools: tools.anthropic(),
  messages: [{ role: "user", content: prompt }],
});

const openai = new OpenAI();

export const text = await openai.chat.completions
  .runTools({
    model: "gpt",
    tools: tools.openai(),
    messages: [{ role: "user", content: prompt }],
  })
  .finalContent();

const completion = await openai.chat.completions.create({
  model: "gpt",
  tools: tools.openai(),
  messages: [{ role: "user", content: prompt }],
});
const messages: OpenAI.ChatCompletionMessageParam[] = [];
for (const call of completion.choices[0]?.message.tool_calls ?? []) {
  if (call.type === "function") messages.push(await tools.runOpenai(call));
}

const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: prompt }];
const response = await openai.responses.create({
  model: "gpt",
  tools: tools.openaiResponses(),
  input,
});
for (const item of response.output) {
  if (item.type === "function_call") input.push(item, await tools.runOpenai(item));
}

export const agent = new Agent({ name: "agent", tools: tools.agents() });

export const chain = createAgent({ model: "anthropic:claude", tools: tools.langchain(tool) });
