import {
  generateText,
  tool,
} from "ai";

export const weather = tool({ description: "d", execute: async () => 1 });
