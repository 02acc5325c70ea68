const tool = (name, parameters) => ({
  name,
  description: name,
  parameters,
  execute: (_id, params) => ({ content: [{ type: "text", text: JSON.stringify(params) }] }),
});

export default () => [tool("undefined_schema", undefined), tool("null_schema", null)];
