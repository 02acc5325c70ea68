export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const z = pi.zod;
    const needed = "any array boolean enum literal null number object record string undefined union unknown z coerce tuple date email discriminatedUnion intersection lazy preprocess nativeEnum strictObject looseObject toJSONSchema".split(" ");
    const facts = {
      missing: needed.filter((name) => !(name in z)),
      nested: z.z.object === z.object,
      coerce: z.coerce.number().parse("7"),
      mutable: z.array(z.string()).default([]).parse(undefined),
      optional: z.string().default("x").optional().parse("y"),
      pick: Object.keys(z.object({ a: z.string(), b: z.string() }).pick({ a: true }).shape),
      record: z.record(z.string(), z.unknown()).parse({ k: 1 }),
      old: z.record(z.unknown()).parse({ k: 2 }),
      safe: z.email().safeParse("nobody").success,
      refine: z.object({ n: z.number() }).superRefine((value, check) => value.n > 1 || check.addIssue({ code: "custom", message: "too few" })).safeParse({ n: 1 }).error.issues[0].message,
    };
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
