import { readFileSync } from "node:fs";

const { word } = JSON.parse(readFileSync("word.json", "utf8"));

export default (pi) => [
    {
        name: "greet",
        description: `Says a ${word}`,
        parameters: pi.zod.object({ name: pi.zod.string() }),
        execute: async () => ({ content: [] }),
    },
    {
        name: "part",
        description: "Says goodbye",
        parameters: pi.zod.object({}),
        execute: async () => ({ content: [] }),
    },
];
