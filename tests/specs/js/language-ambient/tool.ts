import type { require as exports } from "./types.ts";
declare const require: any;
declare var module: any;
declare const __dirname: string, __filename: string;
declare function unknown(name: string): void;
declare namespace NodeJS {
  const require: any;
}
declare global {
  var everywhere: number;
}

const { basename } = require("node:path");
const kind = typeof unknown;

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const text = [basename(__filename), typeof __dirname, kind, typeof module.exports, typeof everywhere];
    return { content: [{ type: "text", text: text.join(" ") }] };
  },
});
