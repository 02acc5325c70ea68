// Two tools, one with the injected TypeBox, one with the imported package.
//
// TypeBox schemas are JSON Schemas from the start. `pi.typebox` is always there; the packages
// `@sinclair/typebox` and `typebox` are provided by the host too, so that the import below works
// without a `node_modules`. If your tool has its own copy in `node_modules`, that one is used.
//
// Prefer zod for new tools: it can transform and refine, TypeBox can only describe.

import { type Static, Type } from "@sinclair/typebox";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const Convert = Type.Object({
  value: Type.Number({ description: "the temperature" }),
  unit: Type.Union([Type.Literal("C"), Type.Literal("F")], { default: "C", description: "its unit" }),
});

const factory: CustomToolFactory = (pi) => {
  const { Type: Injected } = pi.typebox;
  return [
    {
      name: "convert_temperature",
      label: "Convert Temperature",
      description: "Celsius to Fahrenheit and back",
      parameters: Convert,
      async execute(_id, params: Static<typeof Convert>) {
        const text = params.unit === "C" ? `${(params.value * 9) / 5 + 32} F` : `${((params.value - 32) * 5) / 9} C`;
        return { content: [{ type: "text", text }] };
      },
    },
    {
      name: "join_words",
      label: "Join Words",
      description: "Joins words with a separator",
      parameters: Injected.Object({
        words: Injected.Array(Injected.String()),
        separator: Injected.Optional(Injected.String({ default: ", " })),
        upper: Injected.Optional(Injected.Boolean()),
      }),
      async execute(_id, params: { words: string[]; separator: string; upper?: boolean }) {
        const text = params.words.join(params.separator);
        return { content: [{ type: "text", text: params.upper ? text.toUpperCase() : text }] };
      },
    },
  ];
};

export default factory;
