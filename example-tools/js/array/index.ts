// text_hash, text_base64, text_count: one module, three tools.
//
// A factory may return an array. Keep tools together that share code or state; give them a common
// prefix, because names are global. An invalid element is reported and does not stop its siblings.

import { createHash } from "node:crypto";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = ({ zod: z }) => {
  const say = (text: string) => ({ content: [{ type: "text" as const, text }] });

  return [
    {
      name: "text_hash",
      label: "Text Hash",
      description: "Hash of a text, in hexadecimal digits",
      parameters: z.object({ text: z.string(), algorithm: z.enum(["sha256", "sha1", "md5"]).default("sha256") }),
      execute: async (_id, { text, algorithm }) => say(createHash(algorithm).update(text).digest("hex")),
    },
    {
      name: "text_base64",
      label: "Text Base64",
      description: "Base64 of a text, or back",
      parameters: z.object({ text: z.string(), decode: z.boolean().default(false) }),
      execute: async (_id, { text, decode }) =>
        say(decode ? Buffer.from(text, "base64").toString("utf8") : Buffer.from(text).toString("base64")),
    },
    {
      name: "text_count",
      label: "Text Count",
      description: "Counts characters, words and lines",
      parameters: z.object({ text: z.string() }),
      execute: async (_id, { text }) => {
        const letters = [...new Intl.Segmenter("en").segment(text)].length;
        const words = text.split(/\s+/).filter(Boolean).length;
        return say(`${letters} characters, ${words} words, ${text.split("\n").length} lines`);
      },
    },
  ];
};

export default factory;
