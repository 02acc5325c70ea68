const object = (properties: object, required: string[]) => ({ type: "object", properties, required });

const tool = (name: string, parameters: object) => ({
  name,
  description: name,
  parameters,
  execute: async (_id: string, params: object) => ({ content: [{ type: "text", text: JSON.stringify(params) }] }),
});

export default () => [
  tool("open", object({ message: { type: "string" }, mesage_id: { type: "string" } }, ["message"])),
  tool("aliased", object({ "ids[]": { type: "string" } }, ["ids[]"])),
];
