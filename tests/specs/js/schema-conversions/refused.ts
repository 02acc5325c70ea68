export default (pi) => [
  { name: "date", description: "d", parameters: pi.zod.object({ a: pi.zod.string().transform(Number), when: pi.zod.date() }), execute() {} },
];
