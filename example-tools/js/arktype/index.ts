// resize: parameters with ArkType, where the type is written as you would write it in TypeScript.
//
// `pi.arktype` is the `type` function of the package. A `?` at the end of a key makes it optional,
// `=` gives a default, and ranges and divisors are part of the type.

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({
  name: "resize",
  label: "Resize",
  description: "Fits a picture into a box",
  parameters: pi.arktype({
    width: "number.integer > 0",
    height: "number.integer > 0",
    fit: "'inside' | 'cover' = 'inside'",
    "box?": "number.integer <= 4096",
  }),
  async execute(_id, { width, height, fit, box = 512 }) {
    const scale = fit === "inside" ? box / Math.max(width, height) : box / Math.min(width, height);
    const text = `${Math.round(width * scale)} by ${Math.round(height * scale)} (${fit})`;
    return { content: [{ type: "text", text }] };
  },
});

export default factory;
