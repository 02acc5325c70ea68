import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { count as byName } from "../lib/count.ts";
import { count as byLink } from "../lib/linked.ts";
import { greeting } from "greeting";
import { said } from "@said/said";

const own = basename(fileURLToPath(import.meta.url));

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const text = [greeting, said, own, byName() === 1 && byLink() === 2 ? "one helper" : "two helpers"];
    return { content: [{ type: "text", text: text.join(", ") }] };
  },
});
