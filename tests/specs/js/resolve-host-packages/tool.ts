import { z } from "zod";
import * as v4 from "zod/v4";
import { Type } from "@sinclair/typebox";
import { Type as Type1 } from "typebox";
import { type } from "arktype";
import { StringEnum } from "@oh-my-pi/pi-ai";
import { StringEnum as StringEnum1 } from "@mariozechner/pi-ai";
import { StringEnum as StringEnum2 } from "@earendil-works/pi-ai";
import { Box, Container, Markdown, Spacer, Text } from "@oh-my-pi/pi-tui";
import { Text as Text1 } from "@mariozechner/pi-tui";
import { Text as Text2 } from "@earendil-works/pi-tui";
import { getMarkdownTheme } from "@oh-my-pi/pi-coding-agent";
import { getMarkdownTheme as theme1 } from "@mariozechner/pi-coding-agent";
import { getMarkdownTheme as theme2 } from "@earendil-works/pi-coding-agent";

const facts = {
  zod: z.object === v4.object,
  typebox: Type1.String({ minLength: 1 }).minLength === Type.String({ minLength: 1 }).minLength,
  arktype: type("string")("x"),
  enums: [StringEnum, StringEnum1, StringEnum2].map((make) => make(["a", "b"]).enum.join("|")),
  tui: [Box, Container, Markdown, Spacer, Text].every((part) => typeof part === "function"),
  same: Text === Text1 && Text === Text2,
  themes: [getMarkdownTheme, theme1, theme2].map((make) => typeof make),
};

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
