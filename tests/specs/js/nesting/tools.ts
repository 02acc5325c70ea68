const nested = (depth: number, inner: unknown = 0): unknown => {
  let value = inner;
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value };
  return value;
};
const depthOf = (value: any): number => {
  let depth = 0;
  for (let at = value; typeof at === "object" && at !== null; at = at.a ?? at[0]) depth += 1;
  return depth;
};
let objects: any = { type: "string" };
for (let level = 0; level < 80; level++) objects = { type: "object", properties: { a: objects } };
const text = (said: unknown) => ({ content: [{ type: "text", text: String(said) }] });
const open = { type: "object", properties: { depth: { type: "number" } } };
export default (pi) => [
  { name: "details", description: "d", parameters: open, execute: (_id, { depth }) => ({ ...text("content"), details: nested(depth) }) },
  { name: "updates", description: "d", parameters: open, execute(_id, { depth }, onUpdate) { onUpdate({ ...text("step"), details: nested(depth) }); return text("done"); } },
  { name: "schema", description: "d", parameters: objects, execute: (_id, params) => text(depthOf(params)) },
  { name: "plain", description: "d", parameters: { type: "object" }, execute: (_id, params) => text(depthOf(params)) },
  { name: "zod", description: "d", parameters: pi.zod.object({ a: pi.zod.any() }), execute: (_id, params) => text(depthOf(params)) },
];
