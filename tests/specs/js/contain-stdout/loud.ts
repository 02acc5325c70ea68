import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";

const shout = (where: string) => {
  console.log(`log ${where}`);
  console.info(`info ${where}`);
  console.table([{ where }]);
  process.stdout.write(`write ${where}\n`);
  writeSync(1, `fd ${where}\n`);
};

shout("at import");

export default (pi) => {
  shout("in the factory");
  return {
    name: "loud",
    label: "Loud",
    description: "writes wherever it can",
    parameters: pi.zod.object({}),
    async execute() {
      shout("in execute");
      spawnSync("echo", ["from a child"], { stdio: "inherit" });
      return { content: [{ type: "text", text: "the result" }] };
    },
  };
};
