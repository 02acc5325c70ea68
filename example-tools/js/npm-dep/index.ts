// slugs: a tool with an npm dependency of its own.
//
// A tool in a folder may bring a `package.json` and a `node_modules` beside it; what lies there wins
// over what the host provides. `tiny-slug` has two faces, chosen by its `exports` conditions:
// `import` gets the ES module, `require` the CommonJS one. Its sub-path `./words` has only one.

import { createRequire } from "node:module";
import { flavour, slug } from "tiny-slug";
import { stopWords } from "tiny-slug/words";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const require = createRequire(import.meta.url);

const factory: CustomToolFactory = (pi) => ({
  name: "slugs",
  label: "Slugs",
  description: "Turns titles into names for URLs",
  parameters: pi.zod.object({
    titles: pi.zod.array(pi.zod.string()).min(1),
  }),
  async execute(_id, { titles }) {
    const slugs = titles.map((title) => slug(title, { without: stopWords }));
    return {
      content: [{ type: "text", text: slugs.join("\n") }],
      details: { imported: flavour, required: require("tiny-slug").flavour },
    };
  },
});

export default factory;
