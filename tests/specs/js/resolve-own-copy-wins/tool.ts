import { z } from "zod";
import { Type } from "@sinclair/typebox";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: `${z} ${typeof Type.Object}` }] };
  },
});
