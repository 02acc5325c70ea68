import { a } from "./bare";
import { b } from "./built.js";
import { c } from "./modern.mjs";
import { d } from "./folder";
import { e } from "./folder/index";
import { f } from "./folder/";
import { g } from "./real.js";
import { h } from "./dotted.name";
import { i } from "./old.cjs";
import { j } from "..";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: [a, b, c, d, e, f, g, h, i, j].join(" ") }] };
  },
});
