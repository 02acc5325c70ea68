// The tools in the shapes of agent frameworks. None of them is imported: the shapes are the interfaces that the
// frameworks document, and their type checkers accept them (test/types/frameworks.ts).

export * from "./ai_sdk.js";
export * from "./anthropic.js";
export * from "./langchain.js";
export * from "./openai.js";
export * from "./pi.js";
