import { writeFileSync } from "node:fs";

writeFileSync(new URL("../../../ran-test", import.meta.url), "");
export default [{ name: "greets", arguments: {}, expect: { text: "hello" } }];
