import { readFileSync, writeFileSync } from "node:fs";

export default {
  description: "Writes a file and reads it again",
  args: {},
  async execute(_args, { directory }) {
    writeFileSync(`${directory}/../kept`, "kept");
    return readFileSync(`${directory}/../kept`, "utf8");
  },
};
