// roll_dice: parameters as a plain JSON Schema, in plain JavaScript.
//
// For those who have a schema already, or want no library at all. The whole of draft 2020-12 may be
// used; `default`s are filled in before `execute` runs, as with zod. A random number that must be
// repeatable takes a `seed`.

/** A small generator (mulberry32): enough for dice, not for secrets. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export default () => ({
  name: "roll_dice",
  label: "Roll Dice",
  description: "Rolls dice and adds them up",
  parameters: {
    type: "object",
    properties: {
      dice: { type: "integer", minimum: 1, maximum: 100, default: 2 },
      sides: { type: "integer", enum: [4, 6, 8, 10, 12, 20], default: 6 },
      seed: { type: "integer", description: "the same seed gives the same dice" },
      label: { type: "string", pattern: "^[a-z ]+$", description: "what the roll is for" },
    },
    required: ["seed"],
    additionalProperties: false,
  },
  execute(_id, { dice, sides, seed, label }) {
    const next = generator(seed);
    const rolls = Array.from({ length: dice }, () => 1 + Math.floor(next() * sides));
    const total = rolls.reduce((sum, roll) => sum + roll, 0);
    const prefix = label === undefined ? "" : `${label}: `;
    return {
      content: [{ type: "text", text: `${prefix}${dice}d${sides} = ${total}` }],
      details: { rolls, total },
    };
  },
});
