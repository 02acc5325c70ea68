// invoice: a tool of several files.
//
// Helpers are imported without an extension, by the `.js` name that the TypeScript file would have
// after a build, by folder, or by an alias from `tsconfig.json`. Data comes in by import as well:
// JSON, YAML and TOML as values, text as a string. Keep the tool's `index.ts` short; it is the table
// of contents of what the model can do.

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";
import prices from "./data/prices.json";
import rates from "./data/rates.toml";
import greeting from "./texts/greeting.txt";
import { total } from "./lib/total";
import { table } from "./lib/table.js";
import { countries } from "#countries";
import { round } from "@lib/round";

const factory: CustomToolFactory = (pi) => ({
  name: "invoice",
  label: "Invoice",
  description: `Adds up ${Object.keys(prices).join(", ")}`,
  parameters: pi.zod.object({
    country: pi.zod.enum(Object.keys(countries) as [string, ...string[]]),
    items: pi.zod.record(pi.zod.string(), pi.zod.number().int().positive()),
  }),
  async execute(_id, { country, items }) {
    const net = total(items, prices);
    const tax = round(net * rates.tax[country]);
    const rows = [
      ["net", net],
      ["tax", tax],
      ["total", round(net + tax)],
    ] as const;
    return { content: [{ type: "text", text: [greeting.trim(), countries[country], ...table(rows)].join("\n") }] };
  },
});

export default factory;
