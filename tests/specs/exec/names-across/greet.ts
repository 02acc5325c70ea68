export default () => ({ name: "greet", description: "d", parameters: { type: "object" }, execute: async () => ({ content: [{ type: "text", text: "js" }] }) });
