import type { A } from "no-such-package/types";
import { type B, type C } from "@nobody/else";
import { Leftover } from "another-missing-package";
import Default, * as Everything from "yet-another-missing-package";
import { OnlyAType, used } from "./mixed";
export type { D } from "missing-too";

const value: A | B | C | OnlyAType | Leftover | Default | Everything.X = used;

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: String(value) }] };
  },
});
