const says = (name: string, parameters: unknown) => ({
  name,
  description: "says what it got",
  parameters,
  execute: (_id: string, params: unknown) => ({ content: [{ type: "text", text: JSON.stringify(params) }] }),
});
export default (pi) => {
  const z = pi.zod;
  return [
    says("transform", z.object({ s: z.string().min(1).transform((s: string) => s.length).describe("a text") })),
    says("nested", z.object({ list: z.array(z.object({ n: z.string().transform(Number).optional() })), ok: z.boolean() })),
    says("root", z.object({ a: z.string() }).transform(({ a }) => ({ b: a.toUpperCase() }))),
    says("pipe", z.object({ n: z.string().transform(Number).pipe(z.number().min(2)) })),
    says("codec", z.object({ on: z.stringbool() })),
    says("date", z.object({ when: z.coerce.date() })),
    says("preprocess", z.object({ n: z.preprocess((v) => Number(v), z.number()) })),
    says("plainpipe", z.object({ s: z.string().pipe(z.string().min(2)) })),
    says("morph", pi.arktype({ n: "string.numeric.parse", s: "string" })),
  ];
};
