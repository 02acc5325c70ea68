import { writeFileSync } from "node:fs";

writeFileSync(`${import.meta.dirname}/../../../ran-test`, "");
export default [{ name: "greets", arguments: {}, expect: { text: "hello" } }];
