// notes: a small notebook in the user's home.
//
// Shows Node's `fs`, `path` and `os`: reading and writing files, a folder that is made on first use,
// and a name from the model that must not become a path of its choice. State that has to survive the
// session belongs into a file like this; state of one session belongs into `details` (see `state`).

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, extname, join, relative } from "node:path";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const folder = () => join(homedir(), "notes");

/** The file of a note. Throws for names that would leave the folder. */
function fileOf(name: string): string {
  if (name === "" || name.startsWith(".") || basename(name) !== name) throw new Error(`"${name}" is no name for a note`);
  return join(folder(), `${name}.md`);
}

function list(): string[] {
  if (!existsSync(folder())) return [];
  return readdirSync(folder())
    .filter((entry) => extname(entry) === ".md")
    .sort()
    .map((entry) => `${basename(entry, ".md")} (${statSync(join(folder(), entry)).size} bytes)`);
}

const factory: CustomToolFactory = (pi) => ({
  name: "notes",
  label: "Notes",
  description: "Keeps notes as Markdown files in ~/notes",
  parameters: pi.zod.object({
    action: pi.zod.enum(["write", "read", "list", "delete"]),
    name: pi.zod.string().optional().describe("name of the note, without extension"),
    text: pi.zod.string().optional().describe("what to write"),
  }),
  async execute(_id, { action, name, text }) {
    const say = (text: string, details: object = {}) => ({ content: [{ type: "text" as const, text }], details });
    if (action === "list") return say(list().join("\n") || "no notes yet", { count: list().length });

    const file = fileOf(name ?? "");
    const shown = join("~", relative(homedir(), file));
    switch (action) {
      case "write":
        mkdirSync(folder(), { recursive: true });
        writeFileSync(file, text ?? "", "utf8");
        return say(`wrote ${shown}`, { file: shown });
      case "read":
        return say(readFileSync(file, "utf8"), { file: shown });
      default:
        await rm(file);
        return say(`deleted ${shown}`, { file: shown });
    }
  },
});

export default factory;
