// Stopped while Deno loads a built-in module: its code meets what the tool did to all objects.
import fs from "node:fs";

const trap = (set: () => void) => Object.defineProperty(Object.prototype, "sep", { configurable: true, set });

const hog = () => {
  const kept: unknown[] = [];
  for (;;) kept.push(new Array(1_000).fill({}));
};

const tools: Record<string, () => void> = {
  loops: () => { for (;;); },
  hogs: hog,
};

export default (pi) =>
  Object.entries(tools).map(([name, set]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute() {
      trap(set);
      fs.globSync("*");
    },
  }));
