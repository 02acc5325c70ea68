// pi_search: a tool from the time when the program was called pi.
//
// Old tools import their schemas and components from packages under `@mariozechner/`, declare enums
// with `StringEnum`, and draw their call with `renderCall(args, theme)`, without options. They run as
// they are; nothing has to be ported.

import type { CustomAgentTool, CustomToolFactory, ToolAPI } from "@mariozechner/pi-coding-agent";
import { StringEnum } from "@mariozechner/pi-ai";
import { Text } from "@mariozechner/pi-tui";
import { type Static, Type } from "@sinclair/typebox";

const Params = Type.Object({
  word: Type.String({ description: "what to look for" }),
  where: StringEnum(["title", "body"] as const, { description: "which part", default: "title" }),
  limit: Type.Optional(Type.Number({ default: 10 })),
});

const PAGES = [
  { title: "Bread", body: "Flour, water, salt and time." },
  { title: "Salt", body: "Sodium chloride." },
];

const factory: CustomToolFactory = (pi: ToolAPI): CustomAgentTool<typeof Params> => ({
  name: "pi_search",
  label: "Search",
  description: "Looks for a word in the pages",
  parameters: Params,

  async execute(_toolCallId, params: Static<typeof Params>) {
    const word = params.word.toLowerCase();
    const found = PAGES.filter((page) => page[params.where].toLowerCase().includes(word)).slice(0, params.limit);
    return {
      content: [{ type: "text", text: found.map((page) => page.title).join("\n") || "nothing found" }],
      details: { count: found.length, limit: params.limit },
    };
  },

  renderCall(args, theme) {
    return new Text(theme.fg("toolTitle", theme.bold("search ")) + theme.fg("muted", `"${args.word}"`), 0, 0);
  },

  renderResult(result, _options, theme) {
    return new Text(theme.fg("success", `${result.details?.count ?? 0} found`), 0, 0);
  },
});

export default factory;
