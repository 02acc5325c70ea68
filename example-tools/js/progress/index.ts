// bake: long work that keeps its user posted.
//
// `onUpdate` takes a whole result each time, not a piece: the newest update replaces the one before.
// Updates are for the person who watches; the model sees only what `execute` returns. Call it as
// often as there is something new to see, and check that it is there (`?.`): hosts may leave it out.

import { setTimeout as pause } from "node:timers/promises";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const STEPS = ["heating the oven", "kneading", "waiting for the yeast", "baking", "cooling"];

const factory: CustomToolFactory = (pi) => ({
  name: "bake",
  label: "Bake",
  description: "Bakes bread, one step after the other",
  parameters: pi.zod.object({
    loaves: pi.zod.number().int().min(1).max(10).default(1),
    secondsPerStep: pi.zod.number().min(0).max(60).default(0),
  }),
  async execute(_id, { loaves, secondsPerStep }, onUpdate, _ctx, signal) {
    const log: string[] = [];
    for (const [index, step] of STEPS.entries()) {
      onUpdate?.({
        content: [{ type: "text", text: `${index + 1}/${STEPS.length} ${step}` }],
        details: { step: index + 1, of: STEPS.length, percent: Math.round((100 * index) / STEPS.length) },
      });
      await pause(secondsPerStep * 1000, undefined, { signal });
      log.push(step);
    }
    return {
      content: [{ type: "text", text: `${loaves} ${loaves === 1 ? "loaf" : "loaves"} of bread` }],
      details: { log },
    };
  },
});

export default factory;
