import { slow } from "./slow";

const more = await Promise.all([slow, new Promise<string>((done) => setTimeout(done, 5, "more"))]);

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: more.join(" ") }] };
  },
});
