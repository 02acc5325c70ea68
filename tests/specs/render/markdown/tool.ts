import { readFileSync } from "node:fs";
import { getMarkdownTheme } from "@oh-my-pi/pi-coding-agent";
import { Markdown } from "@oh-my-pi/pi-tui";

export default () => [{
  name: "shows",
  description: "Draws a document",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: readFileSync("document.md", "utf8") }] }),
  renderResult: (result) => new Markdown(result.content[0].text, 0, 0, getMarkdownTheme()),
}];
