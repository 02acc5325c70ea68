// choose_name: asks the user, where there is one.
//
// `pi.ui` can ask (`select`, `confirm`, `input`) and tell (`notify`, `setStatus`). Where nobody can be
// asked, its questions are answered at once with nothing, so a tool must have a way on without an
// answer: look at `pi.hasUI` at the moment of asking, not when the factory runs.

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({
  name: "choose_name",
  label: "Choose Name",
  description: "Lets the user choose between names",
  approval: "read",
  parameters: pi.zod.object({ names: pi.zod.array(pi.zod.string()).min(1) }),
  async execute(_id, { names }) {
    const answer = pi.hasUI ? await pi.ui.select("Which name?", names) : undefined;
    const name = answer ?? names[0];
    pi.ui.notify(`The name is ${name}`, "info");
    return {
      content: [{ type: "text", text: answer === undefined ? `${name} (nobody could be asked)` : name }],
      details: { name, asked: pi.hasUI },
    };
  },
});

export default factory;
