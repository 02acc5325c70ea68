// greet_team: a tool that is made from a file of the project.
//
// A factory may be async: here it reads `team.json` from the working directory, and the choices of
// the parameter and the description come from there. Where the file is missing, the module has
// nothing to offer and returns an empty array; that is no error. A broken file is one.
//
// Factories run when tools are loaded, before anything is called: read, do not work.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

interface Team {
  team: string;
  greeting: string;
  members: [string, ...string[]];
}

const factory: CustomToolFactory = async (pi) => {
  const team = await read(join(pi.cwd, "team.json"));
  if (team === undefined) return [];

  return {
    name: "greet_team",
    label: "Greet Team",
    description: `Greets a member of ${team.team}`,
    parameters: pi.zod.object({ member: pi.zod.enum(team.members) }),
    async execute(_id, { member }) {
      return { content: [{ type: "text", text: `${team.greeting}, ${member}!` }] };
    },
  };
};

async function read(path: string): Promise<Team | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export default factory;
