import { generateText } from "ai";

export default () => ({ name: "t", description: "d", parameters: {}, execute: () => generateText({} as any) });
