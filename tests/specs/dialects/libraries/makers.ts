import { tool } from "ai";
import { z } from "zod";

export class ToolServer {}
export const helper = 5;
// Nothing but a name says that these make tools.
export function buildTools() {
  return { twice: tool({ description: "Doubles", inputSchema: z.object({ n: z.number() }), execute: async ({ n }: any) => n * 2 }) };
}
export function unrelated() {
  throw new Error("is not called");
}
