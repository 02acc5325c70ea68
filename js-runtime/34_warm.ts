// The way of a first call, gone once while the snapshot is made.
//
// V8 compiles a function when it is first called, and a snapshot keeps what was compiled: without
// this the first call in every isolate pays for zod's parser and for our own code.

import { zod } from "ext:haft/05_packages.ts";
import { wireSchema } from "ext:haft/20_wire_schema.ts";
import { prepareArguments } from "ext:haft/21_arguments.ts";
import { checkBuiltIns } from "ext:haft/22_intact.ts";
import { normaliseResult, toJson } from "ext:haft/25_result.ts";

const { object, string, number, boolean, array, enum: oneOf } = zod() as any;
const parameters = object({
  text: string().min(1).describe("text"),
  count: number().int().min(0).optional().default(1),
  flag: boolean().optional(),
  kind: oneOf(["one", "two"]).optional(),
  list: array(string()).optional(),
});
const tool = { name: "warm", parameters, ...wireSchema(parameters) };
const given = '{"text":"warm","count":2,"flag":true,"kind":"one","list":["a"]}';

prepareArguments(tool, given, () => null);
toJson(normaliseResult({ content: [{ type: "text", text: "warm" }], details: { warm: [1] } }));
checkBuiltIns(0);
